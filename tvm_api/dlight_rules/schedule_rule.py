"""What gives a tensor function a schedule, or says that it does not know its form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...handles.tir.prim_func import PrimFunc
from ...schedule.schedule import Schedule
from ...target import Target

Space = Schedule | Sequence[Schedule] | None
"""A schedule, several to choose from, or None for a function that a rule does not know."""


class ScheduleRule:
    """A rule: subclass it, or make one of a function by `from_callable`."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Space:
        """The schedule of `func` for `target`; several, with sampled decisions, only where it is `tunable`."""
        raise NotImplementedError(f"{type(self).__name__}.apply")

    def is_target_available(self, target: Target) -> bool:
        """Whether the rule is for such targets."""
        return True

    @staticmethod
    def from_callable(name: str) -> Callable[[Callable[[PrimFunc, Target, bool], Space]], ScheduleRule]:
        """The decorator that makes a rule called `name` of a function `(func, target, tunable)`."""

        def decorate(function: Callable[[PrimFunc, Target, bool], Space]) -> ScheduleRule:
            def apply(_rule: ScheduleRule, func: PrimFunc, target: Target, tunable: bool) -> Space:
                return function(func, target, tunable)

            return type(name, (ScheduleRule,), {"apply": apply, "__doc__": function.__doc__})()

        return decorate


class CPUScheduleRule(ScheduleRule):
    """A rule for targets of the kind `llvm`."""

    def is_target_available(self, target: Target) -> bool:
        """Whether code is generated for such targets by LLVM."""
        return str(target).partition(" ")[0] == "llvm"
