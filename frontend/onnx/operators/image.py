"""Image operators: space and depth, cropping, sampling at computed positions, and boxes of detectors."""

from __future__ import annotations

from typing import Any

from ....dialects.dtypes import dtype_of
from ....dialects.sym.expr import SymExpr
from ....handles.relax.expr import Expr
from ....handles.struct_info import ShapeStructInfo
from ....topi.detection import non_max_suppression, roi_align
from ....topi.sampling import crop_and_resize
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op


@converter("DepthToSpace")
def depth_to_space(node: Node, x: Value) -> Expr:
    n, c, h, w = x.dims
    b = node.attr("blocksize")
    if node.attr("mode", "DCR") == "DCR":
        blocks, order = (n, b, b, c // (b * b), h, w), [0, 3, 4, 1, 5, 2]
    else:
        blocks, order = (n, c // (b * b), b, b, h, w), [0, 1, 4, 2, 5, 3]
    return op("reshape", op("permute_dims", op("reshape", x, blocks), axes=order), (n, c // (b * b), h * b, w * b))


@converter("SpaceToDepth")
def space_to_depth(node: Node, x: Value) -> Expr:
    n, c, h, w = x.dims
    b = node.attr("blocksize")
    blocks = op("reshape", x, (n, c, h // b, b, w // b, b))
    order = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    return op("reshape", op("permute_dims", blocks, axes=order), (n, c * (b * b), h // b, w // b))


@converter("CenterCropPad")
def center_crop_pad(node: Node, x: Value, shape: Value) -> Expr | Value:
    """Crop dimensions that are too long and pad those that are too short with zeros, centered."""
    axes = [a % x.rank for a in node.attr("axes") or range(x.rank)]
    y: Any = x
    for axis, size in zip(axes, node.ints("shape", shape), strict=True):
        extent = x.dims[axis].constant
        if extent is None:
            raise node.unsupported("a dimension of symbolic size")
        less = abs(size - extent) // 2
        if size < extent:
            y = op("strided_slice", y, axes=[axis], begin=[less], end=[less + size])
        elif size > extent:
            widths = [0] * (2 * x.rank)
            widths[2 * axis : 2 * axis + 2] = [less, size - extent - less]
            y = op("nn.pad", y, pad_width=widths)
    return y


_METHODS = {"linear": "bilinear", "cubic": "bicubic"}


@converter("GridSample")
def grid_sample(node: Node, x: Value, grid: Value) -> Expr:
    """Sample at positions, which are the last dimension of the grid."""
    if x.rank not in (4, 5):
        raise node.unsupported(f"a tensor of rank {x.rank}")
    mode = node.attr("mode")
    positions = op("permute_dims", grid, axes=[0, x.rank - 1, *range(1, x.rank - 1)])
    return op(
        "image.grid_sample",
        x,
        positions,
        method=_METHODS.get(mode, mode),
        layout="NCHW" if x.rank == 4 else "NCDHW",
        padding_mode=node.attr("padding_mode"),
        align_corners=bool(node.attr("align_corners")),
    )


@converter("AffineGrid")
def affine_grid(node: Node, theta: Value, size: Value) -> Expr:
    extents = node.extents(size)[2:]
    y = op("image.affine_grid", theta, tuple(extents), align_corners=bool(node.attr("align_corners")))
    return op("permute_dims", y, axes=[0, *range(2, len(extents) + 2), 1])


@converter("RoiAlign")
def roi_align_(node: Node, x: Value, rois: Value, batches: Value) -> Expr:
    """Return the mean or maximum of the samples in each part of each region."""
    half = node.version >= 16 and node.attr("coordinate_transformation_mode") == "half_pixel"
    size = (node.attr("output_height", 1), node.attr("output_width", 1))
    return node.call_te(
        roi_align,
        x,
        rois,
        batches,
        size,
        node.attr("sampling_ratio", 0),
        node.attr("spatial_scale", 1.0),
        half,
        node.attr("mode", "avg"),
    )


@converter("CropAndResize", domain=MICROSOFT)
def crop_and_resize_(node: Node, x: Value, boxes: Value, batches: Value, size: Value) -> Expr:
    """Return boxes of images, resized to one size."""
    method = {"bilinear": "bilinear", "nearest": "nearest_neighbor"}.get(node.attr("mode", "bilinear"))
    if method is None:
        raise node.error("an attribute has a value that means nothing here", found=node.attr("mode"))
    extents, dtype = node.ints("crop_size", size), dtype_of(x.dtype)
    outside = node.attr("extrapolation_value", 0.0)
    return node.call_te(crop_and_resize, x, boxes, batches, extents, [0, 1, 2, 3], method, outside, dtype)


@converter("NonMaxSuppression")
def nms(
    node: Node,
    boxes: Value,
    scores: Value,
    most: Value | None = None,
    overlap: Value | None = None,
    least: Value | None = None,
) -> Expr:
    """Return (batch, class, box) of the selected boxes, best first in each class; their number is known at run time."""
    batch, count, _ = boxes.dims
    rows: SymExpr = batch * scores.dims[1] * count
    limits = [_scalar(node, v, dtype) for v, dtype in ((most, "int64"), (overlap, "float32"), (least, "float32"))]
    has_least = least is not None
    form = "center" if node.attr("center_point_box", 0) else "corners"
    pair = node.call_te(non_max_suppression, boxes, scores, *limits, has_least, form, rows)
    kept = [node.emit(v) for v in _two(node, pair)]
    total = node.graph.fresh_size("kept")
    node.graph.builder.match_cast(node.emit(op("tensor_to_shape", kept[1])), ShapeStructInfo([total]))
    return op("strided_slice", kept[0], axes=[0], begin=[0], end=[total], assume_inbound=True)


def _scalar(node: Node, value: Value | None, dtype: str) -> Value:
    """Return a scalar operand as a vector of one element, 0 if it is absent."""
    if value is None:
        return Value.constant([0], dtype)
    return as_value(node.emit(op("reshape", value, (1,))))


def _two(node: Node, pair: Expr) -> list[Expr]:
    from ....handles.relax.expr import TupleGetItem

    bound = node.emit(pair)
    return [TupleGetItem(bound, i) for i in range(2)]
