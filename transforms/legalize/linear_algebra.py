"""Rules of matrix products, Einstein sums and attention."""

from __future__ import annotations

from typing import cast

from ... import topi
from ...dialects.relax.linear_algebra import Einsum
from ...dialects.relax.operator import Operator, as_dtype
from ...topi import linear_algebra
from .legalize_rules import Emit, operand, rule
from .manipulation import of_list

_einsum = of_list(linear_algebra.einsum)


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


@rule("relax.nn.attention")
def attention(op: Operator) -> Emit:
    """relax.nn.attention(q, k, v, bias) -> attention(q, k, v), attention_bias(q, k, v, bias)"""
    *_, bias = op.args
    attrs = (op.attr("scale"), op.attr("causal_mask"), op.attr("window_size"))
    return Emit(topi.nn.attention, (*op.args, *attrs), "attention" if bias is None else "attention_bias")
