"""Image resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ..dialects.sym.expr import SymExpr
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.tensor import Tensor, compute


@dataclass(frozen=True)
class Resizing:
    """The parameters of a resize, named after the operator's attributes.

    `scales` are the scales of the spatial dimensions if they are not the quotients of their extents.
    """

    method: str
    mode: str
    rounding: str
    alpha: float
    exclude: bool
    roi: Sequence[float]
    extrapolation: float
    scales: Sequence[float | None] = ()


Tap = tuple[PrimExpr, PrimExpr]
"""An index of the data and its weight."""


def _number(value: float) -> PrimExpr:
    return tx.const(float(value), f64)


def _coordinate(
    i: PrimExpr, old: SymExpr, new: SymExpr, how: Resizing, start: float, end: float, scale: float | None = None
) -> PrimExpr:
    """Return the position in the data of an index of the result, in double precision."""
    x, n, m = i.astype(f64), from_sym(old).astype(f64), from_sym(new).astype(f64)
    single = tx.less_equal(from_sym(new), 1)
    steps = tx.maximum(m - 1.0, _number(1))

    def back(v: PrimExpr) -> PrimExpr:
        return tx.div(v * n, m) if scale is None else tx.div(v, _number(scale))

    half = back(x + 0.5) - 0.5
    crop = _number(start) * (n - 1.0) + tx.div(x * _number(end - start) * (n - 1.0), steps)
    modes: dict[str, PrimExpr] = {
        "half_pixel": half,
        "half_pixel_symmetric": half,
        "pytorch_half_pixel": tx.select(single, _number(0), half),
        "tf_half_pixel_for_nn": back(x + 0.5),
        "align_corners": tx.div(x * (n - 1.0), steps),
        "asymmetric": back(x),
        "tf_crop_and_resize": tx.select(single, _number(0.5 * (start + end)) * (n - 1.0), crop),
    }
    return modes[how.mode]


_EPSILON = 1e-5
ROUNDINGS: dict[str, Callable[[PrimExpr], PrimExpr]] = {
    "round": math_functions.round_,
    "round_prefer_floor": lambda x: math_functions.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math_functions.floor(x + 0.5),
    "floor": lambda x: math_functions.floor(x + _EPSILON),
    "ceil": lambda x: math_functions.ceil(x - _EPSILON),
}


def clamped(index: PrimExpr, extent: SymExpr) -> PrimExpr:
    """Return the nearest valid index."""
    return tx.maximum(tx.minimum(index.astype(extent.dtype), from_sym(extent - 1)), 0)


def cubic_weights(t: PrimExpr, a: PrimExpr) -> list[PrimExpr]:
    """Return Keys' weights of the four neighbors of a point at the fraction `t` between the middle two."""
    near = [((a + 2.0) * d - (a + 3.0)) * d * d + 1.0 for d in (t, 1.0 - t)]
    far = [((a * d - a * 5.0) * d + a * 8.0) * d - a * 4.0 for d in (t + 1.0, 2.0 - t)]
    return [far[0], near[0], near[1], far[1]]


