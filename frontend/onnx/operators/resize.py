"""Resizing: `Resize` of all versions, and `Upsample`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ....dialects.sym.expr import Const, SymExpr
from ....handles.relax.expr import Expr
from ....topi import image
from ..node import Node
from ..resampling import Resampling, Taps, taps_of
from ..table import converter
from ..values import Value, as_value, op


@dataclass(frozen=True)
class _Axis:
    """A resized dimension; `scale` is None if it is the quotient of the extents."""

    axis: int
    old: SymExpr
    new: SymExpr
    scale: float | None
    crop: tuple[float, float]

    @property
    def is_constant(self) -> bool:
        return self.old.constant is not None and self.new.constant is not None

    def taps(self, how: Resampling) -> Taps:
        old, new = self.old.constant or 0, self.new.constant or 0
        return taps_of(how, old, new, self.scale or (new / old if old else 1.0), self.crop)


@converter("Upsample")
def upsample(node: Node, x: Value, scales: Value | None = None) -> Expr | Value:
    """Upsample like Resize of version 10: positions are divided by the scale."""
    return _resized(node, x, _factors(node, scales, node.attr("scales")), None, None, _old_rules(node))


@converter("Resize")
def resize_10(node: Node, x: Value, scales: Value) -> Expr | Value:
    return _resized(node, x, _factors(node, scales), None, None, _old_rules(node))


def _old_rules(node: Node) -> Resampling:
    mode = node.attr("mode", "nearest")
    return Resampling("linear" if mode == "bilinear" else mode, "asymmetric", "floor", -0.75, False, False)


@converter("Resize", since=11)
def resize(
    node: Node, x: Value, roi: Value | None = None, scales: Value | None = None, sizes: Value | None = None
) -> Expr | Value:
    how = Resampling(
        node.attr("mode"),
        node.attr("coordinate_transformation_mode"),
        node.attr("nearest_mode"),
        node.attr("cubic_coeff_a"),
        bool(node.attr("exclude_outside")),
        bool(node.attr("antialias", 0)),
    )
    has_scales = scales is not None and scales.dims[0].constant != 0
    factors = _factors(node, scales) if has_scales else None
    if factors is None and sizes is None:
        raise node.error("neither scales nor sizes are given")
    crop = None
    if how.coordinates == "tf_crop_and_resize":
        crop = _region(node, roi)
    return _resized(node, x, factors, None if factors is not None else sizes, crop, how)


def _region(node: Node, roi: Value | None) -> list[float]:
    if roi is None:
        raise node.error("the region of interest is missing")
    if roi.array is None:
        raise node.not_constant(roi, "its input roi")
    return [float(v) for v in roi.array]


def _factors(node: Node, scales: Value | None, attribute: Sequence[float] | None = None) -> list[float]:
    if scales is None:
        return list(attribute or [])
    if scales.array is None:
        raise node.not_constant(scales, "its input scales")
    return [float(v) for v in scales.array.ravel()]


def _resized(
    node: Node,
    x: Value,
    factors: Sequence[float] | None,
    sizes: Value | None,
    crop: Sequence[float] | None,
    how: Resampling,
) -> Expr | Value:
    axes = [a % x.rank for a in node.attr("axes") or range(x.rank)]
    count = len(axes)
    ends = [(0.0, 1.0)] * count if crop is None else list(zip(crop[:count], crop[count:], strict=True))
    if factors is not None:
        news = [_scaled(x.dims[a], f) for a, f in zip(axes, factors, strict=True)]
        scales: Sequence[float | None] = factors
    else:
        assert sizes is not None
        news, scales = _kept_aspect(node, [x.dims[a] for a in axes], sizes, _needs_tables(how))
    rows = [_Axis(a, x.dims[a], n, s, e) for a, n, s, e in zip(axes, news, scales, ends, strict=True)]
    rows = [r for r in rows if r.new != r.old or r.scale not in (None, 1.0) or crop is not None]
    return _changed(node, x, rows, how)


def _needs_tables(how: Resampling) -> bool:
    """Return whether the mode requires positions and weights computed at import."""
    return how.antialias or how.coordinates in ("half_pixel_symmetric", "tf_crop_and_resize")


def _changed(node: Node, x: Value, rows: Sequence[_Axis], how: Resampling) -> Expr | Value:
    if not rows:
        return x
    if _is_plain(x, rows, how):
        return _by_operator(x, rows, how)
    if all(r.is_constant for r in rows):
        return _by_tables(node, x, rows, how)
    if _needs_tables(how):
        raise node.unsupported(f"sizes that are symbolic, with antialias or {how.coordinates}")
    return _by_sizes(node, x, rows, how)


def _scaled(extent: SymExpr, factor: float) -> SymExpr:
    """Return floor(extent * factor) with a single-precision factor."""
    if extent.constant is not None:
        return Const(math.floor(extent.constant * factor))
    ratio = Fraction(factor).limit_denominator(4096)
    if np.float32(float(ratio)) != np.float32(factor):
        ratio = Fraction(factor)
    return extent * ratio.numerator // ratio.denominator


def _kept_aspect(
    node: Node, old: Sequence[SymExpr], sizes: Value, constant: bool
) -> tuple[Sequence[SymExpr], Sequence[float | None]]:
    """Return the extents, and the common scale if the aspect ratio is kept; constant extents if `constant`."""
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        new = node.extents(sizes) if not constant or sizes.elements is not None else node.ints("sizes", sizes)
        return new, [None] * len(new)
    pairs = [(o.constant, n) for o, n in zip(old, node.ints("sizes", sizes), strict=True)]
    if any(o is None for o, _ in pairs):
        raise node.unsupported("a tensor of symbolic extents, whose ratio is kept")
    ratios = [Fraction(n, o or 1) for o, n in pairs]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [Const(math.floor(scale * (o or 0) + Fraction(1, 2))) for o, _ in pairs], [float(scale)] * len(pairs)


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


def _is_plain(x: Value, rows: Sequence[_Axis], how: Resampling) -> bool:
    """Return whether Relax's operator applies: height and width of images, scaled by the quotient of the extents."""
    exact = all(_is_quotient(r) for r in rows)
    image_of_floats = x.rank == 4 and "float" in x.dtype and all(r.axis >= 2 for r in rows)
    return image_of_floats and exact and not _needs_tables(how)


