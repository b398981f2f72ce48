"""Rules of matrix products, Einstein sums, outer products, multiply-add and quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ...dialects.relax.linear_algebra import Einsum
from ...dialects.relax.operator import Operator, as_dtype
from ...dialects.sym.expr import SymExpr
from ...te.tensor import Tensor
from ...topi import linear_algebra
from .legalize_rules import Emit, operand, result_tensor, rule


@rule("relax.matmul")
def matmul(op: Operator) -> Emit:
    """relax.matmul(x1, x2) -> matmul(x1, x2)"""
    return Emit(linear_algebra.matmul, (operand(op, "x1"), operand(op, "x2"), as_dtype(op.attr("out_dtype"))), "matmul")


@rule("relax.einsum")
def einsum(op: Operator) -> Emit:
    """relax.einsum(xs) -> einsum(xs...)"""
    product = cast(Einsum, op)
    inputs, result = product.labels([t.rank or 0 for t in op.tensors("xs")])
    options = {"inputs": inputs, "result": result, "extents": product.extents()}
    return Emit(_einsum, tuple(op.operands), "einsum", options)


def _einsum(
    *tensors: Tensor | list[Tensor], inputs: Sequence[str], result: str, extents: Mapping[str, SymExpr]
) -> Tensor:
    flat: list[Tensor] = []
    for t in tensors:
        flat += t if isinstance(t, list) else [t]
    return linear_algebra.einsum(flat, inputs, result, extents)


@rule("relax.outer")
def outer(op: Operator) -> Emit:
    """relax.outer(x1, x2) -> outer(x1, x2)"""
    return Emit(linear_algebra.outer, tuple(op.operands), "outer")


@rule("relax.ewise_fma")
def ewise_fma(op: Operator) -> Emit:
    """relax.ewise_fma(x1, x2, x3) -> ewise_fma(x1, x2, x3)"""
    return Emit(linear_algebra.ewise_fma, tuple(op.operands), "ewise_fma")


@rule("relax.quantize")
@rule("relax.dequantize")
def quantization(op: Operator) -> Emit:
    """relax.quantize(data, scale, zero_point) -> quantize(data, scale, zero_point)"""
    name = op.name.removeprefix("relax.")
    function = linear_algebra.quantize if name == "quantize" else linear_algebra.dequantize
    args = (operand(op, "data"), operand(op, "scale"), operand(op, "zero_point"))
    return Emit(function, (*args, op.attr("axis"), result_tensor(op).element), name)
