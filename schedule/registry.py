"""The primitives by name.

    @primitive
    def parallel(state: State, loop: tir.ForOp) -> None:
        \"\"\"…\"\"\"

A primitive's name and parameters are those of its row in `dialects.sched.INSTRUCTIONS`. It gets operations and numbers,
changes the functions of `state.module` in place, and gives operations. Where it refuses, it raises `ScheduleError`; the
schedule puts everything back as it was.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..diagnostics import TiraxError
from ..dialects.sched import INSTRUCTIONS, Spec
from .parameters import Kinds, kinds_of


@dataclass(frozen=True)
class Primitive:
    """A primitive: what the dialect declares, and the function that does it."""

    spec: Spec
    function: Callable[..., Any]
    signature: inspect.Signature
    """That of the method of `Schedule`: without the state, with `self`."""

    @cached_property
    def kinds(self) -> dict[str, Kinds]:
        """What the inputs may stand for."""
        return kinds_of(self.function, self.spec.inputs)


PRIMITIVES: dict[str, Primitive] = {}

Adapter = Callable[[Any, dict[str, Any]], dict[str, Any]]
"""(schedule, arguments as the user gave them) -> arguments as they are recorded, and as the primitive takes them."""


def adapted(adapter: Adapter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let arguments of a primitive go through `adapter` first: functions become index maps, for instance."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, "adapt", adapter)  # noqa: B010 (functions have no such attribute for the type checker)
        return function

    return decorate


Follower = Callable[[Any, dict[str, Any]], Callable[[], object] | None]
"""(schedule, arguments as the user gave them) -> what takes the steps that the call stands for, too; None for none."""


def followed(follower: Follower) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a call of a primitive stand for further steps after it, which are instructions of their own.

    `follower` is asked before the step is taken.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, "follow", follower)  # noqa: B010 (functions have no such attribute for the type checker)
        return function

    return decorate


def primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the decorated function as the primitive of its name."""
    spec = INSTRUCTIONS.get(function.__name__)
    if spec is None:
        raise TiraxError(f"the dialect sched has no instruction {function.__name__}", expected="a row in INSTRUCTIONS")
    signature = inspect.signature(function)
    params = list(signature.parameters.values())
    names = {p.name for p in params[1:]} - {"decision"}
    if names != set(spec.params):
        raise TiraxError(
            f"{spec.name}: the parameters are not those of the instruction", expected=spec.params, found=sorted(names)
        )
    method = signature.replace(
        parameters=[params[0].replace(name="self", annotation=inspect.Parameter.empty), *params[1:]]
    )
    PRIMITIVES[spec.name] = Primitive(spec, function, method)
    return function
