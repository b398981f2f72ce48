"""What the arguments of a primitive may stand for: blocks, loops, integers, as the types of its parameters say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from xdsl.ir import Operation

from ..dialects import tir
from .errors import ScheduleError
from .handles import Location

_NAMES: dict[type, str] = {
    tir.BlockOp: "a block",
    tir.FuncOp: "the root block",
    tir.ForOp: "a loop",
    Location: "a place",
    int: "an integer",
    NoneType: "None",
}


class Kinds:
    """The classes that a parameter takes, alone (`one`) and in a list (`many`)."""

    def __init__(self, hint: Any):
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        lists = [get_args(p)[0] for p in parts if get_origin(p) in (list, Sequence)]
        self.one = tuple(p for p in parts if p in _NAMES)
        self.many = tuple(p for part in lists for p in (get_args(part) or (part,)) if p in _NAMES)

    def __bool__(self) -> bool:
        return bool(self.one or self.many)

    def wrong(self, value: Any) -> list[Any]:
        """What of an argument does not fit; nothing where it does."""
        if isinstance(value, list | tuple) and self.many:
            return [v for v in value if not isinstance(v, self.many)]
        return [] if self.one and isinstance(value, self.one) else [value]

    def __str__(self) -> str:
        names = [_NAMES[c] for c in self.one]
        return " or ".join([*names, f"a list of {' and '.join(_NAMES[c] for c in self.many)}"] if self.many else names)


def kinds_of(function: Callable[..., Any], inputs: Sequence[str]) -> dict[str, Kinds]:
    """What the inputs of a primitive may be, by name; those that may be anything are left out."""
    hints = get_type_hints(function)
    found = {name: Kinds(hints[name]) for name in inputs}
    return {name: kinds for name, kinds in found.items() if kinds}


def require_kinds(kinds: dict[str, Kinds], given: dict[str, Any]) -> None:
    """Refuse arguments that stand for something else. Raises `ScheduleError`."""
    for name, kind in kinds.items():
        wrong = kind.wrong(given[name]) if name in given else []
        if wrong:
            found = next((text for cls, text in _NAMES.items() if isinstance(wrong[0], cls)), type(wrong[0]).__name__)
            places = [v for v in wrong if isinstance(v, Operation)]
            raise ScheduleError(f"{name} is not what the step takes", places, expected=str(kind), found=found)
