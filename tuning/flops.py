"""How many arithmetic operations a function does."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue

from ..dialects import tir
from ..handles.module import IRModule
from ..schedule import state as st

_FREE = (tir.LoadOp, tir.ConstOp, tir.CastOp, tir.ReinterpretOp)


def estimate_flops(mod: IRModule) -> float:
    """Arithmetic in what is stored, times the loops around it; a loop of unknown extent counts once."""
    return sum(_times(op) * _arithmetic(op.value) for op in mod.op.walk() if isinstance(op, tir.StoreOp))


def _times(op: Operation) -> float:
    count = 1.0
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            count *= st.constant_extent(parent) or 1
        parent = parent.parent_op()
    return count


def _arithmetic(value: SSAValue) -> int:
    """The operations of an expression; those on indices are not counted."""
    if not isinstance(value, OpResult) or type(value.op) not in tir.EXPRESSION_OPS:
        return 0
    op = value.op
    if isinstance(op, tir.LoadOp):
        return 0
    inner = sum(_arithmetic(o) for o in op.operands)
    inner += sum(
        _arithmetic(o) for r in op.regions for y in r.block.ops if isinstance(y, tir.YieldOp) for o in y.operands
    )
    return inner + (not isinstance(op, _FREE))
