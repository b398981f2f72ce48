"""Scatter: elements written by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axis_of, cast_to, count_of, dtype_of, is_float, plain, rank_of, shape_of
from ..table import row
from .elementwise import scaled
from .indexing import (
    broadcast,
    diagonal_of,
    from_the_front,
    in_range,
    index_rank,
    indexed_places,
    is_mask,
    positions,
    strided_places,
    to_the_front,
    wrapped,
)  # fmt: skip


@row("index_put")
def index_put(e: Emitter, x: Expr, indices: Sequence[Expr | None], values: Expr, accumulate: bool = False) -> Expr:
    """Write values at index tensors, adding them if `accumulate`."""
    values = cast_to(values, dtype_of(x))
    if accumulate and dtype_of(x) == "bool":  # True and True are True
        counts = [cast_to(v, "int32") for v in (x, values)]
        summed = e.emit(index_put(e, e.emit(counts[0]), indices, e.emit(counts[1]), True))
        return cast_to(summed, "bool")
    places = indexed_places(indices)
    present = [i for i in indices if i is not None]
    rank = max(index_rank(i) for i in present)
    before = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    total = rank + rank_of(x) - len(places)
    shape = [*[1] * (total - rank_of(values)), *shape_of(values)]
    count = shape[before + rank - 1] if rank else 1
    if len(present) == 1 and is_mask(present[0]) and count == 1:
        return _masked_put(e, x, before, present[0], e.bound(values), shape, accumulate)
    own = count == 1 or len(present) > 1  # data-dependent counts and values broadcast at run time
    tensors = positions(e, x, indices, None if own else count)
    front = to_the_front(places, rank_of(x))
    if front == sorted(front):
        return R.index_put(x, tensors, values, accumulate=accumulate)
    back = from_the_front(places, rank_of(x), rank)
    values = R.permute_dims(e.emit(R.reshape(values, ShapeExpr(shape))), axes=inverse(back))
    moved = e.emit(R.permute_dims(x, axes=front))
    written = e.emit(R.index_put(moved, tensors, e.emit(values), accumulate=accumulate))
    return R.permute_dims(written, axes=inverse(front))


def inverse(order: Sequence[int]) -> list[int]:
    """Return the inverse of a dimension order."""
    return sorted(range(len(order)), key=order.__getitem__)


def _masked_put(
    e: Emitter, x: Expr, before: int, mask: Expr, values: Expr, shape: Sequence[Extent], accumulate: bool
) -> Expr:
    """Write the same values wherever a mask, on the dimensions from `before` on, is true."""
    after = rank_of(x) - before - rank_of(mask)
    condition = e.emit(R.reshape(cast_to(mask, "bool"), ShapeExpr([*[1] * before, *shape_of(mask), *[1] * after])))
    spread = [*shape[:before], *[1] * rank_of(mask), *shape[len(shape) - after :]]
    new = e.emit(R.reshape(values, ShapeExpr(spread)))
    return R.where(condition, R.add(x, new) if accumulate else new, x)


@row("scatter.src")
def scatter(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr) -> Expr:
    """Write each element of src at its position, with one coordinate replaced by the index."""
    return _scattered(e, x, dim, index, src, "update")


@row("scatter.value")
def scatter_value(e: Emitter, x: Expr, dim: int, index: Expr, value: Any) -> Expr:
    """Write a value at positions."""
    source = R.full(ShapeExpr(shape_of(index)), e.tensor(value, dtype_of(x)), dtype=dtype_of(x))
    return _scattered(e, x, dim, index, source, "update")


@row("scatter_add")
def scatter_add(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr) -> Expr:
    """Add each element of src at its position, with one coordinate replaced by the index."""
    return _scattered(e, x, dim, index, src, "add")


def _scattered(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr, reduction: str) -> Expr:
    if not rank_of(x):
        vectors = [R.reshape(v, (1,)) for v in (x, index, src)]
        return R.reshape(_scattered(e, vectors[0], 0, vectors[1], vectors[2], reduction), ())
    corner = [(0, n) for n in shape_of(index)]
    if shape_of(src) != shape_of(index):
        axes = list(range(len(corner)))
        src = R.strided_slice(src, axes=axes, begin=[b for b, _ in corner], end=[n for _, n in corner])
    dtype = dtype_of(x)
    reduction = _OF_TRUTH.get(reduction, reduction) if dtype == "bool" else reduction
    return R.scatter_elements(x, index, cast_to(src, dtype), axis=dim, reduction=reduction)


_OF_TRUTH = {"add": "max", "mul": "min"}
"""Sums and products of booleans: any and all."""


@row("slice_scatter")
def slice_scatter(
    e: Emitter, x: Expr, src: Expr, dim: int = 0, start: Extent | None = None, end: Extent | None = None,
    step: Extent = 1,
) -> Expr:  # fmt: skip
    """Write src to x[start:end:step] along a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    bounds = (in_range(start, extent, 0), in_range(end, extent, extent), step)
    return R.slice_scatter(x, cast_to(src, dtype_of(x)), *(PrimValue(b) for b in bounds), axis=dim)


