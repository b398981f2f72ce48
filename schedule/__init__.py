"""Schedules: how a tensor function is computed, changed step by step without changing its results.

`Schedule` holds a module and the trace of the steps applied to it; `primitives/` defines the steps, one family per
file; `cpu/` contains the default schedule.
"""

from __future__ import annotations

from .schedule import Schedule
from .state import ScheduleError
from .tensor_intrin import TensorIntrin
from .trace import BlockRV, ExprRV, LoopRV, Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "TensorIntrin", "Trace"]
