"""Design spaces: the schedules from which a search begins."""

from __future__ import annotations

from .generator import PostOrderApply, ScheduleFn, SpaceGenerator, SpaceGeneratorUnion

__all__ = ["PostOrderApply", "ScheduleFn", "SpaceGenerator", "SpaceGeneratorUnion"]
