"""Rules of matrix products, attention and dropout."""

from __future__ import annotations

from ... import topi
from ...dialects.relax.operator import Operator, as_dtype
from .rules import Emit, operand, rule


@rule("relax.matmul")
def matmul(op: Operator) -> Emit:
    """relax.matmul(x1, x2) -> matmul(x1, x2)"""
    return Emit(topi.matmul, (operand(op, "x1"), operand(op, "x2"), as_dtype(op.attr("out_dtype"))), "matmul")


@rule("relax.nn.attention")
def attention(op: Operator) -> Emit | None:
    """relax.nn.attention(q, k, v) -> attention(q, k, v); with a window it stays"""
    if op.attr("window_size") is not None:
        return None
    query, key, value, bias = op.args
    args = (query, key, value, bias, op.attr("scale"), op.attr("causal_mask"))
    return Emit(topi.nn.attention, args, "attention" if bias is None else "attention_bias")


@rule("relax.nn.dropout")
def dropout(op: Operator) -> Emit:
    """relax.nn.dropout(x) -> dropout(x): x and a mask of ones"""
    return Emit(topi.nn.dropout, (operand(op, "x"),), "dropout")
