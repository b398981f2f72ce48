"""Attention: one batch of matrices for each head, with reshapes between the stages."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i32

from ...dialects.relax.operator import Operator
from ...handles.tir import math_functions
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.tensor import Tensor, compute
from ...topi import broadcast as bc
from ...topi import elementwise as ew
from ...topi import manipulation as tf
from ...topi import nn
from ...topi import reduction as rd
from ...topi.tvm_forms import reshape
from ...transforms.legalize.legalize_rules import Emit


def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float | None, causal_mask: str | None
) -> Tensor:
    """Return softmax(query · keyᵀ * scale + bias) · value for each head."""
    batch, length, heads, size = query.dims
    other, size_v = key.dims[1], value.dims[3]

    def by_head(t: Tensor) -> Tensor:
        return tf.transpose(t, [0, 2, 1, 3])

    def merged(t: Tensor) -> Tensor:
        return reshape(t, [batch * heads, *t.dims[2:]])

    q, k, v = (merged(t) for t in [by_head(t) for t in (query, key, value)])
    scores = nn.batch_matmul(q, k)
    if scale is None:
        scores = bc.divide(scores, math_functions.sqrt(from_sym(size).astype(scores.type)))
    else:
        scores = bc.multiply(scores, tx.const(scale, scores.type))
    if bias is not None:
        scores = bc.add(reshape(scores, [batch, heads, length, other]), bias)
        scores = reshape(scores, [batch * heads, length, other])
    shares = nn.softmax(scores, -1) if causal_mask is None else _causal(scores, causal_mask)
    out = nn.batch_matmul(shares, v, transpose_b=False)
    return by_head(reshape(out, [batch, heads, length, size_v]))


def _causal(scores: Tensor, mask: str) -> Tensor:
    """Return the softmax over the columns up to the diagonal, which `BottomRight` moves to the last column."""
    offset = tx.const(0, i32)
    if mask == "BottomRight":
        offset = math_functions.abs_(from_sym(scores.dims[1] - scores.dims[2])).astype(i32)

    def lower(t: Tensor) -> Tensor:
        def element(*i: PrimExpr) -> PrimExpr:
            return tx.select(i[-1] - offset <= i[-2], t(*i), tx.const(0, t.type))

        return compute(t.dims, element, "trilu", "elemwise")

    masked = lower(scores)
    powers = lower(ew.exp(bc.subtract(masked, rd.max(masked, -1, True))))
    return bc.divide(powers, rd.sum(powers, -1, True))


def _attention(op: Operator) -> Emit | None:
    if op.attr("window_size") is not None:
        return None
    args: list[Any] = [*op.operands]
    bias = args.pop() if len(args) == 4 else None
    name = "attention" if bias is None else "attention_bias"
    return Emit(attention, (*args, bias, op.attr("scale"), op.attr("causal_mask")), name)


RULES = {"relax.nn.attention": _attention, "relax.nn.attention_bias": _attention}
