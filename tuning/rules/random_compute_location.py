"""Computing a block at a loop of its consumers, at random."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from ...schedule import BlockRV, Schedule
from ...schedule import state as st
from .. import analysis
from .rule import ScheduleRule


@dataclass
class RandomComputeLocation(ScheduleRule):
    """Sample where a block is computed that tiling has left alone; with a factored reduction, its partial results."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or not self._fits(op):
            return [sch]
        producers: list[BlockRV] = []
        if analysis.annotation(op, analysis.RANDOM_LOCATION) is not None:
            producers = sch.get_producers(block)
            sch.unannotate(block, analysis.RANDOM_LOCATION)
        for moved in (block, *producers):
            sch.compute_at(moved, sch.sample_compute_location(moved), True)
        return [sch]

    def _fits(self, block: tir.BlockOp) -> bool:
        if block in st.output_blocks(st.scope_of(block)) or not st.consumers(block):
            return False
        if analysis.annotation(block, analysis.TILING_STRUCTURE) is not None:
            return False
        loops = st.loops_above(block)
        if not loops or any(len(st.children(lp.body.block)) != 1 for lp in loops):
            return False
        return analysis.is_complete(block) or analysis.is_reduction(block)
