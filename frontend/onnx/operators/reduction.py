"""Reductions along axes."""

from __future__ import annotations

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


for _name in ("Sum", "Mean", "Max", "Min", "Prod"):
    converter(f"Reduce{_name}")(_reduction(_name.lower()))
