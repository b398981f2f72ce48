"""Convolutions of channels in blocks: data (N, C / c, H, W, c), kernels (O / o, I / i, H, W, i, o)."""

from __future__ import annotations

from typing import Any

from ....te.tensor import Tensor
from ....topi import blocked as _blocked
from ..common import element_type, integers
from ..layouts import kernel_extents, pad_pairs, window_counts


def _window(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any) -> tuple[Any, Any, Any, Any]:
    steps, dilations = integers(stride, 2), integers(dilation, 2)
    reach = kernel_extents(kernel.dims[2:4], dilations)
    pairs = pad_pairs(padding, reach)
    return window_counts(data, [2, 3], pairs, reach, steps), pairs, steps, dilations


def conv2d_NCHWc(  # noqa: N802
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str = "float32",
) -> Tensor:
    """A convolution; the blocks of the layouts are those of the shapes."""
    window = _window(data, kernel, stride, padding, dilation)
    return _blocked.convolution(data, kernel, *window, element_type(out_dtype, data.type))


def depthwise_conv2d_NCHWc(  # noqa: N802
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str | None = None,
) -> Tensor:
    """Each channel convolved with its own kernels, of (O / o, 1, H, W, 1, o)."""
    window = _window(Input, Filter, stride, padding, dilation)
    return _blocked.depthwise_convolution(Input, Filter, *window, element_type(out_dtype, Input.type))


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:  # noqa: N802
    """(N, C / c, H, W, c) as (N, C, H, W)."""
    return _blocked.unpack(packed_out, element_type(out_dtype, packed_out.type))


__all__ = ["conv2d_NCHWc", "depthwise_conv2d_NCHWc", "unpack_NCHWc_to_nchw"]
