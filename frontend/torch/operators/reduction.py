"""Reductions: sums, extrema, means, variances, arg-reductions, cumulative sums, sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i32, i64

from ....handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ....topi.segments import insertion_places
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axes_of, axis_of, cast_to, count_of, dtype_of, is_float, plain, rank_of, shape_of
from ..promotion import common_dtype, float_dtype, in_single, promoted
from ..table import row
from .elementwise import number, truth

Dims = int | Sequence[int] | None


def accumulated(dtype: str) -> str:
    """Return the dtype of a sum: integers and booleans are summed in int64."""
    return dtype if is_float(dtype) else "int64"


def _axis(dim: Dims) -> list[int] | None:
    if dim is None:
        return None
    return [dim] if isinstance(dim, int) else list(dim) or None


def reduced(build: Callable[..., Expr], x: Expr, dim: Dims, keepdim: bool) -> Expr:
    """Reduce over dimensions (all if None or empty); a scalar is returned unchanged."""
    if not rank_of(x):
        return build(x, axis=None, keepdims=False)
    return build(x, axis=_axis(dim), keepdims=keepdim)


@row("sum")
def sum_(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Return the sum of all elements."""
    return sum_dim(e, x, None, False, dtype)


@row("sum.dim_IntList")
def sum_dim(e: Emitter, x: Expr, dim: Dims, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """Return the sum over dimensions."""
    return reduced(R.sum, cast_to(x, dtype or accumulated(dtype_of(x))), dim, keepdim)


@row("mean")
def mean(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Return the mean of all elements."""
    return mean_dim(e, x, None, False, dtype)


@row("mean.dim")
def mean_dim(e: Emitter, x: Expr, dim: Dims, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """Return the mean over dimensions."""
    return reduced(R.mean, x if dtype is None else cast_to(x, dtype), dim, keepdim)


@row("prod")
def prod(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Return the product of all elements."""
    return prod_dim(e, x, None, False, dtype)


@row("prod.dim_int")
def prod_dim(e: Emitter, x: Expr, dim: Dims, keepdim: bool = False, dtype: str | None = None) -> Expr:
    """Return the product over a dimension; for booleans, whether all are true."""
    if dtype == "bool":
        return _extremum(R.min, cast_to(x, "bool"), dim, keepdim)
    return reduced(R.prod, cast_to(x, dtype or accumulated(dtype_of(x))), dim, keepdim)


@row("amax")
def amax(e: Emitter, x: Expr, dim: Dims = (), keepdim: bool = False) -> Expr:
    """Return the maximum over dimensions."""
    return _extremum(R.max, x, dim, keepdim)


@row("amin")
def amin(e: Emitter, x: Expr, dim: Dims = (), keepdim: bool = False) -> Expr:
    """Return the minimum over dimensions."""
    return _extremum(R.min, x, dim, keepdim)


def _extremum(build: Callable[..., Expr], x: Expr, dim: Dims, keepdim: bool) -> Expr:
    if dtype_of(x) == "bool":
        return R.astype(reduced(build, R.astype(x, dtype="uint8"), dim, keepdim), dtype="bool")
    return reduced(build, x, dim, keepdim)


@row("max")
def max_(e: Emitter, x: Expr) -> Expr:
    """Return the maximum."""
    return amax(e, x)


@row("min")
def min_(e: Emitter, x: Expr) -> Expr:
    """Return the minimum."""
    return amin(e, x)


@row("max.dim")
def max_dim(e: Emitter, x: Expr, dim: int, keepdim: bool = False) -> list[Expr]:
    """Return the maximum along a dimension, and its position."""
    return [e.emit(amax(e, x, dim, keepdim)), e.emit(argmax(e, x, dim, keepdim))]


@row("min.dim")
def min_dim(e: Emitter, x: Expr, dim: int, keepdim: bool = False) -> list[Expr]:
    """Return the minimum along a dimension, and its position."""
    return [e.emit(amin(e, x, dim, keepdim)), e.emit(argmin(e, x, dim, keepdim))]


@row("aminmax")
def aminmax(e: Emitter, x: Expr, dim: int | None = None, keepdim: bool = False) -> list[Expr]:
    """Return the minimum and maximum."""
    return [e.emit(amin(e, x, dim, keepdim)), e.emit(amax(e, x, dim, keepdim))]


@row("argmax")
def argmax(e: Emitter, x: Expr, dim: int | None = None, keepdim: bool = False) -> Expr:
    """Return the position of the maximum along `dim` (None: in the flattened tensor)."""
    return _position(R.argmax, x, dim, keepdim)


@row("argmin")
def argmin(e: Emitter, x: Expr, dim: int | None = None, keepdim: bool = False) -> Expr:
    """Return the position of the minimum along `dim` (None: in the flattened tensor)."""
    return _position(R.argmin, x, dim, keepdim)


def _position(build: Callable[..., Expr], x: Expr, dim: int | None, keepdim: bool) -> Expr:
    x = cast_to(x, "uint8") if dtype_of(x) == "bool" else x
    if rank_of(x):
        return build(x, axis=dim, keepdims=keepdim)
    return R.reshape(build(R.reshape(x, (1,)), axis=0, keepdims=False), ())


@row("any", "_is_any_true")
def any_(e: Emitter, x: Expr) -> Expr:
    """Return whether any element is nonzero."""
    return any_dims(e, x)


@row("any.dim", "any.dims")
def any_dims(e: Emitter, x: Expr, dim: Dims = None, keepdim: bool = False) -> Expr:
    """Return whether any element along dimensions is nonzero."""
    return _truths(R.max, x, dim, keepdim)


@row("all", "_is_all_true")
def all_(e: Emitter, x: Expr) -> Expr:
    """Return whether all elements are nonzero."""
    return all_dims(e, x)


@row("all.dim", "all.dims")
def all_dims(e: Emitter, x: Expr, dim: Dims = None, keepdim: bool = False) -> Expr:
    """Return whether all elements along dimensions are nonzero."""
    return _truths(R.min, x, dim, keepdim)


def _truths(build: Callable[..., Expr], x: Expr, dim: Dims, keepdim: bool) -> Expr:
    result = R.astype(reduced(build, R.astype(truth(x), dtype="uint8"), dim, keepdim), dtype="bool")
    return R.astype(result, dtype="uint8") if dtype_of(x) == "uint8" else result


# Variances and norms.


@row("var.correction")
@in_single
def var(e: Emitter, x: Expr, dim: Dims = None, correction: float | None = None, keepdim: bool = False) -> Expr:
    """Return the variance over dimensions: the sum of squares divided by the count minus the correction."""
    variance = reduced(R.variance, x, dim, keepdim)
    return _apply_correction(e, variance, x, dim, 1 if correction is None else correction)


def _apply_correction(e: Emitter, variance: Expr, x: Expr, dim: Dims, correction: float) -> Expr:
    if correction == 0:
        return variance
    count = count_of([shape_of(x)[a] for a in axes_of(dim, rank_of(x))])
    dtype = dtype_of(x)
    if isinstance(count, int):
        rest = count - correction
        factor: Expr = const(count / rest if rest > 0 else math.nan if count <= 1 else math.inf, dtype)
        return R.multiply(variance, factor)
    total = e.tensor(count, dtype)
    return R.divide(
        R.multiply(variance, total), R.maximum(R.subtract(total, const(correction, dtype)), const(0, dtype))
    )


@row("var")
def var_all(e: Emitter, x: Expr, unbiased: bool = True) -> Expr:
    """Return the variance of all elements."""
    return var(e, x, None, int(unbiased))


@row("var.dim")
def var_dim(e: Emitter, x: Expr, dim: Dims, unbiased: bool = True, keepdim: bool = False) -> Expr:
    """Return the variance over dimensions."""
    return var(e, x, dim, int(unbiased), keepdim)


@row("std.correction")
@in_single
def std(e: Emitter, x: Expr, dim: Dims = None, correction: float | None = None, keepdim: bool = False) -> Expr:
    """Return the standard deviation."""
    return R.sqrt(var(e, x, dim, correction, keepdim))


@row("std")
def std_all(e: Emitter, x: Expr, unbiased: bool = True) -> Expr:
    """Return the standard deviation of all elements."""
    return std(e, x, None, int(unbiased))


@row("std.dim")
def std_dim(e: Emitter, x: Expr, dim: Dims, unbiased: bool = True, keepdim: bool = False) -> Expr:
    """Return the standard deviation over dimensions."""
    return std(e, x, dim, int(unbiased), keepdim)


@row("var_mean.correction")
def var_mean(
    e: Emitter, x: Expr, dim: Dims = None, correction: float | None = None, keepdim: bool = False
) -> list[Expr]:
    """Return the variance and the mean."""
    return [e.emit(var(e, x, dim, correction, keepdim)), e.emit(reduced(R.mean, x, dim, keepdim))]


@row("logsumexp")
@in_single
def logsumexp(e: Emitter, x: Expr, dim: Dims, keepdim: bool = False) -> Expr:
    """Return log(sum(exp(x))), computed without overflow."""
    x = e.bound(cast_to(x, float_dtype(dtype_of(x))))
    most = e.emit(reduced(R.max, x, dim, True))
    shift = e.emit(R.where(R.isinf(most), number(x, 0.0), most))
    total = R.log(reduced(R.sum, R.exp(R.subtract(x, shift)), dim, keepdim))
    return R.add(total, shift if keepdim or not rank_of(x) else R.squeeze(shift, axis=axes_of(dim, rank_of(x))))


# Cumulative sums and sorting.


@row("cumsum")
def cumsum(e: Emitter, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Return the inclusive prefix sums."""
    return _scanned(R.cumsum, x, dim, dtype)


@row("cumprod")
def cumprod(e: Emitter, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Return the inclusive prefix products."""
    return _scanned(R.cumprod, x, dim, dtype)


def _scanned(build: Callable[..., Expr], x: Expr, dim: int, dtype: str | None) -> Expr:
    target = dtype or accumulated(dtype_of(x))
    if not rank_of(x):
        return cast_to(x, target)
    return build(x, axis=dim, dtype=None if target == dtype_of(x) and dtype is None else target, exclusive=False)


@row("sort")
def sort(e: Emitter, x: Expr, dim: int = -1, descending: bool = False, stable: bool | None = None) -> list[Expr]:
    """Return the sorted elements along a dimension and their positions; the sort is stable."""
    if not rank_of(x):
        return [x, const(0, "int64")]
    order = e.emit(R.argsort(_sortable(x), axis=dim, descending=descending, dtype="int64"))
    return [e.emit(R.gather_elements(x, order, axis=axis_of(dim, rank_of(x)))), order]


@row("sort.stable")
def sort_stable(e: Emitter, x: Expr, stable: bool | None, dim: int = -1, descending: bool = False) -> list[Expr]:
    """Same as `sort`."""
    return sort(e, x, dim, descending)


@row("argsort")
def argsort(e: Emitter, x: Expr, dim: int = -1, descending: bool = False) -> Expr:
    """Return the positions that sort the elements."""
    return sort(e, x, dim, descending)[1]


@row("argsort.stable")
def argsort_stable(e: Emitter, x: Expr, stable: bool, dim: int = -1, descending: bool = False) -> Expr:
    """Same as `argsort`."""
    return sort(e, x, dim, descending)[1]


def _sortable(x: Expr) -> Expr:
    return R.astype(x, dtype="uint8") if dtype_of(x) == "bool" else x


@row("topk")
def topk(e: Emitter, x: Expr, k: Extent, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the largest (or smallest) elements along a dimension, sorted, and their positions."""
    if not rank_of(x):
        return [x, const(0, "int64")]
    if not isinstance(k, int):
        values, order = sort(e, x, dim, largest)
        return [
            e.emit(R.strided_slice(v, axes=[dim], begin=[0], end=[k], assume_inbound=True)) for v in (values, order)
        ]
    if k == 0:
        shape: list[Extent] = shape_of(x)
        shape[axis_of(dim, len(shape))] = 0
        return [R.zeros(ShapeExpr(shape), dtype=dtype_of(x)), R.zeros(ShapeExpr(shape), dtype="int64")]
    return R.topk(x, k=k, axis=dim, ret_type="both", largest=largest, dtype="int64")


@row("kthvalue")
def kthvalue(e: Emitter, x: Expr, k: Extent, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    """Return the k-th smallest element along a dimension, and its position."""
    if not rank_of(x):
        return [x, const(0, "int64")]
    if not isinstance(k, int):
        begin, end = plain(k - 1), k
        parts = [R.strided_slice(v, axes=[dim], begin=[begin], end=[end], assume_inbound=True) for v in sort(e, x, dim)]
        return [e.bound(v) if keepdim else e.emit(R.squeeze(e.emit(v), axis=[dim])) for v in parts]
    both = e.emit(R.topk(x, k=k, axis=dim, ret_type="both", largest=False, dtype="int64"))
    last = [_last(e, e.emit(TupleGetItem(both, i)), dim, k, keepdim) for i in range(2)]
    return last


def _last(e: Emitter, x: Expr, dim: int, k: int, keepdim: bool) -> Expr:
    slice_ = e.emit(R.strided_slice(x, axes=[dim], begin=[k - 1], end=[k]))
    return slice_ if keepdim else e.emit(R.squeeze(slice_, axis=[dim]))


@row("linalg_vector_norm")
def linalg_vector_norm(
    e: Emitter, x: Expr, ord: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    """Return the vector norm of order `ord` over dimensions."""
    return _norm(e, e.bound(x if dtype is None else cast_to(x, dtype)), ord, dim, keepdim)


@in_single
def _norm(e: Emitter, x: Expr, ord: float, dim: Dims, keepdim: bool) -> Expr:
    size = e.bound(R.abs(x)) if ord not in (0, 2) else x
    if ord == 0:
        return reduced(R.sum, R.astype(truth(x), dtype=dtype_of(x)), dim, keepdim)
    if math.isinf(ord):
        return reduced(R.max if ord > 0 else R.min, size, dim, keepdim)
    if ord == 1:
        return reduced(R.sum, size, dim, keepdim)
    if ord == 2:
        return R.sqrt(reduced(R.sum, R.multiply(x, x), dim, keepdim))
    total = reduced(R.sum, R.power(size, number(x, ord)), dim, keepdim)
    return R.power(total, number(x, 1.0 / ord))


@row("bucketize.Tensor")
def bucketize(e: Emitter, x: Expr, boundaries: Expr, *, out_int32: bool = False, right: bool = False) -> Expr:
    """Return the number of sorted boundaries less than each element (less or equal if `right`)."""
    dtype = promoted(dtype_of(x), dtype_of(boundaries))
    return R.bucketize(cast_to(x, dtype), cast_to(boundaries, dtype), out_int32=out_int32, right=right)


@row("searchsorted.Tensor")
def searchsorted(
    e: Emitter, sorted_sequence: Expr, x: Expr, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Expr | None = None,
) -> Expr:  # fmt: skip
    """Return the insertion position of each element in a sorted vector, or in its sorted row."""
    after = right or side == "right"
    if rank_of(sorted_sequence) == 1 and sorter is None:
        return bucketize(e, x, sorted_sequence, out_int32=out_int32, right=after)
    rows = sorted_sequence if sorter is None else R.gather_elements(sorted_sequence, sorter, axis=-1)
    if not rank_of(x):
        vector = e.emit(R.reshape(x, (1,)))
        place = searchsorted(e, e.bound(rows), vector, out_int32=out_int32, right=after)
        return R.reshape(e.emit(place), ())
    dtype = promoted(dtype_of(x), dtype_of(rows))
    operands = [e.bound(cast_to(v, dtype)) for v in (rows, x)]
    return e.builder.call_te(insertion_places, *operands, i32 if out_int32 else i64, after)


@row("searchsorted.Scalar")
def searchsorted_scalar(
    e: Emitter, sorted_sequence: Expr, x: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Expr | None = None,
) -> Expr:  # fmt: skip
    """Return the insertion position of a number in a sorted vector."""
    value = e.bound(e.tensor(x, common_dtype([sorted_sequence, x])))
    return searchsorted(e, sorted_sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)
