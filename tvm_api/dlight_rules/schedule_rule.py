"""Rules that schedule a tensor function, or decline if they do not match its form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...handles.tir.prim_func import PrimFunc
from ...schedule.schedule import Schedule
from ...target import Target

Space = Schedule | Sequence[Schedule] | None
"""A schedule, several to choose from, or None if a rule does not match."""


class ScheduleRule:
    """A scheduling rule: subclass it, or create one from a function with `from_callable`."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Space:
        """Return the schedule of `func` for `target`; several, with sampled decisions, only if it is `tunable`."""
        raise NotImplementedError(f"{type(self).__name__}.apply")

    def is_target_available(self, target: Target) -> bool:
        """Return whether the rule supports a target."""
        return True

    @staticmethod
    def from_callable(name: str) -> Callable[[Callable[[PrimFunc, Target, bool], Space]], ScheduleRule]:
        """Return a decorator that creates a rule called `name` from a function `(func, target, tunable)`."""

        def decorate(function: Callable[[PrimFunc, Target, bool], Space]) -> ScheduleRule:
            def apply(_rule: ScheduleRule, func: PrimFunc, target: Target, tunable: bool) -> Space:
                return function(func, target, tunable)

            return type(name, (ScheduleRule,), {"apply": apply, "__doc__": function.__doc__})()

        return decorate


class CPUScheduleRule(ScheduleRule):
    """A rule for targets of the kind `llvm`."""

    def is_target_available(self, target: Target) -> bool:
        """Return whether LLVM generates code for a target."""
        return str(target).partition(" ")[0] == "llvm"
