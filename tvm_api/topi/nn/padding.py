"""Borders, gaps, and pixels that become channels or batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....handles.tir.prim_expr import PrimExpr
from ....te.axis import dim
from ....te.tensor import Tensor
from ....topi import spatial as _spatial
from ....topi import windows as _windows
from ..common import integer, integers
from ..image import resize2d, resize3d
from ..layouts import places


def _widths(before: Any, after: Any) -> list[tuple[int, int]]:
    low = [integer(v) for v in before]
    return list(zip(low, low if after is None else [integer(v) for v in after], strict=True))


def pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Tensor:
    """`data` with `pad_value` around it."""
    before, after = ([_width(w) for w in given] for given in (pad_before, pad_after or pad_before))
    value = pad_value.constant if isinstance(pad_value, PrimExpr) else pad_value
    return _windows.pad_constant(data, before, after, value, name)


def _width(width: Any) -> Any:
    return dim(width) if isinstance(width, PrimExpr) and width.constant is None else integer(width)


def mirror_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, mode: str = "SYMMETRIC", name: str = "MirrorPadInput"
) -> Tensor:
    """`data` continued by its mirror image, with the edge repeated (`SYMMETRIC`) or not (`REFLECT`)."""
    return _spatial.mirror_pad(data, _widths(pad_before, pad_after), mode, name)


def reflect_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReflectPadInput") -> Tensor:
    """`data` continued by its mirror image, the edge not repeated."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "reflect", name)


def replicate_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReplicatePadInput") -> Tensor:
    """`data` continued by its edge."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "replicate", name)


def circular_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "CircularPadInput") -> Tensor:
    """`data` continued by itself."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "circular", name)


def get_padded_shape(data: Tensor, pad_before: Any, pad_after: Any = None) -> tuple[PrimExpr, ...]:
    """The shape of `data` after padding."""
    return tuple(d + (b + a) for d, (b, a) in zip(data.shape, _widths(pad_before, pad_after), strict=True))


def dilate(data: Tensor, strides: Any, dilation_value: float = 0.0, name: str = "DilatedInput") -> Tensor:
    """`data` with strides - 1 times `dilation_value` between neighbours."""
    return _windows.dilate(data, integers(strides, data.ndim), dilation_value, name)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Blocks of pixels as channels."""
    return _spatial.space_to_depth(data, integer(block_size), places(layout, "NCHW"))


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Channels as blocks of pixels; the offset is the channel's slower (`DCR`) or faster (`CRD`) part."""
    return _spatial.depth_to_space(data, integer(block_size), places(layout, "NCHW"), mode)


def space_to_batch_nd(
    data: Tensor, block_shape: Sequence[int], pad_before: Any, pad_after: Any, pad_value: float = 0.0
) -> Tensor:
    """Blocks of the dimensions after the first, padded before, as batches."""
    blocks = [integer(b) for b in block_shape]
    return _spatial.space_to_batch_nd(data, blocks, _widths(pad_before, pad_after), float(pad_value))


def batch_to_space_nd(data: Tensor, block_shape: Sequence[int], crop_begin_list: Any, crop_end_list: Any) -> Tensor:
    """Batches as blocks of the dimensions after the first, cropped after."""
    blocks = [integer(b) for b in block_shape]
    return _spatial.batch_to_space_nd(data, blocks, _widths(crop_begin_list, crop_end_list))


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Tensor:
    """An image made larger by factors, or to a shape."""
    at = places(layout, "NCHW")
    size = output_shape or [_scaled(data.shape[p], s) for p, s in zip(at[2:], (scale_h, scale_w), strict=True)]
    mode = "align_corners" if align_corners else "asymmetric"
    return resize2d(data, (0.0,) * 4, size, layout, _method(method), mode)


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:
    """A volume made larger by factors, or to a shape."""
    at = places(layout, "NCDHW")
    scales = zip(at[2:], (scale_d, scale_h, scale_w), strict=True)
    size = output_shape or [_scaled(data.shape[p], s) for p, s in scales]
    return resize3d(data, (0.0,) * 6, size, layout, _method(method), coordinate_transformation_mode)


def _scaled(extent: PrimExpr, scale: Any) -> Any:
    factor = float(scale.constant or 0) if isinstance(scale, PrimExpr) else float(scale)
    return extent * int(factor) if factor.is_integer() else round(integer(extent) * factor)


def _method(name: str) -> str:
    return {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(name, name)


__all__ = [
    "batch_to_space_nd",
    "circular_pad",
    "depth_to_space",
    "dilate",
    "get_padded_shape",
    "mirror_pad",
    "pad",
    "reflect_pad",
    "replicate_pad",
    "space_to_batch_nd",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
