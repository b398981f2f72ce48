"""Running extrema, and the logarithm of running sums of exponentials."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.dtypes import is_float
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ....handles.tir import limits, math_functions
from ....handles.tir import prim_expr as tx
from ....handles.tir.prim_expr import PrimExpr
from ....te.tensor import Tensor
from ....topi.scan import running
from ...importing.relax_operators import R
from ..emitter import Emitter, axis_of, cast_to, dtype_of, rank_of, shape_of
from ..promotion import float_dtype, in_single
from ..table import row

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]


def _greater(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the greater number, or NaN if one is NaN."""
    return tx.select(_or_nan(b >= a, b), b, a)


def _less(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tx.select(_or_nan(b <= a, b), b, a)


def _or_nan(condition: PrimExpr, x: PrimExpr) -> PrimExpr:
    return tx.logical_or(condition, math_functions.isnan(x)) if is_float(x.type) else condition


def _log_of_sum(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    most, least = _greater(a, b), _less(a, b)
    return tx.select(math_functions.isinf(most), most, most + math_functions.log1p(math_functions.exp(least - most)))


def _least(x: Tensor) -> PrimExpr:
    return -limits.infinity(x.type) if is_float(x.type) else limits.min_value(x.type)


def _greatest(x: Tensor) -> PrimExpr:
    return limits.infinity(x.type) if is_float(x.type) else limits.max_value(x.type)


def running_max(x: Tensor, axis: int) -> Tensor:
    """Return the maximum up to each element."""
    return running(x, "cummax", _greater, _least(x), axis, x.type, False)


def running_min(x: Tensor, axis: int) -> Tensor:
    """Return the minimum up to each element."""
    return running(x, "cummin", _less, _greatest(x), axis, x.type, False)


def running_log_sum(x: Tensor, axis: int) -> Tensor:
    """Return the logarithm of the sum of exponentials up to each element."""
    return running(x, "logcumsumexp", _log_of_sum, _least(x), axis, x.type, False)


@row("cummax")
def cummax(e: Emitter, x: Expr, dim: int) -> list[Expr]:
    """Return the maximum up to each element along a dimension, and its last position."""
    return _extrema(e, x, dim, running_max)


@row("cummin")
def cummin(e: Emitter, x: Expr, dim: int) -> list[Expr]:
    """Return the minimum up to each element along a dimension, and its last position."""
    return _extrema(e, x, dim, running_min)


def _extrema(e: Emitter, x: Expr, dim: int, best: Callable[[Tensor, int], Tensor]) -> list[Expr]:
    if not rank_of(x):
        return [x, const(0, "int64")]
    if dtype_of(x) == "bool":
        values, positions = _extrema(e, e.emit(R.astype(x, dtype="uint8")), dim, best)
        return [e.emit(R.astype(values, dtype="bool")), positions]
    axis, shape = axis_of(dim, rank_of(x)), shape_of(x)
    values = e.emit(e.builder.call_te(best, x, axis))
    place = R.arange(PrimValue(0), PrimValue(shape[axis]), PrimValue(1), dtype="int64")
    along = e.emit(R.reshape(place, ShapeExpr([d if i == axis else 1 for i, d in enumerate(shape)])))
    is_new = R.equal(x, values)
    if "float" in dtype_of(x):
        is_new = R.logical_or(is_new, R.isnan(x))
    positions = e.emit(R.where(is_new, along, const(0, "int64")))
    return [values, e.emit(e.builder.call_te(running_max, positions, axis))]


@row("logcumsumexp", "_logcumsumexp")
@in_single
def logcumsumexp(e: Emitter, x: Expr, dim: int) -> Expr:
    """Return the logarithm of the sum of exponentials up to each element along a dimension."""
    x = e.bound(cast_to(x, float_dtype(dtype_of(x))))
    return e.builder.call_te(running_log_sum, x, axis_of(dim, rank_of(x))) if rank_of(x) else x
