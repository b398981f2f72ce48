"""Plans: a rule's analysis of a stage on a machine, and the numbers with which it would emit the loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, cast

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sched import Number
from ....hardware import Caches
from ....target import Target
from ..policy.limits import MAX_UNROLLED
from .stages import Iter

_POWERS = frozenset({"lanes", "size"})


@dataclass(frozen=True)
class Machine:
    """The properties of a CPU: the width and number of its vector registers, its instructions and its caches."""

    vector_bits: int
    registers: int
    features: frozenset[str] = frozenset()
    caches: Caches = field(default_factory=Caches)

    @classmethod
    def of(cls, target: Target) -> Machine:
        """Return the properties of a target."""
        return cls(target.vector_bits, target.vector_registers, target.features, target.caches)


class DecisionError(TiraxError, ValueError):
    """A scheduling decision that cannot be followed."""


class Plan:
    """The result of a rule's `plan` and the input of its `emit`: a dataclass.

    Its numbers, texts, iterators and lists of (iterator, number) pairs are shown; those in the rule's `decides` may
    be overridden. A plan that `leaves_epilogue` covers the stage alone.
    """

    leaves_epilogue: bool = False

    @property
    def problem(self) -> str | None:
        """Return which numbers the plan requires, or None if its numbers are valid."""
        return None

    @property
    def numbers(self) -> dict[str, Number]:
        """Return the numbers of the plan, and the names of its iterators."""
        shown = {f.name: _shown(getattr(self, f.name)) for f in fields(cast(Any, self))}
        return {name: value for name, value in shown.items() if value is not None}

    def with_numbers(self, decides: tuple[str, ...], numbers: Mapping[str, Number]) -> Self:
        """Return the plan with other numbers for some of `decides`. Raises `DecisionError` if they are invalid."""
        own = self.numbers
        changed: dict[str, Any] = {}
        for name, value in numbers.items():
            if name not in own:
                raise DecisionError(f"there is no number '{name}'", expected=", ".join(own) or "none", found=name)
            if value == own[name]:
                continue
            if name not in decides or type(value) is not type(own[name]):
                raise DecisionError(f"'{name}' follows from the program", expected=_text(own[name]), found=_text(value))
            changed[name] = _changed(name, getattr(self, name), value)
        out = replace(cast(Any, self), **changed) if changed else self
        if changed and out.problem is not None:
            texts = ", ".join(f"{name} = {_text(numbers[name])}" for name in changed)
            raise DecisionError("the rule cannot have these numbers", expected=out.problem, found=texts)
        return out


class NestPlan(Plan):
    """The plan for a nest that is not a stage; `block` is the block that it schedules."""

    block: tir.BlockOp


def _shown(value: object) -> Number | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | str):
        return value
    if isinstance(value, Iter):
        return " ".join(name_of(it.var) or "?" for it in value.parts or (value,))
    return [size for _, size in cast("list[tuple[Iter, int]]", value)] if _is_sized(value) else None


def _is_sized(value: object) -> bool:
    """Return whether a value is a list of iterators with sizes."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, tuple) and isinstance(item[0], Iter) for item in items)


def _changed(name: str, old: object, value: Number) -> object:
    """Return the value of a plan's field for another number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return _checked(name, value)
    pairs = cast("list[tuple[Iter, int]]", old)
    if len(value) != len(pairs):
        raise DecisionError(f"'{name}' has {len(pairs)} numbers", found=_text(value))
    return [(it, _checked(name, size)) for (it, _), size in zip(pairs, value, strict=True)]


def _checked(name: str, value: int) -> int:
    if value < 1:
        raise DecisionError(f"'{name}' is not positive", expected="at least 1", found=value)
    if not name.endswith("_bytes") and value > MAX_UNROLLED:
        raise DecisionError(f"'{name}' is too large", expected=f"at most {MAX_UNROLLED}", found=value)
    if name in _POWERS and value & (value - 1):
        raise DecisionError(f"'{name}' is the number of lanes of a vector", expected="a power of two", found=value)
    return value


def _text(value: Number) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