@row("select_scatter")
def select_scatter(e: Emitter, x: Expr, src: Expr, dim: int, index: Extent) -> Expr:
    """Write src at an index of a dimension."""
    axis = axis_of(dim, rank_of(x))
    extent = shape_of(x)[axis]
    at = index + extent if isinstance(index, int) and index < 0 else index
    return slice_scatter(e, x, e.emit(R.expand_dims(cast_to(src, dtype_of(x)), axis)), axis, at, plain(at + 1))


@row("scatter.reduce", "scatter_reduce.two")
def scatter_reduce(
    e: Emitter, x: Expr, dim: int, index: Expr, src: Expr, reduce: str, *, include_self: bool = True
) -> Expr:
    """Combine each element of src with the element at its position."""
    reduction = _REDUCTIONS[reduce]
    if not include_self:
        ground = e.emit(_scattered(e, x, dim, index, _neutral(e, src, reduction), "update"))
    else:
        ground = x
    if reduction != "mean":
        return _scattered(e, ground, dim, index, src, reduction)
    total = e.emit(_scattered(e, ground, dim, index, src, "add"))
    return _over_counts(e, x, total, dim, index, include_self)


_REDUCTIONS = {
    "sum": "add", "prod": "mul", "mean": "mean", "amax": "max", "amin": "min", "add": "add", "multiply": "mul",
}  # fmt: skip


def _neutral(e: Emitter, src: Expr, reduction: str) -> Expr:
    dtype = dtype_of(src)
    info: Any = np.finfo(dtype) if is_float(dtype) else np.iinfo(dtype) if dtype != "bool" else None
    least, most = (-np.inf, np.inf) if is_float(dtype) else (info.min, info.max) if info else (False, True)
    value = {"add": 0, "mean": 0, "mul": 1, "max": least, "min": most}[reduction]
    return R.full(ShapeExpr(shape_of(src)), const(value, dtype), dtype=dtype)


def _over_counts(e: Emitter, x: Expr, total: Expr, dim: int, index: Expr, include_self: bool) -> Expr:
    dtype = dtype_of(x)
    ones = R.full(ShapeExpr(shape_of(index)), const(1, dtype), dtype=dtype)
    start = R.full(ShapeExpr(shape_of(x)), const(int(include_self), dtype), dtype=dtype)
    counts = e.emit(_scattered(e, e.emit(start), dim, index, e.emit(ones), "add"))
    counts = R.maximum(counts, const(1, dtype))
    return R.divide(total, counts) if is_float(dtype) else R.floor_divide(total, counts)


@row("scatter.value_reduce")
def scatter_value_reduce(e: Emitter, x: Expr, dim: int, index: Expr, value: Any, *, reduce: str) -> Expr:
    """Combine a value with the elements at positions."""
    source = e.emit(R.full(ShapeExpr(shape_of(index)), e.tensor(value, dtype_of(x)), dtype=dtype_of(x)))
    return _scattered(e, x, dim, index, source, _REDUCTIONS[reduce])


@row("index_add")
def index_add(e: Emitter, x: Expr, dim: int, index: Expr, source: Expr, *, alpha: Any = 1) -> Expr:
    """Add slices at indices of a dimension."""
    source = scaled(e, cast_to(source, dtype_of(x)), alpha)
    if not rank_of(x):
        x, index, source = (e.emit(R.reshape(v, ShapeExpr([count_of(shape_of(v))]))) for v in (x, index, source))
        return R.reshape(_scattered(e, x, 0, index, source, "add"), ())
    return _slices_scattered(e, x, dim, index, source, "add")


@row("index_reduce")
def index_reduce(
    e: Emitter, x: Expr, dim: int, index: Expr, source: Expr, reduce: str, *, include_self: bool = True
) -> Expr:
    """Combine slices with those at indices of a dimension."""
    if not rank_of(x):
        x, index, source = (e.emit(R.reshape(v, ShapeExpr([count_of(shape_of(v))]))) for v in (x, index, source))
        return R.reshape(e.emit(index_reduce(e, x, 0, index, source, reduce, include_self=include_self)), ())
    places = _across(e, index, dim, source)
    return scatter_reduce(e, x, dim, places, source, reduce, include_self=include_self)


@row("put")
def put(e: Emitter, x: Expr, index: Expr, source: Expr, accumulate: bool = False) -> Expr:
    """Write the elements of source at indices of the flattened tensor, adding them if `accumulate`."""
    flat, places, values = (e.emit(R.reshape(v, ShapeExpr([count_of(shape_of(v))]))) for v in (x, index, source))
    places = e.emit(wrapped(cast_to(places, "int64"), count_of(shape_of(x)), e))
    written = _scattered(e, flat, 0, places, values, "add" if accumulate else "update")
    return R.reshape(e.emit(written), ShapeExpr(shape_of(x)))


