"""Operators that read at positions: slices, gathering."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..values import Output, Value, op


@converter("Gather")
def gather(node: Node, x: Value, indices: Value) -> Expr:
    return op("take", x, from_front(indices, x, node.attr("axis")), axis=node.attr("axis"))


def from_front(indices: Value, x: Value, axis: int) -> Output:
    """Indices of a dimension of x counted from its front: negative ones count from its end."""
    if indices.array is not None and not (indices.array < 0).any():
        return indices
    extent = Value.known(x.dims[axis], indices.dtype)
    return op("where", op("less", indices, 0), op("add", indices, extent), indices)


@converter("NonZero")
def nonzero(node: Node, x: Value) -> Expr:
    return op("nonzero", x)
