"""Example workloads for tuning: products, convolutions and normalizations, each with a table of sizes.

`workload("C2D")` is the two-dimensional convolution with the first sizes of its table. The function names
contain the layouts, batch first: `nhwc` is batch, height, width, channels; weights are kernel, input
channels, output channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..diagnostics import TiraxError, unknown_name
from ..handles.tir.prim_func import PrimFunc
from ..te.create import prim_func_of
from ..topi.nn import softmax
from ..topi.windows import pad_constant

Tensors = list[te.Tensor]


def batch_matmul_nkkm(
    batch: int, n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """Return the products of `batch` pairs of matrices, [n, k] and [k, m]."""
    x = te.placeholder((batch, n, k), name="X", dtype=in_dtype)
    y = te.placeholder((batch, k, m), name="Y", dtype=in_dtype)
    r = te.reduce_axis((0, k), name="k")
    z = te.compute(
        (batch, n, m),
        lambda b, i, j: te.sum(x[b, i, r].astype(out_dtype) * y[b, r, j].astype(out_dtype), axis=[r]),
        name="Z",
    )
    return [x, y, z]


def matmul(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """Return the product of two matrices, [n, k] and [k, m]."""
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m), lambda i, j: te.sum(a[i, r].astype(out_dtype) * b[r, j].astype(out_dtype), axis=[r]), name="C"
    )
    return [a, b, c]


def matmul_relu(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """Return `max(matmul, 0)` of two matrices, [n, k] and [k, m]."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    d = te.compute((n, m), lambda *at: te.max(c[at], te.const(0, out_dtype)), name="compute")
    return [a, b, d]


@dataclass(frozen=True)
class _Window:
    """A convolution window in one dimension: kernel size, stride, padding and dilation."""

    size: int
    stride: int
    padding: int
    dilation: int = 1

    def steps(self, extent: int) -> int:
        """Return the number of kernel positions."""
        return (extent + 2 * self.padding - self.dilation * (self.size - 1) - 1) // self.stride + 1

    def at(self, position: Any, tap: Any) -> Any:
        """Return the index of a kernel tap in the padded input."""
        return position * self.stride + tap * self.dilation


def _padded(x: te.Tensor, padding: int, name: str = "PadInput") -> te.Tensor:
    """Pad all dimensions but the first and the last with zeros."""
    widths = [0, *[padding] * (len(x.shape) - 2), 0]
    return pad_constant(x, widths, widths, 0.0, name)


@dataclass(frozen=True)
class _Names:
    """The names of a convolution, its padded input and its spatial axes."""

    output: str
    axes: tuple[str, ...]
    padded: str = "PadInput"
    batch: str = "n"
    channels: str = "co"

    @property
    def taps(self) -> list[str]:
        """The reduction axes of the kernel: `ry` for `yy`."""
        return [f"r{axis[0]}" for axis in self.axes]


def _convolution(
    x: te.Tensor, w: te.Tensor, window: _Window, groups: int | None, names: _Names, in_channels: int, out_channels: int,
    out_dtype: str,
) -> te.Tensor:  # fmt: skip
    """Build a convolution with any number of spatial dimensions; `groups` None means ungrouped."""
    spatial = [int(d) for d in x.shape[1:-1]]
    padded = _padded(x, window.padding, names.padded)
    taps = [te.reduce_axis((0, window.size), name=tap) for tap in names.taps]
    members, group = in_channels // (groups or 1), out_channels // (groups or 1)
    rc = te.reduce_axis((0, members), name="rc")

    def element(*indices: Any) -> Any:
        n, *places, co = indices
        at = [window.at(p, t) for p, t in zip(places, taps, strict=True)]
        channel = rc if groups is None else co // group * members + rc
        element, factor = padded[(n, *at, channel)], w[(*taps, rc, co)]
        return te.sum(element.astype(out_dtype) * factor.astype(out_dtype), axis=[*taps, rc])

    shape = (x.shape[0], *(window.steps(d) for d in spatial), out_channels)
    return te.compute(shape, element, name=names.output, varargs_names=[names.batch, *names.axes, names.channels])


