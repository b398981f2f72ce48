"""Schedules: how a tensor function is computed, changed step by step without changing its results.

`Schedule` holds a module and the trace of the steps applied to it; `primitives/` defines the steps, one family per
file; `cpu/` contains the default schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .schedule import Schedule
    from .state import ScheduleError
    from .tensor_intrin import TensorIntrin
    from .trace import BlockRV, ExprRV, LoopRV, Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "TensorIntrin", "Trace"]
_FILES = {
    "BlockRV": "trace",
    "ExprRV": "trace",
    "LoopRV": "trace",
    "Schedule": "schedule",
    "ScheduleError": "state",
    "TensorIntrin": "tensor_intrin",
    "Trace": "trace",
}
__getattr__ = names_of(__name__, _FILES)
