"""Inlining what costs little to compute again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects import tir
from ...ir.affine.values import expr_of
from ...schedule import BlockRV, Schedule, ScheduleError
from ...schedule import state as st
from .. import analysis
from .rule import ScheduleRule


@dataclass
class AutoInline(ScheduleRule):
    """Inline element-wise blocks into their consumers (`into_consumer`) or their producer (`into_producer`).

    A block is inlined where it reads each buffer at indices that are its iterators (in their order where
    `require_ordered`, one by one where `require_injective`), and has no branch and no operation of `disallow_op`.
    """

    into_producer: bool = False
    into_consumer: bool = True
    inline_const_tensor: bool = True
    disallow_if_then_else: bool = True
    require_injective: bool = True
    require_ordered: bool = True
    disallow_op: Sequence[str] = field(default_factory=lambda: ["tir.exp"])

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if isinstance(op, tir.BlockOp):
            if self.into_consumer and self._fits_consumer(op):
                _try(sch, "compute_inline", block)
            elif self.into_producer and self._fits(op):
                _try(sch, "reverse_compute_inline", block)
        return [sch]

    def _fits_consumer(self, block: tir.BlockOp) -> bool:
        if not st.consumers(block) or not analysis.is_complete(block):
            return False
        if self.inline_const_tensor and not block.reads:
            return True
        return self._fits(block)

    def _fits(self, block: tir.BlockOp) -> bool:
        if not analysis.is_spatial(block) or len(block.writes) != 1:
            return False
        if self.disallow_if_then_else and any(isinstance(op, tir.IfThenElseOp | tir.IfOp) for op in block.walk()):
            return False
        if any(isinstance(op, tir.CallIntrinOp) and f"tir.{op.func.data}" in self.disallow_op for op in block.walk()):
            return False
        return not (self.require_injective or self.require_ordered) or self._reads_plainly(block)

    def _reads_plainly(self, block: tir.BlockOp) -> bool:
        order = {v: k for k, v in enumerate(block.iter_vars)}
        for read in block.reads:
            used: list[int] = []
            for start in read.starts:
                variables = expr_of(start).free_vars()
                if any(v.value not in order for v in variables if v.value is not None):
                    return False
                if self.require_injective and len(variables) > 1:
                    return False
                used += [order[v.value] for v in variables if v.value is not None]
            if self.require_ordered and used != sorted(used):
                return False
        return True


@dataclass
class InlineConstantScalars(ScheduleRule):
    """Inline blocks that store a constant into a buffer without dimensions."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or op.reads or op.iter_vars or not st.consumers(op):
            return [sch]
        stores = [inner for inner in op.walk() if isinstance(inner, tir.StoreOp)]
        if len(stores) == 1 and isinstance(stores[0].value.owner, tir.ConstOp):
            _try(sch, "compute_inline", block)
        return [sch]


def _try(sch: Schedule, primitive: str, block: BlockRV) -> Any:
    """Run a primitive that may be refused: the schedule is then as it was."""
    try:
        return getattr(sch, primitive)(block)
    except ScheduleError:
        return None