def _is_quotient(row: _Axis) -> bool:
    if row.scale is None:
        return True
    if float(row.scale).is_integer():
        return row.new == row.old * int(row.scale)
    old, new = row.old.constant, row.new.constant
    return old is not None and new is not None and new == old * row.scale


def _by_operator(x: Value, rows: Sequence[_Axis], how: Resampling) -> Expr:
    size = list(x.dims[2:])
    for r in rows:
        size[r.axis - 2] = r.new
    return op(
        "image.resize2d",
        x,
        tuple(size),
        layout="NCHW",
        method=_METHODS[how.mode],
        coordinate_transformation_mode=how.coordinates,
        rounding_method=how.nearest,
        cubic_alpha=how.cubic,
        cubic_exclude=int(how.exclude_outside),
    )


def _by_tables(node: Node, x: Value, rows: Sequence[_Axis], how: Resampling) -> Expr | Value:
    """Resize one dimension at a time, those that shrink most first."""
    tables = [(r, r.taps(how)) for r in rows]
    exact = how.mode == "nearest" or x.dtype in ("float32", "float64")
    value: Any = x if exact else op("astype", x, dtype="float32")
    for r, taps in sorted(tables, key=lambda row: (row[0].new.constant or 0) / max(row[0].old.constant or 0, 1)):
        if how.mode == "nearest":
            value = op("take", value, Value.constant(taps.places[:, 0]), axis=r.axis)
        else:
            weights = Value.constant(taps.weights)
            value = node.emit(
                node.call_te(image.interpolate, _bound(node, value), r.axis, Value.constant(taps.places), weights)
            )
    for r, taps in tables:
        if taps.outside.any():
            shape = [-1 if i == r.axis else 1 for i in range(x.rank)]
            mask = Value.constant(taps.outside.reshape(shape))
            value = op("where", mask, float(node.attr("extrapolation_value")), value)
    return value if as_value(value).dtype == x.dtype else op("astype", value, dtype=x.dtype)


def _bound(node: Node, value: Value | Expr) -> Value | Expr:
    return value if isinstance(value, Value) else node.emit(value)


def _by_sizes(node: Node, x: Value, rows: Sequence[_Axis], how: Resampling) -> Expr:
    """Resize with positions computed at run time."""
    spatial = [r.axis for r in rows]
    lead = [i for i in range(x.rank) if i not in spatial]
    data, extra = x, max(0, 2 - len(lead))
    if extra:
        data = as_value(node.emit(op("reshape", x, [*[1] * extra, *x.dims])))
    places = [*range(extra), *(i + extra for i in lead)]
    if len(places) > 2:
        raise node.unsupported("sizes that are symbolic, of a tensor with more than two other dimensions")
    shape = list(data.dims)
    for r in rows:
        shape[r.axis + extra] = r.new
    scales = [None if _is_quotient(r) else r.scale for r in rows]
    resizing = image.Resizing(
        _METHODS[how.mode],
        how.coordinates,
        how.nearest,
        how.cubic,
        how.exclude_outside,
        [0.0] * (2 * len(rows)),
        0.0,
        scales,
    )
    spatial = [r.axis + extra for r in rows]
    y = node.call_te(image.resize, data, shape, spatial, resizing, data.type.element)
    return op("reshape", y, shape[extra:]) if extra else y