@row("as_strided_scatter")
def as_strided_scatter(
    e: Emitter, x: Expr, src: Expr, size: Sequence[Extent], stride: Sequence[Extent],
    storage_offset: Extent | None = None,
) -> Expr:  # fmt: skip
    """Write src to the elements of a row-major tensor with explicit strides."""
    places = e.bound(strided_places(e, size, stride, storage_offset))
    places = e.emit(R.reshape(places, ShapeExpr([count_of(size)])))
    flat, values = (e.emit(R.reshape(v, ShapeExpr([count_of(shape_of(v))]))) for v in (x, src))
    return R.reshape(e.emit(_scattered(e, flat, 0, places, values, "update")), ShapeExpr(shape_of(x)))


@row("index_copy")
def index_copy(e: Emitter, x: Expr, dim: int, index: Expr, source: Expr) -> Expr:
    """Write slices at indices of a dimension."""
    if not rank_of(x):
        return R.reshape(source, ())
    return _slices_scattered(e, x, dim, index, source, "update")


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(e: Emitter, x: Expr, dim: int, index: Expr, value: Any) -> Expr:
    """Fill the slices at indices of a dimension with a value."""
    if not rank_of(x):
        return e.tensor(value, dtype_of(x))
    shape = shape_of(x)
    shape[axis_of(dim, len(shape))] = count_of(shape_of(index))
    source = e.emit(R.full(ShapeExpr(shape), e.tensor(value, dtype_of(x)), dtype=dtype_of(x)))
    return _slices_scattered(e, x, dim, index, source, "update")


def _slices_scattered(e: Emitter, x: Expr, dim: int, index: Expr, source: Expr, reduction: str) -> Expr:
    """Combine slices with those at indices of a dimension: rows one after the other, others by element."""
    shape, rows = shape_of(x), shape_of(source)
    if axis_of(dim, len(shape)) or len(rows) != len(shape) or dtype_of(x) == "bool":
        return _scattered(e, x, dim, _across(e, index, dim, source), source, reduction)
    source = e.matched(source, [rows[0], *shape[1:]])
    places = e.emit(R.reshape(cast_to(index, "int64"), ShapeExpr([rows[0], 1])))
    return R.scatter_nd(x, places, source, reduction)


def _across(e: Emitter, index: Expr, dim: int, source: Expr) -> Expr:
    """Expand indices of a dimension to each element of the slices."""
    shape = shape_of(source)
    along = [count_of(shape_of(index)) if i == axis_of(dim, len(shape)) else 1 for i in range(len(shape))]
    spread = R.broadcast_to(e.emit(R.reshape(cast_to(index, "int64"), ShapeExpr(along))), ShapeExpr(shape))
    return e.emit(spread)


@row("masked_scatter")
def masked_scatter(e: Emitter, x: Expr, mask: Expr, source: Expr) -> Expr:
    """Write the elements of source, in order, where a mask is true."""
    shape = broadcast(shape_of(x), shape_of(mask))
    if shape_of(mask) != shape:
        mask = e.emit(R.broadcast_to(mask, ShapeExpr(shape)))
    if shape_of(x) != shape:
        x = e.emit(R.broadcast_to(x, ShapeExpr(shape)))
    flat = [mask if rank_of(mask) == 1 else e.emit(R.reshape(mask, ShapeExpr([count_of(shape)])))]
    count = e.emit(R.cumsum(flat[0], axis=0, dtype="int32", exclusive=False))
    places = e.emit(R.subtract(count, const(1, "int32")))
    values = source if rank_of(source) == 1 else e.emit(R.reshape(source, ShapeExpr([count_of(shape_of(source))])))
    written = e.emit(R.take(values, R.maximum(places, const(0, "int32")), axis=0))
    if len(shape) != 1:
        written = e.emit(R.reshape(written, ShapeExpr(shape)))
    return R.where(mask, written, x)


@row("copy")
def copy(e: Emitter, x: Expr, src: Expr) -> Expr:
    """Return src in the shape and dtype of x."""
    src = cast_to(src, dtype_of(x))
    return src if shape_of(src) == shape_of(x) else R.broadcast_to(src, ShapeExpr(shape_of(x)))


@row("diagonal_scatter")
def diagonal_scatter(e: Emitter, x: Expr, src: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Expr:
    """Write src on the diagonal of x."""
    shape = shape_of(x)
    if all(isinstance(s, int) for s in shape):
        numbers = np.arange(count_of(shape)).reshape(shape)  # pyright: ignore[reportArgumentType, reportCallIssue]
        places: Expr = const(np.diagonal(numbers, offset, dim1, dim2).reshape(-1), "int64")
    else:
        count = R.arange(PrimValue(0), PrimValue(count_of(shape)), PrimValue(1), dtype="int64")
        numbers = e.emit(R.reshape(e.emit(count), ShapeExpr(shape)))
        found = e.emit(diagonal_of(e, numbers, offset, dim1, dim2, shape_of(src)[-1]))
        places = e.emit(R.reshape(found, ShapeExpr([count_of(shape_of(src))])))
    flat = e.emit(R.reshape(x, ShapeExpr([count_of(shape)])))
    values = e.emit(R.reshape(cast_to(src, dtype_of(x)), ShapeExpr([count_of(shape_of(src))])))
    return R.reshape(e.emit(R.scatter_elements(flat, places, values, axis=0, reduction="update")), ShapeExpr(shape))
