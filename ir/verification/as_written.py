"""What was put right where handles became a function: TVM keeps it as it was written, and calls it ill formed.

    add(x, add(x, x))  ->  lv = add(x, x); add(x, lv)        NestedCall, of the operation that gives lv

Operations of functions that are made of handles remember it, and so do copies of these functions. What a pass gives
remembers nothing: it is the program as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from xdsl.ir import Attribute, Operation, SSAValue

from .ill_formed import IllFormedError


@dataclass
class AsWritten:
    """The rules that the source of an operation breaks, each with a message, and the struct info that it declares."""

    broken: list[tuple[type[IllFormedError], str]] = field(default_factory=list[tuple[type[IllFormedError], str]])
    declared: Attribute | None = None


_REMEMBERED: WeakKeyDictionary[Operation, AsWritten] = WeakKeyDictionary()


def remember(op: Operation) -> AsWritten:
    """What is remembered of an operation, to be added to."""
    return _REMEMBERED.setdefault(op, AsWritten())


def as_written(op: Operation) -> AsWritten | None:
    """What is remembered of an operation, None for nothing."""
    return _REMEMBERED.get(op) if _REMEMBERED else None


def declared_type(value: SSAValue) -> Attribute:
    """What the variable of a value was declared as, where that is remembered; else what is known of it."""
    memory = as_written(value.owner) if isinstance(value.owner, Operation) else None
    return value.type if memory is None or memory.declared is None else memory.declared


def remember_declared(old: SSAValue, new: SSAValue) -> None:
    """Let the operation that gives `new` remember what the variable of `old` was declared as."""
    if _REMEMBERED and isinstance(old.owner, Operation) and isinstance(new.owner, Operation):
        memory = _REMEMBERED.get(old.owner)
        if memory is not None and memory.declared is not None:
            remember(new.owner).declared = memory.declared


def remember_in_copy(old: Operation, new: Operation) -> None:
    """Let the operations of a copy remember what those of the original do."""
    if not _REMEMBERED:
        return
    for source, copy in zip(old.walk(), new.walk(), strict=True):
        memory = _REMEMBERED.get(source)
        if memory is not None:
            _REMEMBERED[copy] = memory
