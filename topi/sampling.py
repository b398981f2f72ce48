"""Image sampling at computed positions, and the grids of such positions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ..dialects.relax.layout import arranged
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.tensor import Tensor, compute
from .image import clamped, cubic_weights

Tap = tuple[PrimExpr, PrimExpr]
"""A position of the data, an integer in floating point, and its weight."""


def affine_grid(data: Tensor, size: Sequence[SymExpr], align_corners: bool) -> Tensor:
    """Apply the matrices `data` to the positions of a grid of `size`, which are in [-1, 1] in each dimension."""
    rank = len(size)
    wide = data.type if data.type == f64 else f32

    def position(i: PrimExpr, extent: SymExpr) -> PrimExpr:
        x, n = i.astype(wide), from_sym(extent).astype(wide)
        if align_corners:
            return tx.const(-1.0, wide) + x * tx.div(tx.const(2.0, wide), tx.maximum(n - 1.0, tx.const(1.0, wide)))
        return tx.const(-1.0, wide) + tx.div(x * 2.0 + 1.0, n)

    def element(*axes: PrimExpr) -> PrimExpr:
        n, dim, *i = axes
        value = data(n, dim, rank).astype(wide)
        for k, (v, extent) in enumerate(zip(i, size, strict=True)):
            value = value + data(n, dim, rank - 1 - k).astype(wide) * position(v, extent)
        return value.astype(data.type)

    names = ["n", "dim", *(f"i{k}" for k in range(rank))]
    return compute([data.dims[0], data.dims[1], *size], element, "compute", "affine_grid", None, names)


def grid_sample(data: Tensor, grid: Tensor, method: str, padding_mode: str, align_corners: bool) -> Tensor:
    """Return the values of `data` (batch, channels, …) at the positions in `grid` (batch, dimensions, …).

    A position is in [-1, 1] in each dimension, with the last dimension first.
    """
    extents = data.dims[2:]
    wide = f64 if f64 in (data.type, grid.type) else f32

    def element(*axes: PrimExpr) -> PrimExpr:
        n, c, *i = axes
        taps: list[list[Tap]] = []
        for k, extent in enumerate(extents):
            sampling = _Sampling(extent, wide, padding_mode, align_corners)
            taps.append(sampling.taps(grid(n, len(extents) - 1 - k, *i).astype(wide), method))
        value: PrimExpr = tx.const(0.0, wide)
        for corner in itertools.product(*taps):
            inside = tx.logical_and(*(_inside(at, e) for (at, _), e in zip(corner, extents, strict=True)))
            index = [at.astype(e.dtype) for (at, _), e in zip(corner, extents, strict=True)]
            pixel = data(n, c, *index).astype(wide)
            for _, weight in corner:
                pixel = pixel * weight
            value = value + tx.if_then_else(inside, pixel, tx.const(0.0, wide))
        return value.astype(data.type)

    names = ["n", "c", *"dhw"[-len(extents) :]]
    return compute([*data.dims[:2], *grid.dims[2:]], element, "compute", "grid_sample", None, names)


def _inside(at: PrimExpr, extent: SymExpr) -> PrimExpr:
    """Return whether a position is inside the data; NaN is outside."""
    last = from_sym(extent - 1).astype(at.type)
    return tx.logical_and(tx.const(0.0, at.type) <= at, at <= last)


class _Sampling:
    """Sampling along one dimension."""

    def __init__(self, extent: SymExpr, dtype: Attribute, padding_mode: str, align_corners: bool):
        self.size = from_sym(extent).astype(dtype)
        self.dtype = dtype
        self.padding_mode = padding_mode
        self.aligned = align_corners

    def taps(self, at: PrimExpr, method: str) -> list[Tap]:
        """Return the taps of the value at `at`, which is in [-1, 1]."""
        one = self.number(1.0)
        x = tx.div((at + 1.0) * (self.size - 1.0 if self.aligned else self.size), self.number(2.0))
        x = x if self.aligned else x - 0.5
        if method == "nearest":
            return [(math_functions.nearbyint(self.clamped(x)), one)]
        if method == "bilinear":
            x = self.clamped(x)
            low = math_functions.floor(x)
            return [(low, one - (x - low)), (low + 1.0, x - low)]
        low = math_functions.floor(x)
        points = [self.clamped(low + float(k)) for k in (-1, 0, 1, 2)]
        return list(zip(points, cubic_weights(x - low, tx.const(-0.75, self.dtype)), strict=True))

    def number(self, value: float) -> PrimExpr:
        return tx.const(value, self.dtype)

    def clamped(self, x: PrimExpr) -> PrimExpr:
        """Return a position, moved into the dimension according to `padding_mode`."""
        if self.padding_mode == "zeros":
            return x
        return self.clipped(self.reflected(x) if self.padding_mode == "reflection" else x)

    def clipped(self, x: PrimExpr) -> PrimExpr:
        """Clip a position to the first and the last one; NaN becomes 0."""
        return tx.select(self.number(0.0) < x, tx.minimum(x, self.size - 1.0), self.number(0.0))

    def reflected(self, x: PrimExpr) -> PrimExpr:
        """Reflect a position at both ends: at the outermost elements' centers if aligned, else at their borders."""
        first = self.number(0.0 if self.aligned else -0.5)
        span = self.size - 1.0 if self.aligned else self.size
        safe = tx.select(self.number(0.0) < span, span, self.number(1.0))
        distance = math_functions.abs_(x - first)
        flips = math_functions.floor(tx.div(distance, safe))
        rest = distance - flips * safe
        even = tx.equal(flips - math_functions.floor(flips * 0.5) * 2.0, self.number(0.0))
        return tx.select(self.number(0.0) < span, first + tx.select(even, rest, safe - rest), self.number(0.0))


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    size: Sequence[int],
    places: Sequence[int],
    method: str,
    outside: float,
    dtype: Attribute,
) -> Tensor:
    """Crop each box (y1, x1, y2, x2, in [0, 1]) from an image of the batch, and resize it to `size`.

    Positions outside the image have the value `outside`; `method` is `bilinear` or `nearest_neighbor`.
    """
    wide = f64 if data.type == f64 else f32
    extents = [data.dims[p] for p in places[2:]]

    def position(box: PrimExpr, i: PrimExpr, k: int) -> PrimExpr:
        first, end = (boxes(box, k + n).astype(wide) for n in (0, 2))
        last = (from_sym(extents[k]) - 1).astype(wide)
        if size[k] == 1:
            return (first + end) * tx.const(0.5, wide) * last
        return first * last + i.astype(wide) * tx.div((end - first) * last, tx.const(float(size[k] - 1), wide))

    def taps(at: PrimExpr, extent: SymExpr) -> list[Tap]:
        if method == "nearest_neighbor":
            return [(clamped(math_functions.round_(at), extent), tx.const(1.0, wide))]
        low = math_functions.floor(at)
        return [(clamped(low, extent), 1.0 - (at - low)), (clamped(low + 1.0, extent), at - low)]

    def element(*i: PrimExpr) -> PrimExpr:
        box, channel, *inner = (i[p] for p in places)
        image = box_indices(box).astype(data.dims[places[0]].dtype)
        at = [position(box, v, k) for k, v in enumerate(inner)]
        value: PrimExpr = tx.const(0.0, wide)
        for corner in itertools.product(*(taps(x, e) for x, e in zip(at, extents, strict=True))):
            pixel = data(*arranged(places, [image, channel, *(index for index, _ in corner)])).astype(wide)
            for _, weight in corner:
                pixel = pixel * weight
            value = value + pixel
        there = tx.logical_and(*(_inside(x, e) for x, e in zip(at, extents, strict=True)))
        return tx.if_then_else(there, value, tx.const(outside, wide)).astype(dtype)

    counts = [Const(n, e.dtype) for n, e in zip(size, extents, strict=True)]
    dims = arranged(places, [boxes.dims[0], data.dims[places[1]], *counts])
    return compute(dims, element, "crop_and_resize", "resize")


