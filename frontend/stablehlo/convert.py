"""From modules of StableHLO to modules of relax and tir."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var
from ...handles.module import IRModule
from ...handles.relax.expr import Expr, Tuple
from ...handles.relax.expr import Var as RelaxVar
from ...handles.struct_info import TensorStructInfo
from ...ir.names import NameSupply, identifier
from ...ir.passes.transform import new_context
from ...transforms.bindings.convert_to_dataflow import ConvertToDataflow
from ..block_builder import BlockBuilder
from . import (
    contractions,
    control_flow,
    elementwise,
    indexing,
    linear_algebra,
    normalization,
    quantization,
    ragged,
    random_bits,
    reductions,
    sorting,
    structural,
)
from .control_flow import flattened, rebuilt
from .graph import Graph
from .structural import halves, stacked
from .values import Pair, Value, element_of, is_complex, tensor_type

_RULES = (
    *(contractions, control_flow, elementwise, indexing, linear_algebra, quantization, ragged, random_bits, reductions),
    *(normalization, sorting, structural),
)
"""Files that register rules."""


def is_of_stablehlo(module: ModuleOp) -> bool:
    """Return whether functions of a module have operations of StableHLO or CHLO."""
    return any(
        op.name.startswith(("stablehlo.", "chlo."))
        for function in module.body.block.ops
        if isinstance(function, func.FuncOp)
        for op in function.walk()
    )


def convert(module: ModuleOp, shapes: Sequence[Sequence[object]] | None = None) -> ModuleOp:
    """Return a module with a Relax function for each public function of `module`, which is not changed.

    A size `?` is a symbolic variable, of the name that it has in `shapes` of the parameters of `main`. A tensor of
    complex numbers is one of their parts, with a last dimension of two. Raises `UnsupportedError` for what has no
    translation, `ShapeError` for sizes that contradict each other.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    builder = BlockBuilder()
    for function in functions.values():
        if not function.is_declaration and _is_public(function, functions):
            _convert(builder, function, functions, shapes if function.sym_name.data == "main" else None)
    result = cast(IRModule, builder.get()).op  # type: ignore[attr-defined]
    ConvertToDataflow(min_size=1).apply(new_context(), result)
    return result


def _is_public(function: func.FuncOp, functions: dict[str, func.FuncOp]) -> bool:
    visibility = function.sym_visibility
    return visibility is None or visibility.data == "public" or len(functions) == 1


def _convert(
    builder: BlockBuilder,
    function: func.FuncOp,
    functions: dict[str, func.FuncOp],
    shapes: Sequence[Sequence[object]] | None,
) -> None:
    names = NameSupply()
    labels = [names.fresh(identifier(name_of(a) or "") or f"arg{k}") for k, a in enumerate(function.args)]
    given = [()] * len(labels) if shapes is None or len(shapes) != len(labels) else shapes
    rows = zip(labels, function.args, given, strict=True)
    params = [RelaxVar(label, _type_of(arg, names, list(map(str, shape)))) for label, arg, shape in rows]
    with builder.function(function.sym_name.data, params):
        graph = Graph(builder, functions)
        parts = [part for arg, param in zip(function.args, params, strict=True) for part in _split(graph, arg, param)]
        results = graph.inlined(function.body.block, rebuilt(function.args, parts))
        values = [_joined(graph, v) for v in results if v is not None]
        builder.emit_func_output(values[0] if len(values) == 1 else Tuple(values))


def _type_of(arg: SSAValue, names: NameSupply, named: Sequence[str]) -> TensorStructInfo:
    shape = tensor_type(arg).get_shape()
    dims: list[SymExpr] = [Const(n) for n in shape]
    for axis, size in enumerate(shape):
        if size == DYNAMIC_INDEX:
            known = axis < len(named) and named[axis].isidentifier()
            dims[axis] = Var(named[axis] if known else names.fresh("n"))
    if is_complex(arg):
        dims.append(Const(2))
    return TensorStructInfo(dims, dtype_name(element_of(arg)))


def _split(graph: Graph, arg: SSAValue, param: Expr) -> list[Expr]:
    """Return the parts of a parameter."""
    if not is_complex(arg):
        return [param]
    return halves(graph, param)


def _joined(graph: Graph, value: Value) -> Expr:
    if isinstance(value, Pair):
        return stacked(graph, value)
    parts: Sequence[Expr] = flattened(graph, [value])
    if len(parts) != 1:
        raise UnsupportedError("a result that is no tensor")
    return parts[0]
