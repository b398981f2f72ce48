"""`tvm.tir.schedule`: schedules of tensor functions, their handles and traces."""

from __future__ import annotations

from ...dialects.sched import Instruction, InstructionKind
from ...schedule.errors import ScheduleError
from ...schedule.handles import BlockRV, ExprRV, LoopRV, StmtSRef
from ...schedule.schedule import Schedule
from ...schedule.state import State as ScheduleState
from ...schedule.tensor_intrin import TensorIntrin
from ...schedule.trace import Trace

__all__ = [
    "BlockRV",
    "ExprRV",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "TensorIntrin",
    "Trace",
]