def deformable_convolution(
    data: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    padding: Sequence[tuple[int, int]],
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    offset_groups: int,
) -> Tensor:
    """Compute a 2-D convolution whose points are shifted by `offset` and weighted by `mask` (Zhu et al., 2019).

    data is (batch, channels, height, width), offset (batch, offset_groups * points * 2, h, w) with the vertical offset
    first, mask (batch, offset_groups * points, h, w). Values between pixels are interpolated; outside they are 0.
    """
    batch, channels, *extents = data.dims
    outer, inner, height, width = weight.dims
    points = height * width
    each = channels // offset_groups

    def sampled(*axes: PrimExpr) -> PrimExpr:
        n, c, p, y, x = axes
        group = tx.floordiv(c, from_sym(each)) * from_sym(points) + p
        corner = (tx.floordiv(p, from_sym(width)), tx.floormod(p, from_sym(width)))
        at = [
            (v * s - b + w * d).astype(f32) + offset(n, group * 2 + k, y, x).astype(f32)
            for k, (v, s, (b, _), w, d) in enumerate(zip((y, x), strides, padding, corner, dilation, strict=True))
        ]
        value = _between(data, (n, c), at)
        return (value if mask is None else value * mask(n, group, y, x).astype(f32)).astype(data.type)

    columns = compute([batch, channels, points, *offset.dims[2:]], sampled, "sampled", "injective")
    rc = IterVar("rc", Const(0), inner, is_reduction=True)
    rp = IterVar("rp", Const(0), points, is_reduction=True)

    def element(*axes: PrimExpr) -> Any:
        n, f, y, x = axes
        first = tx.floordiv(f, from_sym(outer // groups)) * from_sym(inner)
        right = weight(f, rc, tx.floordiv(rp, from_sym(width)), tx.floormod(rp, from_sym(width)))
        return red.sum(columns(n, first + rc, rp, y, x) * right, axis=[rc, rp])

    return compute([batch, outer, *offset.dims[2:]], element, "deformable_conv2d")


def _between(data: Tensor, lead: Sequence[PrimExpr], at: Sequence[PrimExpr]) -> PrimExpr:
    """Return the interpolated value at a position between pixels; 0 outside the data."""
    extents = data.dims[len(lead) :]
    taps = [
        [
            (math_functions.floor(x), 1.0 - (x - math_functions.floor(x))),
            (math_functions.floor(x) + 1.0, x - math_functions.floor(x)),
        ]
        for x in at
    ]
    value: PrimExpr = tx.const(0.0, f32)
    for corner in itertools.product(*taps):
        inside = tx.logical_and(*(_inside(x, e) for (x, _), e in zip(corner, extents, strict=True)))
        index = [x.astype(e.dtype) for (x, _), e in zip(corner, extents, strict=True)]
        tap = data(*lead, *index).astype(f32)
        for _, weight in corner:
            tap = tap * weight
        value = value + tx.if_then_else(inside, tap, tx.const(0.0, f32))
    return value
