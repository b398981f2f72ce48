"""Provenance of bound variables: users create a variable, then a function that binds it, and look it up there.

The loop, let or parameter created for a variable is a different value, and so is each copy of it. Code that creates
one calls `note`, code that copies one calls `carry`, and `origin` returns the variable for both.
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
    """Record that `bound` was created for `variable`."""
    if bound is not variable:
        _ORIGINS[bound] = origin(variable)


def note_variables(bound: Mapping[SSAValue, SSAValue]) -> None:
    """Record the variable of each value that replaces an undefined variable; keys are the replacements."""
    for variable, value in bound.items():
        if isinstance(variable.owner, Block) and variable.owner.parent is None:
            note(value, variable)


def note_counters(statements: Iterable[Operation], copies: Iterable[Operation]) -> None:
    """Record that loop variables and iterators in copies of statements represent those of the originals."""
    for variable, copy in zip(_counters(statements), _counters(copies), strict=True):
        note(copy, variable)


def _counters(statements: Iterable[Operation]) -> list[SSAValue]:
    inside = (op for root in statements for op in root.walk() if isinstance(op, tir.ForOp | tir.BlockOp))
    return [arg for op in inside for arg in op.regions[0].block.args]


def origin(value: SSAValue) -> SSAValue:
    """Return the variable that a value was created for, or the value itself."""
    return _ORIGINS.get(value, value)


def carry(copies: Mapping[SSAValue, SSAValue]) -> None:
    """Record that copies represent the same variables as their originals."""
    if not _ORIGINS:
        return
    for value, copy in copies.items():
        if value in _ORIGINS:
            note(copy, value)


def cloned(op: _OpT) -> _OpT:
    """Return a copy of an operation, whose variables represent the same ones as the original's."""
    copies: dict[SSAValue, SSAValue] = {}
    new = op.clone(copies)
    carry(copies)
    return new