_AXES = {1: ("l",), 2: ("h", "w"), 3: ("d", "h", "w")}
"""The names of the dimensions between batch and channels, by their number."""


def _channels_last(
    n: int, spatial: Sequence[int], ci: int, co: int, window: _Window, groups: int | None, name: str, dtype: str,
    out_dtype: str,
) -> Tensors:  # fmt: skip
    x = te.placeholder((n, *spatial, ci), name="inputs", dtype=dtype)
    w = te.placeholder((*[window.size] * len(spatial), ci // (groups or 1), co), name="weight", dtype=dtype)
    return [x, w, _convolution(x, w, window, groups, _Names(name, _AXES[len(spatial)]), ci, co, out_dtype)]


def conv1d_nlc(
    n: int, length: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a one-dimensional convolution."""
    window = _Window(kernel_size, stride, padding, dilation)
    return _channels_last(n, (length,), ci, co, window, groups, "conv1d_nlc", in_dtype, out_dtype)


def conv2d_nhwc(
    n: int, h: int, w: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a two-dimensional convolution."""
    window = _Window(kernel_size, stride, padding, dilation)
    return _channels_last(n, (h, w), ci, co, window, groups, "conv2d_nhwc", in_dtype, out_dtype)


def conv3d_ndhwc(
    n: int, d: int, h: int, w: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a three-dimensional convolution."""
    window = _Window(kernel_size, stride, padding, dilation)
    return _channels_last(n, (d, h, w), ci, co, window, groups, "conv3d_ndhwc", in_dtype, out_dtype)


def depthwise_conv2d_nhwc(
    n: int, h: int, w: int, c: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    factor: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a depthwise convolution: each channel by itself. Raises `TiraxError` for a `factor` other than 1."""
    if factor != 1:
        raise TiraxError("a depthwise convolution has one output for each channel", expected=1, found=factor)
    window = _Window(kernel_size, stride, padding, dilation)
    x = te.placeholder((n, h, w, c), name="placeholder", dtype=in_dtype)
    k = te.placeholder((1, kernel_size, kernel_size, c), name="weight", dtype=in_dtype)
    padded = _padded(x, padding)
    rh, rw = (te.reduce_axis((0, kernel_size), name=name) for name in ("rh", "rw"))
    out = te.compute(
        (n, window.steps(h), window.steps(w), c),
        lambda n, h, w, c: te.sum(
            padded[n, window.at(h, rh), window.at(w, rw), c].astype(out_dtype) * k[0, rh, rw, c].astype(out_dtype),
            axis=[rh, rw],
        ),
        name="depth_conv2d_nhwc",
    )
    return [x, k, out]


def conv2d_transpose_nhwc(
    n: int, h: int, w: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a transposed two-dimensional convolution, whose input is dilated by `stride`."""
    x = te.placeholder((n, h, w, ci), name="inputs", dtype=in_dtype)
    k = te.placeholder((kernel_size, kernel_size, ci, co), name="weight", dtype=in_dtype)
    around = kernel_size - 1 - padding
    border = -around % stride
    padded = _padded(x, (around + border) // stride)
    rh, rw = (te.reduce_axis((0, kernel_size), name=name) for name in ("rh", "rw"))
    rc = te.reduce_axis((0, ci), name="rc")
    last = kernel_size - 1

    def element(n: Any, h: Any, w: Any, co: Any) -> Any:
        y, z = h + rh + border, w + rw + border
        value = padded[n, y // stride, z // stride, rc]
        taken = te.if_then_else(te.all(y % stride == 0, z % stride == 0), value, te.const(0.0, in_dtype))
        factor = k[last - rh, last - rw, rc, co]
        return te.sum(taken.astype(out_dtype) * factor.astype(out_dtype), axis=[rh, rw, rc])

    tall, wide = ((e - 1) * stride + kernel_size - 2 * padding for e in (h, w))
    return [x, k, te.compute((n, tall, wide, co), element, name="conv2d_transpose_nhwc")]


def conv2d_capsule_nhwijc(
    n: int, h: int, w: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0,
    capsule_size: int = 4, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return a convolution whose elements are square matrices of `capsule_size`."""
    window = _Window(kernel_size, stride, padding)
    s = capsule_size
    x = te.placeholder((n, h, w, s, s, ci), name="inputs", dtype=in_dtype)
    k = te.placeholder((kernel_size, kernel_size, s, s, ci, co), name="weight", dtype=in_dtype)
    widths = [0, padding, padding, 0, 0, 0]
    padded = pad_constant(x, widths, widths, 0.0, "PadInput")
    rh, rw = (te.reduce_axis((0, kernel_size), name=name) for name in ("rh", "rw"))
    cap, rc = te.reduce_axis((0, s), name="cap_k"), te.reduce_axis((0, ci), name="rc")
    out = te.compute(
        (n, window.steps(h), window.steps(w), s, s, co),
        lambda n, h, w, cap_i, cap_j, co: te.sum(
            padded[n, window.at(h, rh), window.at(w, rw), cap_i, cap, rc].astype(out_dtype)
            * k[rh, rw, cap, cap_j, rc, co].astype(out_dtype),
            axis=[rh, rw, cap, rc],
        ),
        name="conv2d_capsule_nhwijc",
    )
    return [x, k, out]


def conv2d_nhwc_bn_relu(
    n: int, h: int, w: int, ci: int, co: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Return `conv2d_nhwc` followed by a bias, the scale and offset of a normalization, and relu."""
    window = _Window(kernel_size, stride, padding, dilation)
    x = te.placeholder((n, h, w, ci), name="data", dtype=in_dtype)
    k = te.placeholder((kernel_size, kernel_size, ci, co), name="kernel", dtype=in_dtype)
    names = _Names("Conv2dOutput", ("yy", "xx"), "PaddedInput", "nn", "ff")
    conv = _convolution(x, k, window, None, names, ci, co, out_dtype)
    bias, scale, offset = (
        te.placeholder((co,), name=name, dtype=out_dtype) for name in ("bias", "bn_scale", "bn_offset")
    )
    biased = te.compute(conv.shape, lambda b, i, j, c: conv[b, i, j, c] + bias[c], name="bias_add")
    scaled = te.compute(conv.shape, lambda b, i, j, c: biased[b, i, j, c] * scale[c], name="bn_mul")
    moved = te.compute(conv.shape, lambda b, i, j, c: scaled[b, i, j, c] + offset[c], name="bn_add")
    zero = te.const(0.0, out_dtype)
    out = te.compute(conv.shape, lambda *at: te.max(moved[at], zero), name="compute")
    return [x, k, bias, offset, scale, out]


def transpose_batch_matmul(
    batch: int, length: int, heads: int, dim: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """Return attention scores: queries and keys [batch, length, heads, dim] to [batch, heads, length, length]."""
    query, value = (
        te.placeholder((batch, length, heads, dim), name=name, dtype=in_dtype) for name in ("query", "value")
    )

    def rearranged(x: te.Tensor, dims: str, shape: tuple[int, ...], name: str) -> te.Tensor:
        return te.compute(
            shape, lambda *at: x[tuple(at[dims.index(d)] for d in "blhd")], name=name, varargs_names=list(dims)
        )

    query_t = rearranged(query, "bhld", (batch, heads, length, dim), "query_T")
    value_t = rearranged(value, "bhdl", (batch, heads, dim, length), "value_T")
    k = te.reduce_axis((0, dim), name="k")
    out = te.compute(
        (batch, heads, length, length),
        lambda b, h, i, j: te.sum(
            query_t[b, h, i, k].astype(out_dtype) * value_t[b, h, k, j].astype(out_dtype), axis=[k]
        ),
        name="C",
    )
    return [query, value, out]


def norm_bmn(batch: int, m: int, n: int) -> Tensors:
    """Return the Euclidean norms of `batch` matrices."""
    a = te.placeholder((batch, m, n), name="A")
    i, j = te.reduce_axis((0, m), name="i"), te.reduce_axis((0, n), name="j")
    c = te.compute((batch,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    d = te.compute((batch,), lambda b: te.sqrt(c[b]), name="D")
    return [a, d]


def softmax_mn(m: int, n: int, dtype: str = "float32") -> Tensors:
    """Return the softmax of rows."""
    a = te.placeholder((m, n), name="A", dtype=dtype)
    return [a, softmax(a, axis=1)]


WORKLOADS: dict[str, tuple[Callable[..., Tensors], tuple[tuple[int, ...], ...]]] = {
    "C1D": (conv1d_nlc, ((1, 256, 64, 128, 3, 2, 1), (1, 128, 128, 256, 1, 2, 0), (1, 64, 256, 256, 5, 1, 2))),
    "C2D": (conv2d_nhwc, ((1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 64, 1, 1, 0), (1, 14, 14, 256, 256, 3, 1, 1))),
    "C3D": (conv3d_ndhwc, ((1, 16, 224, 224, 3, 64, 7, 2, 3), (1, 16, 56, 56, 64, 64, 1, 1, 0))),
    "GMM": (batch_matmul_nkkm, ((1, 128, 128, 128), (1, 512, 32, 512), (1, 1024, 1024, 1024))),
    "GRP": (conv2d_nhwc, ((1, 56, 56, 64, 128, 3, 2, 1, 1, 4), (1, 28, 28, 128, 128, 3, 1, 1, 1, 4))),
    "DIL": (conv2d_nhwc, ((1, 224, 224, 3, 64, 7, 2, 3, 2), (1, 56, 56, 64, 64, 1, 1, 0, 2))),
    "DEP": (depthwise_conv2d_nhwc, ((1, 112, 112, 32, 3, 1, 1), (1, 56, 56, 128, 3, 1, 1), (1, 7, 7, 512, 3, 1, 1))),
    "T2D": (conv2d_transpose_nhwc, ((1, 4, 4, 512, 256, 4, 2, 1), (1, 16, 16, 128, 64, 4, 2, 1))),
    "CAP": (conv2d_capsule_nhwijc, ((1, 16, 16, 32, 32, 3, 2, 1), (1, 8, 8, 32, 32, 3, 1, 1))),
    "NRM": (norm_bmn, ((1, 256, 256), (1, 512, 512), (1, 1024, 1024))),
    "SFM": (softmax_mn, ((256, 256), (512, 512), (1024, 1024))),
    "CBR": (conv2d_nhwc_bn_relu, ((1, 224, 224, 3, 64, 7, 2, 3), (1, 14, 14, 256, 256, 3, 1, 1))),
    "TBG": (transpose_batch_matmul, ((1, 128, 12, 64), (1, 128, 16, 64))),
}
"""The programs with their sizes, by their short names in the literature (Zheng et al., Ansor, 2020)."""


def workload(name: str, number: int = 0) -> PrimFunc:
    """Return the tensor function of a program with the given entry of its size table.

    Raises `NameLookupError` for an unknown name and `TiraxError` for a number outside the table.
    """
    if name not in WORKLOADS:
        raise unknown_name("workload", name, WORKLOADS)
    make, sizes = WORKLOADS[name]
    if not 0 <= number < len(sizes):
        raise TiraxError(f"workload {name} has {len(sizes)} sizes", expected=f"0 to {len(sizes) - 1}", found=number)
    return prim_func_of(make(*sizes[number]))
