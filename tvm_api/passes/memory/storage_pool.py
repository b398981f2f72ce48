"""Storages shared by tensors, and the search for a free one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Block

from ....dialects.sym.expr import SymExpr

MATCH_RANGE = 16
"""A free storage is reused for tensors at most this many times smaller or larger."""

Kind = Hashable
"""The common properties of a storage's tensors: dtype, device, scope."""


@dataclass(eq=False)
class StoragePlan:
    """A storage: its size in bytes (an expression if it is not constant) and the block of its allocation."""

    kind: Kind
    size: int | SymExpr
    block: Block


@dataclass
class _Free:
    """The free storages of one kind: those of constant size sorted by size, others by their size expression."""

    constant: list[tuple[int, int, StoragePlan]] = field(default_factory=list[tuple[int, int, StoragePlan]])
    symbolic: dict[SymExpr, list[StoragePlan]] = field(default_factory=dict[SymExpr, list[StoragePlan]])


class StoragePool:
    """The pool of free storages."""

    def __init__(self) -> None:
        self._free: dict[Kind, _Free] = {}
        self._serial = 0

    def take(self, kind: Kind, size: int | SymExpr) -> StoragePlan | None:
        """Take a free storage for a tensor of `size` bytes out of the pool, or return None if none fits.

        It is the smallest storage that is large enough, or else the largest smaller one, which grows. Sizes that
        are not constant must be equal.
        """
        free = self._free.setdefault(kind, _Free())
        if isinstance(size, SymExpr):
            equal = free.symbolic.get(size)
            return equal.pop(0) if equal else None
        entries = free.constant
        large = bisect_left(entries, (size, -1))
        if large < len(entries) and entries[large][0] <= size * MATCH_RANGE:
            return entries.pop(large)[2]
        if large > 0 and entries[large - 1][0] >= size // MATCH_RANGE:
            storage = entries.pop(large - 1)[2]
            storage.size = size
            return storage
        return None

    def give(self, storage: StoragePlan) -> None:
        """Return a storage to the pool."""
        free = self._free.setdefault(storage.kind, _Free())
        if isinstance(storage.size, SymExpr):
            free.symbolic.setdefault(storage.size, []).append(storage)
        else:
            self._serial += 1
            insort(free.constant, (storage.size, self._serial, storage))

    def leave(self, block: Block) -> None:
        """Drop the storages allocated in `block`, which do not exist after it."""
        for free in self._free.values():
            free.constant = [entry for entry in free.constant if entry[2].block is not block]
            for size, storages in free.symbolic.items():
                free.symbolic[size] = [s for s in storages if s.block is not block]