def _taps(at: PrimExpr, extent: SymExpr, how: Resizing) -> list[Tap]:
    """Return the elements of a dimension that contribute to the value at a position, with their weights."""
    if how.method == "nearest_neighbor":
        return [(clamped(ROUNDINGS[how.rounding](at), extent), _number(1))]
    low = math_functions.floor(at)
    t = at - low
    if how.method == "linear":
        return [(clamped(low, extent), 1.0 - t), (clamped(low + 1.0, extent), t)]
    points, weights = [low + float(k) for k in (-1, 0, 1, 2)], cubic_weights(t, _number(how.alpha))
    if how.exclude:
        last = from_sym(extent - 1).astype(f64)
        inside = [tx.logical_and(tx.less_equal(_number(0), p), tx.less_equal(p, last)) for p in points]
        weights = [tx.select(c, w, _number(0)) for c, w in zip(inside, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [tx.div(w, total) for w in weights]
    return [(clamped(p, extent), w) for p, w in zip(points, weights, strict=True)]


def resize(data: Tensor, shape: Sequence[SymExpr], places: Sequence[int], how: Resizing, dtype: Attribute) -> Tensor:
    """Resize the spatial dimensions of `data`, given by `places`, to those of `shape`.

    If values are interpolated, one dimension is resized after the other: those that shrink from the outermost in, then
    those that grow from the innermost out. The taps of each index of a dimension are computed once.
    """
    wide = f64 if data.type == f64 else f32
    rank = len(places)
    scales = how.scales or [None] * rank
    ends = list(zip(how.roi[:rank], how.roi[rank:], scales, strict=True))
    nearest = how.method == "nearest_neighbor"
    mixed = data
    steps = sorted(zip(places, ends, strict=True), key=lambda step: _resize_order(step[0], data.dims, shape))
    for p, end in () if nearest else steps:
        mixed = _along(mixed, p, shape[p], how, end, wide)

    def element(*i: PrimExpr) -> PrimExpr:
        spatial = [(i[p], data.dims[p], shape[p]) for p in places]
        at = [_coordinate(v, n, m, how, *e) for (v, n, m), e in zip(spatial, ends, strict=True)]
        value = mixed(*i)
        if nearest:
            own = dict(
                zip(places, [_taps(x, n, how)[0][0] for x, (_, n, _) in zip(at, spatial, strict=True)], strict=True)
            )
            value = data(*(own.get(n, index) for n, index in enumerate(i)))
        if how.mode == "tf_crop_and_resize":
            value = tx.if_then_else(_inside(at, spatial), value, tx.const(how.extrapolation, wide).astype(value.type))
        return value.astype(dtype)

    return compute(list(shape), element, "resize", "resize")


def _resize_order(axis: int, old: Sequence[SymExpr], new: Sequence[SymExpr]) -> tuple[bool, int]:
    """Return the sort key that orders dimensions for resizing."""
    before, after = old[axis].constant, new[axis].constant
    grows = before is None or after is None or after > before
    return grows, -axis if grows else axis


End = tuple[float, float, float | None]
"""The selected part of a dimension, and its scale."""


def _along(data: Tensor, axis: int, new: SymExpr, how: Resizing, ends: End, wide: Attribute) -> Tensor:
    """Resize one dimension of `data` to the extent `new`."""
    old = data.dims[axis]

    def taps(i: PrimExpr) -> list[Tap]:
        return _taps(_coordinate(i, old, new, how, *ends), old, how)

    def place(k: int) -> Callable[[PrimExpr], PrimExpr]:
        return lambda i: taps(i)[k][0]

    def weight(k: int) -> Callable[[PrimExpr], PrimExpr]:
        return lambda i: taps(i)[k][1].astype(wide)

    every = range(len(taps(tx.const(0, new.dtype))))
    tables = [(compute([new], place(k), f"place{k}"), compute([new], weight(k), f"weight{k}")) for k in every]

    def element(*i: PrimExpr) -> PrimExpr:
        value = tx.const(0.0, wide)
        for where, weights in tables:
            # table entries are in bounds; clamping again avoids a check at the load
            at = clamped(where(i[axis]), old)
            tap = data(*i[:axis], at, *i[axis + 1 :]).astype(wide)
            value = value + tap * weights(i[axis])
        return value

    return compute([*data.dims[:axis], new, *data.dims[axis + 1 :]], element, "resized")


def _inside(at: Sequence[PrimExpr], spatial: Sequence[tuple[PrimExpr, SymExpr, SymExpr]]) -> PrimExpr:
    bounds: list[PrimExpr] = []
    for x, (_, extent, _) in zip(at, spatial, strict=True):
        bounds += [tx.less_equal(_number(0), x), tx.less_equal(x, from_sym(extent - 1).astype(f64))]
    return tx.logical_and(*bounds)


def interpolate(data: Tensor, axis: int, places: Tensor, weights: Tensor) -> Tensor:
    """Interpolate `data` along `axis`: `places` and `weights` are (new extent, taps)."""
    taps = weights.dims[1].constant or 0
    dims = [*data.dims[:axis], places.dims[0], *data.dims[axis + 1 :]]

    def element(*i: PrimExpr) -> PrimExpr:
        value: PrimExpr = tx.const(0.0, data.type)
        for k in range(taps):
            tap = data(*i[:axis], places(i[axis], k), *i[axis + 1 :])
            value = value + tap * weights(i[axis], k).astype(data.type)
        return value

    return compute(dims, element, "mixed")
