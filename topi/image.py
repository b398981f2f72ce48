"""Resizing of images."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ..dialects.relax.layout import arranged
from ..dialects.sym.expr import SymExpr
from ..ir import prim_expr as tx
from ..ir.prim_expr import PrimExpr, from_sym
from ..te.tensor import Tensor, compute


@dataclass(frozen=True)
class Resizing:
    """How an image is resized; the names are those of the operator's attributes."""

    method: str
    mode: str
    rounding: str
    alpha: float
    exclude: bool
    roi: Sequence[float]
    extrapolation: float


Tap = tuple[PrimExpr, PrimExpr]
"""An index of the data and its weight."""


def _number(value: float) -> PrimExpr:
    return tx.const(float(value), f64)


def _coordinate(i: PrimExpr, old: SymExpr, new: SymExpr, how: Resizing, start: float, end: float) -> PrimExpr:
    """The position in the data of an index of the result, in double precision."""
    x, n, m = i.astype(f64), from_sym(old).astype(f64), from_sym(new).astype(f64)
    single = tx.less_equal(from_sym(new), 1)
    steps = tx.maximum(m - 1.0, _number(1))
    half = tx.div((x + 0.5) * n, m) - 0.5
    crop = _number(start) * (n - 1.0) + tx.div(x * _number(end - start) * (n - 1.0), steps)
    modes: dict[str, PrimExpr] = {
        "half_pixel": half,
        "half_pixel_symmetric": half,
        "pytorch_half_pixel": tx.select(single, _number(0), half),
        "tf_half_pixel_for_nn": tx.div((x + 0.5) * n, m),
        "align_corners": tx.div(x * (n - 1.0), steps),
        "asymmetric": tx.div(x * n, m),
        "tf_crop_and_resize": tx.select(single, _number(0.5 * (start + end)) * (n - 1.0), crop),
    }
    return modes[how.mode]


_EPSILON = 1e-5
ROUNDINGS: dict[str, Callable[[PrimExpr], PrimExpr]] = {
    "round": tx.round_,
    "round_prefer_floor": lambda x: tx.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: tx.floor(x + 0.5),
    "floor": lambda x: tx.floor(x + _EPSILON),
    "ceil": lambda x: tx.ceil(x - _EPSILON),
}


def _clamped(index: PrimExpr, extent: SymExpr) -> PrimExpr:
    return tx.maximum(tx.minimum(index.astype(extent.dtype), from_sym(extent - 1)), 0)


def cubic_weights(t: PrimExpr, a: PrimExpr) -> list[PrimExpr]:
    """Keys' weights of the four neighbours of a point at the fraction `t` between the middle two."""
    near = [((a + 2.0) * d - (a + 3.0)) * d * d + 1.0 for d in (t, 1.0 - t)]
    far = [((a * d - a * 5.0) * d + a * 8.0) * d - a * 4.0 for d in (t + 1.0, 2.0 - t)]
    return [far[0], near[0], near[1], far[1]]


def _taps(at: PrimExpr, extent: SymExpr, how: Resizing) -> list[Tap]:
    """What of a dimension the value at a position is made of."""
    if how.method == "nearest_neighbor":
        return [(_clamped(ROUNDINGS[how.rounding](at), extent), _number(1))]
    low = tx.floor(at)
    t = at - low
    if how.method == "linear":
        return [(_clamped(low, extent), 1.0 - t), (_clamped(low + 1.0, extent), t)]
    points, weights = [low + float(k) for k in (-1, 0, 1, 2)], cubic_weights(t, _number(how.alpha))
    if how.exclude:
        last = from_sym(extent - 1).astype(f64)
        inside = [tx.logical_and(tx.less_equal(_number(0), p), tx.less_equal(p, last)) for p in points]
        weights = [tx.select(c, w, _number(0)) for c, w in zip(inside, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [tx.div(w, total) for w in weights]
    return [(_clamped(p, extent), w) for p, w in zip(points, weights, strict=True)]


def resize(data: Tensor, shape: Sequence[SymExpr], places: Sequence[int], how: Resizing, dtype: Attribute) -> Tensor:
    """`data` with its spatial dimensions, the third and later ones of `places`, brought to those of `shape`."""
    wide = f64 if data.type == f64 else f32
    rank = len(places) - 2
    ends = list(zip(how.roi[:rank], how.roi[rank:], strict=True))

    def element(*i: PrimExpr) -> PrimExpr:
        batch, channel = i[places[0]], i[places[1]]
        spatial = [(i[p], data.dims[p], shape[p]) for p in places[2:]]
        at = [_coordinate(v, n, m, how, *e) for (v, n, m), e in zip(spatial, ends, strict=True)]
        taps = [_taps(x, n, how) for x, (_, n, _) in zip(at, spatial, strict=True)]
        if how.method == "nearest_neighbor":
            value = data(*arranged(places, [batch, channel, *(t[0][0] for t in taps)]))
        else:
            value = _number(0).astype(wide)
            for corner in itertools.product(*taps):
                tap = data(*arranged(places, [batch, channel, *(index for index, _ in corner)])).astype(wide)
                value = value + tap * reduce(operator.mul, [weight for _, weight in corner]).astype(wide)
        if how.mode == "tf_crop_and_resize":
            value = tx.if_then_else(_inside(at, spatial), value, tx.const(how.extrapolation, wide).astype(value.type))
        return value.astype(dtype)

    return compute(list(shape), element, "resize", "resize")


def _inside(at: Sequence[PrimExpr], spatial: Sequence[tuple[PrimExpr, SymExpr, SymExpr]]) -> PrimExpr:
    bounds: list[PrimExpr] = []
    for x, (_, extent, _) in zip(at, spatial, strict=True):
        bounds += [tx.less_equal(_number(0), x), tx.less_equal(x, from_sym(extent - 1).astype(f64))]
    return tx.logical_and(*bounds)
