"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....diagnostics import ShapeError, TiraxError
from ....dialects.relax.layout import arranged
from ....te.tensor import Tensor
from ....topi import spatial as _spatial
from ....topi import windows as _windows
from ..common import element_type, integer, integers, no_rewritten_layout
from ..layouts import kernel_extents, pad_pairs, places, spatial_letters, window_counts

_KERNELS = {
    "NCW": "OIW",
    "NWC": "WIO",
    "NCHW": "OIHW",
    "NHWC": "HWIO",
    "HWCN": "HWIO",
    "NCDHW": "OIDHW",
    "NDHWC": "DHWIO",
}
"""The layout of the kernel that goes with a layout of data."""


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str | None = None,
    meta_schedule_original_shape: Any = None,
    auto_scheduler_should_rewrite_layout: bool = False,
) -> Tensor:
    """A convolution of one to three spatial dimensions, in any plain layout, over `groups` of channels."""
    no_rewritten_layout(auto_scheduler_rewritten_layout or "", meta_schedule_original_shape)
    rank = inp.ndim - 2
    letters = spatial_letters(rank)
    data_places = places(data_layout, "NC" + letters)
    kernel_places = places(kernel_layout or _kernel_layout(data_layout), "OI" + letters)
    steps, dilations = integers(stride, rank), integers(dilation, rank)
    reach = kernel_extents([filt.dims[p] for p in kernel_places[2:]], dilations)
    pairs = pad_pairs(padding, reach)
    made, inner = filt.dims[kernel_places[0]], filt.dims[kernel_places[1]]
    channels = inp.dims[data_places[1]]
    if ((inner * groups) - channels).constant not in (0, None):
        raise ShapeError(
            "the kernel is for another number of channels", expected=str(channels), found=str(inner * groups)
        )
    counts = window_counts(inp, data_places[2:], pairs, reach, steps)
    dims = arranged(data_places, [inp.dims[data_places[0]], made, *counts])
    name = f"{'group_' if groups > 1 else ''}conv{rank}d_{data_layout.lower()}"
    all_places = (data_places, kernel_places, data_places)
    dtype = element_type(out_dtype, inp.type)
    return _windows.convolution(inp, filt, dims, all_places, pairs, steps, dilations, int(groups), dtype, name)


def _kernel_layout(data_layout: str) -> str:
    if data_layout not in _KERNELS:
        raise TiraxError("no layout of kernels goes with this one", expected="a kernel_layout", found=data_layout)
    return _KERNELS[data_layout]


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype)


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension of (N, C, W) by (O, I, W)."""
    return conv(data, kernel, strides, padding, dilation, 1, "NCW", "", out_dtype)


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension of (N, W, C) by (W, I, O)."""
    return conv(data, kernel, strides, padding, dilation, 1, "NWC", "", out_dtype)


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d_ncw` over groups of channels."""
    return conv(data, kernel, strides, padding, dilation, groups, "NCW", "", out_dtype)


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d_nwc` over groups of channels."""
    return conv(data, kernel, strides, padding, dilation, groups, "NWC", "", out_dtype)


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along two dimensions."""
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def _plain(layout: str, doc: str) -> Callable[..., Tensor]:
    # The names of parameters are TVM's.
    def apply(
        Input: Tensor,  # noqa: N803
        Filter: Tensor,  # noqa: N803
        stride: Any,
        padding: Any,
        dilation: Any,
        out_dtype: str | None = None,
    ) -> Tensor:
        return conv(Input, Filter, stride, padding, dilation, 1, layout, "", out_dtype)

    apply.__doc__ = doc
    return apply


def _grouped(layout: str, doc: str) -> Callable[..., Tensor]:
    def apply(
        Input: Tensor,  # noqa: N803
        Filter: Tensor,  # noqa: N803
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        out_dtype: str | None = None,
    ) -> Tensor:
        return conv(Input, Filter, stride, padding, dilation, groups, layout, "", out_dtype)

    apply.__doc__ = doc
    return apply


