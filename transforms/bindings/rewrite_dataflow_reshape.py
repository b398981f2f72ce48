"""Turn calls of tensor functions that only reshape back into `reshape`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import relax, tir
from ...dialects.sym.expr import product
from ...ir.buffers.reshape_pattern import is_reshape
from ...ir.functions.lookup import functions, ops_of_type, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit
from ...ir.rewriting.edit import replace_op

_IN_PLACE = (relax.CallTIRInplaceOp, relax.CallInplacePackedOp)


@dataclass(frozen=True)
class RewriteDataflowReshape(Pass):
    """Replace calls of functions that copy all elements in order by `reshape`, which is free after memory planning.

    y = call_tir(reshape, (x,), Tensor((n * 4,)))  ->  y = reshape(x, shape([n * 4]))

    Applies in dataflow blocks only; without `outputs`, as in TVM, not to the outputs of these. Tensors that the tensor
    function does not read are ignored. Functions with in-place calls are skipped, because there the copy may be needed.
    """

    name = "rewrite-dataflow-reshape"
    outputs: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reshapes = {n for n, f in functions(op).items() if isinstance(f, tir.FuncOp) and is_reshape(f)}
        for func in relax_functions(op):
            if any(isinstance(inner, _IN_PLACE) for inner in func.walk()):
                continue
            for call in list(ops_of_type(func, relax.CallTIROp)):
                if call.callee_name in reshapes and self._takes(call):
                    _rewrite(call)

    def _takes(self, call: relax.CallTIROp) -> bool:
        inside = isinstance(call.parent_op(), relax.DataflowOp)
        return inside and (self.outputs or not _is_output(call))


def _is_output(call: relax.CallTIROp) -> bool:
    return any(isinstance(use.operation, relax.OutputOp) for use in call.result.uses)


def _rewrite(call: relax.CallTIROp) -> None:
    result = call.result.type
    tensors = [a for a in call.args if isinstance(a.type, relax.TensorType)]
    if not tensors or not isinstance(result, relax.TensorType) or not _same_elements(tensors[0].type, result):
        return
    assert result.dims is not None
    replace_op(call, Emit(call)("reshape", tensors[0], relax.ShapeOp(result.dims).result))


def _same_elements(source: object, target: relax.TensorType) -> bool:
    """Return whether two tensors certainly have the same number of elements and dtype."""
    if not isinstance(source, relax.TensorType) or source.dims is None or target.dims is None:
        return False
    return source.element == target.element and product(source.dims) == product(target.dims)
