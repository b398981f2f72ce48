"""Reductions with too little to do in parallel get partial results."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from ...dialects.tir import IterKind
from ...schedule import BlockRV, LoopRV, Schedule, ScheduleError
from .. import analysis
from ..context import TuneContext
from .rule import ScheduleRule


@dataclass
class AddRFactor(ScheduleRule):
    """Factor a reduction over each part of its split loop.

    One that is tiled (a matmul) only where its spatial part is too small to keep the cores busy: less than its
    reduction, and at most `max_jobs_per_core` iterations for each core. The schedule without a factor comes last.
    """

    max_jobs_per_core: int = 16
    max_innermost_factor: int | None = 64

    def initialize(self, context: TuneContext) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or not self._needed(op):
            return [sch]
        prepared = sch.copy()
        try:
            parts = self._split(prepared, block)
        except ScheduleError:
            return [sch]
        made = [_factored(prepared.copy(), block, part) for part in parts]
        return [*(out for out in made if out is not None), sch]

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
        if analysis.needs_multi_level_tiling(block):
            return spatial < reduced and spatial <= self.context.cores * self.max_jobs_per_core
        return reduced > 1

    def _split(self, sch: Schedule, block: BlockRV) -> list[LoopRV]:
        """The reduction loops as one, in two parts."""
        loops = sch.get_loops(block)
        kinds = [analysis.iter_kind_of(sch.get(lp)) for lp in loops]
        spatial = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is IterKind.SPATIAL]
        reducing = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is not IterKind.SPATIAL]
        if [*spatial, *reducing] != loops:
            sch.reorder(*spatial, *reducing)
        fused = sch.fuse(*reducing) if len(reducing) > 1 else reducing[0]
        largest = 16 if self.max_innermost_factor is None else self.max_innermost_factor
        return sch.split(fused, sch.sample_perfect_tile(fused, 2, largest))


def _factored(sch: Schedule, block: BlockRV, part: LoopRV) -> Schedule | None:
    """The schedule with a part of the reduction as a factor; None where that is refused."""
    try:
        factored = sch.rfactor(part, len(sch.get(block).writes[0].starts))
    except ScheduleError:
        return None
    if not sch.get_loops(factored):
        return None
    sch.annotate(block, analysis.RANDOM_LOCATION, 1)
    return sch
