"""Attention and its gradient."""

from __future__ import annotations

import math
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, count_of, dtype_of, rank_of, shape_of
from ..table import row
from .elementwise import number
from .random import dropout_mask_applied


@row("scaled_dot_product_attention")
def scaled_dot_product_attention(
    e: Emitter, query: Expr, key: Expr, value: Expr, attn_mask: Expr | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Expr:  # fmt: skip
    """Return softmax(query · keyᵀ * scale + mask) · value for each head."""
    if rank_of(query) != 4:
        return _attention_of_any_rank(e, query, key, value, attn_mask, dropout_p, is_causal, scale)
    if attn_mask is not None and is_causal:
        raise UnsupportedError("attention that is causal, with a mask besides")
    if dropout_p:
        return _attention_with_dropout(e, query, key, value, attn_mask, dropout_p, is_causal, scale)
    if not enable_gqa:
        key, value = (_broadcast_heads(e, x, shape_of(query)[:2]) for x in (key, value))
    q, k, v = (e.emit(R.permute_dims(x, axes=[0, 2, 1, 3])) for x in (query, key, value))
    if enable_gqa:
        heads = shape_of(query)[1]
        k, v = (_repeated_heads(e, x, heads) for x in (k, v))
    bias = None if attn_mask is None else attention_bias(e, query, attn_mask)
    mask = {"causal_mask": "TopLeft"} if is_causal else {}
    result = e.emit(R.nn.attention(q, k, v, bias, scale=scale, **mask))
    return R.permute_dims(result, axes=[0, 2, 1, 3])


def _attention_with_dropout(
    e: Emitter, query: Expr, key: Expr, value: Expr, mask: Expr | None, p: float, is_causal: bool, scale: float | None
) -> Expr:
    """Compute attention explicitly, with weights dropped with the probability `p`."""
    outer = shape_of(query)[:2]
    key, value = (_broadcast_heads(e, x, outer) for x in (key, value))
    scores = _scores(e, query, key, mask, is_causal, scale)
    weights = e.emit(R.nn.softmax(scores, axis=-1))
    return R.matmul(dropout_mask_applied(e, weights, p), value)


def _attention_of_any_rank(
    e: Emitter, query: Expr, key: Expr, value: Expr, mask: Expr | None, dropout_p: float, is_causal: bool,
    scale: float | None,
) -> Expr:  # fmt: skip
    """Flatten all leading dimensions into the batch, and use one head."""
    outer = shape_of(query)[:-2]
    if any(shape_of(x)[:-2] != outer for x in (key, value)):
        raise UnsupportedError("attention of which the leading dimensions broadcast")
    batch = count_of(outer)
    q, k, v = (e.emit(R.reshape(x, ShapeExpr([batch, 1, *shape_of(x)[-2:]]))) for x in (query, key, value))
    if mask is not None:
        scores = [shape_of(query)[-2], shape_of(key)[-2]]
        mask = e.emit(R.broadcast_to(mask, ShapeExpr([*outer, *scores])))
        mask = e.emit(R.reshape(mask, ShapeExpr([batch, 1, *scores])))
    result = e.bound(scaled_dot_product_attention(e, q, k, v, mask, dropout_p, is_causal, scale))
    return R.reshape(result, ShapeExpr([*outer, *shape_of(result)[-2:]]))


def _broadcast_heads(e: Emitter, x: Expr, outer: list[Extent]) -> Expr:
    shape = shape_of(x)
    return x if shape[:2] == outer else e.emit(R.broadcast_to(x, ShapeExpr([*outer, *shape[2:]])))


@row("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    e: Emitter, query: Expr, key: Expr, value: Expr, dropout_p: float = 0.0, is_causal: bool = False,
    attn_mask: Expr | None = None, scale: float | None = None,
) -> list[Any]:  # fmt: skip
    """Like `scaled_dot_product_attention`; also returns the log-sum-exp if a gradient uses it.

    It is 0 for fully masked rows, as in PyTorch's kernel (its decomposition differs).
    """
    if dropout_p and e.is_used(1):
        raise UnsupportedError("the gradient of attention with dropout")
    result = e.bound(scaled_dot_product_attention(e, query, key, value, attn_mask, dropout_p, is_causal, scale))
    if not e.is_used(1):
        return [result, None]
    scores = _scores(e, query, key, attn_mask, is_causal, scale)
    most = e.emit(R.max(scores, axis=[-1], keepdims=True))
    shift = e.emit(R.where(R.isinf(most), number(most, 0.0), most))
    total = e.emit(R.sum(R.exp(R.subtract(scores, shift)), axis=[-1], keepdims=True))
    logarithm = R.where(R.equal(total, number(total, 0.0)), number(total, 0.0), R.add(R.log(total), shift))
    return [result, R.squeeze(logarithm, axis=[-1])]


@row("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(
    e: Emitter, grad_out: Expr, query: Expr, key: Expr, value: Expr, out: Expr, logsumexp: Expr, dropout_p: float,
    is_causal: bool, attn_mask: Expr | None = None, scale: float | None = None,
) -> list[Any]:  # fmt: skip
    """Return the gradients of attention for query, key and value; the attention weights are recomputed."""
    if dropout_p:
        raise UnsupportedError("the gradient of attention with dropout")
    scores = _scores(e, query, key, attn_mask, is_causal, scale)
    weights = e.emit(R.exp(R.subtract(scores, R.expand_dims(logsumexp, -1))))
    by_weights = e.emit(R.matmul(grad_out, _transposed(value)))
    along = e.emit(R.sum(R.multiply(grad_out, out), axis=[-1], keepdims=True))
    by_scores = R.multiply(weights, R.subtract(by_weights, along))
    by_scores = e.emit(R.multiply(by_scores, number(query, _scale(query, scale))))
    by_query, by_key = R.matmul(by_scores, key), R.matmul(_transposed(by_scores), query)
    return [e.emit(by_query), e.emit(by_key), e.emit(R.matmul(_transposed(weights), grad_out))]


def _scores(
    e: Emitter, query: Expr, key: Expr, mask: Expr | None, is_causal: bool, scale: float | None
) -> Expr:  # fmt: skip
    """Return query · keyᵀ * scale + mask, with keys repeated to as many heads as queries."""
    if shape_of(query)[:2] != shape_of(key)[:2]:
        raise UnsupportedError("the gradient of attention of which heads share keys")
    scores = e.emit(R.multiply(R.matmul(query, _transposed(key)), number(query, _scale(query, scale))))
    if mask is not None:
        scores = e.emit(R.add(scores, attention_bias(e, query, mask)))
    if is_causal:
        earlier = R.tril(R.ones(ShapeExpr(shape_of(scores)[2:]), dtype="bool"), 0)
        scores = e.emit(R.where(earlier, scores, number(scores, -math.inf)))
    return scores


def _transposed(x: Expr) -> Expr:
    """Transpose each matrix of x."""
    return R.permute_dims(x, axes=[0, 1, 3, 2])


def _scale(query: Expr, scale: float | None) -> float:
    if scale is not None:
        return scale
    width = shape_of(query)[-1]
    if not isinstance(width, int):
        raise UnsupportedError("the gradient of attention of which the width of a head is symbolic")
    return 1.0 / math.sqrt(width)


def _repeated_heads(e: Emitter, x: Expr, heads: Any) -> Expr:
    times = heads // shape_of(x)[2]
    return x if times == 1 else e.emit(R.repeat(x, times, axis=2))


def attention_bias(e: Emitter, query: Expr, mask: Expr) -> Expr:
    """Return a mask as a bias that broadcasts to the scores; a boolean mask becomes 0 where true, else -inf."""
    dtype = dtype_of(query)
    if dtype_of(mask) == "bool":
        mask = e.emit(R.where(mask, const(0.0, dtype), const(-math.inf, dtype)))
    mask, missing = cast_to(mask, dtype), 4 - rank_of(mask)
    return e.emit(R.expand_dims(mask, axis=list(range(missing)))) if missing else mask
