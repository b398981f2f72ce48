"""Regions of images: which boxes to keep, and what lies in them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i1, i64

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor
from .scan import sorted_order

Number = float | Tensor
"""A number, or a tensor of one element."""
Corners = tuple[PrimExpr, PrimExpr, PrimExpr, PrimExpr]
"""The lesser and the greater coordinate in one dimension, then in the other one."""


def _scalar(value: Number, like: PrimExpr) -> PrimExpr:
    if isinstance(value, Tensor):
        return value(*[0] * value.ndim).astype(like.type)
    return tx.const(float(value), like.type)


def _corners(boxes: Tensor, image: PrimExpr, box: PrimExpr, centered: bool) -> Corners:
    a, b, c, d = (boxes(image, box, k) for k in range(4))
    if centered:
        half_width, half_height = c * 0.5, d * 0.5
        return b - half_height, b + half_height, a - half_width, a + half_width
    return tx.minimum(a, c), tx.maximum(a, c), tx.minimum(b, d), tx.maximum(b, d)


def _overlap(a: Corners, b: Corners, bound: PrimExpr) -> PrimExpr:
    """Whether what two boxes share is more than `bound` of what both cover; never where one of them is nothing."""
    zero = tx.const(0.0, bound.type)
    height = tx.maximum(zero, tx.minimum(a[1], b[1]) - tx.maximum(a[0], b[0]))
    width = tx.maximum(zero, tx.minimum(a[3], b[3]) - tx.maximum(a[2], b[2]))
    shared = height * width
    areas = [(box[1] - box[0]) * (box[3] - box[2]) for box in (a, b)]
    much = shared > bound * (areas[0] + areas[1] - shared)
    return tx.logical_and(areas[0] > zero, areas[1] > zero, much)


def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    most: PrimExpr | Tensor,
    iou: Number,
    least: Number | None = None,
    centered: bool = False,
) -> tuple[Tensor, ...]:
    """For each image and class the boxes in the order of their scores, without those that overlap a better one.

    boxes is (images, n, 4): two corners in any order, the coordinate in the height first, or, where `centered`, the
    center and the extents, that in the width first. scores is (images, classes, n). `most` is how many are kept of a
    class, `iou` the greatest share of their union that two may have in common, `least` the score that has to be passed.
    Gives the places of those that are kept, (images, classes, n) in front, and how many these are, (images, classes).
    """
    images, classes, n = scores.dims
    order = sorted_order(scores, 2, True)

    def body(b: Statements, kept: Tensor, counts: Tensor) -> None:
        limit = most(*[0] * most.ndim) if isinstance(most, Tensor) else most
        with b.loops("i", [images, classes], parallel=True) as (image, group):
            count = b.cell("count", i64, 0)
            with b.loop("k", n) as k:
                box = b.cell("box", i64, order(image, group, k))
                score = scores(image, group, box.value)
                good = tx.logical_and(count.value < limit.astype(i64), tx.equal(score, score))
                if least is not None:
                    good = tx.logical_and(good, score > _scalar(least, score))
                with b.when(good):
                    free = b.cell("free", i64, 1)
                    mine = _corners(boxes, image, box.value, centered)
                    with b.loop("j", count.value) as j, b.when(tx.equal(free.value, 1)):
                        other = _corners(boxes, image, kept(image, group, j), centered)
                        with b.when(_overlap(mine, other, _scalar(iou, score))):
                            free.set(0)
                    with b.when(tx.equal(free.value, 1)):
                        b.store(kept, (image, group, count.value), box.value)
                        count.set(count.value + 1)
            b.store(counts, (image, group), count.value)

    buffers = [("kept", [images, classes, n], i64), ("counts", [images, classes], i64)]
    return filled(buffers, [boxes, scores, order, *_tensors(most, iou, least)], body, "non_max_suppression")


def _tensors(*values: object) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor)]


def roi_align(
    data: Tensor,
    rois: Tensor,
    images: Tensor,
    size: tuple[int, int],
    samples: int,
    scale: float,
    aligned: bool = True,
    mode: str = "avg",
) -> Tensor:
    """What lies in regions (x1, y1, x2, y2) of the images `images`, times `scale`, in `size` bins (He et al., 2017).

    data is (batch, channels, height, width). A bin is the mean (`avg`) of `samples` by `samples` interpolated values,
    of as many as it has pixels where that is 0, or the greatest (`max`) of what the pixels around each add to it.
    Pixels are in the middle of their coordinates where `aligned`; else a region has one pixel at least.
    """
    wide = f64 if data.type == f64 else f32
    mean = mode == "avg"

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", out.dims, parallel=True) as (roi, channel, *bins):
            sides = [_Side.of(b, rois, roi, k, size[k], samples, scale, aligned) for k in range(2)]
            total = b.cell("total", wide, 0.0 if mean else float("-inf"))
            with b.loop("y", sides[0].count) as y, b.loop("x", sides[1].count) as x:
                at = [side.place(bin_, k) for side, bin_, k in zip(sides, bins, (y, x), strict=True)]
                terms = _around(data, images(roi), channel, at)
                if mean:
                    total.set(total.value + terms[0] + terms[1] + terms[2] + terms[3])
                else:
                    total.set(tx.maximum(total.value, tx.maximum(*(tx.maximum(*terms[k : k + 2]) for k in (0, 2)))))
            number = tx.maximum(sides[0].count * sides[1].count, tx.const(1, i64)).astype(wide)
            value = tx.div(total.value, number) if mean else total.value
            b.store(out, (roi, channel, *bins), value.astype(data.type))

    return filled([("roi_align", _binned(data, rois, size), data.type)], [data, rois, images], body, "roi_align")[0]


@dataclass(frozen=True)
class _Side:
    """A region in one dimension: where it begins, the extent of a bin, and how many values of a bin are looked at."""

    start: PrimExpr
    step: PrimExpr
    count: PrimExpr

    @staticmethod
    def of(
        b: Statements, rois: Tensor, roi: PrimExpr, k: int, bins: int, samples: int, scale: float, aligned: bool
    ) -> _Side:
        """Dimension `k`, 0 for the height."""
        wide = f64 if rois.type == f64 else f32
        begin, end = (rois(roi, 1 - k + n).astype(wide) * scale - (0.5 if aligned else 0.0) for n in (0, 2))
        extent = end - begin if aligned else tx.maximum(end - begin, tx.const(1.0, wide))
        step = b.cell("step", wide, tx.div(extent, tx.const(float(bins), wide)))
        count = b.cell("count", i64, tx.const(samples, i64) if samples else tx.ceil(step.value).astype(i64))
        return _Side(b.cell("start", wide, begin).value, step.value, count.value)

    def place(self, bin_: PrimExpr, k: PrimExpr) -> PrimExpr:
        """Where value `k` of a bin is."""
        wide = self.step.type
        inside = tx.div(k.astype(wide) + 0.5, self.count.astype(wide))
        return self.start + self.step * (bin_.astype(wide) + inside)


def _around(data: Tensor, image: PrimExpr, channel: PrimExpr, at: Sequence[PrimExpr]) -> list[PrimExpr]:
    """What the four pixels around a place add to its value; nothing where it is more than one beyond the image."""
    wide = at[0].type
    zero, there, taps = tx.const(0.0, wide), tx.const(True, i1), list[list[tuple[PrimExpr, PrimExpr]]]()
    for x, extent in zip(at, data.dims[2:], strict=True):
        size = from_sym(extent)
        there = tx.logical_and(there, x >= tx.const(-1.0, wide), x <= size.astype(wide))
        last = (size - 1).astype(wide)
        inside = tx.minimum(tx.maximum(x, zero), last)
        low = tx.floor(inside)
        high = tx.minimum(low + 1.0, last)
        taps.append([(low, low + 1.0 - inside), (high, inside - low)])
    terms: list[PrimExpr] = []
    for (y, a), (x, b) in itertools.product(*taps):
        value = data(image.astype(i64), channel, y.astype(i64), x.astype(i64)).astype(wide)
        terms.append(tx.if_then_else(there, value * (a * b), zero))
    return terms


def _binned(data: Tensor, rois: Tensor, size: Sequence[int]) -> list[SymExpr]:
    return [rois.dims[0], data.dims[1], *(Const(n) for n in size)]


def roi_pool(data: Tensor, rois: Tensor, size: tuple[int, int], scale: float) -> Tensor:
    """The greatest value in each of `size` bins of regions (image, x1, y1, x2, y2), times `scale` (Girshick, 2015).

    data is (batch, channels, height, width). Corners are rounded to pixels, which belong to the region; bins may share
    pixels. One of none is 0.
    """
    wide = f64 if data.type == f64 else f32
    extents = data.dims[2:]

    def limits(roi: PrimExpr, k: int, bin_: PrimExpr) -> list[PrimExpr]:
        corners = [tx.round_(rois(roi, 2 - k + n).astype(wide) * scale) for n in (0, 2)]
        step = tx.div(tx.maximum(corners[1] - corners[0] + 1.0, tx.const(1.0, wide)), tx.const(float(size[k]), wide))
        ends = (tx.floor(bin_.astype(wide) * step), tx.ceil((bin_ + 1).astype(wide) * step))
        most = from_sym(extents[k]).astype(wide)
        return [tx.minimum(tx.maximum(e + corners[0], tx.const(0.0, wide)), most).astype(i64) for e in ends]

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", out.dims, parallel=True) as (roi, channel, *bins):
            image = b.cell("image", i64, rois(roi, 0).astype(i64))
            (top, bottom), (left, right) = (limits(roi, k, bin_) for k, bin_ in enumerate(bins))
            empty = tx.logical_or(bottom <= top, right <= left)
            best = b.cell("best", data.type, tx.select(empty, tx.const(0.0, data.type), tx.min_value(data.type)))
            with b.loop("y", tx.maximum(bottom - top, 0)) as y, b.loop("x", tx.maximum(right - left, 0)) as x:
                best.set(tx.maximum(best.value, data(image.value, channel, top + y, left + x)))
            b.store(out, (roi, channel, *bins), best.value)

    return filled([("roi_pool", _binned(data, rois, size), data.type)], [data, rois], body, "roi_pool")[0]
