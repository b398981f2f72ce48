"""The run-time object of TVM's paged KV cache: `vm.builtin.kv_state_*` and `vm.builtin.attention_kv_cache_*`.

    cache = vm["create_tir_paged_kv_cache"](ShapeTuple([1]), ShapeTuple([64]), ShapeTuple([32]), ShapeTuple([16]))
    get_global_func("vm.builtin.kv_state_add_sequence")(cache, 0)
    get_global_func("vm.builtin.kv_state_begin_forward")(cache, ShapeTuple([0]), ShapeTuple([5]))

Pages, forks and roll-backs are those of `tirax.llm.cache`; the code of a step is compiled when a program first
attends with a scale.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...diagnostics import UnsupportedError
from ...llm.cache import CacheLayout, PagedKVCache, Step
from ...runtime import NDArray
from ...runtime.errors import ArgumentError, DTypeError, ShapeError
from ...runtime.ndarray import array
from .kernels import Attention, compiled
from .rope import Rotation, rotation_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Limits:
    """The most sequences and new positions of a step."""

    sequences: int
    positions: int


@dataclass
class _Forward:
    """A step: its page table, and how many positions each sequence appends."""

    step: Step
    lengths: list[int]


class PagedAttentionKVCache:
    """TVM's `relax.vm.PagedAttentionKVCache`: keys and values of the layers from `first_layer` on."""

    def __init__(self, cache: PagedKVCache, query_heads: int, first_layer: int, rotation: Rotation, limits: Limits):
        self.cache = cache
        self.query_heads = query_heads
        self.first_layer = first_layer
        self.rotation = rotation
        self.limits = limits
        self._forward: _Forward | None = None

    def __repr__(self) -> str:
        layout = self.cache.layout
        return (
            f"PagedAttentionKVCache({layout.layers} layers, {layout.kv_heads} heads of {layout.head_size} "
            f"{layout.dtype}, {len(self.cache.sequences)} sequences, {self.cache.available} free positions)"
        )

    def clear(self) -> None:
        """Remove all sequences."""
        self.end_forward()
        self.cache.clear()

    def add_sequence(self, sequence: int) -> None:
        """Add an empty sequence. Raises `SequenceError` if the identifier is in use."""
        self.cache.add_sequence(sequence)

    def remove_sequence(self, sequence: int) -> None:
        """Remove a sequence. Raises `SequenceError`."""
        self.cache.remove_sequence(sequence)

    def fork_sequence(self, parent: int, child: int, position: int = -1) -> None:
        """Add a sequence that begins with the first `position` positions of another one (-1: with all of them).

        Raises `SequenceError`.
        """
        self.cache.fork_sequence(parent, child, position)

    def popn(self, sequence: int, count: int) -> None:
        """Remove the last positions of a sequence. Raises `SequenceError`."""
        self.cache.popn(sequence, count)

    def begin_forward(self, sequences: Sequence[int], lengths: Sequence[int], parents: Any = None) -> None:
        """Begin a step, which appends `lengths` positions to the sequences and ends the one before.

        Raises `CacheFullError`, `SequenceError`, `ArgumentError` past the limits, `UnsupportedError` for trees.
        """
        if parents is not None:
            raise UnsupportedError("trees of tokens", hint="begin_forward(cache, sequences, lengths)")
        if len(sequences) > self.limits.sequences or sum(lengths) > self.limits.positions:
            raise ArgumentError(
                "the step is larger than the cache was created for",
                expected=f"at most {self.limits.sequences} sequences (max_batch_size) and {self.limits.positions} "
                "positions (prefill_chunk_size)",
                found=f"{len(sequences)} and {sum(lengths)}",
            )
        if len(lengths) and min(lengths) < 1:
            raise ArgumentError("a step appends positions to each sequence", expected="1 or more", found=list(lengths))
        self.end_forward()
        self._forward = _Forward(self.cache.begin_forward(list(sequences), list(lengths)), list(lengths))

    def end_forward(self) -> None:
        """End the step, if there is one."""
        if self._forward is not None:
            self._forward = None
            self.cache.end_forward()

    def attention_with_fused_qkv(self, layer: int, scale: float, qkv: Array, out: Array) -> None:
        """Rotate, append keys and values, and attend from the new positions of all sequences.

        `qkv` is (positions, query heads + 2 * heads, size) and `out` (positions, query heads, size), both of the
        cache's dtype. Raises `ArgumentError` outside of a step and for other layers, `ShapeError`, `DTypeError`.
        """
        forward = self._current()
        layout = self.cache.layout
        inside = layer - self.first_layer
        if not 0 <= inside < layout.layers:
            raise ArgumentError(
                "not a layer of the cache",
                expected=f"{self.first_layer} … {self.first_layer + layout.layers - 1}",
                found=layer,
            )
        total = sum(forward.lengths)
        self._check("qkv", qkv, (total, self.query_heads + 2 * layout.kv_heads, layout.head_size))
        self._check("the result", out, (total, self.query_heads, layout.head_size))
        step = forward.step
        if max(forward.lengths) == 1:
            out[:total] = self._run("decode", scale, inside, qkv[:total, None], step.table, step.starts)[:, 0]
            return
        first = 0
        for row, length in enumerate(forward.lengths):
            rows = slice(first, first + length)
            table, starts = step.table[row : row + 1], step.starts[row : row + 1]
            out[rows] = self._run("prefill", scale, inside, qkv[None, rows], table, starts)[0]
            first += length

    def get_query_positions(self) -> NDArray:
        """Return the position of each new one in its sequence, int32. Raises `ArgumentError` outside of a step."""
        forward = self._current()
        pairs = zip(forward.step.starts, forward.lengths, strict=True)
        return array(np.concatenate([np.arange(start, start + n, dtype=np.int32) for start, n in pairs]))

    def empty(self) -> bool:
        """Return whether there are no sequences."""
        return not self.cache.sequences

    def get_num_available_pages(self) -> int:
        """Return the number of free pages."""
        return self.cache.available // self.cache.layout.page_size

    def get_total_sequence_length(self) -> int:
        """Return the number of positions of all sequences."""
        return sum(self.cache.length(s) for s in self.cache.sequences)

    def debug_get_kv(self, sequence: int, start: int, end: int, keys: Array, values: Array) -> None:
        """Copy the rotated keys and the values of positions to (layers, end - start, heads, size).

        Raises `SequenceError`, and `ArgumentError` for positions that the sequence does not have.
        """
        if not 0 <= start < end <= self.cache.length(sequence):
            raise ArgumentError(
                "not positions of the sequence",
                expected=f"0 <= start < end <= {self.cache.length(sequence)}",
                found=(start, end),
            )
        page_size = self.cache.layout.page_size
        positions = np.arange(start, end)
        pages = np.asarray(self.cache.pages_of(sequence))[positions // page_size]
        for pool, to in ((self.cache.keys, keys), (self.cache.values, values)):
            np.copyto(to, np.asarray(pool)[:, pages, :, positions % page_size].swapaxes(0, 1))
        if self.rotation.in_pairs:
            self._restore_pairs(keys)

    def _restore_pairs(self, keys: Array) -> None:
        """Undo the order of kernels (`kernels._halves`)."""
        planes = self.rotation.planes
        halves = keys[..., : 2 * planes].copy()
        keys[..., 0 : 2 * planes : 2] = halves[..., :planes]
        keys[..., 1 : 2 * planes : 2] = halves[..., planes:]

    def _current(self) -> _Forward:
        if self._forward is None:
            raise ArgumentError("no step is active", hint="vm.builtin.kv_state_begin_forward comes first")
        return self._forward

    def _check(self, what: str, found: Array, expected: tuple[int, ...]) -> None:
        """Check an operand, which may have more positions than the step."""
        if found.ndim != 3 or found.shape[1:] != expected[1:] or found.shape[0] < expected[0]:
            raise ShapeError(f"{what} does not fit the cache", expected=expected, found=found.shape)
        if str(found.dtype) != self.cache.layout.dtype:
            raise DTypeError(f"{what} does not fit the cache", expected=self.cache.layout.dtype, found=found.dtype)

    def _run(self, name: str, scale: float, layer: int, qkv: Array, table: Array, starts: Array) -> Array:
        turn, cache = self.rotation, self.cache
        attention = Attention(cache.layout, self.query_heads, scale, turn.planes, turn.in_pairs, turn.magnitude)
        args = qkv, turn.frequencies, cache.keys, cache.values, table, starts, (layer,)
        return compiled(attention)[name](*args)[0]


def create(
    config: Sequence[int],
    partition: Sequence[int],
    heads: Sequence[int],
    kinds: Sequence[int],
    rope_mode: int,
    rope_scale: float,
    rope_theta: float,
    rope_scaling: str,
    rope_ext_factors: Any,
    dtype: str,
) -> PagedAttentionKVCache:
    """Create a cache; `tvm_api.llm.kv_cache.TIRPagedKVCache` emits the call.

    `config` is (sequences, positions, positions of a step, page size, sliding window), `heads` (query heads, heads,
    size, rotated size), `partition` the first layer and one past the last. Raises `UnsupportedError` for sliding
    windows and latent attention.
    """
    sequences, positions, chunk, page_size, has_window = config
    query_heads, kv_heads, size, rotated = heads
    if has_window:
        raise UnsupportedError("a paged KV cache with a sliding window", hint="support_sliding_window=0")
    if any(kinds):
        raise UnsupportedError("a paged KV cache for latent attention", expected="attn_kind='mha'", found="mla")
    first, last = partition
    layout = CacheLayout(last - first, kv_heads, size, page_size, dtype)
    cache = PagedKVCache(layout, -(-positions // page_size) + 1)  # as many pages as TVM has
    factors = rope_ext_factors if isinstance(rope_ext_factors, np.ndarray) else None
    scaling = json.loads(rope_scaling)
    turn = rotation_of(rope_mode, rope_scale, rope_theta, scaling, factors, rotated)
    return PagedAttentionKVCache(cache, query_heads, first, turn, Limits(sequences, chunk))


__all__ = ["Limits", "PagedAttentionKVCache", "create"]
