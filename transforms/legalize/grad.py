"""Rules of the operators for gradients; its markers are identities."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.grad import POOL_BACKWARD, PoolBackward
from ...dialects.relax.operator import Operator
from ...topi import grad
from .legalize_rules import BUILDERS, RULES, Builder, Emit, operand, rule


def mark(b: Builder, op: Operator) -> SSAValue:
    """relax.grad.no_grad(x) -> x"""
    return b.emit(relax.BindOp(operand(op, "input"), op.result_type))


BUILDERS.update({f"relax.grad.{n}": mark for n in ("no_grad", "start_checkpoint", "end_checkpoint")})


@rule("relax.grad.take_backward")
def take_backward(op: Operator) -> Emit:
    """relax.grad.take_backward(g, x, indices) -> take_backward(g, indices)"""
    return Emit(grad.take_backward, (*op.operands, op.attr("axis") or 0), "take_backward")


def pool_backward(op: Operator) -> Emit:
    """relax.grad.max_pool2d_backward(g, data) -> max_pool2d_backward(g, data)"""
    back = cast(PoolBackward, op)
    padding, half = op.attr("padding"), back.RANK
    counted = list(zip(padding[:half], padding[half:], strict=True)) if op.attr("count_include_pad") else None
    windows = (op.attr("pool_size"), op.attr("strides"), op.attr("dilation"), back.widths())
    args = (operand(op, "output_grad"), operand(op, "data"), back.places(), windows, back.KIND, counted)
    return Emit(grad.pool_backward, args, op.name.removeprefix("relax.grad."))


RULES.update({cls.name: pool_backward for cls in POOL_BACKWARD.values()})
