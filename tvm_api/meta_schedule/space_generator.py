"""`tvm.meta_schedule.space_generator`."""

from ...tuning.space import PostOrderApply, ScheduleFn, SpaceGenerator, SpaceGeneratorUnion

PySpaceGenerator = SpaceGenerator
create = SpaceGenerator.create

__all__ = [
    "PostOrderApply",
    "PySpaceGenerator",
    "ScheduleFn",
    "SpaceGenerator",
    "SpaceGeneratorUnion",
    "create",
]
