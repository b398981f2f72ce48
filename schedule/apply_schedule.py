"""`apply-schedule`: do what the schedules in a module say."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..dialects.sched import SequenceOp
from ..ir.passes.transform import Pass
from .schedule import Schedule
from .trace import Trace


@dataclass(frozen=True)
class ApplySchedule(Pass):
    """Apply every `sched.sequence` of the module to its tensor functions, in order; they are no more afterwards.

    Those that name a function, `sched.sequence @f`, hold rules: they are left to `default-schedule`.
    What is sampled without a decision is drawn from `seed`. Raises `ScheduleError` where a step is refused.
    """

    name = "apply-schedule"
    seed: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sequences = [s for s in op.body.block.ops if isinstance(s, SequenceOp) and s.function is None]
        for sequence in sequences:
            sequence.detach()
        schedule = Schedule.on(op, seed=self.seed)
        for sequence in sequences:
            Trace(sequence).apply_to_schedule(schedule)
