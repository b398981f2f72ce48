"""Reductions along axes."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import Converter, converter
from ..values import Output, Value, op


def _reduction(name: str) -> Converter:
    def convert(node: Node, x: Value, axes: Value | None = None) -> Output:
        along = node.ints("axes", axes)
        if not along and node.attr("noop_with_empty_axes", 0):
            return x
        return op(name, x, axis=along or None, keepdims=bool(node.attr("keepdims")))

    return convert


def _position(name: str) -> Converter:
    def convert(node: Node, x: Value) -> Expr:
        axis, keep = node.attr("axis"), bool(node.attr("keepdims"))
        if not node.attr("select_last_index", 0):
            return op("astype", op(name, x, axis=axis, keepdims=keep), dtype="int64")
        mirrored = op("astype", op(name, op("flip", x, axis=axis), axis=axis, keepdims=keep), dtype="int64")
        return op("subtract", Value.known(x.dims[axis] - 1), mirrored)

    return convert


converter("ArgMax")(_position("argmax"))
converter("ArgMin")(_position("argmin"))


for _name in ("Sum", "Mean", "Max", "Min", "Prod"):
    converter(f"Reduce{_name}")(_reduction(_name.lower()))
