"""`ApplyDefaultSchedule` gives the tensor functions of a module the schedules of rules.

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
    """Give each tensor function that has none (`tir.is_scheduled`) the schedule of the first rule that knows it.

    The target is the function's attribute `target`, or the one that was entered. Raises `TargetError` where neither is,
    `TiraxError` for what is no rule, and for a rule that does not give one schedule.
    """

    def __init__(self, *rules: ScheduleRule):
        wrong = [type(r).__name__ for r in rules if not isinstance(r, ScheduleRule)]
        if wrong:
            raise TiraxError("not all are rules", expected="instances of ScheduleRule", found=", ".join(wrong))
        self.rules = list(rules)

    def transform_module(self, mod: IRModule, _ctx: PassContext) -> IRModule:
        """The module with its functions scheduled."""
        for var, func in mod.functions_items():
            if isinstance(func, PrimFunc) and not is_scheduled(func.op):
                scheduled = scheduled_by(self.rules, func)
                if scheduled is not None:
                    mod.update_func(var, scheduled)
        return mod


def scheduled_by(rules: Sequence[ScheduleRule], func: PrimFunc) -> PrimFunc | None:
    """The function as the first rule that knows it schedules it, None where none does."""
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
    """A schedule calls its function `main`, and makes it public."""
    if func.private:
        return scheduled.without_attr("global_symbol")
    return scheduled.with_attr("global_symbol", func.attrs["global_symbol"])
