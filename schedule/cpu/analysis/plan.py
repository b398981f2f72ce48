"""Plans: what a rule has found out of a stage on a machine, and the numbers with which it would write the loops."""

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
    """The width and the number of the vector registers, the instructions that there are, and the caches."""

    vector_bits: int
    registers: int
    features: frozenset[str] = frozenset()
    caches: Caches = field(default_factory=Caches)

    @classmethod
    def of(cls, target: Target) -> Machine:
        """What the rules know of a target."""
        return cls(target.vector_bits, target.vector_registers, target.features, target.caches)


class DecisionError(TiraxError, ValueError):
    """A decision about a schedule that cannot be followed."""


class Plan:
    """What a rule's `plan` makes and its `emit` takes: a dataclass.

    Its numbers, texts, iterators and lists of pairs of an iterator and a number are shown; those that a rule `decides`
    may be other ones. One that `leaves_epilogue` is for the stage alone.
    """

    leaves_epilogue: bool = False

    @property
    def problem(self) -> str | None:
        """What numbers the plan has to have, None where those it has will do."""
        return None

    @property
    def numbers(self) -> dict[str, Number]:
        """The numbers of the plan, and the names of its iterators."""
        shown = {f.name: _shown(getattr(self, f.name)) for f in fields(cast(Any, self))}
        return {name: value for name, value in shown.items() if value is not None}

    def with_numbers(self, decides: tuple[str, ...], numbers: Mapping[str, Number]) -> Self:
        """The plan with other numbers for some of `decides`. Raises `DecisionError` where it cannot have them."""
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
    """The plan for what is no stage; `block` is what it is for."""

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
    """Whether a value is a list of iterators with sizes."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, tuple) and isinstance(item[0], Iter) for item in items)


def _changed(name: str, old: object, value: Number) -> object:
    """What a field of a plan is with another number."""
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
