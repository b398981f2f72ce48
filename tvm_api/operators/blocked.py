"""Convolutions in blocked layouts: data (N, C / c, H, W, c), kernels (O / o, I / i, H, W, i, o)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.tensor import Tensor, compute
from ...topi.windows import Padding, pad_constant

_NAMES = ["n", "oc_chunk", "oh", "ow", "oc_block"]


def _axis(name: str, extent: SymExpr) -> IterVar:
    return IterVar(name, Const(0, extent.dtype), extent, is_reduction=True)


def _padded(data: Tensor, padding: Padding) -> Tensor:
    (top, bottom), (left, right) = padding
    if not (top or bottom or left or right):
        return data
    return pad_constant(data, [0, 0, top, left, 0], [0, 0, bottom, right, 0], 0, "data_pad")


def _place(v: PrimExpr, k: PrimExpr, stride: int, dilation: int) -> PrimExpr:
    return tx.simplified(v * tx.const(stride, v.type) + k * tx.const(dilation, k.type))


def convolution(
    data: Tensor,
    kernel: Tensor,
    spatial: Sequence[SymExpr],
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    dtype: Attribute,
    name: str = "conv2d_NCHWc",
) -> Tensor:
    """Return a convolution; `spatial` are the height and width of the result."""
    padded = _padded(data, padding)
    chunks, block = data.dims[1], data.dims[4]
    ic, kh, kw = _axis("ic", chunks * block), _axis("kh", kernel.dims[2]), _axis("kw", kernel.dims[3])

    def element(*i: PrimExpr) -> Any:
        n, chunk, y, x, o = i
        outer, inner = tx.floordiv(ic, from_sym(block)), tx.floormod(ic, from_sym(block))
        row, column = _place(y, kh, strides[0], dilation[0]), _place(x, kw, strides[1], dilation[1])
        left = padded(n, outer, row, column, inner).astype(dtype)
        return red.sum(left * kernel(chunk, outer, kh, kw, inner, o).astype(dtype), axis=[ic, kh, kw])

    dims = [data.dims[0], kernel.dims[0], *spatial, kernel.dims[5]]
    return compute(dims, element, name, "conv2d_NCHWc", None, _NAMES)


def depthwise_convolution(
    data: Tensor,
    kernel: Tensor,
    spatial: Sequence[SymExpr],
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    dtype: Attribute,
) -> Tensor:
    """Return a depthwise convolution with kernels (O / o, 1, H, W, 1, o)."""
    padded = _padded(data, padding)
    block, chunks, out_block = data.dims[4], kernel.dims[0], kernel.dims[5]
    multiplier = (chunks * out_block) // (data.dims[1] * block)
    kh, kw = _axis("kh", kernel.dims[2]), _axis("kw", kernel.dims[3])

    def element(*i: PrimExpr) -> Any:
        n, chunk, y, x, o = i
        channel = tx.floordiv(chunk * from_sym(out_block) + o, from_sym(multiplier))
        outer, inner = tx.floordiv(channel, from_sym(block)), tx.floormod(channel, from_sym(block))
        row, column = _place(y, kh, strides[0], dilation[0]), _place(x, kw, strides[1], dilation[1])
        left = padded(n, outer, row, column, inner).astype(dtype)
        return red.sum(left * kernel(chunk, 0, kh, kw, 0, o).astype(dtype), axis=[kh, kw])

    dims = [data.dims[0], chunks, *spatial, out_block]
    return compute(dims, element, "DepthwiseConv2d", "depthwise_conv2d_NCHWc", None, _NAMES)


def unpack(packed: Tensor, dtype: Attribute) -> Tensor:
    """Unpack (N, C / c, H, W, c) to (N, C, H, W)."""
    n, chunks, height, width, block = packed.dims

    def element(*i: PrimExpr) -> PrimExpr:
        outer, inner = tx.floordiv(i[1], from_sym(block)), tx.floormod(i[1], from_sym(block))
        return packed(i[0], outer, i[2], i[3], inner).astype(dtype)

    names = ["n", "c", "h", "w"]
    return compute([n, chunks * block, height, width], element, "output_unpack", "injective,unpack_nchwc", None, names)
