"""Multiplication of integers that stand for fractions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32

from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.tensor import Tensor, compute


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """x * multiplier * 2**(shift - 31), rounded."""

    def element(*i: PrimExpr) -> PrimExpr:
        numbers = (tx.const(n, i32) for n in (multiplier, 31, shift))
        return tx.call_intrin(i32, "q_multiply_shift", x(*i), *numbers)

    return compute(x.dims, element, "compute")


def fixed_point_multiply_per_axis(
    x: Tensor, y: Tensor, lshift: Tensor, rshift: Tensor, required: tuple[bool, bool], axes: Sequence[int]
) -> Tensor:
    """x * 2**lshift * y * 2**(-rshift - 31), rounded; `required` says whether there are shifts to the left, right."""

    def element(*i: PrimExpr) -> PrimExpr:
        own = [i[a] for a in axes]
        flags = (tx.const(r, i1) for r in required)
        values = (y(*own), lshift(*own), rshift(*own), tx.const(31, i32))
        return tx.call_intrin(i32, "q_multiply_shift_per_axis", x(*i), *values, *flags)

    return compute(x.dims, element, "compute", "broadcast")
