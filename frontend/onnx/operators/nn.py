"""Softmax and related operators, and layers that multiply matrices and apply an activation."""

from __future__ import annotations

from typing import Any

from ....dialects.sym.expr import product
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter, rows, simple
from ..values import Value, op

rows(simple("nn.softmax", "axis"), "Softmax", since=13)
rows(simple("nn.log_softmax", "axis"), "LogSoftmax", since=13)


def _flattened(name: str) -> Any:
    """Return a converter for versions before 13, which flatten `axis` and all dimensions after it."""

    def convert(node: Node, x: Value) -> Expr:
        axis = node.attr("axis", 1) % x.rank
        if axis == x.rank - 1:
            return op(name, x, axis=-1)
        rows_and_columns = (product(x.dims[:axis]), product(x.dims[axis:]))
        return op("reshape", op(name, op("reshape", x, rows_and_columns), axis=-1), x.dims)

    return convert


rows(_flattened("nn.softmax"), "Softmax")
rows(_flattened("nn.log_softmax"), "LogSoftmax")


@converter("Hardmax", since=13)
def hardmax(node: Node, x: Value) -> Expr:
    """Return 1 at the first maximum along `axis`, and 0 elsewhere."""
    axis = node.attr("axis", -1) % x.rank
    place = op("argmax", x, axis=axis, keepdims=True)
    own = op("arange", 0, x.dims[axis], 1, dtype="int64")
    own = op("reshape", own, [x.dims[i] if i == axis else 1 for i in range(x.rank)])
    return op("astype", op("equal", place, own), dtype=x.dtype)


@converter("Hardmax")
def hardmax_flattened(node: Node, x: Value) -> Expr:
    axis = node.attr("axis", 1) % x.rank
    flat = op("reshape", x, (product(x.dims[:axis]), product(x.dims[axis:])))
    place = op("argmax", flat, axis=1, keepdims=True)
    own = op("reshape", op("arange", 0, product(x.dims[axis:]), 1, dtype="int64"), (1, product(x.dims[axis:])))
    return op("reshape", op("astype", op("equal", place, own), dtype=x.dtype), x.dims)
