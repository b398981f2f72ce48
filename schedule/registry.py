"""The primitives by name.

    @primitive()
    def parallel(state: State, loop: tir.ForOp) -> None:
        \"\"\"…\"\"\"

A primitive's name and parameters are those of its row in `dialects.sched.INSTRUCTIONS`. It takes operations and
numbers, changes the functions of `state.module` in place, and returns operations. If it fails, it raises
`ScheduleError`, and the schedule restores the previous state. A plug-in's primitive has no row: `new_primitive`
creates it from the signature.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.ir import Operation

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.relax.operator import OPERATORS
from ..dialects.sched import INSTRUCTIONS, Result, Spec, declare, spec_of
from ..tables import Table
from .state import ScheduleError
from .trace import Location


@dataclass(frozen=True)
class Primitive:
    """A primitive: its declaration in the dialect, and the function that implements it."""

    spec: Spec
    function: Callable[..., Any]
    signature: inspect.Signature
    """The signature of the method of `Schedule`: with `self`, without the state."""
    shown: inspect.Signature
    """The signature shown to users, with handles instead of operations."""
    adapt: Adapter | None = None
    follow: Follower | None = None

    @cached_property
    def kinds(self) -> dict[str, Kinds]:
        """The accepted classes of the inputs."""
        return kinds_of(self.function, self.spec.inputs)


PRIMITIVES: Table[Primitive] = Table("primitive")

Adapter = Callable[[Any, dict[str, Any]], dict[str, Any]]
"""(schedule, arguments as passed by the user) -> arguments as recorded, and as the primitive takes them."""


Follower = Callable[[Any, dict[str, Any]], Callable[[], object] | None]
"""(schedule, arguments as passed by the user) -> a function for additional steps of the call; None if there are
none.
"""
F = TypeVar("F", bound=Callable[..., Any])


def primitive(*, adapt: Adapter | None = None, follow: Follower | None = None) -> Callable[[F], F]:
    """Register the decorated function as the primitive of its name.

    Its arguments are converted by `adapt` first, for instance from functions to index maps. A call also performs
    the additional steps of `follow`, which are separate instructions; `follow` is called before the step. Raises
    `TiraxError` if the dialect has no instruction with this name, or one with other arguments.
    """

    def register(function: F) -> F:
        name = function.__name__
        if name not in INSTRUCTIONS:
            raise TiraxError(f"the dialect sched has no instruction {name}", expected="a row in INSTRUCTIONS")
        spec, signature = INSTRUCTIONS[name], inspect.signature(function)
        state, *params = signature.parameters.values()
        names = {p.name for p in params} - {"decision"}
        if names != set(spec.params):
            wrong = f"{name}: the parameters are not those of the instruction"
            raise TiraxError(wrong, expected=spec.params, found=sorted(names))
        self = state.replace(name="self", annotation=inspect.Parameter.empty)
        method = signature.replace(parameters=[self, *params])
        shown = shown_signature(spec, method)
        PRIMITIVES.add(name, Primitive(spec, function, method, shown, adapt, follow))
        return function

    return register


def new_primitive(function: F) -> F:
    """Declare an instruction with the name and parameters of a function, and register it as its primitive.

    Parameters annotated as blocks, loops, integers or lists of these accept handles; others are constants. The
    outputs follow from the return annotation: a block, a loop, an integer, a list of one of these, or None. Raises
    `TiraxError` for any other annotation, and if the dialect already has an instruction with this name.
    """
    hints = get_type_hints(function)
    result = hints.pop("return", NoneType)
    _, *params = inspect.signature(function).parameters
    inputs = list(kinds_of(function, params))
    if result not in _RESULTS:
        expected = ", ".join(str(r) for r in Result if r) + " or nothing, as an annotation of the result"
        raise TiraxError(f"{function.__name__}: what does it give?", expected=expected, found=str(result))
    constants = [name for name in params if name not in inputs]
    declare(spec_of(function.__name__, inputs, constants, _RESULTS[result], params))
    return primitive()(function)


_RESULTS: dict[Any, Result] = {
    NoneType: Result.NONE,
    tir.BlockOp: Result.BLOCK,
    tir.ForOp: Result.LOOP,
    int: Result.INT,
    list[tir.BlockOp]: Result.BLOCKS,
    list[tir.ForOp]: Result.LOOPS,
    list[int]: Result.INTS,
}


def find_primitive(name: str) -> Primitive | None:
    """Return a primitive by name, including those of plug-ins, or None. Raises `PluginError`."""
    if name not in PRIMITIVES:
        OPERATORS.load()
    return PRIMITIVES.get(name)


_HANDLES = {
    r"tir\.BlockOp|BlockLike": "BlockRV",
    r"tir\.ForOp|Place": "LoopRV",
    r"Noted": "BlockRV | LoopRV",
    r"BufferIndex": "int | str | Buffer",
    r"IndexMapAttr": "IndexMap | IndexMapAttr | Callable[..., Any]",
}
"""The types that users pass for the types that a primitive takes."""

_ACCEPTED_TYPES = {
    "factors": "Sequence[int | ExprRV | None]",
    "buffer": "tuple[str, int] | str | Buffer",
    "pad_value": "int | float | PrimExpr | IndexMap | Callable[..., Any] | None",
}
"""Parameters for which users pass other types."""

_OUTPUTS = {"": "None", "block": "BlockRV", "loop": "LoopRV", "int": "ExprRV"}


def shown_signature(spec: Spec, signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of a primitive's method in terms of user types; spread loops become variadic."""
    self, *params = signature.parameters.values()
    shown = [self]
    for p in params:
        text = _ACCEPTED_TYPES.get(p.name, str(p.annotation))
        for pattern, handle in _HANDLES.items():
            text = re.sub(rf"\b(?:{pattern})\b", handle, text)
        kind = p.kind
        if spec.spread and p.name == "loops":
            text, kind = "LoopRV", p.VAR_POSITIONAL
        elif shown[-1].kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY):
            kind = p.KEYWORD_ONLY
        shown.append(p.replace(annotation=f"{text} | str" if p.name == "block" else text, kind=kind))
    one = _OUTPUTS[spec.result.value.removesuffix("s")]
    return inspect.Signature(shown, return_annotation=f"list[{one}]" if spec.result.many else one)


