"""Schedules without tuning by rules that look at the form of a tensor function, as TVM's `dlight` has them.

`ApplyDefaultSchedule(*rules)` gives each function the schedule of the first rule that knows its form. Source: the
behaviour of TVM 0.20 and 0.27.
"""

from __future__ import annotations

from .apply_default_schedule import ApplyDefaultSchedule
from .block_info import BlockInfo, IterInfo, normalize_prim_func
from .inlining import try_inline, try_inline_contiguous_spatial
from .schedule_rule import ScheduleRule

__all__ = [
    "ApplyDefaultSchedule", "BlockInfo", "IterInfo", "ScheduleRule", "normalize_prim_func", "try_inline",
    "try_inline_contiguous_spatial",
]  # fmt: skip
