"""Random numbers, and dropout in training.

A node with the attribute `seed` draws the same numbers in each call; other nodes use the importer's `seed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.sym.expr import SymExpr
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..tensors import dtype_name
from ..values import Value, op

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _sample(node: Node, shape: list[SymExpr], dtype: str) -> Expr:
    """Return random numbers of the distribution named by the operator."""
    if dtype not in _FLOATS:
        raise node.error("random numbers are of floats", expected=", ".join(_FLOATS), found=dtype)
    if node.op_type.startswith("RandomUniform"):
        return op("random.uniform", *node.draw(), shape, low=node.attr("low"), high=node.attr("high"), dtype=dtype)
    return op("random.normal", *node.draw(), shape, mean=node.attr("mean"), std=node.attr("scale"), dtype=dtype)


@converter("RandomUniform", "RandomNormal")
def of_shape(node: Node) -> Expr:
    """Return random numbers of the shape in an attribute."""
    dtype = dtype_name(node.attr("dtype"), "the result")
    return _sample(node, node.extents(Value.constant(np.asarray(node.attr("shape"), np.int64))), dtype)


@converter("RandomUniformLike", "RandomNormalLike")
def of_other(node: Node, x: Value) -> Expr:
    """Return random numbers of the shape of x."""
    to = node.attr("dtype")
    return _sample(node, list(x.dims), x.dtype if to is None else dtype_name(to, "the result"))


@converter("Bernoulli")
def bernoulli(node: Node, x: Value) -> Expr:
    """Return 1 with the probability x."""
    to = node.attr("dtype")
    dtype = x.dtype if to is None else dtype_name(to, "the result")
    return op("random.bernoulli", *node.draw(), x.dims, x, dtype=dtype)


@converter("Multinomial")
def multinomial(node: Node, x: Value) -> Expr:
    """Return classes drawn with replacement, given the logarithms of their weights."""
    dtype = dtype_name(node.attr("dtype", 6), "the result")
    weights = op("exp", op("nn.log_softmax", x, axis=-1))
    count = node.attr("sample_size")
    return op("random.multinomial", *node.draw(), weights, num_samples=count, replacement=True, dtype=dtype)


@converter("Dropout")
def dropout(node: Node, x: Value, ratio: Value | None = None, training: Value | None = None) -> Any:
    """Return the identity and a mask of ones; in training, zero elements with the probability `ratio`."""
    ones = op("full", x.dims, Value.constant(True), dtype="bool") if node.wants(1) else None
    if training is None or (training.array is not None and not node.number(training)):
        return x, ones
    if ratio is None or ratio.array is not None:
        rate = node.attr("ratio", 0.5) if ratio is None else node.number(ratio)
        if rate == 0:
            return x, ones
        ratio = Value.constant(rate, "float64")
    return _dropout(node, x, op("reshape", op("astype", ratio, dtype="float64"), ()), training)


def _dropout(node: Node, x: Value, rate: Expr, training: Value) -> tuple[Expr, Expr]:
    rate = node.emit(rate)
    left = node.emit(op("subtract", Value.constant(1.0, "float64"), rate))
    mask = node.emit(op("random.bernoulli", *node.draw(), x.dims, left, dtype="bool"))
    none = Value.constant(0.0, "float64")
    scale = op("where", op("greater", left, none), op("divide", Value.constant(1.0, "float64"), left), none)
    kept = op("multiply", op("astype", mask, dtype=x.dtype), op("astype", scale, dtype=x.dtype))
    if training.array is None:
        active = node.emit(op("reshape", training, ()))
        mask = node.emit(op("logical_or", mask, op("logical_not", active)))
        kept = op("where", active, kept, Value.constant(1.0, x.dtype))
    return op("multiply", x, kept), mask
