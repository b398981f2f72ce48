"""Operators without a converter as calls of onnx's reference implementation, when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.sym.expr import SymExpr, as_expr
from ...handles.relax.calls import call_pure_packed
from ...handles.relax.expr import TupleGetItem
from ...handles.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from ...runtime.onnx_operators import name_of
from ..block_builder import BlockBuilder
from .sizes import Sizes
from .strings import STRING, Strings, bound
from .tensors import dtype_name as onnx_dtype_name
from .values import Result, Value

if TYPE_CHECKING:
    from onnx import NodeProto, TypeProto


_IMPLEMENTATIONS = {
    "": "onnx.reference.ops",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml._op_list",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training._op_list",
}
"""The modules with implementations, by domain."""


@cache
def has_reference(domain: str, name: str, version: int) -> bool:
    """Return whether the package onnx implements an operator."""
    if domain not in _IMPLEMENTATIONS:
        return False
    try:
        import_module(_IMPLEMENTATIONS[domain]).load_op(domain, name, version)
    except Exception:  # noqa: BLE001 - what onnx raises for operators that it lacks is not specified
        return False
    return True


def call_reference(
    builder: BlockBuilder, sizes: Sizes, schema: Any, node: NodeProto, inputs: Sequence[Result], version: int
) -> list[Any] | None:
    """Return the outputs of a node as onnx computes them.

    None if onnx has no implementation, if an input is no tensor or computed from others that a node's graphs use, or
    if the type or the rank of an output cannot be inferred.
    """
    if schema is None or any(a.HasField("g") or a.graphs for a in node.attribute):
        return None
    if not has_reference(node.domain, node.op_type, version):
        return None
    names = [n for n in node.input if n]
    values = [v for v in inputs if v is not None]
    if len(values) != len(names) or not all(isinstance(v, Value) for v in values):
        return None
    infos = _inferred(sizes, schema, node, dict(zip(names, values, strict=True)), version)
    return None if infos is None else _emitted(builder, node, version, values, infos)


def _emitted(
    builder: BlockBuilder, node: NodeProto, version: int, values: Sequence[Any], infos: Sequence[_Output]
) -> list[Any]:
    unknown = [info.struct_info for info in infos]
    info = unknown[0] if len(unknown) == 1 else TupleStructInfo(unknown)
    call = builder.emit(call_pure_packed(name_of(node, version), *(v.expr for v in values), sinfo_args=info))
    fields = [call] if len(infos) == 1 else [TupleGetItem(call, i) for i in range(len(infos))]
    results = iter([_bound(builder, f, info) for f, info in zip(fields, infos, strict=True)])
    return [next(results) if name else None for name in node.output]


def _bound(builder: BlockBuilder, field: Any, output: _Output) -> Any:
    if output.dtype == STRING:
        return bound(builder, builder.emit(field), output.dims)
    if output.dims is None:
        return field
    return builder.match_cast(field, TensorStructInfo(output.dims, output.dtype))


@dataclass(frozen=True)
class _Output:
    """A tensor that onnx computes: its data type, and its extents if its rank is known."""

    dtype: str
    dims: tuple[SymExpr, ...] | None

    @property
    def struct_info(self) -> StructInfo:
        """What is known before its extents are checked."""
        if self.dtype == STRING:
            return ObjectStructInfo()
        return TensorStructInfo(dtype=self.dtype, ndim=-1 if self.dims is None else len(self.dims))


def _inferred(sizes: Sizes, schema: Any, node: NodeProto, values: dict[str, Any], version: int) -> list[_Output] | None:
    """The outputs that have names, by ONNX's own inference, None if it does not say all."""
    from onnx import helper, numpy_helper
    from onnx.shape_inference import InferenceError, infer_node_outputs

    symbols: dict[str, SymExpr] = {}
    types = {name: _type_proto(value, symbols) for name, value in values.items()}
    known = {n: numpy_helper.from_array(v.array) for n, v in values.items() if v.array is not None}
    opset = [helper.make_opsetid(node.domain, version)]
    try:
        outputs = infer_node_outputs(schema, node, types, known, opset_imports=opset)
    except (InferenceError, RuntimeError):
        return None
    infos = [_info(outputs.get(name), symbols, sizes) for name in node.output if name]
    return None if any(info is None for info in infos) else [i for i in infos if i is not None]


def _type_proto(value: Any, symbols: dict[str, SymExpr]) -> TypeProto:
    from onnx import TensorProto, helper

    if isinstance(value, Strings) and not value.has_shape:
        return helper.make_tensor_type_proto(TensorProto.STRING, None)
    shape: list[int | str] = []
    for dim in value.dims:
        if dim.constant is not None:
            shape.append(int(dim.constant))
        else:
            symbols.setdefault(f"d{len(symbols)}", dim)
            shape.append(next(name for name, d in symbols.items() if d == dim))
    dtype = np.dtype(object if value.dtype == STRING else value.dtype)
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(dtype), shape)


def _info(proto: TypeProto | None, symbols: dict[str, SymExpr], sizes: Sizes) -> _Output | None:
    from onnx import TensorProto

    if proto is None or not proto.HasField("tensor_type"):
        return None
    number = proto.tensor_type.elem_type
    dtype = STRING if number == TensorProto.STRING else onnx_dtype_name(number, "an output")
    if not proto.tensor_type.HasField("shape"):
        return _Output(dtype, None) if dtype == STRING else None
    dims = [
        as_expr(d.dim_value) if d.HasField("dim_value") else symbols.get(d.dim_param) or sizes.fresh("s")
        for d in proto.tensor_type.shape.dim
    ]
    return _Output(dtype, tuple(dims))
