"""Operators that read at positions: slices, gathering, triangles, one-hot."""

from __future__ import annotations

from typing import Any

from ....dialects.sym.expr import SymExpr, as_expr
from ....handles.relax.expr import Expr, PrimValue
from ..node import Node
from ..table import converter
from ..values import Dims, Output, Value, as_value, op
from .elementwise import converted


@converter("Gather")
def gather(node: Node, x: Value, indices: Value) -> Expr:
    axis = _from_front(node.attr("axis"), x.rank)
    return op("take", x, from_front(indices, x.dims[axis]), axis=axis)


@converter("GatherElements")
def gather_elements(node: Node, x: Value, indices: Value) -> Expr:
    axis = _from_front(node.attr("axis"), x.rank)
    return op("gather_elements", x, from_front(indices, x.dims[axis]), axis=axis)


@converter("GatherND")
def gather_nd(node: Node, x: Value, indices: Value) -> Expr:
    batch = node.attr("batch_dims", 0)
    return op("gather_nd", x, tuples_from_front(indices, x.dims[batch:]), batch_dims=batch)


def _from_front(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def from_front(indices: Value, extent: SymExpr) -> Output:
    """Normalize indices of a dimension: negative ones count from its end."""
    if indices.array is not None and not (indices.array < 0).any():
        return indices
    return _wrapped(indices, Value.known(extent, indices.dtype))


def tuples_from_front(indices: Value, dims: Dims) -> Output:
    """Like `from_front`, for index tuples along the last dimension, which index the first of `dims`."""
    if indices.array is not None and not (indices.array < 0).any():
        return indices
    depth = indices.dims[-1].constant
    return _wrapped(indices, Value.known(list(dims[:depth]), indices.dtype))


def _wrapped(indices: Value, extents: Value) -> Expr:
    return op("where", op("less", indices, 0), op("add", indices, extents), indices)


@converter("Slice")
def slice_(
    node: Node,
    x: Value,
    starts: Value | None = None,
    ends: Value | None = None,
    axes: Value | None = None,
    steps: Value | None = None,
) -> Expr:
    """Slice a tensor; bounds computed at run time are read from their tensors."""
    first = node.attr("starts") if starts is None else starts.elements
    last = node.attr("ends") if ends is None else ends.elements
    if first is None or last is None:
        assert starts is not None and ends is not None
        return _sliced_at_run_time(node, x, starts, ends, axes, steps)
    where = node.ints("axes", axes) or list(range(len(first)))
    stride = node.ints("steps", steps) or [1] * len(first)
    first, last = ([_near(b, x.dims[a]) for b, a in zip(bounds, where, strict=True)] for bounds in (first, last))
    return op("strided_slice", x, where, _scalars(first), _scalars(last), _scalars(stride))


_FAR = 1 << 31


def _near(bound: Any, extent: SymExpr) -> SymExpr:
    """Return a slice bound; exporters' stand-ins for infinity become a bound just outside of the extent."""
    value = as_expr(bound)
    if value.constant is None or abs(value.constant) < _FAR:
        return value
    return extent if value.constant > 0 else -extent - 1


def _scalars(values: list[Any]) -> list[PrimValue]:
    return [PrimValue(as_expr(v)) for v in values]


def _sliced_at_run_time(
    node: Node, x: Value, starts: Value, ends: Value, axes: Value | None, steps: Value | None
) -> Expr:
    where = node.ints("axes", axes) or list(range(starts.sizes[0]))
    zeros, ones = ([Value.known([n])] * x.rank for n in (0, 1))
    rows = [_replaced(zeros, where, starts), _replaced([Value.known([d]) for d in x.dims], where, ends)]
    rows.append(_replaced(ones, where, steps))
    return op("dynamic_strided_slice", x, *(op("concat", row, axis=0) for row in rows))


def _replaced(row: list[Value], axes: list[int], elements: Value | None) -> list[Output]:
    """Return the one-element vectors `row`, with those of `axes` replaced by `elements`."""
    result: list[Output] = list(row)
    for i, axis in enumerate(axes if elements is not None else ()):
        result[axis] = op(
            "strided_slice", converted(as_value(elements), "int64"), *(_scalars([n]) for n in (0, i, i + 1))
        )
    return result


@converter("NonZero")
def nonzero(node: Node, x: Value) -> Expr:
    return op("nonzero", x)


@converter("Compress")
def compress(node: Node, x: Value, condition: Value) -> Expr:
    """Return x[condition], along an axis or of the flattened tensor."""
    axis = node.attr("axis")
    data: Output = op("flatten", x) if axis is None else x
    kept = op("squeeze", node.with_extents(op("nonzero", condition)), axis=[0])
    return op("take", data, kept, axis=0 if axis is None else axis)


@converter("OneHot")
def one_hot(node: Node, indices: Value, depth: Value, values: Value) -> Expr:
    """Return a one-hot encoding; `values` are (off, on), and an index out of range yields a row of off."""
    extent = node.extent(depth) if depth.array is None else as_expr(int(node.number(depth)))
    rank = indices.rank + 1
    axis = _from_front(node.attr("axis"), rank)
    wide = converted(indices, "int64")
    place = op("expand_dims", op("where", op("less", wide, 0), op("add", wide, Value.known(extent)), wide), axis=axis)
    each = op("arange", PrimValue(0), PrimValue(extent), PrimValue(1), dtype="int64")
    row = op("reshape", each, tuple(extent if i == axis else 1 for i in range(rank)))
    off, on = (op("take", values, Value.constant(i), axis=0) for i in (0, 1))
    return op("where", op("equal", place, row), on, off)


@converter("Trilu")
def triangle(node: Node, x: Value, k: Value | None = None) -> Expr:
    upper = bool(node.attr("upper"))
    if k is None or k.elements is not None:
        return op("triu" if upper else "tril", x, PrimValue(k.elements[0] if k and k.elements else as_expr(0)))
    rows, columns = (op("arange", PrimValue(0), PrimValue(d), PrimValue(1), dtype="int64") for d in x.dims[-2:])
    diagonal = op("subtract", columns, op("expand_dims", rows, axis=[1]))
    kept = op("greater_equal" if upper else "less_equal", diagonal, op("reshape", converted(k, "int64"), ()))
    return op("where", kept, x, 0)


@converter("ReverseSequence")
def reverse_sequence(node: Node, x: Value, lengths: Value) -> Expr:
    """Reverse the first `lengths` elements of each sequence."""
    batch, time = node.attr("batch_axis"), node.attr("time_axis")
    step = op("arange", PrimValue(0), PrimValue(x.dims[time]), PrimValue(1), dtype="int64")
    steps = op("reshape", step, tuple(d if i == time else 1 for i, d in enumerate(x.dims)))
    length = op("reshape", converted(lengths, "int64"), tuple(d if i == batch else 1 for i, d in enumerate(x.dims)))
    mirrored = op("subtract", op("subtract", length, 1), steps)
    place = op("where", op("less", steps, length), mirrored, steps)
    return op("gather_elements", x, op("broadcast_to", place, x.dims), axis=time)
