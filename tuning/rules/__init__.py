"""Schedule rules: what may be done to one block; each gives the schedules that come of it."""

from __future__ import annotations

from .add_rfactor import AddRFactor
from .apply_custom_rule import ApplyCustomRule
from .auto_inline import AutoInline, InlineConstantScalars
from .multi_level_tiling import MultiLevelTiling, ReuseType
from .multi_level_tiling_with_intrin import MultiLevelTilingWithIntrin
from .parallel_vectorize_unroll import ParallelizeVectorizeUnroll
from .random_compute_location import RandomComputeLocation
from .rule import ScheduleRule

__all__ = [
    "AddRFactor",
    "ApplyCustomRule",
    "AutoInline",
    "InlineConstantScalars",
    "MultiLevelTiling",
    "MultiLevelTilingWithIntrin",
    "ParallelizeVectorizeUnroll",
    "RandomComputeLocation",
    "ReuseType",
    "ScheduleRule",
]
