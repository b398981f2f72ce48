"""Scheduling rules that match the form of a tensor function without tuning, as in TVM's `dlight`.

`ApplyDefaultSchedule(*rules)` applies the first matching rule to each function. Source: the behaviour of
TVM 0.20 and 0.27.
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
