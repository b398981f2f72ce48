"""Rules of attention and dropout."""

from __future__ import annotations

from ... import topi
from ...dialects.relax.operator import Operator
from .legalize_rules import Emit, operand, rule


@rule("relax.nn.attention")
def attention(op: Operator) -> Emit:
    """relax.nn.attention(q, k, v) -> attention(q, k, v)"""
    query, key, value, bias = op.args
    args = (query, key, value, bias, op.attr("scale"), op.attr("causal_mask"), op.attr("window_size"))
    return Emit(topi.nn.attention, args, "attention" if bias is None else "attention_bias")


@rule("relax.nn.attention_var_len")
def attention_var_len(op: Operator) -> Emit:
    """relax.nn.attention_var_len(q, k, v, starts…) -> attention_var_len(q, k, v, starts…)"""
    tensors = tuple(op.operands[:5])
    attrs = (op.attr("scale"), op.attr("causal_mask"), op.attr("window_size"))
    return Emit(topi.nn.attention_var_len, (*tensors, *attrs), "attention_var_len")


@rule("relax.nn.dropout")
def dropout(op: Operator) -> Emit:
    """relax.nn.dropout(x) -> dropout(x): x and a mask of ones"""
    return Emit(topi.nn.dropout, (operand(op, "x"),), "dropout")
