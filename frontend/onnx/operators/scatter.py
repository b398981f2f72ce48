"""Operators that write at positions."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..values import Value, op
from .indexing import from_front, tuples_from_front

_OF_TRUTH = {"add": "max", "mul": "min"}
"""Sums and products of booleans: any and all."""


def _reduction(node: Node, x: Value) -> str:
    kind: str = node.attr("reduction", "none")
    if x.dtype == "bool":
        kind = _OF_TRUTH.get(kind, kind)
    return "update" if kind == "none" else kind


@converter("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Value, indices: Value, updates: Value) -> Expr:
    axis = node.attr("axis")
    place = from_front(indices, x.dims[axis])
    return op("scatter_elements", x, place, updates, axis=axis, reduction=_reduction(node, x))


@converter("ScatterND")
def scatter_nd(node: Node, x: Value, indices: Value, updates: Value) -> Expr:
    return op("scatter_nd", x, tuples_from_front(indices, x.dims), updates, reduction=_reduction(node, x))
