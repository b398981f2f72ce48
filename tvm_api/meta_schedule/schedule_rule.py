"""`tvm.meta_schedule.schedule_rule`."""

from ...tuning.rules.add_rfactor import AddRFactor
from ...tuning.rules.apply_custom_rule import ApplyCustomRule
from ...tuning.rules.auto_inline import AutoInline, InlineConstantScalars
from ...tuning.rules.multi_level_tiling import MultiLevelTiling, ReuseType
from ...tuning.rules.multi_level_tiling_with_intrin import MultiLevelTilingWithIntrin
from ...tuning.rules.parallel_vectorize_unroll import ParallelizeVectorizeUnroll
from ...tuning.rules.random_compute_location import RandomComputeLocation
from ...tuning.rules.rule import ScheduleRule

PyScheduleRule = ScheduleRule

__all__ = [
    "AddRFactor",
    "ApplyCustomRule",
    "AutoInline",
    "InlineConstantScalars",
    "MultiLevelTiling",
    "MultiLevelTilingWithIntrin",
    "ParallelizeVectorizeUnroll",
    "PyScheduleRule",
    "RandomComputeLocation",
    "ReuseType",
    "ScheduleRule",
]
