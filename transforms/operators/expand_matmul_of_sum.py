"""Multiply by the terms of a sum one by one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.transform import Pass
from .rules import Emit, apply_rules, producer


@dataclass(frozen=True)
class ExpandMatmulOfSum(Pass):
    """Distributes a matrix product over a sum on its right (for low rank updates of weights).

    y = matmul(x, a + b)  ->  y = matmul(x, a) + matmul(x, b)

    Where the addition broadcasts, or its terms are constants, the product stays.
    """

    name = "expand-matmul-of-sum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _matmul})


def _matmul(op: Operator, emit: Emit) -> SSAValue | None:
    x, weights = op.operands
    total = producer(weights, "add")
    if total is None or any(t.type != weights.type for t in total.operands) or op.tensor("x2").dims is None:
        return None
    if all(_is_constant(t) for t in total.operands):
        return None
    dtype = op.attr("out_dtype")
    a, b = (emit("matmul", x, t, out_dtype=dtype) for t in total.operands)
    return emit("add", a, b)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp)
