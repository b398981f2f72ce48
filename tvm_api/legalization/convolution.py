"""Convolutions: those that TVM's `topi` has no function for remain operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute

from ...dialects.relax.convolution import CONVOLUTIONS, TRANSPOSED, Convolution
from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.tensor import Tensor, compute
from ...topi.windows import dilate, pad_constant
from ...transforms.legalize.legalize_rules import Emit, operand, result_dims, result_tensor
from ...transforms.legalize.windows import convolution as general

_LAYOUTS = {"relax.nn.conv1d_transpose": ("NCW", "IOW"), "relax.nn.conv2d_transpose": ("NCHW", "IOHW")}


def _convolution(op: Operator) -> Emit | None:
    conv = cast(Convolution, op)
    if op.attr("out_layout") != op.attr("data_layout") or conv.is_blocked():
        return None
    channels = (conv.operands[0].type, conv.data_places()[1]), (conv.operands[1].type, conv.kernel_places()[0])
    known = all(cast(Any, t).dims[place].constant is not None for t, place in channels)
    return general(op) if op.attr("groups") == 1 or known else None


def transposed(
    data: Tensor,
    kernel: Tensor,
    dims: Sequence[SymExpr],
    strides: Sequence[int],
    padding: Sequence[int],
    added: Sequence[int],
    groups: int,
    dtype: Attribute,
) -> Any:
    """Spread the data, pad it, and convolve it with the flipped kernel; `added` rows are padded after."""
    inputs, outputs, *size = kernel.dims
    half = len(size)
    spread = compute_dilated(data, [1, 1, *strides])
    before = [k - 1 - p for k, p in zip(size, padding[:half], strict=True)]
    after = [k - 1 - p + a for k, p, a in zip(size, padding[half:], added, strict=True)]
    padded = pad_constant(spread, [0, 0, *before], [0, 0, *after], 0, "data_pad")
    letters = ("w",) if half == 1 else ("h", "w")

    def flipped(*i: PrimExpr) -> PrimExpr:
        return kernel(i[1], i[0], *(from_sym(k - 1) - v for k, v in zip(size, i[2:], strict=True)))

    names = ["i", "o", *letters] if groups > 1 and half == 2 else ["o", "i", *letters]
    name = "kernel" if half == 1 else "kernel_transform"
    weights = compute([outputs, inputs, *size], flipped, name, "", None, names)
    per_group = inputs // groups
    dc = IterVar("dc", Const(0, per_group.dtype), per_group, is_reduction=True)
    window = [IterVar(f"d{n}", Const(0, k.dtype), k, is_reduction=True) for n, k in zip(letters, size, strict=True)]

    def element(*i: PrimExpr) -> Any:
        b, c, *at = i
        row: PrimExpr = dc
        if groups > 1:
            row = tx.floordiv(c, from_sym(outputs)) * from_sym(per_group) + dc
            c = tx.floormod(c, from_sym(outputs))
        left = padded(b, row, *(v + w for v, w in zip(at, window, strict=True))).astype(dtype)
        return red.sum(left * weights(c, row, *window).astype(dtype), axis=[dc, *window])

    return compute(list(dims), element, "compute", "", None, ["b", "c", *letters])


def compute_dilated(data: Tensor, strides: Sequence[int]) -> Tensor:
    """Return the data with zeros between its elements; without any, a copy."""
    if any(s > 1 for s in strides):
        return dilate(data, strides)
    return compute(data.dims, lambda *i: data(*i), "data_dilate", "injective,dilate")


def _transposed(op: Operator) -> Emit | None:
    layouts = _LAYOUTS.get(op.name)
    if layouts is None or (op.attr("data_layout"), op.attr("kernel_layout")) != layouts:
        return None
    if op.attr("out_layout") != layouts[0] or any(d != 1 for d in op.attr("dilation")):
        return None
    attrs = (op.attr("strides"), op.attr("padding"), op.attr("output_padding"), op.attr("groups"))
    args = (operand(op, "data"), operand(op, "weight"), result_dims(op), *attrs, result_tensor(op).element)
    return Emit(transposed, args, op.name.removeprefix("relax.nn."))


RULES = {
    **{cls.name: _convolution for cls in CONVOLUTIONS.values()},
    **{cls.name: _transposed for cls in TRANSPOSED.values()},
}
