"""Operators that create tensors of constants, ranges and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.dtypes import dtype_of, is_float
from ....dialects.sym.expr import SymExpr, as_expr
from ....handles.relax.expr import Expr, PrimValue
from .. import strings
from ..node import Node
from ..shape_arithmetic import integers
from ..table import converter
from ..tensors import dtype_name
from ..values import Output, Value, as_value, op
from .elementwise import converted


@converter("Constant")
def constant(node: Node) -> Value:
    """Return the constant in the node's attribute; sparse tensors are unsupported."""
    readers = {
        "value": lambda v: v,
        "value_float": np.float32,
        "value_floats": lambda v: np.array(v, np.float32),
        "value_int": np.int64,
        "value_ints": lambda v: np.array(v, np.int64),
        "value_string": lambda v: np.array(v, object),
        "value_strings": lambda v: np.array(v, object),
    }
    for name, read in readers.items():
        if node.has(name):
            return strings.constant(np.asarray(read(node.attr(name))))
    raise node.unsupported("a sparse tensor")


@converter("ConstantOfShape")
def constant_of_shape(node: Node, shape: Value) -> Output:
    fill = node.attr("value")
    fill = np.zeros(1, np.float32) if fill is None else fill
    if fill.dtype.kind == "O":
        raise node.on_host("it fills a tensor of strings")
    return op("full", node.extents(shape), Value(array=fill.reshape(())), dtype=fill.dtype.name)


@converter("EyeLike")
def eye_like(node: Node, x: Value) -> Expr:
    to = node.attr("dtype")
    rows, columns = x.dims
    dtype = x.dtype if to is None else dtype_name(to, "the result")
    return op("eye", PrimValue(rows), PrimValue(columns), PrimValue(node.attr("k")), dtype=dtype)


@converter("Range")
def arange(node: Node, start: Value, limit: Value, delta: Value) -> Any:
    """Return a range of constants, sizes, or numbers that are computed when the program runs."""
    bounds = [integers(v) for v in (start, limit, delta)]
    if all(b is not None for b in bounds):
        first, last, step = (as_expr(b.ravel()[0]) for b in bounds if b is not None)
        if step.constant is not None:
            return op("arange", PrimValue(first), PrimValue(last), PrimValue(step), dtype=start.dtype)
    arrays = [v.array for v in (start, limit, delta)]
    if all(a is not None for a in arrays):
        first, last, step = (a.reshape(())[()] for a in arrays if a is not None)
        count = max(int(np.ceil((last - first) / step)), 0)
        return Value(array=(first + np.arange(count) * step).astype(start.dtype))
    first, last, step = (Value(node.emit(op("reshape", v, ()))) for v in (start, limit, delta))
    each = op("arange", PrimValue(0), PrimValue(_count(node, first, last, step)), PrimValue(1), dtype="int64")
    return op("add", first, op("multiply", converted(as_value(each), start.dtype), step))


def _count(node: Node, first: Value, last: Value, step: Value) -> SymExpr:
    """Return the number of elements of a range as a size of the run."""
    span = op("subtract", last, first)
    if is_float(dtype_of(first.dtype)):
        quotient = op("divide", converted(as_value(span), "float64"), converted(step, "float64"))
        count = converted(as_value(op("ceil", quotient)), "int64")
    else:
        backwards = op("subtract", 0, converted(as_value(span), "int64"))
        count = op("subtract", 0, op("floor_divide", backwards, converted(step, "int64")))
    return node.extent(Value(node.emit(op("maximum", count, 0))))


@converter("Shape")
def shape(node: Node, x: Value) -> Expr:
    """Return the shape of a tensor of unknown shape; known shapes are folded as expressions."""
    extents = op("shape_to_tensor", op("shape_of", x))
    start, end = node.attr("start", 0), node.attr("end")
    if start == 0 and end is None:
        return extents
    end = x.rank if end is None else end
    return op("strided_slice", extents, [0], [start], [end])


@converter("Size")
def size(node: Node, x: Value) -> Expr:
    """Same as `shape`."""
    return op("prod", op("shape_to_tensor", op("shape_of", x)))
