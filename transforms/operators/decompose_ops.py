"""Write composite operators in terms of simple ones."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.functions import relax_functions
from ...ir.transform import Pass
from .rules import Emit, apply_rules, place


@dataclass(frozen=True)
class DecomposeOpsForInference(Pass):
    """Writes out `nn.batch_norm` as it is at inference, whatever its `training` says; in one function or in all.

    y = batch_norm(x, gamma, beta, mean, var)  ->  y = ((x - mean) / sqrt(var + epsilon) * gamma + beta, mean, var)
    """

    name = "decompose-ops-for-inference"
    func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.nn.batch_norm": _batch_norm}, relax_functions(op, self.func_name))


def _batch_norm(op: Operator, emit: Emit) -> SSAValue | None:
    data = op.tensor("data")
    if data.rank is None or data.element is None:
        return None
    x, gamma, beta, mean, var = op.operands
    others = [i for i in range(data.rank) if i != op.attr("axis") % data.rank]

    def spread(v: SSAValue) -> SSAValue:
        return emit("expand_dims", v, axis=others) if others else v

    centered = emit("subtract", x, spread(mean))
    variance = spread(var)
    epsilon = place(op, relax.ConstantOp.of(op.attr("epsilon"), data.element))
    out = emit("divide", centered, emit("sqrt", emit("add", variance, epsilon)))
    if op.attr("scale"):
        out = emit("multiply", out, spread(gamma))
    if op.attr("center"):
        out = emit("add", out, spread(beta))
    return place(op, relax.TupleOp([out, mean, var]))
