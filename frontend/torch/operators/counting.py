"""Operators that count, rank or repeat elements: their results often have a data-dependent size."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import SymExpr, as_expr
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, TupleGetItem, const
from ....handles.struct_info import ShapeStructInfo, TensorStructInfo
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axis_of, cast_to, count_of, dtype_of, is_float, plain, rank_of, shape_of
from ..promotion import in_single
from ..table import row
from .creation import linspace
from .scan import cummax


def size_of(e: Emitter, number: Expr, extent: Extent | None) -> Extent:
    """Return a number of the run as a size: `extent`, if PyTorch has a symbol for it."""
    if isinstance(extent, int):
        return extent
    symbol: SymExpr = e.fresh_size() if extent is None else extent
    vector = e.emit(R.reshape(cast_to(number, "int64"), (1,)))
    e.builder.match_cast(e.emit(R.tensor_to_shape(vector)), ShapeStructInfo([symbol]))
    return symbol


def _flat(e: Emitter, x: Expr) -> Expr:
    return x if rank_of(x) == 1 else e.emit(R.reshape(x, ShapeExpr([count_of(shape_of(x))])))


def _count_up(extent: Extent) -> Expr:
    return R.arange(PrimValue(0), PrimValue(extent), PrimValue(1), dtype="int64")


def _totals(e: Emitter, places: Expr, weights: Expr, extent: Extent) -> Expr:
    """Return the sum of the weights at each of `extent` places."""
    zeros = e.emit(R.zeros(ShapeExpr([extent]), dtype=dtype_of(weights)))
    return e.emit(R.scatter_elements(zeros, places, weights, axis=0, reduction="add"))


@row("repeat_interleave.Tensor")
def repeats(e: Emitter, repeats: Expr, *, output_size: Extent | None = None) -> Expr:
    """Return each position as often as `repeats` says."""
    ends = e.emit(R.cumsum(repeats, axis=0, dtype="int64"))
    shape = e.result_shape()
    total = e.emit(R.sum(cast_to(repeats, "int64")))
    extent = size_of(e, total, shape[0] if shape else output_size)
    return cast_to(e.emit(R.bucketize(_count_up(extent), ends, out_int32=False, right=True)), dtype_of(repeats))


_OUTSIDE = 1 << 62
"""An index outside of any tensor, which a scatter refuses."""


@row("bincount")
def bincount(e: Emitter, x: Expr, weights: Expr | None = None, minlength: int = 0) -> Expr:
    """Return how often each number is among x, or the sum of its weights."""
    places = e.emit(cast_to(x, "int64"))
    if weights is None:
        added: Expr = R.ones(ShapeExpr(shape_of(x)), dtype="int64")
    else:
        added = weights if dtype_of(weights) == "float32" else cast_to(weights, "float64")
    least = const([max(minlength, 0) - 1], "int64")  # of an empty x the length is minlength
    greatest = R.max(e.emit(R.concat([places, least], axis=0)))
    shape = e.result_shape()
    extent = size_of(e, e.emit(R.add(greatest, const(1, "int64"))), shape[0] if shape else None)
    outside = const(_OUTSIDE, "int64")  # a negative index would count from the end
    positions = e.emit(R.where(R.less(places, const(0, "int64")), outside, places))
    return _totals(e, positions, e.bound(added), extent)


@row("histc")
@in_single
def histc(e: Emitter, x: Expr, bins: int = 100, min: float = 0, max: float = 0) -> Expr:
    """Return the number of elements in each of `bins` equal intervals; the last one includes `max`."""
    if not isinstance(bins, int) or (min == max and count_of(shape_of(x)) == 0):
        raise UnsupportedError("the number of intervals, or the bounds of no elements, are not constant")
    dtype = dtype_of(x)
    wide = "float64" if dtype in ("float64", "int64", "int32") else "float32"
    data = e.bound(cast_to(_flat(e, x), wide))
    low, high = (const(v, wide) for v in (min, max))
    if min == max:
        low, high = e.emit(R.min(data)), e.emit(R.max(data))
        single = e.emit(R.equal(low, high))
        low = e.emit(R.where(single, R.subtract(low, const(1, wide)), low))
        high = e.emit(R.where(single, R.add(high, const(1, wide)), high))
    part = R.divide(R.multiply(R.subtract(data, low), const(bins, wide)), R.subtract(high, low))
    inside = e.emit(R.logical_and(R.greater_equal(data, low), R.less_equal(data, high)))
    place = e.emit(R.astype(R.where(inside, part, const(0, wide)), dtype="int64"))
    counted = e.emit(R.astype(inside, dtype="int64"))
    totals = _totals(e, e.emit(R.minimum(place, const(bins - 1, "int64"))), counted, bins)
    return cast_to(totals, dtype)


@row("histogram.bin_ct")
def histogram(
    e: Emitter, x: Expr, bins: int = 100, *, range: Sequence[float] | None = None, weight: Expr | None = None,
    density: bool = False,
) -> list[Expr]:  # fmt: skip
    """Return the number, or the weights, of the elements between neighbours of `bins` + 1 edges, and the edges.

    They divide `range`, or what lies between the extrema, evenly. The last one belongs to the last interval.
    """
    columns = [_flat(e, x)]
    edges = _even_edges(e, columns, [bins], range)
    return [_between(e, columns, edges, weight, density), *edges]


@row("histogram.bins_tensor")
def histogram_of_edges(
    e: Emitter, x: Expr, bins: Expr, *, weight: Expr | None = None, density: bool = False
) -> list[Expr]:
    """Return the number, or the weights, of the elements between edges, and the edges."""
    return [_between(e, [_flat(e, x)], [bins], weight, density), bins]


@row("_histogramdd_bin_edges")
def even_edges(
    e: Emitter, x: Expr, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Expr | None = None,
    density: bool = False,
) -> list[Expr]:  # fmt: skip
    """Return the edges of histograms of points for each of their coordinates."""
    return _even_edges(e, _columns(e, x), bins, range)


@row("_histogramdd_from_bin_cts")
def histogram_of_points(
    e: Emitter, x: Expr, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Expr | None = None,
    density: bool = False,
) -> Expr:  # fmt: skip
    """Return the number, or the weights, of points between edges that divide ranges evenly."""
    columns = _columns(e, x)
    return _between(e, columns, _even_edges(e, columns, bins, range), weight, density)


@row("_histogramdd_from_bin_tensors")
def histogram_of_points_between(
    e: Emitter, x: Expr, bins: Sequence[Expr], *, weight: Expr | None = None, density: bool = False
) -> Expr:
    """Return the number, or the weights, of points between edges."""
    return _between(e, _columns(e, x), bins, weight, density)


def _columns(e: Emitter, x: Expr) -> list[Expr]:
    """Return the coordinates of points, the last dimension of x, each as a vector."""
    *outer, count = shape_of(x)
    if not isinstance(count, int):
        raise UnsupportedError("histograms of points with a symbolic number of coordinates", found=count)
    points = e.emit(R.reshape(x, ShapeExpr([count_of(outer), count])))
    return [e.emit(R.take(points, const(i, "int64"), axis=1)) for i in builtins.range(count)]


def _even_edges(e: Emitter, columns: Sequence[Expr], bins: Sequence[int], outer: Sequence[float] | None) -> list[Expr]:
    """Return `bins` + 1 edges for each vector, from a bound of `outer` to the next, or between the extrema."""
    result: list[Expr] = []
    for i, (column, count) in enumerate(zip(columns, bins, strict=True)):
        dtype = dtype_of(column)
        if outer is None and count_of(shape_of(column)) != 0:
            low, high = e.emit(R.min(column)), e.emit(R.max(column))
        else:  # of no elements the range is from 0 to 1
            low, high = (e.emit(const(v, dtype)) for v in (outer[2 * i : 2 * i + 2] if outer else (0.0, 1.0)))
        half = e.emit(R.where(R.equal(low, high), const(0.5, dtype), const(0.0, dtype)))
        result.append(linspace(e, R.subtract(low, half), R.add(high, half), count + 1, dtype))
    return result


def _between(e: Emitter, columns: Sequence[Expr], edges: Sequence[Expr], weight: Expr | None, density: bool) -> Expr:
    """Return how many points, or what weights, are in each box between edges; divided by all and by its volume."""
    dtype, place, inside = dtype_of(columns[0]), None, None
    counts = [plain(as_expr(shape_of(bounds)[0]) - 1) for bounds in edges]
    for column, bounds, count in zip(columns, edges, counts, strict=True):
        last = e.emit(e.tensor(count, "int64"))
        low, high = (e.emit(R.take(bounds, i, axis=0)) for i in (const(0, "int64"), last))
        within = R.logical_and(R.greater_equal(column, low), R.less_equal(column, high))
        inside = e.emit(within if inside is None else R.logical_and(inside, within))
        after = e.emit(R.bucketize(column, bounds, out_int32=False, right=True))
        own = e.emit(R.subtract(R.minimum(after, last), const(1, "int64")))
        place = own if place is None else e.emit(R.add(R.multiply(place, last), own))
    assert place is not None and inside is not None
    added = const(1, dtype) if weight is None else e.bound(cast_to(_flat(e, weight), dtype))
    added = e.emit(R.where(inside, added, const(0, dtype)))
    place = e.emit(R.where(inside, place, const(0, "int64")))
    result = e.emit(R.reshape(_totals(e, place, added, count_of(counts)), ShapeExpr(counts)))
    return _per_volume(e, result, edges) if density else result


def _per_volume(e: Emitter, counts: Expr, edges: Sequence[Expr]) -> Expr:
    result = e.emit(R.divide(counts, R.sum(counts)))
    for axis, bounds in enumerate(edges):
        count = shape_of(counts)[axis]
        ends = (
            R.strided_slice(bounds, axes=[0], begin=[i], end=[as_expr(count) + i], assume_inbound=True) for i in (1, 0)
        )
        shape = ShapeExpr([count if i == axis else 1 for i in range(len(edges))])
        result = e.emit(R.divide(result, R.reshape(e.emit(R.subtract(*ends)), shape)))
    return result


@row("_unique2", "_unique")
def unique2(e: Emitter, x: Expr, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the distinct elements in order, where each element is among them, and their counts."""
    both = e.emit(R.unique(x, *map(PrimValue, (True, False, True, True))))
    values, inverse, counts = (e.emit(TupleGetItem(both, i)) for i in range(3))
    shape = e.traced_shape(0)
    values, counts = e.matched(values, shape), e.matched(counts, shape)
    return [values, e.emit(R.reshape(inverse, ShapeExpr(shape_of(x)))), counts]


