"""Keys and values that language models have computed, of several sequences, in pages.

    cache = PagedKVCache.create(CacheLayout(layers=30, kv_heads=3, head_size=64), capacity=2048)
    cache.add_sequence(0)
    with cache.forward([0], [len(tokens)]) as step:
        logits = prefill(tokens, cache.keys, cache.values, step.table, step.starts, *weights)

All sequences share one pool of pages. A compiled function writes what is new of a step into the pages of the table that
it is given, in place; nothing is moved when a sequence grows. A fork has the pages of its parent, which are copied one
by one where either goes on to write into them.
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
"""Positions of a page, unless one says otherwise."""
CACHE_DTYPES = ("float32", "float16")


class CacheFullError(TiraxError, MemoryError):
    """There is no page left for what sequences are to be longer by."""


class SequenceError(TiraxError, KeyError):
    """A sequence that the cache does not have, or has already, or that is too short for what is asked."""

    __str__ = TiraxError.__str__


@dataclass(frozen=True)
class CacheLayout:
    """What is kept of a position: `layers` times keys and values of `kv_heads` heads, `head_size` numbers each.

    Raises `DTypeError` for another dtype than those of `CACHE_DTYPES`, `ArgumentError` for sizes below 1.
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
        """The shape of the pool of keys, and of that of values: (layers, pages, heads, page size, head size)."""
        return self.layers, pages, self.kv_heads, self.page_size, self.head_size

    @property
    def position_bytes(self) -> int:
        """The bytes of a position of a sequence, in both pools."""
        return 2 * self.layers * self.kv_heads * self.head_size * to_dtype(self.dtype).itemsize


@dataclass
class _Sequence:
    """The pages of a sequence, in order, and how many positions it has."""

    pages: list[int] = field(default_factory=list[int])
    length: int = 0


@dataclass(frozen=True)
class Step:
    """Where a step's sequences stand: `table` (sequences, pages), int32, of those of the longest, and `starts`
    (sequences,), int32, the position of the first new token of each."""

    table: Array
    starts: Array


class PagedKVCache:
    """Keys and values of sequences, by TVM's names. `keys` and `values` are the pools, of the layout's shape."""

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
        """An empty cache for so many positions of all sequences together, rounded up to pages.

        Memory is taken from the system as pages are first written to. Raises `ArgumentError` for less than one.
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
        """How many positions the free pages have room for."""
        return len(self._free) * self.layout.page_size

    def length(self, sequence: int) -> int:
        """How many positions a sequence has. Raises `SequenceError`."""
        return self._of(sequence).length

    def add_sequence(self, sequence: int) -> None:
        """Begin an empty sequence. Raises `SequenceError` where there is one of that identifier."""
        self._check_new(sequence)
        self._sequences[sequence] = _Sequence()

    def remove_sequence(self, sequence: int) -> None:
        """End a sequence; pages that no other one has are free again. Raises `SequenceError`."""
        self._release_pages(self._of(sequence), 0)
        del self._sequences[sequence]

    def fork_sequence(self, parent: int, child: int, position: int = -1) -> None:
        """Begin a sequence with the first `position` positions of another one, all of them where that is -1.

        Nothing is copied yet. Raises `SequenceError` for identifiers that are not there, or there already, and for a
        position beyond the parent's end.
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
        """Take the last `count` positions of a sequence back. Raises `SequenceError` where it has not as many."""
        known = self._of(sequence)
        if not 0 <= count <= known.length:
            raise SequenceError(
                "fewer positions than are to be taken back", expected=f"0 … {known.length}", found=count
            )
        known.length -= count
        self._release_pages(known, self._pages(known.length))

    def clear(self) -> None:
        """End all sequences."""
        for sequence in self.sequences:
            self.remove_sequence(sequence)

    def begin_forward(self, sequences: Sequence[int], append_lengths: Sequence[int]) -> Step:
        """Give sequences room for what a step appends to them, and say where. `end_forward` ends the step.

        Raises `CacheFullError`, and leaves all as it was, where there is none; `SequenceError` for unknown sequences
        and for one that is there twice, `ArgumentError` for other lists and inside of another step.
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
        """End the step: what it appended belongs to the sequences. Raises `ArgumentError` outside of steps."""
        if self._forward is None:
            raise ArgumentError("there is no step to be ended", hint="begin_forward comes before end_forward")
        self._forward = None

    @contextmanager
    def forward(self, sequences: Sequence[int], append_lengths: Sequence[int]) -> Iterator[Step]:
        """A step, for `with`: where something is raised inside, what it appended is taken back."""
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
        """Whether the next position stands in a page that another sequence has, too."""
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
        """Copy the last page of a sequence, which others have, too."""
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
        """Give the pages behind the first `kept` ones back."""
        for page in sequence.pages[kept:]:
            self._users[page] -= 1
            if not self._users[page]:
                self._free.append(page)
        del sequence.pages[kept:]


def _step(sequences: Sequence[_Sequence], starts: Sequence[int]) -> Step:
    """The table of pages; behind those of shorter sequences stands page 0, which nothing is read of.

    It is made of lists: what a token costs besides its products is counted in microseconds.
    """
    most = max(max(len(s.pages) for s in sequences), 1)
    rows = [s.pages + [0] * (most - len(s.pages)) for s in sequences]
    return Step(np.array(rows, np.int32), np.array(starts, np.int32))
