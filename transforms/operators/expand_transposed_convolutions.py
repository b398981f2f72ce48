"""Transposed convolutions with disjoint windows as matrix products whose results are rearranged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.convolution import Convolution
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const, SymExpr
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import constant_array, dims_of


@dataclass(frozen=True)
class ExpandTransposedConvolutions(Pass):
    """Replace 2-d transposed convolutions whose constant kernels are as large as their strides by 1 x 1 convolutions.

    y = conv2d_transpose(x, w, strides=(p, q))    [N, H, W, C] -> [N, H p, W q, O], w of p x q
    ->  t = conv2d(x, w as [1, 1, C, p q O])      [N, H, W, p q O]
        y = the reshape of permute_dims of t as [N, H, W, p, q, O] to [N, H, p, W, q, O]

    Each element of the result is a sum over the channels only; computed as usual, p q - 1 of p q products are with the
    zeros between data elements. Supports the layouts NCHW and NHWC, without padding, dilation and groups.
    """

    name = "expand-transposed-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.nn.conv2d_transpose": _expanded})


def _expanded(op: Convolution, emit: Emit) -> SSAValue | None:
    x, weight = op.operands
    dims, out, kernel = dims_of(x), dims_of(op.results[0]), constant_array(weight)
    layout = op.attr("data_layout")
    if dims is None or out is None or kernel is None or layout not in ("NCHW", "NHWC"):
        return None
    windows = kernel.transpose([op.kernel_places()[i] for i in (0, 1, 2, 3)])
    element = cast(TensorType, x.type).element
    same = element is not None and element == cast(TensorType, op.results[0].type).element
    if element is None or not same or not _is_disjoint(op, windows.shape[2:]):
        return None
    outputs, channels, height, width = windows.shape
    parts = [Const(n) for n in (height, width, outputs)]
    last = layout == "NHWC"
    order = (2, 3, 0, 1) if last else (0, 2, 3, 1)  # [p, q, O, C] or [O, p, q, C]
    flat = np.ascontiguousarray(windows.transpose(order)).reshape(-1, channels, 1, 1)
    constant = emit.constant(flat, element)
    product = emit("nn.conv2d", x, constant, data_layout=layout)
    if last:
        separated, axes = [*dims[:3], *parts], [0, 1, 3, 2, 4, 5]
    else:
        separated, axes = [dims[0], parts[2], *parts[:2], *dims[2:]], [0, 1, 4, 2, 5, 3]
    spread = emit("permute_dims", _reshaped(emit, product, separated), axes=axes)
    return _reshaped(emit, spread, list(out))


def _is_disjoint(op: Convolution, window: tuple[int, ...]) -> bool:
    """Return whether each data element has its own window of the result, and the windows cover it."""
    plain = not any(op.attr("padding")) and not any(op.attr("output_padding")) and op.attr("groups") == 1
    same_layout = op.attr("out_layout") in (None, "", op.attr("data_layout"))
    return plain and same_layout and set(op.attr("dilation")) == {1} and tuple(op.attr("strides")) == window


def _reshaped(emit: Emit, value: SSAValue, dims: list[SymExpr]) -> SSAValue:
    return emit("reshape", value, relax.ShapeOp(dims).result)