conv2d_nchw = _plain("NCHW", "A convolution of (N, C, H, W) by (O, I, H, W).")
conv2d_hwcn = _plain("HWCN", "A convolution of (H, W, C, N) by (H, W, I, O).")
group_conv2d_nchw = _grouped("NCHW", "`conv2d_nchw` over groups of channels.")
group_conv2d_nhwc = _grouped("NHWC", "`conv2d_nhwc` over groups of channels.")
conv3d_ncdhw = _grouped("NCDHW", "A convolution of (N, C, D, H, W) by (O, I, D, H, W), over groups of channels.")


def conv2d_nhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """A convolution of (N, H, W, C) by (H, W, I, O)."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return conv(Input, Filter, stride, padding, dilation, 1, "NHWC", "", out_dtype)


def conv3d_ndhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_origin_shape: Any = None,
) -> Tensor:
    """A convolution of (N, D, H, W, C) by (D, H, W, I, O), over groups of channels."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_origin_shape)
    return conv(Input, Filter, stride, padding, dilation, groups, "NDHWC", "", out_dtype)


def depthwise_conv2d_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """Each channel of (N, C, H, W) convolved with its own kernels, of (C, multiplier, H, W)."""
    return _depthwise(Input, Filter, stride, padding, dilation, [0, 1, 2, 3], [0, 1, 2, 3], out_dtype)


def depthwise_conv2d_nhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:
    """Each channel of (N, H, W, C) convolved with its own kernels, of (H, W, C, multiplier) or as `kernel_layout`."""
    return _depthwise(Input, Filter, stride, padding, dilation, [0, 3, 1, 2], places(kernel_layout, "OIHW"), out_dtype)


def _depthwise(
    data: Tensor,
    weight: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    data_places: list[int],
    kernel_places: list[int],
    out_dtype: str | None,
) -> Tensor:
    dilations = integers(dilation, 2)
    pairs = pad_pairs(padding, kernel_extents([weight.dims[p] for p in kernel_places[2:]], dilations))
    dtype = element_type(out_dtype, data.type)
    return _spatial.depthwise_convolution(
        data, weight, data_places, kernel_places, pairs, integers(stride, 2), dilations, dtype
    )


def _transposed(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int = 1
) -> Tensor:
    """A transposed convolution of (N, C, …) by (I, O, …)."""
    rank = data.ndim - 2
    spatial_letters(rank)
    steps, extra = integers(strides, rank), integers(output_padding, rank)
    reach = kernel_extents(kernel.dims[2:], [1] * rank)
    pairs = pad_pairs(padding, reach)
    rows = zip(data.dims[2:], steps, reach, pairs, extra, strict=True)
    counts = [(d - 1) * s + (k - sum(pair) + more) for d, s, k, pair, more in rows]
    spatial = list(range(2, rank + 2))
    all_places = ([0, 1, *spatial], [1, 0, *spatial], [0, 1, *spatial])
    dims = [data.dims[0], kernel.dims[1] * groups, *counts]
    dtype = element_type(out_dtype, data.type)
    return _windows.transposed_convolution(data, kernel, dims, all_places, pairs, steps, [1] * rank, int(groups), dtype)


def conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: str, output_padding: Any
) -> Tensor:
    """A transposed convolution of (N, C, W) by (I, O, W)."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding)


def group_conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int
) -> Tensor:
    """`conv1d_transpose_ncw` over groups of channels."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, integer(groups))


def conv2d_transpose_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    strides: Any,
    padding: Any,
    out_dtype: str,
    output_padding: Any,
) -> Tensor:
    """A transposed convolution of (N, C, H, W) by (I, O, H, W)."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def group_conv2d_transpose_nchw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int
) -> Tensor:
    """`conv2d_transpose_nchw` over groups of channels."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, integer(groups))


def conv3d_transpose_ncdhw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    strides: Any,
    padding: Any,
    out_dtype: str,
    output_padding: Any,
) -> Tensor:
    """A transposed convolution of (N, C, D, H, W) by (I, O, D, H, W)."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def group_conv3d_transpose_ncdhw(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int
) -> Tensor:
    """`conv3d_transpose_ncdhw` over groups of channels."""
    return _transposed(data, kernel, strides, padding, out_dtype, output_padding, integer(groups))


__all__ = [
    "conv",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
]