_NAMES: dict[type, str] = {
    tir.BlockOp: "a block",
    tir.FuncOp: "the root block",
    tir.ForOp: "a loop",
    Location: "a place",
    int: "an integer",
    NoneType: "None",
}


class Kinds:
    """The classes that a parameter accepts, as a single value (`one`) and in a list (`many`)."""

    def __init__(self, hint: Any):
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        lists = [get_args(p)[0] for p in parts if get_origin(p) in (list, Sequence)]
        self.one = tuple(p for p in parts if p in _NAMES)
        self.many = tuple(p for part in lists for p in (get_args(part) or (part,)) if p in _NAMES)

    def __bool__(self) -> bool:
        return bool(self.one or self.many)

    def wrong(self, value: Any) -> list[Any]:
        """Return the parts of an argument that are not accepted; empty if all are."""
        if isinstance(value, list | tuple) and self.many:
            return [v for v in value if not isinstance(v, self.many)]
        return [] if self.one and isinstance(value, self.one) else [value]

    def __str__(self) -> str:
        names = [_NAMES[c] for c in self.one]
        return " or ".join([*names, f"a list of {' and '.join(_NAMES[c] for c in self.many)}"] if self.many else names)


def kinds_of(function: Callable[..., Any], inputs: Sequence[str]) -> dict[str, Kinds]:
    """Return the accepted classes of a primitive's inputs by name, without inputs that accept anything."""
    hints = get_type_hints(function)
    by_name = {name: Kinds(hints[name]) for name in inputs}
    return {name: kinds for name, kinds in by_name.items() if kinds}


def require_kinds(kinds: dict[str, Kinds], arguments: dict[str, Any]) -> None:
    """Reject arguments of other classes. Raises `ScheduleError`."""
    for name, kind in kinds.items():
        wrong = kind.wrong(arguments[name]) if name in arguments else []
        if wrong:
            actual = next((text for cls, text in _NAMES.items() if isinstance(wrong[0], cls)), type(wrong[0]).__name__)
            places = [v for v in wrong if isinstance(v, Operation)]
            raise ScheduleError(f"{name} is not what the step takes", places, expected=str(kind), found=actual)
