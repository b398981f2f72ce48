"""`tvm.topi.nn`: operators of neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import TiraxError
from ...handles.tir.prim_expr import PrimExpr
from ...te.axis import dim
from ...te.tensor import Tensor
from ...topi import nn as _nn
from ...topi import normalization as _norm
from ...topi import windows as _windows
from ...topi.nn import log_softmax, relu, softmax, softplus
from ...topi.util import normalize_axes, normalize_axis
from .._names import refusing
from ..operators import classic as _classic
from ..operators import spatial as _spatial
from . import arguments, windows
from .arguments import *  # noqa: F403
from .arguments import axes as _axes
from .arguments import integer, integers, no_rewritten_layout, places
from .image import resize2d, resize3d
from .manipulation import concatenate as concatenate
from .manipulation import strided_slice as strided_slice
from .math import add as add
from .windows import *  # noqa: F403

# Dense layers, activations, normalisation, losses.


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Return x if positive, else alpha * x."""
    return _nn.leaky_relu(x, float(alpha))


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Return x if positive, else slope * x, with slopes indexed by `axis`."""
    return _norm.prelu(x, slope, normalize_axis(integer(axis), x.ndim))


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the softmax with the approximate exponential."""
    return _classic.fast_softmax(x, integer(axis))


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Tensor:
    """Return `fast_softmax` or `softmax`."""
    return fast_softmax(x, axis) if use_fast_exp else softmax(x, integer(axis))


def flatten(data: Tensor) -> Tensor:
    """Flatten all dimensions but the first."""
    return _classic.batch_flatten(data)


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return data · weightᵀ + bias."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _nn.dense(data, weight, bias, out_dtype)


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return tensor_a · tensor_b + bias, with operands optionally transposed."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _classic.matmul(tensor_a, tensor_b, bias, out_dtype, (bool(transpose_a), bool(transpose_b)))


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return the batched matrix product; the batch of one tensor may be 1."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _nn.batch_matmul(tensor_a, tensor_b, out_dtype, bool(transpose_a), bool(transpose_b))


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """Return the normalized data, and the moving mean and variance, which `training` updates.

    gamma is used if `scale`, beta if `center` (both by default); the axis is 1, epsilon 1e-5, momentum 0.1.
    """
    place = normalize_axis(1 if axis is None else integer(axis), data.ndim)
    factors = (None if scale is False else gamma, None if center is False else beta)
    numbers = (1e-5 if epsilon is None else float(epsilon), 0.1 if momentum is None else float(momentum))
    return _norm.batch_norm(data, *factors, moving_mean, moving_var, place, *numbers, bool(training))


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return (data - mean) / sqrt(variance + epsilon) over `axis`, times gamma, plus beta."""
    return _nn.layer_norm(data, gamma, beta, _required(axis), epsilon, rounds_first=True)


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """Return (data - mean) / sqrt(variance + epsilon) over `axes` and the channels of a group, times gamma, plus
    beta.
    """
    channel, over = normalize_axis(integer(channel_axis), data.ndim), normalize_axes(_axes(axes), data.ndim)
    numbers = (integer(num_groups), channel, over, epsilon)
    return _norm.grouped_norm(data, gamma, beta, *numbers, "T_group_norm", rounds_first=True)


def instance_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    channel_axis: int,
    axis: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """Return (data - mean) / sqrt(variance + epsilon) over `axis`, times gamma, plus beta."""
    channel, over = normalize_axis(integer(channel_axis), data.ndim), normalize_axes(_axes(axis), data.ndim)
    return _norm.grouped_norm(data, gamma, beta, None, channel, over, epsilon, "T_instance_norm", rounds_first=True)


def rms_norm(data: Tensor, weight: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Return data / sqrt(mean(data * data) + epsilon) over `axis`, times weight."""
    return _norm.rms_norm(data, weight, normalize_axes(_required(axis), data.ndim), epsilon)


