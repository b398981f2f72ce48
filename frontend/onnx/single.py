"""Converters that compute 16-bit inputs in float32."""

from __future__ import annotations

from functools import wraps
from typing import Any

from .node import Node
from .table import Converter
from .values import Value, as_value, op

_HALVES = ("float16", "bfloat16")


def in_single(convert: Converter) -> Converter:
    """Return a converter that computes in float32 if the first input is 16 bits wide, rounding the results once.

    This is what ONNX Runtime does. The results have the dtype of the first input; nodes with other inputs are
    unchanged.
    """

    @wraps(convert)
    def single(node: Node, *inputs: Any) -> Any:
        dtype = inputs[0].dtype if inputs and isinstance(inputs[0], Value) else None
        if dtype not in _HALVES:
            return convert(node, *inputs)

        def rounded(result: Any) -> Any:
            value = None if result is None else as_value(node.emit(as_value(result).expr))
            return value if value is None or value.dtype != "float32" else op("astype", value, dtype=dtype)

        results = convert(node, *map(_wide, inputs))
        return tuple(map(rounded, results)) if isinstance(results, tuple) else rounded(results)

    return single


def _wide(x: Any) -> Any:
    return as_value(op("astype", x, dtype="float32")) if isinstance(x, Value) and x.dtype in _HALVES else x
