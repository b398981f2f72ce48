"""Creation of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import SymExpr
from ....handles.relax.calls import to_expr
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, dtype_of, is_float, shape_of
from ..promotion import DEFAULT_FLOAT
from ..ratios import exact
from ..table import row


def filled(e: Emitter, size: Sequence[Extent], value: Any, dtype: str) -> Expr:
    """Return a tensor filled with a value."""
    return R.full(ShapeExpr(size), e.tensor(value, dtype), dtype=dtype)


def _dtype_of_value(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return DEFAULT_FLOAT if isinstance(value, float | Expr) else "int64"  # a size is a symbolic expression


@row("full")
def full(e: Emitter, size: Sequence[Extent], fill_value: Any, dtype: str | None = None) -> Expr:
    """Return a tensor filled with a value."""
    return filled(e, size, fill_value, dtype or _dtype_of_value(fill_value))


@row("full_like")
def full_like(e: Emitter, x: Expr, fill_value: Any, dtype: str | None = None) -> Expr:
    """Return a tensor filled with a value, in the shape of another."""
    target = dtype or dtype_of(x)
    return R.full_like(x, e.tensor(fill_value, target), dtype=target)


@row("fill.Scalar", "fill.Tensor")
def fill(e: Emitter, x: Expr, value: Any) -> Expr:
    """Return a tensor like x filled with a value."""
    return filled(e, shape_of(x), value, dtype_of(x))


@row("ones")
def ones(e: Emitter, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return a tensor of ones."""
    return filled(e, size, 1, dtype or DEFAULT_FLOAT)


