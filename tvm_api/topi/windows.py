"""Convolutions, transposed convolutions and pooling, of `tvm.topi.nn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...diagnostics import ShapeError, TiraxError
from ...dialects.relax.layout import arranged, windows, windows_begun
from ...dialects.sym.expr import SymExpr
from ...te.axis import dim
from ...te.tensor import Tensor
from ...topi import grad as _grad
from ...topi import windows as _windows
from ..operators import blocked as _blocked
from ..operators import spatial as _spatial
from .arguments import (
    Pairs,
    call_by_names,
    constant_like,
    element_type,
    integers,
    kernel_extents,
    named,
    no_rewritten_layout,
    packed_places,
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
"""The kernel layout for each data layout."""


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
    """Return a convolution of one to three spatial dimensions, in any plain layout, over `groups` of channels."""
    no_rewritten_layout(auto_scheduler_rewritten_layout or "", meta_schedule_original_shape)
    rank = inp.ndim - 2
    letters = spatial_letters(rank)
    data_places = places(data_layout, "NC" + letters)
    kernel_places = places(kernel_layout or _kernel_layout(data_layout), "OI" + letters)
    steps, dilations = integers(stride, rank), integers(dilation, rank)
    reach = kernel_extents([filt.dims[p] for p in kernel_places[2:]], dilations)
    pairs = pad_pairs(padding, reach)
    outer, inner = filt.dims[kernel_places[0]], filt.dims[kernel_places[1]]
    channels = inp.dims[data_places[1]]
    if ((inner * groups) - channels).constant not in (0, None):
        raise ShapeError(
            "the kernel is for another number of channels", expected=str(channels), found=str(inner * groups)
        )
    counts = window_counts(inp, data_places[2:], pairs, reach, steps)
    dims = arranged(data_places, [inp.dims[data_places[0]], outer, *counts])
    name = f"{'group_' if groups > 1 else ''}conv{rank}d_{data_layout.lower()}"
    all_places = (data_places, kernel_places, data_places)
    dtype = element_type(out_dtype, inp.type)
    return _windows.convolution(inp, filt, dims, all_places, pairs, steps, dilations, int(groups), dtype, name)


def _kernel_layout(data_layout: str) -> str:
    if data_layout not in _KERNELS:
        raise TiraxError("no layout of kernels goes with this one", expected="a kernel_layout", found=data_layout)
    return _KERNELS[data_layout]


_ONE_DIMENSION = "data kernel strides=1 padding='VALID' dilation=1"
_MORE = "Input Filter stride padding dilation"
"""The first parameters of convolutions."""


def _convolving(layout: str, parameters: str, doc: str) -> Callable[..., Tensor]:
    """Return a convolution function for data in `layout`, grouped if it has such a parameter."""
    is_grouped = "groups" in parameters

    def convolve(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, *more: Any) -> Tensor:
        groups, *others = more if is_grouped else (1, *more)
        return conv(data, kernel, stride, padding, dilation, groups, layout, "", *others)

    return named(parameters, convolve, doc)


conv1d = named(
    f"{_ONE_DIMENSION} groups=1 data_layout='NCW' kernel_layout='' out_dtype=None",
    conv,
    "A convolution along one dimension.",
)
conv2d = named(
    "input filter strides padding dilation data_layout='NCHW' kernel_layout='' out_dtype=None",
    lambda data, kernel, stride, padding, dilation, *more: conv(data, kernel, stride, padding, dilation, 1, *more),
    "A convolution along two dimensions.",
)
conv1d_ncw = _convolving(
    "NCW", f"{_ONE_DIMENSION} out_dtype=None", "A convolution along one dimension of (N, C, W) by (O, I, W)."
)
conv1d_nwc = _convolving(
    "NWC", f"{_ONE_DIMENSION} out_dtype=None", "A convolution along one dimension of (N, W, C) by (W, I, O)."
)
group_conv1d_ncw = _convolving(
    "NCW", f"{_ONE_DIMENSION} groups=1 out_dtype=None", "`conv1d_ncw` over groups of channels."
)
group_conv1d_nwc = _convolving(
    "NWC", f"{_ONE_DIMENSION} groups=1 out_dtype=None", "`conv1d_nwc` over groups of channels."
)
conv2d_nchw = _convolving("NCHW", f"{_MORE} out_dtype=None", "A convolution of (N, C, H, W) by (O, I, H, W).")
conv2d_hwcn = _convolving("HWCN", f"{_MORE} out_dtype=None", "A convolution of (H, W, C, N) by (H, W, I, O).")
conv2d_nhwc = _convolving(
    "NHWC",
    f"{_MORE} out_dtype='float32' auto_scheduler_rewritten_layout='' meta_schedule_original_shape=None",
    "A convolution of (N, H, W, C) by (H, W, I, O).",
)
group_conv2d_nchw = _convolving("NCHW", f"{_MORE} groups out_dtype=None", "`conv2d_nchw` over groups of channels.")
group_conv2d_nhwc = _convolving("NHWC", f"{_MORE} groups out_dtype=None", "`conv2d_nhwc` over groups of channels.")
conv3d_ncdhw = _convolving(
    "NCDHW",
    f"{_MORE} groups out_dtype=None",
    "A convolution of (N, C, D, H, W) by (O, I, D, H, W), over groups of channels.",
)
conv3d_ndhwc = _convolving(
    "NDHWC",
    f"{_MORE} groups out_dtype='float32' auto_scheduler_rewritten_layout='' meta_schedule_origin_shape=None",
    "A convolution of (N, D, H, W, C) by (D, H, W, I, O), over groups of channels.",
)


def _depthwise(
    layouts: tuple[str, str], data: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any
) -> Tensor:
    """Return a depthwise convolution, in layouts of (N, C, H, W) and (channel, multiplier, H, W)."""
    data_places, kernel_places = places(layouts[0], "NCHW"), places(layouts[1], "OIHW")
    dilations = integers(dilation, 2)
    pairs = pad_pairs(padding, kernel_extents([weight.dims[p] for p in kernel_places[2:]], dilations))
    dtype = element_type(out_dtype, data.type)
    return _spatial.depthwise_convolution(
        data, weight, data_places, kernel_places, pairs, integers(stride, 2), dilations, dtype
    )


depthwise_conv2d_nchw = named(
    f"{_MORE} out_dtype=None",
    partial(_depthwise, ("NCHW", "OIHW")),
    "Each channel of (N, C, H, W) convolved with its own kernels, of (C, multiplier, H, W).",
)
depthwise_conv2d_nhwc = named(
    f"{_MORE} kernel_layout='HWOI' out_dtype=None",
    lambda x, w, stride, padding, dilation, layout, dtype: _depthwise(
        ("NHWC", layout), x, w, stride, padding, dilation, dtype
    ),
    "Each channel of (N, H, W, C) convolved with its own kernels, of (H, W, C, multiplier) or as `kernel_layout`.",
)


def _transposed(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, out_dtype: str, output_padding: Any, groups: int = 1
) -> Tensor:
    """Return a transposed convolution of (N, C, …) by (I, O, …)."""
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


_TRANSPOSED = "stride padding out_dtype output_padding"
conv1d_transpose_ncw = named(
    f"data kernel {_TRANSPOSED}", _transposed, "A transposed convolution of (N, C, W) by (I, O, W)."
)
conv2d_transpose_nchw = named(
    "Input Filter strides padding out_dtype output_padding",
    _transposed,
    "A transposed convolution of (N, C, H, W) by (I, O, H, W).",
)
conv3d_transpose_ncdhw = named(
    "Input Filter strides padding out_dtype output_padding",
    _transposed,
    "A transposed convolution of (N, C, D, H, W) by (I, O, D, H, W).",
)
group_conv1d_transpose_ncw = named(
    f"data kernel {_TRANSPOSED} groups", _transposed, "`conv1d_transpose_ncw` over groups of channels."
)
group_conv2d_transpose_nchw = named(
    f"data kernel {_TRANSPOSED} groups", _transposed, "`conv2d_transpose_nchw` over groups of channels."
)
group_conv3d_transpose_ncdhw = named(
    "data kernel strides padding out_dtype output_padding groups",
    _transposed,
    "`conv3d_transpose_ncdhw` over groups of channels.",
)


# Convolutions in blocked layouts: data (N, C / c, H, W, c), kernels (O / o, I / i, H, W, i, o).


def _in_blocks(parameters: str, compute: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    """Return a convolution function for blocked layouts, whose block sizes follow from the shapes."""

    def convolve(
        data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, _: str, __: str, out_dtype: str | None
    ) -> Tensor:
        steps, dilations = integers(stride, 2), integers(dilation, 2)
        reach = kernel_extents(kernel.dims[2:4], dilations)
        pairs = pad_pairs(padding, reach)
        counts = window_counts(data, [2, 3], pairs, reach, steps)
        return compute(data, kernel, counts, pairs, steps, dilations, element_type(out_dtype, data.type))

    return named(parameters, convolve, doc)


conv2d_NCHWc = _in_blocks(
    "data kernel stride padding dilation layout out_layout out_dtype='float32'",
    _blocked.convolution,
    "A convolution; the blocks of the layouts are those of the shapes.",
)
depthwise_conv2d_NCHWc = _in_blocks(
    f"{_MORE} layout out_layout out_dtype=None",
    _blocked.depthwise_convolution,
    "Each channel convolved with its own kernels, of (O / o, 1, H, W, 1, o).",
)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:  # noqa: N802
    """Unpack (N, C / c, H, W, c) to (N, C, H, W)."""
    return _blocked.unpack(packed_out, element_type(out_dtype, packed_out.type))


# Pooling.


def _kind(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise TiraxError("unknown kind of pooling", expected="max or avg", found=pool_type)
    return pool_type


def _widened(padding: Pairs, strides: Sequence[int], ceil_mode: bool) -> Pairs:
    """Return padding extended at the end for windows that start inside (`ceil_mode`)."""
    return [(b, a + (s - 1 if ceil_mode else 0)) for (b, a), s in zip(padding, strides, strict=True)]


def _pool(
    letters: str,
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
) -> Tensor:
    at = packed_places(layout, "NC" + letters)
    size, steps, dilations = (integers(v, len(letters)) for v in (kernel, stride, dilation))
    own_pairs = pad_pairs(padding, size)
    pairs = _widened(own_pairs, steps, ceil_mode)
    count = windows_begun if ceil_mode else lambda n, p, *w: windows(n, sum(p), *w)
    rows = zip([data.dims[p] for p in at[2:]], pairs, size, steps, dilations, strict=True)
    counts = [count(*row) for row in rows]
    dims = _with_extents(data, at, counts)
    counted = own_pairs if count_include_pad else None
    return _windows.pool(data, dims, at, size, steps, dilations, pairs, _kind(pool_type), counted)


def _with_extents(data: Tensor, at: Sequence[int], extents: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the shape of `data` with other spatial extents. Raises `ShapeError` if the layout has another rank."""
    if max(at) >= len(data.dims):
        raise ShapeError("the layout has more dimensions than the data", found=str(data))
    dims = list(data.dims)
    for p, extent in zip(at[2:], extents, strict=True):
        dims[p] = extent
    return dims


