"""`tvm.meta_schedule.schedule_rule`."""

from ...tuning.rules import (
    AddRFactor,
    ApplyCustomRule,
    AutoInline,
    InlineConstantScalars,
    MultiLevelTiling,
    MultiLevelTilingWithIntrin,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
    ReuseType,
    ScheduleRule,
)

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
