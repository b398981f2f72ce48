"""Cumulative sums and products, and sorting."""

from __future__ import annotations

from ....handles.relax.expr import Expr, PrimValue, TupleGetItem
from ..node import Node
from ..table import Converter, converter
from ..values import Value, as_value, op


def _running(name: str) -> Converter:
    def convert(node: Node, x: Value, axis: Value) -> Expr:
        along = int(node.number(axis))
        reverse = node.attr("reverse", 0)
        data = op("flip", x, axis=along) if reverse else x
        result = op(name, data, axis=along, exclusive=bool(node.attr("exclusive", 0)))
        return op("flip", result, axis=along) if reverse else result

    return convert


converter("CumSum")(_running("cumsum"))
converter("CumProd")(_running("cumprod"))


@converter("TopK")
def topk(node: Node, x: Value, k: Value | None = None) -> tuple[Expr, Expr]:
    """Return the largest or smallest elements with their positions; k is an attribute before version 10."""
    axis, largest = node.attr("axis", -1), bool(node.attr("largest", 1))
    count = node.attr("k") if k is None else node.extent(k)
    number = count if isinstance(count, int) else count.constant
    if number:
        both = op("topk", x, k=number, axis=axis, largest=largest, ret_type="both", dtype="int64")
        return TupleGetItem(both, 0), TupleGetItem(both, 1)
    order = op("argsort", x, axis=axis, descending=largest, dtype="int64")
    first = node.emit(op("strided_slice", order, [axis], [PrimValue(0)], [PrimValue(count)]))
    return op("gather_elements", x, as_value(first), axis=axis), first
