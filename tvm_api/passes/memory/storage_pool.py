"""Storages that tensors share, and which of them is free for a tensor of some size."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Block

from ....dialects.sym.expr import SymExpr

MATCH_RANGE = 16
"""A free storage is taken for a tensor that is at most so many times smaller, or larger, than it is."""

Kind = Hashable
"""What the tensors of a storage have in common: dtype, device, scope."""


@dataclass(eq=False)
class StoragePlan:
    """A storage: its bytes (an expression where they are not constant) and the block that it is made in."""

    kind: Kind
    size: int | SymExpr
    block: Block


@dataclass
class _Free:
    """The free storages of one kind: those of constant size in the order of size, the others by size."""

    constant: list[tuple[int, int, StoragePlan]] = field(default_factory=list[tuple[int, int, StoragePlan]])
    symbolic: dict[SymExpr, list[StoragePlan]] = field(default_factory=dict[SymExpr, list[StoragePlan]])


class StoragePool:
    """The free storages."""

    def __init__(self) -> None:
        self._free: dict[Kind, _Free] = {}
        self._serial = 0

    def take(self, kind: Kind, size: int | SymExpr) -> StoragePlan | None:
        """A free storage for a tensor of `size` bytes, which is not free then; None where none fits.

        It is the smallest that is large enough, or else the largest that is not, which grows. Sizes that are not
        constant must be equal.
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
        """The storage is free from here on."""
        free = self._free.setdefault(storage.kind, _Free())
        if isinstance(storage.size, SymExpr):
            free.symbolic.setdefault(storage.size, []).append(storage)
        else:
            self._serial += 1
            insort(free.constant, (storage.size, self._serial, storage))

    def leave(self, block: Block) -> None:
        """Forget the storages that are made in `block`: after it they do not exist."""
        for free in self._free.values():
            free.constant = [entry for entry in free.constant if entry[2].block is not block]
            for size, storages in free.symbolic.items():
                free.symbolic[size] = [s for s in storages if s.block is not block]
