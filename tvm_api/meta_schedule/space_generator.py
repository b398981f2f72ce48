"""`tvm.meta_schedule.space_generator`."""

from ...tuning.space import PostOrderApply, ScheduleFn, SpaceGenerator, SpaceGeneratorUnion
from ...tuning.tir_integration import space_of as create

PySpaceGenerator = SpaceGenerator

__all__ = [
    "PostOrderApply",
    "PySpaceGenerator",
    "ScheduleFn",
    "SpaceGenerator",
    "SpaceGeneratorUnion",
    "create",
]
