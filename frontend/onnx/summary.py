"""Summaries of ONNX models: `summary_of`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..importing.summary import Summary, tensor_text
from .coverage import coverage_of
from .model import functions_of, model_versions, open_model
from .tensors import tensor_type

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto, ValueInfoProto

_NUMPY = {"float": "float32", "double": "float64"}
"""ONNX's dtype names that differ from numpy's."""


def summary_of(model: Any) -> Summary:
    """Return the inputs, outputs, weights and operators of a model, a `ModelProto` or a path, without converting it.

    Raises `ModelError` for anything else.
    """
    proto = open_model(model).proto
    opsets = model_versions(proto, None)
    graph = proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    return Summary(
        _title(proto, opsets),
        tuple(_text(info) for info in graph.input if info.name not in weights),
        tuple(map(_text, graph.output)),
        len(graph.initializer),
        _bytes(graph.initializer),
        coverage_of(graph, opsets, functions_of(proto)),
    )


def _title(proto: ModelProto, opsets: dict[str, int]) -> str:
    versions = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(opsets.items()))
    producer = f"; written by {proto.producer_name} {proto.producer_version}".rstrip() if proto.producer_name else ""
    return f"ONNX, IR version {proto.ir_version}, operators of {versions}{producer}"


def _bytes(tensors: Iterable[TensorProto]) -> int:
    from onnx import helper

    return sum(math.prod(t.dims) * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize for t in tensors)


def _text(info: ValueInfoProto) -> str:
    from onnx import helper

    tensor = tensor_type(info.type)
    if tensor is None:
        return f"{info.name}: {info.type.WhichOneof('value') or 'of unknown type'}"
    shape = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]
    dtype = helper.tensor_dtype_to_string(tensor.elem_type).removeprefix("TensorProto.").lower()
    return tensor_text(info.name, _NUMPY.get(dtype, dtype), tuple(shape) if tensor.HasField("shape") else None)
