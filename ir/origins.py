"""Which variable a bound one stands for: users make a variable, then a function that binds it, and ask for it there.

A loop, a let or a parameter that is made for a variable is another value than that variable, and so is each copy of it.
Whoever makes one says so (`note`), whoever copies it too (`carry`), and `origin` answers for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ..dialects import tir
from .side_table import SideTable

_OpT = TypeVar("_OpT", bound=Operation)
_ORIGINS: SideTable[SSAValue, SSAValue] = SideTable("origin")


def note(bound: SSAValue, variable: SSAValue) -> None:
    """`bound` is made for `variable`."""
    if bound is not variable:
        _ORIGINS[bound] = origin(variable)


def note_variables(bound: Mapping[SSAValue, SSAValue]) -> None:
    """Values by those in whose place they are: what is in that of a variable which nothing defines is made for it."""
    for variable, value in bound.items():
        if isinstance(variable.owner, Block) and variable.owner.parent is None:
            note(value, variable)


def note_counters(statements: Iterable[Operation], copies: Iterable[Operation]) -> None:
    """What the loops and blocks in copies of statements count with stands for what those in the statements do."""
    for variable, copy in zip(_counters(statements), _counters(copies), strict=True):
        note(copy, variable)


def _counters(statements: Iterable[Operation]) -> list[SSAValue]:
    inside = (op for root in statements for op in root.walk() if isinstance(op, tir.ForOp | tir.BlockOp))
    return [arg for op in inside for arg in op.regions[0].block.args]


def origin(value: SSAValue) -> SSAValue:
    """The variable that a value was made for; of others the value itself."""
    return _ORIGINS.get(value, value)


def carry(copies: Mapping[SSAValue, SSAValue]) -> None:
    """Copies stand for what the values stand for that they are copies of."""
    if not _ORIGINS:
        return
    for value, copy in copies.items():
        if value in _ORIGINS:
            note(copy, value)


def cloned(op: _OpT) -> _OpT:
    """A copy of an operation, whose variables stand for the same as its own."""
    copies: dict[SSAValue, SSAValue] = {}
    new = op.clone(copies)
    carry(copies)
    return new
