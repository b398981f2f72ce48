"""Reductions with too little to do in parallel get partial results."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from ...dialects.tir import IterKind
from ...schedule import BlockRV, Schedule, ScheduleError
from ...schedule import state as st
from .. import analysis
from ..context import TuneContext
from .rule import ScheduleRule


@dataclass
class AddRFactor(ScheduleRule):
    """Factor a reduction whose spatial part is too small to keep the cores busy, over each part of its split loop.

    It is too small below `max_jobs_per_core` iterations for each core. The schedule without a factor comes last.
    """

    max_jobs_per_core: int = 16
    max_innermost_factor: int | None = 64

    def initialize(self, context: TuneContext) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or not self._needed(op):
            return [sch]
        out = [made for k in range(2) if (made := self._factored(sch.copy(), block, k)) is not None]
        return [*out, sch]

    def _needed(self, block: tir.BlockOp) -> bool:
        if not analysis.is_reduction(block) or not analysis.has_trivial_bindings(block) or len(block.writes) != 1:
            return False
        spatial = reduced = 1
        for kind, extent in zip(block.kinds, block.extents, strict=True):
            if extent.constant is None:
                return False
            if kind is IterKind.SPATIAL:
                spatial *= extent.constant
            else:
                reduced *= extent.constant
        if analysis.needs_multi_level_tiling(block) and spatial >= reduced:
            return False
        return reduced > 1 and spatial < self.context.cores * self.max_jobs_per_core

    def _factored(self, sch: Schedule, block: BlockRV, part: int) -> Schedule | None:
        """The schedule with the outer (0) or the inner (1) part of the fused reduction loops as a factor."""
        try:
            loops = sch.get_loops(block)
            kinds = [analysis.iter_kind_of(sch.get(lp)) for lp in loops]
            spatial = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is IterKind.SPATIAL]
            reducing = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is not IterKind.SPATIAL]
            sch.reorder(*spatial, *reducing)
            fused = sch.fuse(*reducing)
            largest = 16 if self.max_innermost_factor is None else self.max_innermost_factor
            parts = sch.split(fused, sch.sample_perfect_tile(fused, 2, largest))
            axis = len(sch.get(block).writes[0].starts)
            factored = sch.rfactor(parts[part], axis)
        except ScheduleError:
            return None
        return sch if st.loops_above(sch.get(factored)) else None
