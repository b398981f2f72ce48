"""Regions of images: the operators of torchvision."""

from __future__ import annotations

from typing import Any

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import as_expr
from ....handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ....topi import detection
from ....topi.regions import roi_pool
from ....topi.sampling import deformable_convolution
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, dtype_of, shape_of
from ..table import row
from .counting import size_of


def _in_single(*tensors: Expr | None) -> None:
    for x in tensors:
        if x is not None and dtype_of(x) != "float32":
            raise UnsupportedError("regions of tensors that are not float32", found=dtype_of(x))


@row("torchvision::nms")
def nms(e: Emitter, dets: Expr, scores: Expr, iou_threshold: float) -> Expr:
    """Return the positions of the boxes that overlap no better one by more than a threshold, best first."""
    _in_single(dets, scores)
    count = shape_of(dets)[0]
    boxes = e.emit(R.reshape(dets, ShapeExpr([1, count, 4])))
    by_class = e.emit(R.reshape(scores, ShapeExpr([1, 1, count])))
    most = e.emit(R.shape_to_tensor(ShapeExpr([count])))
    overlap, least = const([iou_threshold], "float32"), const([0], "float32")
    pair = e.emit(
        e.builder.call_te(
            detection.non_max_suppression, boxes, by_class, most, overlap, least, False, "ordered", as_expr(count)
        )
    )
    kept, total = (e.emit(TupleGetItem(pair, i)) for i in range(2))
    shape = e.result_shape()
    extent = size_of(e, total, shape[0] if shape else None)
    rows = R.strided_slice(kept, axes=[0, 1], begin=[0, 2], end=[extent, 3], assume_inbound=True)
    return R.reshape(e.emit(rows), ShapeExpr([extent]))


@row("torchvision::roi_align")
def roi_align(
    e: Emitter,
    x: Expr,
    rois: Expr,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Expr:
    """Return the mean of samples in each bin of each region (image, x1, y1, x2, y2)."""
    _in_single(x, rois)
    count = shape_of(rois)[0]
    images = e.emit(R.reshape(R.strided_slice(rois, axes=[1], begin=[0], end=[1]), ShapeExpr([count])))
    corners = e.emit(R.strided_slice(rois, axes=[1], begin=[1], end=[5]))
    size, ratio = (pooled_height, pooled_width), max(sampling_ratio, 0)
    batches = e.emit(cast_to(images, "int64"))
    return e.builder.call_te(detection.roi_align, x, corners, batches, size, ratio, spatial_scale, aligned, "avg")


@row("torchvision::roi_pool")
def roi_pool_(
    e: Emitter, x: Expr, rois: Expr, spatial_scale: float, pooled_height: int, pooled_width: int
) -> list[Any]:
    """Return the maximum of each bin of each region (image, x1, y1, x2, y2), without its position."""
    _in_single(x, rois)
    if e.is_used(1):
        raise UnsupportedError("the positions of the greatest elements of regions")
    return [e.builder.call_te(roi_pool, x, rois, (pooled_height, pooled_width), spatial_scale), None]


@row("torchvision::deform_conv2d")
def deform_conv2d(
    e: Emitter,
    x: Expr,
    weight: Expr,
    offset: Expr,
    mask: Expr,
    bias: Expr,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Expr:
    """Return a convolution with sampling points moved by `offset` and weighted by `mask`."""
    _in_single(x, weight, offset)
    padding = [(pad_h, pad_h), (pad_w, pad_w)]
    strides, dilation = [stride_h, stride_w], [dilation_h, dilation_w]
    y = e.builder.call_te(
        deformable_convolution, x, weight, offset, mask if use_mask else None, padding, strides, dilation, groups,
        offset_groups,
    )  # fmt: skip
    return R.add(e.emit(y), R.reshape(bias, ShapeExpr([1, shape_of(bias)[0], 1, 1])))
