"""Reductions get their init in front of their outermost reduction loop."""

from __future__ import annotations

from ...dialects import tir
from ...dialects.tir import IterKind
from ...schedule import BlockRV, Schedule
from ...transforms.tir.walk import functions
from .. import analysis
from .postprocessor import Postproc


class RewriteReductionBlock(Postproc):
    """Decompose every reduction that has loops for it."""

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            for name in [
                op.block_name.data for op in func.walk() if isinstance(op, tir.BlockOp) and op.init is not None
            ]:
                self._decompose(sch, sch.get_block(name, func.sym_name.data))
        return True

    def _decompose(self, sch: Schedule, block: BlockRV) -> None:
        loops = sch.get_loops(block)
        for loop in loops:
            if analysis.iter_kind_of(sch.get(loop)) is not IterKind.SPATIAL:
                sch.decompose_reduction(block, loop)
                return
