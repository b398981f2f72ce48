"""`ApplyDefaultSchedule`: schedule the tensor functions of a module by rules.

ApplyDefaultSchedule(GEMV()): y = A @ x in plain loops  ->  the same in parallel, vectorized and unrolled loops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...diagnostics import TiraxError
from ...handles.module import IRModule
from ...handles.passes import module_pass
from ...handles.target import Target
from ...handles.tir.prim_func import PrimFunc
from ...ir.passes.transform import PassContext
from ...schedule.schedule import Schedule
from ...target import Target as CPUTarget
from ...transforms.tir.walk import is_scheduled
from .schedule_rule import ScheduleRule


@module_pass(opt_level=0, name="ApplyDefaultSchedule")
class ApplyDefaultSchedule:
    """Schedule each unscheduled tensor function (without `tir.is_scheduled`) by the first matching rule.

    The target is the function's attribute `target`, or the current one. Raises `TargetError` if there is
    neither, and `TiraxError` for objects that are not rules and for a rule that does not return exactly one
    schedule.
    """

    def __init__(self, *rules: ScheduleRule):
        wrong = [type(r).__name__ for r in rules if not isinstance(r, ScheduleRule)]
        if wrong:
            raise TiraxError("not all are rules", expected="instances of ScheduleRule", found=", ".join(wrong))
        self.rules = list(rules)

    def transform_module(self, mod: IRModule, _ctx: PassContext) -> IRModule:
        """Return the module with its functions scheduled."""
        for var, func in mod.functions_items():
            if isinstance(func, PrimFunc) and not is_scheduled(func.op):
                scheduled = scheduled_by(self.rules, func)
                if scheduled is not None:
                    mod.update_func(var, scheduled)
        return mod


def scheduled_by(rules: Sequence[ScheduleRule], func: PrimFunc) -> PrimFunc | None:
    """Return the function scheduled by the first matching rule, or None if no rule matches."""
    target = _target_of(func)
    for rule in rules:
        space = rule.apply(func, target, False)
        if space is not None:
            scheduled = _only_function(rule, space).with_attr("tir.is_scheduled", 1)
            return _as_public_as(func, scheduled)
    return None


def _target_of(func: PrimFunc) -> CPUTarget:
    named = func.attrs.get("target")
    return cast(CPUTarget, Target.current(allow_none=False)) if named is None else Target(named)


def _only_function(rule: ScheduleRule, space: object) -> PrimFunc:
    spaces = [space] if isinstance(space, Schedule) else space
    if not isinstance(spaces, Sequence) or len(spaces) != 1 or not isinstance(spaces[0], Schedule):
        name = type(rule).__name__
        raise TiraxError(f"the rule {name} gave no schedule", expected="a Schedule, or None", found=repr(space))
    return spaces[0].mod["main"]


def _as_public_as(func: PrimFunc, scheduled: PrimFunc) -> PrimFunc:
    """Return a scheduled function with the visibility of `func`: schedules make their function public, as `main`."""
    if func.private:
        return scheduled.without_attr("global_symbol")
    return scheduled.with_attr("global_symbol", func.attrs["global_symbol"])
