"""Pack constant kernels of convolutions in the order in which a register tile reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.relax.convolution import Convolution
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr
from ...handles.tir.prim_expr import PrimExpr
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before
from ...target import Target, tile_vectors
from ...te.tensor import Tensor
from ...topi import windows
from .pack_dots import packed_convolution as packed_dots
from .rules import constant_array
from .te_calls import call_tensor_functions

_NAMES = ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d")
_NARROW = 2
_PIXELS_OF_A_TILE = 14
"""Pixels of a tile: this many rows of two vectors fit 32 registers, so weights from the L2 cache are read once for all.
"""
_FIRST_LEVEL = 1 << 16
"""Bytes that may occupy the L1 cache."""


@dataclass(frozen=True)
class PackConvolutions(Pass):
    """Pack the constant kernels of channels-last convolutions in panels of output channels.

    y = conv2d(x, w, "NHWC")  ->  y = call_tir(packed_conv2d, (x, p))    p[o // n, dy, dx, i, o % n] = w[dy, dx, i, o]

    n divides the output channels and is the width of a register tile for `target`, or less if the panels were too large
    for the cache, or if a narrower tile covers a full row of the image. A kernel that is transposed first is packed
    from its source. Grouped convolutions are kept, and so are dtypes other than 32 and 64 bits, except bfloat16 and
    bytes with suitable instructions: their kernels are packed in steps of these, also in the layout NCHW (`pack_dots`).
    """

    name = "pack-convolutions"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        call_tensor_functions(op, {name: partial(_packed_convolution, target) for name in _NAMES})


def _packed_convolution(target: Target, op: Operator) -> tuple[Callable[..., Any], list[SSAValue], str] | None:
    for_dots = packed_dots(target, op)
    if for_dots is not None:
        return for_dots
    conv = cast(Convolution, op)
    if op.attr("groups") != 1 or conv.is_blocked() or not _has_channels_last(conv):
        return None
    element = cast(TensorType, op.results[0].type).element
    data, weight = op.operands
    kernel = constant_array(weight)
    if kernel is None or not kernel.size or element not in (f32, f64) or cast(TensorType, data.type).element != element:
        return None
    outer, inner, *window = conv.kernel_places()
    panels = kernel.transpose(*window, inner, outer)
    width = _width(target, panels, _pixels(conv, panels.shape[:-2]))
    if width is None:
        return None
    packed = insert_before(op, relax.ConstantOp(_packed(panels, width, element)).named_after(weight)).result
    pads = op.attr("padding")
    attrs = {
        "out_shape": cast(TensorType, op.results[0].type).dims,
        "places": (conv.data_places(), conv.out_places()),
        "padding": list(zip(pads[: conv.RANK], pads[conv.RANK :], strict=True)),
        "strides": op.attr("strides"),
        "dilation": op.attr("dilation"),
    }
    return partial(packed_convolution, **attrs), [data, packed], f"packed_conv{conv.RANK}d"


def _has_channels_last(conv: Convolution) -> bool:
    last = conv.RANK + 1
    return conv.data_places()[1] == last and conv.out_places()[1] == last


def _pixels(conv: Convolution, window: tuple[int, ...]) -> int | None:
    """Return the number of adjacent result pixels that use the same weights: a row; None if unknown or more."""
    dims = cast(TensorType, conv.results[0].type).dims
    if dims is None or (math.prod(window) == 1 and set(conv.attr("strides")) == {1}):
        return None
    return dims[-2].constant


def _width(target: Target, kernel: np.ndarray[Any, Any], pixels: int | None) -> int | None:
    """Return the output channels of a panel; None if they are not divisible by any number of full vectors."""
    column, channels = kernel.nbytes // kernel.shape[-1], kernel.shape[-1]
    lanes = max(1, target.vector_bits // (8 * kernel.itemsize))
    vectors = [*tile_vectors(target.vector_registers), 1]
    few = pixels is not None and pixels <= _PIXELS_OF_A_TILE and channels % (_NARROW * lanes) == 0
    if few and vectors[0] * lanes * column > _FIRST_LEVEL:
        vectors = [v for v in vectors if v <= _NARROW]
    widths = [v * lanes for v in vectors if channels % (v * lanes) == 0]
    fitting = [w for w in widths if w * column <= 3 * target.caches.l2 // 4]
    with_next = [w for w in fitting if w == channels or (2 * w * column <= target.caches.l2 and w > lanes)]
    return next(iter(with_next or fitting or widths[-1:]), None)


def _packed(kernel: np.ndarray[Any, Any], width: int, element: Attribute) -> TensorDataAttr:
    """Reorder [window…, I, O] to [O / width, window…, I, width]."""
    *outer, channels = kernel.shape
    panels = kernel.reshape(*outer, channels // width, width)
    return TensorDataAttr.rearranged(np.moveaxis(panels, -2, 0), element)


@dataclass(frozen=True)
class _Kernel:
    """A kernel, [window…, I, O], stored in panels."""

    panels: Tensor

    @property
    def dims(self) -> list[SymExpr]:
        count, *inner, width = self.panels.dims
        return [*inner, count * width]

    def __call__(self, *i: PrimExpr) -> PrimExpr:
        *inner, o = i
        width = cast(int, self.panels.dims[-1].constant)
        return self.panels(o // width, *inner, o % width)


def packed_convolution(x: Tensor, panels: Tensor, places: Any, **attrs: Any) -> Tensor:
    """Return the convolution of `x` with a kernel in panels, [O / n, window…, I, n]."""
    rank = x.ndim
    kernel = cast(Tensor, _Kernel(panels))
    data, out = places
    kernel_places = [rank - 1, rank - 2, *range(rank - 2)]
    return windows.convolution(
        x, kernel, places=(data, kernel_places, out), groups=1, dtype=panels.type, name=f"conv{rank - 2}d", **attrs
    )
