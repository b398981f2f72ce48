"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.dtypes import dtype_of, is_float
from ....handles.relax.expr import Expr
from ..node import Node
from ..single import in_single
from ..table import Converter, converter
from ..values import Output, Value, as_value, op


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


# Reductions with a function applied before or after the sum.


def _composed(before: Callable[[Output], Output], after: Callable[[Output], Output]) -> Converter:
    """Return a converter for after(sum(before(x))), computed in floats if x is an integer."""
    total = _reduction("sum")

    @in_single
    def convert(node: Node, x: Value, axes: Value | None = None) -> Output:
        data = x if is_float(dtype_of(x.dtype)) else as_value(op("astype", x, dtype="float64"))
        result = after(total(node, as_value(before(data)), axes))
        return result if data is x else op("astype", result, dtype=x.dtype)

    return convert


def _same(x: Output) -> Output:
    return x


def _square(x: Output) -> Output:
    return op("multiply", x, x)


converter("ReduceL1")(_composed(lambda x: op("abs", x), _same))
converter("ReduceL2")(_composed(_square, lambda s: op("sqrt", s)))
converter("ReduceSumSquare")(_composed(_square, _same))
converter("ReduceLogSum")(_composed(_same, lambda s: op("log", s)))
_log_sum_exp = _composed(lambda x: op("exp", x), lambda s: op("log", s))


@converter("ReduceLogSumExp")
@in_single
def log_sum_exp(node: Node, x: Value, axes: Value | None = None) -> Output:
    """Return log(sum(exp(x))), subtracting the maximum against overflow if the reduction is not empty."""
    along = node.ints("axes", axes) or list(range(x.rank))
    nothing = not node.ints("axes", axes) and node.attr("noop_with_empty_axes", 0)
    if nothing or not is_float(dtype_of(x.dtype)) or not all(x.dims[a].constant for a in along):
        return _log_sum_exp(node, x, axes)
    greatest = node.emit(op("max", x, axis=along, keepdims=True))
    shift = node.emit(op("where", op("isfinite", greatest), greatest, 0.0))
    total = op("sum", op("exp", op("subtract", x, shift)), axis=along, keepdims=True)
    result = op("add", op("log", total), shift)
    return result if node.attr("keepdims") else op("squeeze", result, axis=along)