@row("zeros")
def zeros(e: Emitter, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return a tensor of zeros."""
    return filled(e, size, 0, dtype or DEFAULT_FLOAT)


@row("empty.memory_format", "empty", "empty_permuted")
def empty(e: Emitter, size: Sequence[Extent], *rest: Any, dtype: str | None = None) -> Expr:
    """Return an uninitialized tensor, as zeros."""
    return R.zeros(ShapeExpr(size), dtype=dtype or DEFAULT_FLOAT)


@row("empty_strided")
def empty_strided(e: Emitter, size: Sequence[Extent], stride: Any, dtype: str | None = None) -> Expr:
    """Return an uninitialized tensor, as zeros."""
    return empty(e, size, dtype=dtype)


@row("ones_like")
def ones_like(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Return ones in the shape of another tensor."""
    return R.ones_like(x, dtype=dtype or dtype_of(x))


@row("zeros_like", "empty_like")
def zeros_like(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Return zeros in the shape of another tensor."""
    return R.zeros_like(x) if dtype in (None, dtype_of(x)) else R.zeros_like(x, dtype=dtype)


@row("new_full")
def new_full(e: Emitter, x: Expr, size: Sequence[Extent], fill_value: Any, dtype: str | None = None) -> Expr:
    """Return a tensor filled with a value, with the dtype of another."""
    return filled(e, size, fill_value, dtype or dtype_of(x))


@row("new_ones")
def new_ones(e: Emitter, x: Expr, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return ones with the dtype of another tensor."""
    return filled(e, size, 1, dtype or dtype_of(x))


@row("new_zeros", "new_empty")
def new_zeros(e: Emitter, x: Expr, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return zeros with the dtype of another tensor."""
    return filled(e, size, 0, dtype or dtype_of(x))


@row("new_empty_strided")
def new_empty_strided(e: Emitter, x: Expr, size: Sequence[Extent], stride: Any, dtype: str | None = None) -> Expr:
    """Return an uninitialized tensor with the dtype of another, as zeros."""
    return filled(e, size, 0, dtype or dtype_of(x))


@row("scalar_tensor", "prims::scalar_tensor")
def scalar_tensor(e: Emitter, s: Any, dtype: str | None = None) -> Expr:
    """Return a number as a tensor of rank 0."""
    return e.tensor(s, dtype or DEFAULT_FLOAT)


@row("arange")
def arange_end(e: Emitter, end: Any, dtype: str | None = None) -> Expr:
    """Return 0, 1, … up to end, exclusive."""
    return arange(e, 0, end, 1, dtype)


@row("arange.start")
def arange_start(e: Emitter, start: Any, end: Any, dtype: str | None = None) -> Expr:
    """Return start, start + 1, … up to end, exclusive."""
    return arange(e, start, end, 1, dtype)


@row("arange.start_step")
def arange(e: Emitter, start: Any, end: Any, step: Any = 1, dtype: str | None = None) -> Expr:
    """Return start, start + step, … up to end, exclusive."""
    values = (start, end, step)
    target = dtype or ("int64" if all(not isinstance(v, float) for v in values) else DEFAULT_FLOAT)
    if all(isinstance(v, int | float) for v in values):
        if not is_float(target):  # PyTorch truncates fractions before it counts
            start, end, step = map(int, values)
        count = max(math.ceil((end - start) / step), 0)
        return const(start + step * np.arange(count), target)
    if any(isinstance(v, Expr) for v in values):
        raise UnsupportedError("the length of a range in floating point is computed")
    if not is_float(target):
        values = tuple(int(v) if isinstance(v, float) else v for v in values)
    traced = e.result_shape()
    if isinstance(step, SymExpr) and traced is not None and not any(isinstance(v, float) for v in values):
        places = e.emit(R.multiply(e.counted(traced[0]), e.tensor(step, "int64")))
        return cast_to(e.emit(R.add(places, e.tensor(start, "int64"))), target)
    whole = math.lcm(*(exact(v).denominator for v in values if isinstance(v, float)))
    scaled = [int(v * whole) if isinstance(v, float) else v if whole == 1 else v * whole for v in values]
    if whole == 1:
        return R.arange(*map(to_expr, scaled), dtype=target)
    places = e.emit(R.arange(*map(to_expr, scaled), dtype="int64"))  # of parts, whose number is an integer expression
    return cast_to(e.emit(R.divide(R.astype(places, dtype="float64"), const(float(whole), "float64"))), target)


@row("linspace")
def linspace(e: Emitter, start: Any, end: Any, steps: Extent, dtype: str | None = None) -> Expr:
    """Return `steps` evenly spaced numbers from start to end."""
    target = dtype or DEFAULT_FLOAT
    if isinstance(steps, int) and isinstance(start, int | float) and isinstance(end, int | float):
        return const(np.linspace(start, end, steps).astype("float64"), target)
    first, last = (e.bound(e.tensor(bound, "float64")) for bound in (start, end))
    count = R.arange(PrimValue(0), PrimValue(steps), PrimValue(1), dtype="int64")
    place, most = e.emit(R.astype(count, dtype="float64")), e.emit(e.tensor(steps, "float64"))
    one = const(1.0, "float64")
    step = e.emit(R.divide(R.subtract(last, first), R.maximum(R.subtract(most, one), one)))
    from_first = R.add(first, R.multiply(step, place))
    from_last = R.subtract(last, R.multiply(step, R.subtract(R.subtract(most, place), one)))
    middle = R.multiply(most, const(0.5, "float64"))
    return cast_to(e.emit(R.where(R.less(place, middle), from_first, from_last)), target)


@row("eye")
def eye(e: Emitter, n: Extent, dtype: str | None = None) -> Expr:
    """Return the identity matrix."""
    return eye_m(e, n, n, dtype)


@row("eye.m")
def eye_m(e: Emitter, n: Extent, m: Extent, dtype: str | None = None) -> Expr:
    """Return a matrix with ones on the diagonal."""
    return R.eye(PrimValue(n), PrimValue(m), PrimValue(0), dtype=dtype or DEFAULT_FLOAT)


@row("tril")
def tril(e: Emitter, x: Expr, diagonal: Extent = 0) -> Expr:
    """Return the lower triangle of x, with zeros above the diagonal."""
    return R.tril(x, diagonal)


@row("triu")
def triu(e: Emitter, x: Expr, diagonal: Extent = 0) -> Expr:
    """Return the upper triangle of x, with zeros below the diagonal."""
    return R.triu(x, diagonal)


@row("tril_indices")
def tril_indices(e: Emitter, row: Extent, col: Extent, offset: int = 0, dtype: str = "int64") -> Expr:
    """Return the positions of the lower triangle of a matrix."""
    return triangle(e, row, col, offset, dtype, is_upper=False)


@row("triu_indices")
def triu_indices(e: Emitter, row: Extent, col: Extent, offset: int = 0, dtype: str = "int64") -> Expr:
    """Return the positions of the upper triangle of a matrix."""
    return triangle(e, row, col, offset, dtype, is_upper=True)


def triangle(e: Emitter, rows: Extent, columns: Extent, offset: int, dtype: str, is_upper: bool) -> Expr:
    """Return the positions of a triangle of a matrix, shaped (2, their number)."""
    if isinstance(rows, int) and isinstance(columns, int):
        positions = (np.triu_indices if is_upper else np.tril_indices)(rows, offset, columns)
        return const(np.stack(positions), dtype)
    ones = e.emit(R.ones(ShapeExpr([rows, columns]), dtype="int32"))
    inside = e.emit((R.triu if is_upper else R.tril)(ones, offset))
    result = e.result_shape()
    return cast_to(e.matched(e.emit(R.nonzero(inside)), [2, result[-1] if result else e.fresh_size()]), dtype)
