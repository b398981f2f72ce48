"""Space and depth, space and batch, mirror padding, morphology, and depthwise convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from ...diagnostics import ShapeError, unknown_name
from ...dialects.relax.layout import arranged, windows
from ...dialects.sym.expr import Const, SymExpr, product
from ...handles.tir import limits
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor, compute
from ...topi.util import divisor
from ...topi.windows import Padding, Places, pad_constant, padded_places, window_places


def space_to_depth(data: Tensor, block: int, places: Places) -> Tensor:
    """Rearrange blocks of pixels into channels: (c, h, w) becomes (block * block * c, h / block, w / block)."""
    batch, channels, height, width = (data.dims[p] for p in places)
    dims = arranged(places, [batch, channels * (block * block), height // block, width // block])

    def element(*i: PrimExpr) -> PrimExpr:
        n, c, y, x = (i[p] for p in places)
        inner = tx.truncmod(c, from_sym(channels))
        offset_y = tx.truncdiv(c, from_sym(channels * block))
        offset_x = tx.truncdiv(tx.truncmod(c, from_sym(channels * block)), from_sym(channels))
        return data(*arranged(places, [n, inner, y * block + offset_y, x * block + offset_x]))

    return compute(dims, element, "space_to_depth", "injective")


def depth_to_space(data: Tensor, block: int, places: Places, mode: str) -> Tensor:
    """Rearrange channels into blocks of pixels: (block * block * c, h, w) becomes (c, h * block, w * block).

    The offset within the block is the slower part of the channel in `mode` `DCR`, and the faster part in `CRD`.
    Raises `NameLookupError` for other modes.
    """
    if mode not in ("DCR", "CRD"):
        raise unknown_name("mode of depth_to_space", mode, ("DCR", "CRD"))
    batch, channels, height, width = (data.dims[p] for p in places)
    depth = channels // (block * block)
    dims = arranged(places, [batch, depth, height * block, width * block])

    def element(*i: PrimExpr) -> PrimExpr:
        n, c, y, x = (i[p] for p in places)
        offset = tx.truncmod(y, tx.const(block, y.type)) * block + tx.truncmod(x, tx.const(block, x.type))
        channel = offset * from_sym(depth) + c if mode == "DCR" else c * (block * block) + offset
        row, column = tx.truncdiv(y, tx.const(block, y.type)), tx.truncdiv(x, tx.const(block, x.type))
        return data(*arranged(places, [n, channel, row, column]))

    return compute(dims, element, "depth_to_space", "injective")


def space_to_batch_nd(data: Tensor, blocks: Sequence[int], padding: Padding, value: float) -> Tensor:
    """Pad the spatial dimensions and rearrange their blocks into batches, with block offsets as the slower part."""
    count, rest = len(blocks), data.ndim - 1 - len(blocks)
    before, after = [0, *(b for b, _ in padding), *[0] * rest], [0, *(a for _, a in padding), *[0] * rest]
    padded = pad_constant(data, before, after, value, "T_pad", "ax")
    batch, *spatial = padded.dims
    dims = [batch * product(blocks, batch.dtype), *(d // b for d, b in zip(spatial, blocks, strict=False))]

    def element(i: Indices) -> PrimExpr:
        offsets = _digits(tx.floordiv(i[0], divisor(batch)), blocks)
        at = [v * b + o for v, b, o in zip(i[1:], blocks, offsets, strict=False)]
        return padded(tx.floormod(i[0], divisor(batch)), *at, *i[1 + count :])

    return over_axes([*dims, *spatial[count:]], element, "T_space_to_batch", "injective")


def batch_to_space_nd(data: Tensor, blocks: Sequence[int], crops: Padding) -> Tensor:
    """Invert `space_to_batch_nd`, and crop the result by `crops`."""
    count = len(blocks)
    batch = data.dims[0] // product(blocks, data.dims[0].dtype)
    rows = zip(data.dims[1:], blocks, crops, strict=False)
    dims = [batch, *(d * b - (low + high) for d, b, (low, high) in rows), *data.dims[1 + count :]]

    def element(i: Indices) -> PrimExpr:
        at = [v + low for v, (low, _) in zip(i[1:], crops, strict=False)]
        offset: PrimExpr = tx.const(0, i[0].type)
        for v, b in zip(at, blocks, strict=True):
            offset = offset * b + tx.floormod(v, tx.const(b, v.type)).astype(i[0].type)
        places = [tx.floordiv(v, tx.const(b, v.type)) for v, b in zip(at, blocks, strict=True)]
        return data(offset * from_sym(batch) + i[0], *places, *i[1 + count :])

    return over_axes(dims, element, "T_batch_to_space", "injective")


def _digits(value: PrimExpr, bases: Sequence[int]) -> list[PrimExpr]:
    """Return the digits of a number in a mixed radix, slowest first."""
    out: list[PrimExpr] = []
    for base in reversed(bases):
        out.append(tx.floormod(value, tx.const(base, value.type)))
        value = tx.floordiv(value, tx.const(base, value.type))
    return out[::-1]


def mirror_pad(data: Tensor, widths: Padding, mode: str, name: str = "MirrorPadInput") -> Tensor:
    """Pad `data` with its mirror image, with the edge repeated (`SYMMETRIC`) or not (`REFLECT`).

    Raises `NameLookupError` for other modes.
    """
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise unknown_name("mode of mirror_pad", mode, ("SYMMETRIC", "REFLECT"))
    edge = 1 if mode == "SYMMETRIC" else 0
    dims = [d + (b + a) for d, (b, a) in zip(data.dims, widths, strict=True)]

    def reflected(i: PrimExpr, extent: SymExpr, before: int, after: int) -> PrimExpr:
        if not (before or after):
            return i
        size, start = from_sym(extent), tx.const(before, i.type)
        beyond = tx.simplified(size * 2 + (before - 2 + edge) - i)
        below = tx.if_then_else(i < start, tx.simplified(start - edge - i), tx.simplified(i - start))
        return tx.if_then_else(tx.less_equal(tx.simplified(size + start), i), beyond, below)

    def element(*i: PrimExpr) -> PrimExpr:
        return data(*(reflected(v, d, b, a) for v, d, (b, a) in zip(i, data.dims, widths, strict=True)))

    return compute(dims, element, name, "injective,pad")


def _windows(
    data: Tensor,
    kernel: Sequence[SymExpr],
    places: Places,
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
) -> list[SymExpr]:
    """Return the number of windows in each spatial dimension. Raises `ShapeError` for a kernel of unknown extent."""
    out: list[SymExpr] = []
    for n, k in enumerate(kernel):
        if k.constant is None:
            raise ShapeError("the extents of the kernel have to be known", found=str(k))
        out.append(windows(data.dims[places[n + 2]], sum(padding[n]), k.constant, strides[n], dilation[n]))
    return out


def depthwise_convolution(
    data: Tensor,
    weight: Tensor,
    places: Places,
    kernel_places: Places,
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    dtype: Attribute,
) -> Tensor:
    """Convolve each input channel with its own kernels. `kernel_places`: input channel, multiplier, window."""
    _, multiplier, *kernel = (weight.dims[p] for p in kernel_places)
    batch, channels = data.dims[places[0]], data.dims[places[1]]
    spatial = _windows(data, kernel, places, padding, strides, dilation)
    padded = padded_places(data, places, padding, 0, "PaddedInput")
    window = [IterVar(f"d{c}", Const(0, k.dtype), k, is_reduction=True) for c, k in zip("ij", kernel, strict=True)]

    def element(*i: PrimExpr) -> Any:
        n, c, *at = (i[p] for p in places)
        where = window_places(at, window, strides, dilation)
        own, copy = tx.floordiv(c, from_sym(multiplier)), tx.floormod(c, from_sym(multiplier))
        left = padded(*arranged(places, [n, own, *where]))
        right = weight(*arranged(kernel_places, [own, copy, *window]))
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=window)

    dims = arranged(places, [batch, channels * multiplier, *spatial])
    return compute(dims, element, "DepthwiseConv2d", "depthwise_conv2d", None, arranged(places, ["b", "c", "i", "j"]))


def dilation2d(
    data: Tensor,
    kernel: Tensor,
    places: Places,
    kernel_places: Places,
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    dtype: Attribute,
) -> Tensor:
    """Return the maximum of data + kernel in each window. `kernel_places`: channel, window."""
    channels, *extents = (kernel.dims[p] for p in kernel_places)
    spatial = _windows(data, extents, places, padding, strides, dilation)
    least = float(limits.min_value(data.type).constant or 0)
    padded = padded_places(data, places, padding, least, "pad_temp")
    window = [IterVar(f"r{c}", Const(0, k.dtype), k, is_reduction=True) for c, k in zip("yx", extents, strict=True)]

    def element(*i: PrimExpr) -> Any:
        n, c, *at = (i[p] for p in places)
        where = window_places(at, window, strides, dilation)
        left = padded(*arranged(places, [n, c, *where]))
        return red.max((left + kernel(*arranged(kernel_places, [c, *window]))).astype(dtype), axis=window)

    dims = arranged(places, [data.dims[places[0]], channels, *spatial])
    return compute(dims, element, "compute", "dilation2d", None, arranged(places, ["nn", "ff", "yy", "xx"]))
