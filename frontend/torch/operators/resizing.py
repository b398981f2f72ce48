"""Resizing along a dimension by positions and weights that the run computes, for sizes which it shows."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ....handles.relax.expr import Expr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, dtype_of, rank_of, shape_of

_CUBIC, _SMOOTH = -0.75, -0.5
"""The parameters of Keys' kernels, of plain and of smoothed images."""


def by_taps(
    e: Emitter, x: Expr, axis: int, target: Extent, factor: float | None, align: bool, is_cubic: bool
) -> Expr:  # fmt: skip
    """Return x with `target` elements along an axis, each of the two (or four) that are next to it in x."""
    dtype, extent = _dtype(x), shape_of(x)[axis]
    step = _step(e, extent, target, factor, align, dtype)
    places = _ramp(e, target, dtype)
    if align:
        places = e.emit(R.multiply(places, step))
    else:
        half = const(0.5, dtype)
        places = e.emit(R.subtract(R.multiply(R.add(places, half), step), half))
    if not is_cubic:
        places = e.emit(R.maximum(places, const(0.0, dtype)))
    low = e.emit(R.floor(places))
    part = e.emit(R.subtract(places, low))
    first = e.emit(R.astype(low, dtype="int64"))
    last = e.emit(R.subtract(e.tensor(extent, "int64"), const(1, "int64")))
    trailing = rank_of(x) - axis - 1
    terms = [
        R.multiply(_taken(e, x, first, offset, last, axis), _column(e, weight, trailing, dtype_of(x)))
        for offset, weight in (_cubic_weights(e, part, dtype) if is_cubic else _linear_weights(part, dtype))
    ]
    return e.emit(reduce(R.add, map(e.emit, terms)))


def smoothing(
    e: Emitter, x: Expr, axis: int, target: Extent, factor: float | None, align: bool, is_cubic: bool
) -> Expr:  # fmt: skip
    """Return the weights of the elements along an axis of x in each of the `target` elements of a smoothed image."""
    dtype, source = _dtype(x), shape_of(x)[axis]
    half, one = const(0.5, dtype), const(1.0, dtype)
    scale = _step(e, source, target, factor, align, dtype)
    stretch = e.emit(R.maximum(scale, one))
    reach = e.emit(R.multiply(stretch, const(2.0 if is_cubic else 1.0, dtype)))
    ramp = _ramp(e, target, dtype)
    centers = e.emit(R.expand_dims(R.multiply(R.add(ramp, half), scale), axis=[1]))
    whole = e.tensor(source, dtype)
    first = e.emit(R.floor(R.maximum(R.add(R.subtract(centers, reach), half), const(0.0, dtype))))
    last = e.emit(R.minimum(R.floor(R.add(R.add(centers, reach), half)), whole))
    places = _ramp(e, source, dtype)
    distance = e.emit(R.abs(R.divide(R.add(R.subtract(places, centers), half), stretch)))
    kernel = _keys(e, distance, _SMOOTH, dtype) if is_cubic else R.maximum(R.subtract(one, distance), const(0.0, dtype))
    inside = R.logical_and(R.greater_equal(places, first), R.less(places, last))
    weights = e.emit(R.where(inside, kernel, const(0.0, dtype)))
    return e.emit(R.divide(weights, R.sum(weights, axis=[1], keepdims=True)))


def _dtype(x: Expr) -> str:
    return "float64" if dtype_of(x) == "float64" else "float32"


def _ramp(e: Emitter, count: Extent, dtype: str) -> Expr:
    return e.counted(count, dtype) if isinstance(count, int) else e.emit(R.astype(e.counted(count), dtype=dtype))


def _step(e: Emitter, extent: Extent, target: Extent, factor: float | None, align: bool, dtype: str) -> Expr:
    """Return the distance in the source between adjacent result elements."""
    if not align and factor:
        return const(1.0 / factor, dtype)
    source, result = e.tensor(extent, dtype), e.tensor(target, dtype)
    if not align:
        return e.emit(R.divide(source, result))
    one = const(1.0, dtype)
    gaps = e.emit(R.maximum(R.subtract(result, one), one))
    return e.emit(R.where(R.greater(result, one), R.divide(R.subtract(source, one), gaps), const(0.0, dtype)))


def _taken(e: Emitter, x: Expr, first: Expr, offset: int, last: Expr, axis: int) -> Expr:
    places = e.emit(R.minimum(R.maximum(R.add(first, const(offset, "int64")), const(0, "int64")), last))
    return e.emit(R.take(x, places, axis=axis))


def _column(e: Emitter, weight: Any, trailing: int, dtype: str) -> Expr:
    weight = e.emit(R.astype(e.emit(weight), dtype=dtype))
    return e.emit(R.expand_dims(weight, axis=list(range(1, 1 + trailing)))) if trailing else weight


def _linear_weights(part: Expr, dtype: str) -> list[tuple[int, Any]]:
    return [(0, R.subtract(const(1.0, dtype), part)), (1, R.add(part, const(0.0, dtype)))]


def _cubic_weights(e: Emitter, part: Expr, dtype: str) -> list[tuple[int, Any]]:
    return [
        (k, _keys(e, e.emit(R.abs(R.subtract(part, const(float(k), dtype)))), _CUBIC, dtype)) for k in (-1, 0, 1, 2)
    ]


def _keys(e: Emitter, x: Expr, a: float, dtype: str) -> Any:
    """Return Keys' cubic kernel of distances."""

    def polynomial(*factors: float) -> Any:
        terms = [const(f, dtype) for f in factors]
        return reduce(lambda value, term: R.add(R.multiply(value, x), term), terms[1:], terms[0])

    near = e.emit(polynomial(a + 2, -(a + 3), 0.0, 1.0))
    far = e.emit(polynomial(a, -5 * a, 8 * a, -4 * a))
    zero = const(0.0, dtype)
    return R.where(R.less(x, const(1.0, dtype)), near, R.where(R.less(x, const(2.0, dtype)), far, zero))
