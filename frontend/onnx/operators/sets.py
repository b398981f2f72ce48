"""Unique elements."""

from __future__ import annotations

from ....handles.relax.expr import Expr, PrimValue, TupleGetItem
from ..node import Node
from ..table import converter
from ..values import Value, op


@converter("Unique")
def unique(node: Node, x: Value) -> tuple[Expr, ...]:
    """Return the unique elements or slices, their first positions, the inverse mapping, and the counts."""
    axis = node.attr("axis")
    flags = [PrimValue(bool(node.attr("sorted"))), *[PrimValue(True)] * 3]
    place = {} if axis is None else {"axis": PrimValue(axis + x.rank if axis < 0 else axis)}
    every = op("unique", x, *flags, **place)
    return tuple(TupleGetItem(every, i) for i in range(4))
