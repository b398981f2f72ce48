"""Operators of ONNX as packed functions, computed by the reference implementation of the package onnx.

A name `onnx.ops.Det.22(…)` has the node, serialized, in its parentheses: saved executables find the operator again.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .ndarray import array

PREFIX = "onnx.ops."


def name_of(node: Any, version: int) -> str:
    """Return the name of the packed function of a `NodeProto` in a version of its domain."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return f"{PREFIX}{operator}.{version}({base64.b64encode(node.SerializeToString()).decode()})"


def operator_of(name: str) -> str:
    """Return the operator in the name of a packed function: `Det.22`."""
    return name.removeprefix(PREFIX).partition("(")[0]


@cache
def onnx_operator(name: str) -> Callable[..., Any] | None:
    """Return the packed function of a name that begins with `PREFIX`, None if the package onnx is not installed."""
    try:
        from onnx import NodeProto, helper
        from onnx.reference import ReferenceEvaluator
    except ModuleNotFoundError:
        return None
    node = NodeProto.FromString(base64.b64decode(name.partition("(")[2].removesuffix(")")))
    inputs, outputs = [n for n in node.input if n], [n for n in node.output if n]
    parameters, results = ([helper.make_empty_tensor_value_info(n) for n in names] for names in (inputs, outputs))
    opset = helper.make_opsetid(node.domain, int(operator_of(name).rpartition(".")[2]))
    model = helper.make_model(helper.make_graph([node], node.op_type, parameters, results), opset_imports=[opset])
    evaluator = ReferenceEvaluator(model)

    def call(*arguments: Any) -> Any:
        feeds = {n: np.asarray(a) for n, a in zip(inputs, arguments, strict=True)}
        arrays = [_result(r) for r in evaluator.run(None, feeds)]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    return call


def _result(value: Any) -> Any:
    plain = np.asarray(value)
    return plain.astype(object) if plain.dtype.kind in "OUS" else array(plain)


__all__ = ["PREFIX", "name_of", "onnx_operator", "operator_of"]
