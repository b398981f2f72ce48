"""Convolutions, transposed convolutions and pooling, of `tvm.topi.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import ShapeError, TiraxError
from ...dialects.relax.layout import arranged, windows, windows_begun
from ...te.axis import dim
from ...te.tensor import Tensor
from ...topi import blocked as _blocked
from ...topi import grad as _grad
from ...topi import spatial as _spatial
from ...topi import windows as _windows
from .arguments import (
    constant_like,
    element_type,
    integer,
    integers,
    kernel_extents,
    no_rewritten_layout,
    pad_pairs,
    places,
    spatial_letters,
    window_counts,
)

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


def _plain1d(layout: str, doc: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        kernel: Tensor,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        out_dtype: str | None = None,
    ) -> Tensor:
        return conv(data, kernel, strides, padding, dilation, 1, layout, "", out_dtype)

    apply.__doc__ = doc
    return apply


def _grouped1d(layout: str, doc: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        kernel: Tensor,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        groups: int = 1,
        out_dtype: str | None = None,
    ) -> Tensor:
        return conv(data, kernel, strides, padding, dilation, groups, layout, "", out_dtype)

    apply.__doc__ = doc
    return apply


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


conv1d_ncw = _plain1d("NCW", "A convolution along one dimension of (N, C, W) by (O, I, W).")
conv1d_nwc = _plain1d("NWC", "A convolution along one dimension of (N, W, C) by (W, I, O).")
group_conv1d_ncw = _grouped1d("NCW", "`conv1d_ncw` over groups of channels.")
group_conv1d_nwc = _grouped1d("NWC", "`conv1d_nwc` over groups of channels.")
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


def _transposing(doc: str) -> Callable[..., Tensor]:
    def apply(
        Input: Tensor,  # noqa: N803
        Filter: Tensor,  # noqa: N803
        strides: Any,
        padding: Any,
        out_dtype: str,
        output_padding: Any,
    ) -> Tensor:
        return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)

    apply.__doc__ = doc
    return apply


def _grouped_transposing(doc: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int
    ) -> Tensor:
        return _transposed(data, kernel, stride, padding, out_dtype, output_padding, integer(groups))

    apply.__doc__ = doc
    return apply


conv2d_transpose_nchw = _transposing("A transposed convolution of (N, C, H, W) by (I, O, H, W).")
conv3d_transpose_ncdhw = _transposing("A transposed convolution of (N, C, D, H, W) by (I, O, D, H, W).")
group_conv1d_transpose_ncw = _grouped_transposing("`conv1d_transpose_ncw` over groups of channels.")
group_conv2d_transpose_nchw = _grouped_transposing("`conv2d_transpose_nchw` over groups of channels.")


def group_conv3d_transpose_ncdhw(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int
) -> Tensor:
    """`conv3d_transpose_ncdhw` over groups of channels."""
    return _transposed(data, kernel, strides, padding, out_dtype, output_padding, integer(groups))


# Convolutions of channels in blocks: data (N, C / c, H, W, c), kernels (O / o, I / i, H, W, i, o).


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


# Pooling.


def _kind(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise TiraxError("unknown kind of pooling", expected="max or avg", found=pool_type)
    return pool_type


def _pool(
    data: Tensor,
    rank: int,
    letters: str,
    window: tuple[Any, Any, Any, Any],
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
) -> Tensor:
    at = places(layout, "NC" + letters)
    size, steps, dilations = (integers(v, rank) for v in window[:3])
    given = pad_pairs(window[3], size)
    pairs = [(b, a + (s - 1 if ceil_mode else 0)) for (b, a), s in zip(given, steps, strict=True)]
    count = windows_begun if ceil_mode else lambda n, p, *w: windows(n, sum(p), *w)
    rows = zip([data.dims[p] for p in at[2:]], pairs, size, steps, dilations, strict=True)
    counts = [count(*row) for row in rows]
    dims = arranged(at, [data.dims[at[0]], data.dims[at[1]], *counts])
    counted = given if count_include_pad else None
    return _windows.pool(data, dims, at, size, steps, dilations, pairs, _kind(pool_type), counted)


def _pooling(letters: str, along: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        kernel: Any,
        stride: Any,
        dilation: Any,
        padding: Any,
        pool_type: str,
        ceil_mode: bool = False,
        layout: str = "NC" + letters,
        count_include_pad: bool = True,
    ) -> Tensor:
        window = (kernel, stride, dilation, padding)
        return _pool(data, len(letters), letters, window, pool_type, ceil_mode, layout, count_include_pad)

    apply.__doc__ = f"The greatest value (`max`) or the mean (`avg`) of each window along {along}."
    return apply


pool1d = _pooling("W", "one dimension")
pool2d = _pooling("HW", "two dimensions")
pool3d = _pooling("DHW", "three dimensions")


def _adaptive(data: Tensor, output_size: Any, letters: str, pool_type: str, layout: str) -> Tensor:
    at = places(layout, "NC" + letters)
    sizes = output_size if isinstance(output_size, list | tuple) else [output_size] * len(letters)
    extents = [constant_like(dim(s), data.dims[p]) for s, p in zip(sizes, at[2:], strict=True)]
    dims = arranged(at, [data.dims[at[0]], data.dims[at[1]], *extents])
    return _windows.adaptive_pool(data, dims, at, _kind(pool_type))


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """One dimension cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "W", pool_type, layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Two dimensions cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "HW", pool_type, layout)


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:
    """Three dimensions cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "DHW", pool_type, layout)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The greatest value (`max`) or the mean (`avg`) of each channel, with extents of 1."""
    return _adaptive(data, [1, 1], "HW", pool_type, layout)


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Tensor:
    """The gradient of `pool2d` by its data."""
    size, steps = integers(kernel, 2), integers(stride, 2)
    given = pad_pairs(padding, size)
    pairs = [(b, a + (s - 1 if ceil_mode else 0)) for (b, a), s in zip(given, steps, strict=True)]
    counted = given if count_include_pad else None
    window = (size, steps, [1, 1], pairs)
    return _grad.pool_backward(grads, data, places(layout, "NCHW"), window, _kind(pool_type), counted)


__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "conv", "conv1d", "conv1d_ncw", "conv1d_nwc",
    "conv1d_transpose_ncw", "conv2d", "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc",
    "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc", "conv3d_transpose_ncdhw", "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "global_pool", "group_conv1d_ncw", "group_conv1d_nwc",
    "group_conv1d_transpose_ncw", "group_conv2d_nchw", "group_conv2d_nhwc", "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw", "pool1d", "pool2d", "pool3d", "pool_grad", "unpack_NCHWc_to_nchw",
]  # fmt: skip
