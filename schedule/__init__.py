"""Schedules: how a tensor function is computed, changed step by step without changing what it computes.

`Schedule` holds a module and the trace of what was done to it; `primitives/` has the steps, a family a file; `cpu/` is
the default schedule.
"""

from __future__ import annotations

from .schedule import Schedule
from .state import ScheduleError
from .tensor_intrin import TensorIntrin
from .trace import BlockRV, ExprRV, LoopRV, Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "TensorIntrin", "Trace"]
