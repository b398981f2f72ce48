"""Putting the tensor intrinsics that rules have chosen."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from ...schedule import BlockRV, Schedule, ScheduleError
from ...schedule import state as st
from ...transforms.tir.walk import functions
from .. import analysis
from .postprocessor import Postproc


@dataclass
class RewriteTensorize(Postproc):
    """Tensorize the blocks that are marked with an intrinsic; a schedule where that is refused is rejected.

    It comes after `RewriteReductionBlock`. With `vectorize_init_loop` the innermost loop of their init is a vector.
    """

    vectorize_init_loop: bool = False

    def apply(self, sch: Schedule) -> bool:
        try:
            for func in functions(sch.mod.op):
                for name in _marked(func):
                    self._block(sch, sch.get_block(name, func.sym_name.data))
        except ScheduleError:
            return False
        return True

    def _block(self, sch: Schedule, block: BlockRV) -> None:
        op = sch.get(block)
        name = str(analysis.annotation(op, analysis.AUTO_TENSORIZE))
        sch.unannotate(block, analysis.AUTO_TENSORIZE)
        if not analysis.is_spatial(op):
            sch.tensorize(block, name)
        elif self.vectorize_init_loop:
            for child in sch.get_child_blocks(block):
                loops = sch.get_loops(child)
                if loops and st.constant_extent(sch.get(loops[-1])) != 1:
                    sch.vectorize(loops[-1])


def _marked(func: tir.FuncOp) -> list[str]:
    blocks = (op for op in func.walk() if isinstance(op, tir.BlockOp))
    return [b.block_name.data for b in blocks if analysis.annotation(b, analysis.AUTO_TENSORIZE) is not None]
