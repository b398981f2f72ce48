"""Say more, less or something else of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.relax.types import erase_unbound, free_symbolic_vars, least_common_ancestor
from ...handles.relax.builder import infer_again
from ...handles.relax.expr import Var
from ...handles.struct_info import type_of
from ...ir.functions.lookup import relax_functions
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import set_type


@dataclass(frozen=True)
class UpdateParamStructInfo(Pass):
    """Gives parameters of Relax functions the struct info that `sinfo_func(var)` says, where it is not None.

    f(x: tensor<[n], f32>) {… exp(x) : tensor<[n], f32>}  ->  f(x: tensor<[4], f32>) {… exp(x) : tensor<[4], f32>}

    The struct info of bindings and results is inferred anew; what calls and casts declare stays. Raises `ShapeError` or
    `DTypeError` where an operator cannot take what it is given then.
    """

    name = "update-param-struct-info"
    sinfo_func: Callable[[Var], Any]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            changed = False
            for param in func.params:
                new = self.sinfo_func(Var.on(param))
                if new is not None:
                    set_type(param, type_of(new))
                    changed = True
            if changed:
                infer_function(func)


def infer_function(func: relax.FuncOp) -> None:
    """Infer all struct info of a function anew from that of its parameters, in place."""
    _infer_block(func.body.block)
    func.ret_type = erase_unbound(func.return_op.value.type, set(free_symbolic_vars(p.type for p in func.params)))


def _infer_block(block: Block) -> None:
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                _infer_block(inner)
        try:
            _infer(op)
        except TiraxError as error:
            error.location = error.location or location_of(op)
            raise


def _infer(op: Operation) -> None:
    if isinstance(op, relax.DataflowOp):
        for result, value in zip(op.outputs, op.output_op.values_, strict=True):
            set_type(result, value.type)
    elif isinstance(op, relax.IfOp):
        branches = [r.block.last_op for r in (op.then_region, op.else_region)]
        types = [b.value.type for b in branches if isinstance(b, relax.YieldOp)]
        set_type(op.result, least_common_ancestor(*types))
    elif isinstance(op, relax.ClosureOp):
        last = op.body.block.last_op
        assert isinstance(last, relax.ReturnOp)
        params = [a.type for a in op.body.block.args]
        op.ret_type = last.value.type
        set_type(op.result, relax.CallableType.of(params, op.ret_type, op.impure is None))
    else:
        infer_again(op)