def _required(axis: Any) -> int | list[int]:
    axes = _axes(axis)
    if axes is None:
        raise TiraxError("the axes of a normalisation are needed", expected="one or more")
    return axes


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """Return data / (bias + alpha / size * the sum of squares of `size` neighbours along `axis`) ** beta."""
    return _classic.lrn(data, integer(size), integer(axis), float(alpha), float(beta), float(bias))


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Return Input * Scale + Shift by channel."""
    return _classic.scale_shift(Input, Scale, Shift, (1,))


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Return Input * Scale + Shift by channel."""
    return _classic.scale_shift(Input, Scale, Shift, (3,))


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Return Input * Scale + Shift by channel, in blocked layout."""
    return _classic.scale_shift(Input, Scale, Shift, (1, 4))


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """Shift `buffer` along `axis`, with `data` appended at its end."""
    return _classic.fifo_buffer(data, buffer, integer(axis))


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """Return -predictions[…, target, …] * weights[target], 0 for `ignore_index`, with the given reduction."""
    return _norm.nll_loss(predictions, targets, weights, reduction, integer(ignore_index))


# Padding, dilation, and pixels rearranged into channels or batches.


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
    """Pad `data` with `pad_value`."""
    before, after = ([_width(w) for w in widths] for widths in (pad_before, pad_after or pad_before))
    value = pad_value.constant if isinstance(pad_value, PrimExpr) else pad_value
    return _windows.pad_constant(data, before, after, value, name)


def _width(width: Any) -> Any:
    return dim(width) if isinstance(width, PrimExpr) and width.constant is None else integer(width)


def mirror_pad(
    data: Tensor, pad_before: Any, pad_after: Any = None, mode: str = "SYMMETRIC", name: str = "MirrorPadInput"
) -> Tensor:
    """Pad `data` with its mirror image, with the edge repeated (`SYMMETRIC`) or not (`REFLECT`)."""
    return _spatial.mirror_pad(data, _widths(pad_before, pad_after), mode, name)


def reflect_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReflectPadInput") -> Tensor:
    """Pad `data` with its mirror image, without repeating the edge."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "reflect", name)


def replicate_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "ReplicatePadInput") -> Tensor:
    """Pad `data` by repeating its edge."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "replicate", name)


def circular_pad(data: Tensor, pad_before: Any, pad_after: Any = None, name: str = "CircularPadInput") -> Tensor:
    """Pad `data` circularly."""
    return _windows.pad_by(data, _widths(pad_before, pad_after), "circular", name)


def get_padded_shape(data: Tensor, pad_before: Any, pad_after: Any = None) -> tuple[PrimExpr, ...]:
    """Return the shape of `data` after padding."""
    return tuple(d + (b + a) for d, (b, a) in zip(data.shape, _widths(pad_before, pad_after), strict=True))


def dilate(data: Tensor, strides: Any, dilation_value: float = 0.0, name: str = "DilatedInput") -> Tensor:
    """Insert strides - 1 elements `dilation_value` between neighbours of `data`."""
    return _windows.dilate(data, integers(strides, data.ndim), dilation_value, name)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Rearrange blocks of pixels into channels."""
    return _spatial.space_to_depth(data, integer(block_size), places(layout, "NCHW"))


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Rearrange channels into blocks of pixels; the offset is the slower (`DCR`) or faster (`CRD`) part of the
    channel.
    """
    return _spatial.depth_to_space(data, integer(block_size), places(layout, "NCHW"), mode)


def space_to_batch_nd(
    data: Tensor, block_shape: Sequence[int], pad_before: Any, pad_after: Any, pad_value: float = 0.0
) -> Tensor:
    """Pad the spatial dimensions and rearrange their blocks into batches."""
    blocks = [integer(b) for b in block_shape]
    return _spatial.space_to_batch_nd(data, blocks, _widths(pad_before, pad_after), float(pad_value))


def batch_to_space_nd(data: Tensor, block_shape: Sequence[int], crop_begin_list: Any, crop_end_list: Any) -> Tensor:
    """Rearrange batches into spatial blocks, and crop the result."""
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
    """Enlarge an image by factors, or to a shape."""
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
    """Enlarge a volume by factors, or to a shape."""
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
    "batch_matmul", "batch_norm", "batch_to_space_nd", "circular_pad", "dense", "depth_to_space", "dilate",
    "fast_softmax", "fifo_buffer", "flatten", "get_padded_shape", "group_norm", "instance_norm", "layer_norm",
    "leaky_relu", "log_softmax", "lrn", "matmul", "mirror_pad", "nll_loss", "pad", "prelu", "reflect_pad",
    "relu", "replicate_pad", "rms_norm", "scale_shift_nchw", "scale_shift_nchwc", "scale_shift_nhwc", "softmax",
    "softmax_common", "softplus", "space_to_batch_nd", "space_to_depth", "upsampling", "upsampling3d",
]  # fmt: skip
__all__ += [*arguments.__all__, *windows.__all__, "add", "concatenate", "strided_slice"]

__getattr__ = refusing(__name__)
