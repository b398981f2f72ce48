"""Max pooling over regions of interest in images."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i64

from ..dialects.sym.expr import Const
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor


def roi_pool(data: Tensor, rois: Tensor, size: Sequence[int], scale: float) -> Tensor:
    """Return the maximum of each of `size` bins of regions (image, x1, y1, x2, y2), times `scale` (Girshick, 2015).

    data is (batch, channels, height, width). Corners are rounded to pixels, which belong to the region; bins may share
    pixels. An empty bin is 0.
    """
    wide = f64 if data.type == f64 else f32
    extents = data.dims[2:]

    def bounds(roi: PrimExpr, k: int, bin_: PrimExpr) -> list[PrimExpr]:
        corners = [math_functions.round_(rois(roi, 2 - k + n).astype(wide) * scale) for n in (0, 2)]
        step = tx.div(tx.maximum(corners[1] - corners[0] + 1.0, tx.const(1.0, wide)), tx.const(float(size[k]), wide))
        ends = (math_functions.floor(bin_.astype(wide) * step), math_functions.ceil((bin_ + 1).astype(wide) * step))
        most = from_sym(extents[k]).astype(wide)
        return [tx.minimum(tx.maximum(e + corners[0], tx.const(0.0, wide)), most).astype(i64) for e in ends]

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", out.dims, parallel=True) as (roi, channel, *bins):
            image = b.cell("image", i64, rois(roi, 0).astype(i64))
            (top, bottom), (left, right) = (bounds(roi, k, bin_) for k, bin_ in enumerate(bins))
            empty = tx.logical_or(bottom <= top, right <= left)
            best = b.cell("best", data.type, tx.select(empty, tx.const(0.0, data.type), limits.min_value(data.type)))
            with b.loop("y", tx.maximum(bottom - top, 0)) as y, b.loop("x", tx.maximum(right - left, 0)) as x:
                best.set(tx.maximum(best.value, data(image.value, channel, top + y, left + x)))
            b.store(out, (roi, channel, *bins), best.value)

    dims = [rois.dims[0], data.dims[1], *(Const(n) for n in size)]
    return filled([("roi_pool", dims, data.type)], [data, rois], body, "roi_pool")[0]
