"""Records of ill-formed source that is repaired when handles become a function; TVM keeps it and reports it.

    add(x, add(x, x))  ->  lv = add(x, x); add(x, lv)        NestedCall, of the operation that defines lv

Operations of functions built from handles keep these records, and so do copies of such functions. The results of
passes have none: they are the program itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from xdsl.ir import Attribute, Operation, SSAValue

from .ill_formed import IllFormedError


@dataclass
class AsWritten:
    """The rules that the source of an operation violates, each with a message, and the struct info that it declares."""

    broken: list[tuple[type[IllFormedError], str]] = field(default_factory=list[tuple[type[IllFormedError], str]])
    declared: Attribute | None = None


_REMEMBERED: WeakKeyDictionary[Operation, AsWritten] = WeakKeyDictionary()


def remember(op: Operation) -> AsWritten:
    """Return the record of an operation, to be extended."""
    return _REMEMBERED.setdefault(op, AsWritten())


def as_written(op: Operation) -> AsWritten | None:
    """Return the record of an operation, or None."""
    return _REMEMBERED.get(op) if _REMEMBERED else None


def declared_type(value: SSAValue) -> Attribute:
    """Return the recorded declaration of a value's variable, else its type."""
    memory = as_written(value.owner) if isinstance(value.owner, Operation) else None
    return value.type if memory is None or memory.declared is None else memory.declared


def remember_declared(old: SSAValue, new: SSAValue) -> None:
    """Record for the operation that defines `new` the declared type of `old`'s variable."""
    if _REMEMBERED and isinstance(old.owner, Operation) and isinstance(new.owner, Operation):
        memory = _REMEMBERED.get(old.owner)
        if memory is not None and memory.declared is not None:
            remember(new.owner).declared = memory.declared


def remember_in_copy(old: Operation, new: Operation) -> None:
    """Copy the records of operations to those of a copy."""
    if not _REMEMBERED:
        return
    for source, copy in zip(old.walk(), new.walk(), strict=True):
        memory = _REMEMBERED.get(source)
        if memory is not None:
            _REMEMBERED[copy] = memory