@row("unique_dim")
def unique_dim(
    e: Emitter, x: Expr, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Return the distinct slices along a dimension in order, where each slice is among them, and their counts."""
    axis = axis_of(dim, rank_of(x))
    both = e.emit(R.unique(x, *map(PrimValue, (True, False, True, True, axis))))
    values, inverse, counts = (e.emit(TupleGetItem(both, i)) for i in range(3))
    shape = e.traced_shape(0)
    counts = e.matched(counts, None if shape is None else [shape[axis]])
    return [e.matched(values, shape), e.matched(inverse, [shape_of(x)[axis]]), counts]


@row("unique_consecutive")
def unique_consecutive(
    e: Emitter, x: Expr, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return elements, or slices along a dimension, that differ from the one before them, where each is, and counts."""
    axis = 0 if dim is None else axis_of(dim, rank_of(x))
    data = _flat(e, x) if dim is None else x
    extent = shape_of(data)[axis]
    place = e.emit(_count_up(extent))
    before = e.emit(R.maximum(R.subtract(place, const(1, "int64")), const(0, "int64")))
    changed = e.emit(R.not_equal(data, e.emit(R.take(data, before, axis=axis))))
    others = [i for i in range(rank_of(data)) if i != axis]
    if others:
        changed = e.emit(R.max(R.astype(changed, dtype="int64"), axis=others))
    begins = e.emit(R.logical_or(cast_to(changed, "bool"), R.equal(place, const(0, "int64"))))
    inverse = e.emit(R.subtract(R.cumsum(begins, axis=0, dtype="int64"), const(1, "int64")))
    shape = e.traced_shape(0)
    count: Extent = e.fresh_size() if shape is None else shape[axis]
    found = e.builder.match_cast(e.emit(R.nonzero(begins)), TensorStructInfo([1, count], "int64"))
    values = e.emit(R.take(data, e.emit(R.squeeze(found, axis=[0])), axis=axis))
    counts = _totals(e, inverse, e.emit(R.ones(ShapeExpr([extent]), dtype="int64")), count)
    places = inverse if dim is not None else e.emit(R.reshape(inverse, ShapeExpr(shape_of(x))))
    nothing = e.emit(R.zeros(ShapeExpr([0]), dtype="int64"))
    return [values, places if return_inverse else nothing, counts if return_counts else nothing]


# By rank.


@row("median.dim", "nanmedian.dim")
def median_dim(e: Emitter, x: Expr, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    """Return the lower median along a dimension and its position: NaN if there is any, unless it is `nanmedian`."""
    if not rank_of(x):
        return [x, const(0, "int64")]
    axis = axis_of(dim, rank_of(x))
    extent = e.tensor(shape_of(x)[axis], "int64")
    order = e.emit(R.argsort(x, axis=axis, descending=False, dtype="int64"))
    missing = e.emit(R.astype(R.isnan(x), dtype="int64")) if is_float(dtype_of(x)) else None
    half = const(2, "int64")
    if missing is None:
        rank = R.reshape(R.floor_divide(R.subtract(extent, const(1, "int64")), half), ShapeExpr([1] * rank_of(x)))
        rank = R.broadcast_to(rank, ShapeExpr([1 if i == axis else d for i, d in enumerate(shape_of(x))]))
    else:
        gaps = e.emit(R.sum(missing, axis=axis, keepdims=True))
        present = e.emit(R.subtract(extent, gaps))
        middle = R.floor_divide(R.subtract(R.maximum(present, const(1, "int64")), const(1, "int64")), half)
        ignored = e.node is not None and "nanmedian" in str(e.node.target)
        first = present if not ignored else middle  # NaN comes last in the order
        rank = middle if ignored else R.where(R.greater(gaps, const(0, "int64")), first, middle)
    position = e.emit(R.gather_elements(order, e.emit(rank), axis=axis))
    both = [e.emit(R.gather_elements(x, position, axis=axis)), position]
    return both if keepdim else [e.emit(R.squeeze(v, axis=[axis])) for v in both]


@row("median", "nanmedian")
def median(e: Emitter, x: Expr) -> Expr:
    """Return the lower median of all elements."""
    return median_dim(e, _flat(e, x), 0)[0]


@row("mode")
def mode(e: Emitter, x: Expr, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    """Return the least of the most frequent elements along a dimension, and its last position."""
    if not rank_of(x):
        return [x, const(0, "int64")]
    axis = axis_of(dim, rank_of(x))
    shape = shape_of(x)
    order = e.emit(R.argsort(x, axis=axis, descending=False, dtype="int64"))
    values = e.emit(R.gather_elements(x, order, axis=axis))
    along = ShapeExpr([d if i == axis else 1 for i, d in enumerate(shape)])
    place = e.emit(R.broadcast_to(R.reshape(_count_up(shape[axis]), along), ShapeExpr(shape)))
    before = e.emit(R.maximum(R.subtract(place, const(1, "int64")), const(0, "int64")))
    starts = R.not_equal(values, e.emit(R.gather_elements(values, before, axis=axis)))
    begin = cummax(e, e.emit(R.where(starts, place, const(0, "int64"))), axis)[0]
    longest = R.argmax(e.emit(R.subtract(place, begin)), axis=axis, keepdims=True)
    at = e.emit(cast_to(e.emit(longest), "int64"))
    both = [e.emit(R.gather_elements(v, at, axis=axis)) for v in (values, order)]
    return both if keepdim else [e.emit(R.squeeze(v, axis=[axis])) for v in both]
