"""Operators defined by functions: those of the model, and the bodies in ONNX's schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dialects import relax
from ...dialects.dtypes import dtype_of, numpy_dtype
from .model import FunctionKey, domain_of
from .values import Value

if TYPE_CHECKING:
    from onnx import FunctionProto, NodeProto


def schema_of(domain: str, name: str, version: int) -> Any | None:
    """Return ONNX's schema of an operator, or None if it has none."""
    from onnx import defs

    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None


def has_body(schema: Any | None) -> bool:
    """Return whether a schema defines its operator in terms of others."""
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def schema_body(schema: Any, node: NodeProto, inputs: Sequence[Any], version: int) -> FunctionProto | None:
    """Return the definition of an operator for these inputs, or None if the schema has none."""
    from onnx import FunctionProto

    if schema.has_function:
        text = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, version))
    elif schema.has_context_dependent_function:
        types = [_type_proto(v).SerializeToString() for v in inputs]
        newest = _newest(schema.context_dependent_function_opset_versions, version)
        text = schema.get_context_dependent_function_with_opset_version(newest, node.SerializeToString(), types)
    else:
        return None
    body = FunctionProto()
    body.ParseFromString(text)
    return body if body.node else None


def _newest(versions: Sequence[int], version: int) -> int:
    return max((v for v in versions if v <= version), default=min(versions))


def _type_proto(value: Any) -> Any:
    """Return the known type of an input as ONNX's `TypeProto`; an absent input has an empty type."""
    from onnx import TypeProto, helper

    if not isinstance(value, Value):
        return TypeProto()
    dims = value.type.dims if isinstance(value.type, relax.TensorType) else None
    shape = None if dims is None else [str(d) if d.constant is None else d.constant for d in dims]
    dtype = numpy_dtype(dtype_of(value.dtype))
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(dtype), shape)


def function_key(node: NodeProto) -> FunctionKey:
    """Return the key of the function that a node would call."""
    return domain_of(node.domain), node.op_type, getattr(node, "overload", "")


def model_function(functions: Mapping[FunctionKey, FunctionProto], node: NodeProto) -> FunctionProto | None:
    """Return the model function that a node calls, or None if it is an operator."""
    return functions.get(function_key(node))
