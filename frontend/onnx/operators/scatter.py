"""Operators that write at positions."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..values import Value, op
from .indexing import from_front, tuples_from_front


def _reduction(node: Node) -> str:
    kind = node.attr("reduction", "none")
    return "update" if kind == "none" else kind


@converter("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Value, indices: Value, updates: Value) -> Expr:
    axis = node.attr("axis")
    place = from_front(indices, x.dims[axis])
    return op("scatter_elements", x, place, updates, axis=axis, reduction=_reduction(node))


@converter("ScatterND")
def scatter_nd(node: Node, x: Value, indices: Value, updates: Value) -> Expr:
    return op("scatter_nd", x, tuples_from_front(indices, x.dims), updates, reduction=_reduction(node))
