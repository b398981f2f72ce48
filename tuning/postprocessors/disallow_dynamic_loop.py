"""Schedules with loops of unknown size are not measured."""

from __future__ import annotations

from ...dialects import tir
from ...schedule import Schedule
from ...schedule import state as st
from .postprocessor import Postproc


class DisallowDynamicLoop(Postproc):
    """Reject a schedule that has a loop whose extent is no number."""

    def apply(self, sch: Schedule) -> bool:
        loops = (op for op in sch.mod.op.walk() if isinstance(op, tir.ForOp))
        return all(st.constant_extent(loop) is not None for loop in loops)