def _pooling(letters: str, along: str) -> Callable[..., Tensor]:
    window = "data kernel stride dilation padding"
    return named(
        f"{window} pool_type ceil_mode=False layout='NC{letters}' count_include_pad=True",
        partial(_pool, letters),
        f"The greatest value (`max`) or the mean (`avg`) of each window along {along}.",
    )


pool1d = _pooling("W", "one dimension")
pool2d = _pooling("HW", "two dimensions")
pool3d = _pooling("DHW", "three dimensions")


def _adaptive(letters: str, data: Tensor, output_size: Any, pool_type: str, layout: str) -> Tensor:
    at = packed_places(layout, "NC" + letters)
    sizes = output_size if isinstance(output_size, list | tuple) else [output_size] * len(letters)
    extents = [constant_like(dim(s), data.dims[p]) for s, p in zip(sizes, at[2:], strict=True)]
    dims = _with_extents(data, at, extents)
    return _windows.adaptive_pool(data, dims, at, _kind(pool_type))


def _adapting(letters: str, cut: str) -> Callable[..., Tensor]:
    return named(
        f"data output_size pool_type layout='NC{letters}'",
        partial(_adaptive, letters),
        f"{cut} cut into `output_size` windows, which may overlap.",
    )


adaptive_pool1d = _adapting("W", "One dimension")
adaptive_pool = _adapting("HW", "Two dimensions")
adaptive_pool3d = _adapting("DHW", "Three dimensions")


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the maximum (`max`) or the mean (`avg`) of each channel, with extents of 1."""
    return _adaptive("HW", data, [1, 1], pool_type, layout)


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
    """Return the gradient of `pool2d` for its data."""
    size, steps = integers(kernel, 2), integers(stride, 2)
    pairs = pad_pairs(padding, size)
    counted = pairs if count_include_pad else None
    window = (size, steps, [1, 1], _widened(pairs, steps, ceil_mode))
    return _grad.pool_backward(grads, data, places(layout, "NCHW"), window, _kind(pool_type), counted)


__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "conv", "conv1d", "conv1d_ncw", "conv1d_nwc",
    "conv1d_transpose_ncw", "conv2d", "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc",
    "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc", "conv3d_transpose_ncdhw", "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "global_pool", "group_conv1d_ncw", "group_conv1d_nwc",
    "group_conv1d_transpose_ncw", "group_conv2d_nchw", "group_conv2d_nhwc", "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw", "pool1d", "pool2d", "pool3d", "pool_grad", "unpack_NCHWc_to_nchw",
]  # fmt: skip

call_by_names(globals())
