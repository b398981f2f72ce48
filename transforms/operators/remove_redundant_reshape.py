"""Remove reshapes that change nothing, or that are followed by another one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import producer


@dataclass(frozen=True)
class RemoveRedundantReshape(Pass):
    """Remove reshapes to the same shape, and all but the last one of several in a row.

    y = reshape(x, (8,)); z = reshape(y, (4, 2))  ->  z = reshape(x, (4, 2))
    """

    name = "remove-redundant-reshape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if apply_rules(op, {"relax.reshape": _reshape}):
            for func in relax_functions(op):
                _forward_outputs(func)


def _forward_outputs(func: relax.FuncOp) -> None:
    """Use values passed through a dataflow block directly."""
    for dataflow in ops_of_type(func, relax.DataflowOp):
        for value, result in zip(dataflow.output_op.values_, dataflow.outputs, strict=True):
            owner = value.owner
            if not isinstance(owner, Operation) or owner.parent is not dataflow.body.block:
                result.replace_all_uses_with(value)
    remove_dead_bindings(func)


def _reshape(op: Operator, emit: Emit) -> SSAValue | None:
    source = op.operands[0]
    while (inner := producer(source, "reshape")) is not None:
        source = inner.operands[0]
    if source.type == op.results[0].type and op.tensor("x").dims is not None:
        return source
    return None if source is op.operands[0] else emit("reshape", source, op.operands[1])
