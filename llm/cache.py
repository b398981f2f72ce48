"""A paged cache of the keys and values of several sequences.

    cache = PagedKVCache.create(CacheLayout(layers=30, kv_heads=3, head_size=64), capacity=2048)
    cache.add_sequence(0)
    with cache.forward([0], [len(tokens)]) as step:
        logits = prefill(tokens, cache.keys, cache.values, step.table, step.starts, *weights)

All sequences share one pool of pages. A compiled function writes the new keys and values of a step in
place, into the pages of its page table; nothing is moved when a sequence grows. A fork shares the pages of
its parent; a shared page is copied when one of the two writes into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..runtime.dtypes import to_dtype
from ..runtime.errors import ArgumentError, DTypeError, TiraxError
from ..runtime.ndarray import empty

Array = np.ndarray[Any, Any]
PAGE_SIZE = 64
"""Default number of positions in a page."""
CACHE_DTYPES = ("float32", "float16")


class CacheFullError(TiraxError, MemoryError):
    """Raised when no free pages are left for the positions to append."""


class SequenceError(TiraxError, KeyError):
    """Raised for a sequence that is unknown, exists already, or is shorter than the operation requires."""

    __str__ = TiraxError.__str__


@dataclass(frozen=True)
class CacheLayout:
    """The sizes of one position in the cache: `layers` times the keys and values of `kv_heads` heads of
    `head_size` numbers.

    Raises `DTypeError` for a dtype that is not in `CACHE_DTYPES`, `ArgumentError` for sizes below 1.
    """

    layers: int
    kv_heads: int
    head_size: int
    page_size: int = PAGE_SIZE
    dtype: str = "float16"

    def __post_init__(self) -> None:
        if self.dtype not in CACHE_DTYPES:
            raise DTypeError("a cache of another dtype", expected=" or ".join(CACHE_DTYPES), found=self.dtype)
        sizes = {n: getattr(self, n) for n in ("layers", "kv_heads", "head_size", "page_size")}
        if min(sizes.values()) < 1:
            raise ArgumentError("sizes of a cache are positive", found=sizes)

    def shape(self, pages: int) -> tuple[int, int, int, int, int]:
        """Return the shape of the pools of keys and of values: (layers, pages, heads, page size, head size)."""
        return self.layers, pages, self.kv_heads, self.page_size, self.head_size

    @property
    def position_bytes(self) -> int:
        """The bytes that one position takes in both pools together."""
        return 2 * self.layers * self.kv_heads * self.head_size * to_dtype(self.dtype).itemsize


@dataclass
class _Sequence:
    """The pages of a sequence, in order, and its number of positions."""

    pages: list[int] = field(default_factory=list[int])
    length: int = 0


@dataclass(frozen=True)
class Step:
    """The page table and the start positions of the sequences in a step.

    `table` is (sequences, pages), int32, as wide as the longest sequence; `starts` is (sequences,), int32, the
    position of the first new token of each sequence.
    """

    table: Array
    starts: Array


class PagedKVCache:
    """The keys and values of sequences, with TVM's method names. `keys` and `values` are the pools."""

    def __init__(self, layout: CacheLayout, pages: int):
        self.layout = layout
        self.pages = pages
        self.keys = empty(layout.shape(pages), layout.dtype, zeros=True)
        self.values = empty(layout.shape(pages), layout.dtype, zeros=True)
        self._sequences: dict[int, _Sequence] = {}
        self._users = np.zeros(pages, np.int32)
        """How many sequences have a page."""
        self._free = list(range(pages - 1, -1, -1))
        self._forward: list[int] | None = None
        """The sequences of the step that is going on."""

    @staticmethod
    def create(layout: CacheLayout, capacity: int) -> PagedKVCache:
        """Return an empty cache for `capacity` positions of all sequences together, rounded up to whole pages.

        The system allocates the memory of a page when it is first written to. Raises `ArgumentError` for a capacity
        below 1.
        """
        if capacity < 1:
            raise ArgumentError("a cache has room for a position at least", found=capacity)
        return PagedKVCache(layout, -(-capacity // layout.page_size))

    @property
    def sequences(self) -> tuple[int, ...]:
        """The identifiers of the sequences."""
        return tuple(self._sequences)

    @property
    def available(self) -> int:
        """The number of positions that fit into the free pages."""
        return len(self._free) * self.layout.page_size

    def length(self, sequence: int) -> int:
        """Return the number of positions of a sequence. Raises `SequenceError`."""
        return self._of(sequence).length

    def pages_of(self, sequence: int) -> tuple[int, ...]:
        """Return the pages of a sequence, in order. Raises `SequenceError`."""
        return tuple(self._of(sequence).pages)

    def add_sequence(self, sequence: int) -> None:
        """Add an empty sequence. Raises `SequenceError` if the identifier is in use."""
        self._check_new(sequence)
        self._sequences[sequence] = _Sequence()

    def remove_sequence(self, sequence: int) -> None:
        """Remove a sequence and free the pages that no other sequence shares. Raises `SequenceError`."""
        self._release_pages(self._of(sequence), 0)
        del self._sequences[sequence]

    def fork_sequence(self, parent: int, child: int, position: int = -1) -> None:
        """Add a sequence that starts with the first `position` positions of another one (-1: with all of them).

        Nothing is copied until one of the two is appended to. Raises `SequenceError` for an unknown parent, a child
        that exists already, and a position past the parent's end.
        """
        source = self._of(parent)
        self._check_new(child)
        length = source.length if position == -1 else position
        if not 0 <= length <= source.length:
            raise SequenceError(
                "a fork begins inside of its parent", expected=f"0 … {source.length}, or -1", found=position
            )
        pages = source.pages[: self._pages(length)]
        self._users[pages] += 1
        self._sequences[child] = _Sequence(pages, length)

    def popn(self, sequence: int, count: int) -> None:
        """Remove the last `count` positions of a sequence. Raises `SequenceError` if it has fewer."""
        known = self._of(sequence)
        if not 0 <= count <= known.length:
            raise SequenceError(
                "fewer positions than are to be taken back", expected=f"0 … {known.length}", found=count
            )
        known.length -= count
        self._release_pages(known, self._pages(known.length))

    def clear(self) -> None:
        """Remove all sequences."""
        for sequence in self.sequences:
            self.remove_sequence(sequence)

    def begin_forward(self, sequences: Sequence[int], append_lengths: Sequence[int]) -> Step:
        """Reserve pages for the positions that a step appends and return its page table; `end_forward` ends the step.

        Raises `CacheFullError` and leaves the cache unchanged if there are too few free pages; `SequenceError` for
        unknown and for repeated sequences; `ArgumentError` for lists of different lengths and inside another step.
        """
        self._check_step(sequences, append_lengths)
        known = [self._of(s) for s in sequences]
        needed = [self._new_pages(s, count) for s, count in zip(known, append_lengths, strict=True)]
        if sum(needed) > len(self._free):
            raise CacheFullError(
                "the cache is full",
                expected=f"{sum(needed)} free pages of {self.layout.page_size} positions",
                found=f"{len(self._free)} of {self.pages}",
                hint="a larger capacity, or remove_sequence",
            )
        starts = [s.length for s in known]
        for sequence, count in zip(known, append_lengths, strict=True):
            self._extend(sequence, count)
        self._forward = list(sequences)
        return _step(known, starts)

    def end_forward(self) -> None:
        """End the step and keep what it appended. Raises `ArgumentError` outside of a step."""
        if self._forward is None:
            raise ArgumentError("no step is active", hint="begin_forward comes before end_forward")
        self._forward = None

    @contextmanager
    def forward(self, sequences: Sequence[int], append_lengths: Sequence[int]) -> Iterator[Step]:
        """Run a step as a context manager; an exception in its body discards what the step appended."""
        self._check_step(sequences, append_lengths)
        before = [self.length(sequence) for sequence in sequences]
        try:
            yield self.begin_forward(sequences, append_lengths)
            self.end_forward()
        except BaseException:  # an interrupt comes anywhere
            self._forward = None
            for sequence, length in zip(sequences, before, strict=True):
                self.popn(sequence, self.length(sequence) - length)
            raise

    def _of(self, sequence: int) -> _Sequence:
        known = self._sequences.get(sequence)
        if known is None:
            raise SequenceError(
                f"the cache has no sequence {sequence}", expected=f"one of {list(self._sequences)}", found=sequence
            )
        return known

    def _check_new(self, sequence: int) -> None:
        if sequence in self._sequences:
            raise SequenceError(f"the cache has a sequence {sequence} already", hint="remove_sequence")

    def _check_step(self, sequences: Sequence[int], append_lengths: Sequence[int]) -> None:
        if self._forward is not None:
            raise ArgumentError("another step is going on", found=self._forward, hint="end_forward comes first")
        if not sequences or len(sequences) != len(append_lengths) or min(append_lengths) < 0:
            raise ArgumentError(
                "a step appends to some sequences",
                expected="as many lengths from 0 on as sequences",
                found=(list(sequences), list(append_lengths)),
            )
        if len(set(sequences)) != len(sequences):
            raise SequenceError("a sequence is there twice", found=list(sequences))

    def _pages(self, length: int) -> int:
        return -(-length // self.layout.page_size)

    def _shares_end(self, sequence: _Sequence) -> bool:
        """Return whether the next position lies in a page that another sequence shares."""
        inside = sequence.length % self.layout.page_size
        return bool(inside) and bool(self._users[sequence.pages[-1]] > 1)

    def _new_pages(self, sequence: _Sequence, count: int) -> int:
        more = self._pages(sequence.length + count) - len(sequence.pages)
        return more + (count > 0 and self._shares_end(sequence))

    def _extend(self, sequence: _Sequence, count: int) -> None:
        if count > 0 and self._shares_end(sequence):
            self._copy_last_page(sequence)
        sequence.length += count
        while len(sequence.pages) < self._pages(sequence.length):
            sequence.pages.append(self._allocate_page())

    def _copy_last_page(self, sequence: _Sequence) -> None:
        """Copy the last page of a sequence, which other sequences share."""
        old, new = sequence.pages[-1], self._allocate_page()
        for pool in (self.keys, self.values):
            pool[:, new] = pool[:, old]
        self._users[old] -= 1
        sequence.pages[-1] = new

    def _allocate_page(self) -> int:
        page = self._free.pop()
        self._users[page] = 1
        return page

    def _release_pages(self, sequence: _Sequence, kept: int) -> None:
        """Release all pages but the first `kept` ones."""
        for page in sequence.pages[kept:]:
            self._users[page] -= 1
            if not self._users[page]:
                self._free.append(page)
        del sequence.pages[kept:]


def _step(sequences: Sequence[_Sequence], starts: Sequence[int]) -> Step:
    """Return the page table of a step; shorter rows are padded with page 0, which is never read there.

    It is built from lists, since the per-token overhead counts in microseconds.
    """
    most = max(max(len(s.pages) for s in sequences), 1)
    rows = [s.pages + [0] * (most - len(s.pages)) for s in sequences]
    return Step(np.array(rows, np.int32), np.array(starts, np.int32))
