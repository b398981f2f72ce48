"""Neural-network operators: activations, softmax, normalization, dense layers, attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..dialects.sym.expr import Const, SymExpr, mul, product
from ..dialects.sym.operators import maximum
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, broadcast_indices, broadcast_shapes, over_axes
from ..te.create import LAYOUT_FREE
from ..te.tensor import Tensor, compute
from . import broadcast as bc
from . import elementwise as ew
from . import manipulation as tf
from . import reduction as rd
from .util import affine, normalize_axes, normalize_axis, wide_type


def cached(past: Tensor, new: Tensor, starts: Tensor, length: SymExpr) -> Tensor:
    """Return `past` (batch, heads, length, size) with the rows of `new` written from `starts[batch]` on.

    The result has `length` rows; rows in neither tensor are zero.
    """

    def element(b: PrimExpr, h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        row = i - starts(b).astype(i.type)
        is_new = tx.logical_and(row >= 0, row < from_sym(new.dims[2]))
        is_old = i < from_sym(past.dims[2])
        old = tx.if_then_else(is_old, past(b, h, i, j), tx.const(0, past.type))
        return tx.if_then_else(is_new, new(b, h, row, j), old)

    return compute([new.dims[0], new.dims[1], length, new.dims[3]], element, "cached")


Band = Callable[[PrimExpr], tuple[PrimExpr, PrimExpr]]
"""A function from a row to the half-open range of columns that it attends to."""


def _activation(formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap `formula` to compute half precision in single precision and round once."""

    @wraps(formula)
    def apply(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return ew.rounded(formula(ew.rounded(x, wide_type(x.type)), *args, **kwargs), x.type)

    return apply


def relu(x: Tensor) -> Tensor:
    """Return max(x, 0)."""
    return compute(x.dims, lambda *i: tx.maximum(x(*i), tx.const(0, x.type)), "compute", "elemwise")


@_activation
def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Return x where it is positive, alpha * x elsewhere."""

    def element(*i: PrimExpr) -> PrimExpr:
        value = x(*i)
        return tx.select(value > tx.const(0, x.type), value, value * tx.const(alpha, x.type))

    return compute(x.dims, element, "compute", "elemwise")


@_activation
def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta * x)) / beta, or x itself where beta * x is above the threshold."""

    def element(*i: PrimExpr) -> PrimExpr:
        scaled = tx.const(beta, x.type) * x(*i)
        smooth = tx.const(1.0 / beta, x.type) * math_functions.log(tx.const(1.0, x.type) + math_functions.exp(scaled))
        return tx.select(scaled > tx.const(threshold, x.type), x(*i), smooth)

    return compute(x.dims, element, "compute", "elemwise")


@_activation
def gelu(x: Tensor) -> Tensor:
    """Return x * (0.5 + 0.5 * erf(x / sqrt(2)))."""
    half = tx.const(0.5, x.type)
    erf = ew.erf(bc.multiply(x, tx.const(math.sqrt(0.5), x.type)))
    return bc.multiply(x, bc.add(half, bc.multiply(erf, half)))


@_activation
def gelu_tanh(x: Tensor) -> Tensor:
    """Return gelu with erf approximated by tanh: 0.5 * x * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x * x)))."""
    one = tx.const(1.0, x.type)
    half = bc.multiply(tx.const(0.5, x.type), x)
    scaled = bc.multiply(tx.const(math.sqrt(2.0 / math.pi), x.type), x)
    cubic = bc.multiply(bc.multiply(tx.const(0.044715, x.type), x), x)
    return bc.multiply(half, bc.add(one, ew.tanh(bc.multiply(scaled, bc.add(one, cubic)))))


@_activation
def selu(x: Tensor) -> Tensor:
    """Return scale * (max(x, 0) + min(0, alpha * (exp(x) - 1)))."""
    zero = tx.const(0, x.type)
    positive = bc.maximum(x, zero)
    alpha, scale = tx.const(1.6732632423543772, x.type), tx.const(1.0507009873554805, x.type)
    negative = bc.multiply(alpha, bc.subtract(ew.exp(x), tx.const(1, x.type)))
    return bc.multiply(scale, bc.add(positive, bc.minimum(zero, negative)))


@_activation
def silu(x: Tensor) -> Tensor:
    """Return x * sigmoid(x)."""
    return bc.multiply(x, ew.sigmoid(x))


def _without(indices: Sequence[Any], axis: int) -> tuple[Any, ...]:
    return (*indices[:axis], *indices[axis + 1 :])


def _with(indices: Sequence[PrimExpr], axis: int, k: PrimExpr) -> Indices:
    return (*indices[:axis], k, *indices[axis:])


def _along(x: Tensor, axis: int) -> IterVar:
    extent = x.dims[axis]
    return IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)


def _max_along(x: Tensor, axis: int) -> Tensor:
    k = _along(x, axis)
    return compute(_without(x.dims, axis), lambda *i: red.max(x(*_with(i, axis, k)), axis=k), "T_softmax_maxelem")


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return exp(x - max) / sum(exp(x - max)) along `axis`. Half precision is computed in single, and rounded once."""
    at, wide = normalize_axis(axis, x.ndim), wide_type(x.type)
    top, k = _max_along(x, at), _along(x, at)

    def power(*i: PrimExpr) -> PrimExpr:
        return math_functions.exp(x(*i).astype(wide) - top(*_without(i, at)).astype(wide))

    powers = compute(x.dims, power, "T_softmax_exp")
    total = compute(top.dims, lambda *i: red.sum(powers(*_with(i, at, k)), axis=k), "T_softmax_expsum")

    def weight(*i: PrimExpr) -> PrimExpr:
        return tx.div(powers(*i), total(*_without(i, at))).astype(x.type)

    return compute(x.dims, weight, "T_softmax_norm", "softmax_output", {"axis": at})


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return x - max - log(sum(exp(x - max))) along `axis`. Half precision is computed in single, and rounded once."""
    at, wide = normalize_axis(axis, x.ndim), wide_type(x.type)
    top, k = _max_along(x, at), _along(x, at)

    def below(i: Sequence[PrimExpr], outer: Sequence[PrimExpr]) -> PrimExpr:
        return x(*i).astype(wide) - top(*outer).astype(wide)

    total = compute(top.dims, lambda *o: red.sum(math_functions.exp(below(_with(o, at, k), o)), axis=k), "compute")

    def element(*i: PrimExpr) -> PrimExpr:
        outer = _without(i, at)
        return (below(i, outer) - math_functions.log(total(*outer))).astype(x.type)

    return compute(x.dims, element, "compute", "log_softmax_output", {"axis": at})


def layer_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    axis: int | Sequence[int],
    epsilon: float = 1e-5,
    rounds_first: bool = False,
) -> Tensor:
    """Return (data - mean) / sqrt(variance + epsilon) over `axis`, times gamma, plus beta; 16-bit data in float32.

    `rounds_first`: the quotient is rounded to 16 bits before gamma and beta are applied, as in TVM.
    """
    axes = normalize_axes(axis, data.ndim)
    listed = [normalize_axis(a, data.ndim) for a in ([axis] if isinstance(axis, int) else axis)]
    wide = wide_type(data.type)
    outer = [d for i, d in enumerate(data.dims) if i not in axes]
    count = from_sym(product(data.dims[a] for a in axes)).astype(wide)

    def value(i: Indices) -> PrimExpr:
        return data(*i).astype(wide)

    def total(name: str, term: Callable[[Indices, Indices], PrimExpr]) -> Tensor:
        ks = [IterVar(f"k{a}", Const(0, data.dims[a].dtype), data.dims[a], is_reduction=True) for a in axes]
        return over_axes(
            outer, lambda i: red.sum(term(_spread(i, axes, ks, data.ndim), i), axis=ks), f"{data.name}_{name}"
        )

    sums = total("sum", lambda i, _: value(i))
    means = over_axes(outer, lambda i: tx.div(sums(*i), count), f"{data.name}_mean")
    squares = total("var_sum", lambda i, o: (value(i) - means(*o)) * (value(i) - means(*o)))

    def element(i: Indices) -> PrimExpr:
        o = [v for n, v in enumerate(i) if n not in axes]
        inner = [i[a] for a in listed]
        deviation = math_functions.rsqrt(tx.div(squares(*o), count) + tx.const(epsilon, wide))
        out = (value(i) - means(*o)) * deviation
        factors = [None if p is None else p(*inner) for p in (gamma, beta)]
        return affine(out.astype(data.type) if rounds_first else out, factors[0], factors[1], data.type)

    return over_axes(data.dims, element, "T_layer_norm", "injective")


def _spread(outer: Indices, axes: Sequence[int], ks: Sequence[PrimExpr], rank: int) -> Indices:
    rest, inner = iter(outer), iter(ks)
    return tuple(next(inner) if n in axes else next(rest) for n in range(rank))


def dense(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | Attribute | None = None) -> Tensor:
    """Return data · weightᵀ + bias, with a weight of shape (units, features)."""
    dtype = data.type if out_dtype in (None, "") else out_dtype
    k = _along(data, data.ndim - 1)

    def element(*i: PrimExpr) -> Any:
        return red.sum(data(*i[:-1], k).astype(dtype) * weight(i[-1], k).astype(dtype), axis=k)

    out = compute([*data.dims[:-1], weight.dims[0]], element, "T_matmul_NT", "dense", {LAYOUT_FREE: [weight]})
    return out if bias is None else bc.add(out, bias if bias.dtype == out.dtype else ew.cast(bias, dtype))


def batch_matmul(
    x: Tensor, y: Tensor, out_dtype: str | Attribute | None = None, transpose_a: bool = False, transpose_b: bool = True
) -> Tensor:
    """Return the matrix product of each pair of matrices, optionally transposed; the first dimension broadcasts."""
    dtype = x.type if out_dtype in (None, "") else out_dtype
    k = _along(x, 1 if transpose_a else 2)
    rows, columns = x.dims[2 if transpose_a else 1], y.dims[1 if transpose_b else 2]

    batch = broadcast_shapes([x.dims[:1], y.dims[:1]])

    def element(b: PrimExpr, i: PrimExpr, j: PrimExpr) -> Any:
        (own,), (other,) = (broadcast_indices(t.dims[:1], [b], batch) for t in (x, y))
        left = x(own, k, i) if transpose_a else x(own, i, k)
        right = y(other, j, k) if transpose_b else y(other, k, j)
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    name = f"T_batch_matmul_{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    return compute([*batch, rows, columns], element, name, "batch_matmul", {LAYOUT_FREE: [y]})


def lower_triangle(x: Tensor, shift: SymExpr) -> Tensor:
    """Return `x` where column <= row + shift in the last two dimensions, and 0 elsewhere."""

    def element(*i: PrimExpr) -> PrimExpr:
        return tx.select(i[-1] <= i[-2] + from_sym(shift), x(*i), tx.const(0, x.type))

    return compute(x.dims, element, "trilu")


def _band(scores: Tensor, causal_mask: str | None, window_size: int | None) -> Band:
    """Return the columns that a row attends to: none after its own if causal, none `window_size` or more before it."""
    rows, columns = scores.dims[1:]
    shift = _shift(columns - rows) if causal_mask == "BottomRight" else Const(0)

    def bounds(i: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        own = i + from_sym(shift)
        return own - ((window_size or 0) - 1), from_sym(columns) if causal_mask is None else own + 1

    return bounds


def _shift(longer: SymExpr) -> SymExpr:
    """Return the offset of the diagonal of a causal mask that is aligned to the bottom right corner."""
    return maximum(longer, -longer)


def _banded_softmax(scores: Tensor, band: Band) -> Tensor:
    """Return the softmax over the columns in `band` of each row, and 0 for the others."""

    def in_band(i: Indices) -> PrimExpr:
        low, high = band(i[1])
        return tx.logical_and(low <= i[2], i[2] < high)

    least, zero = limits.min_value(scores.type), tx.const(0, scores.type)
    masked = compute(scores.dims, lambda *i: tx.select(in_band(i), scores(*i), least), "masked")
    top = rd.at_least_lowest(masked, 2, keepdims=True)
    powers = compute(
        scores.dims,
        lambda *i: tx.select(in_band(i), math_functions.exp(masked(*i) - top(i[0], i[1], 0)), zero),
        "powers",
    )
    total = rd.sum(powers, 2, keepdims=True)

    def weight(*i: PrimExpr) -> PrimExpr:
        row_sum = total(i[0], i[1], 0)
        return tx.div(powers(*i), tx.select(tx.equal(row_sum, zero), tx.const(1, row_sum.type), row_sum))

    return compute(scores.dims, weight, "weights")


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Tensor:
    """Return softmax(query · keyᵀ * scale + bias) · value for each head; tensors are (batch, length, heads, size).

    `scale` defaults to 1 / sqrt(size); `causal_mask` is `TopLeft` or `BottomRight`; with `window_size`, each position
    attends to at most this many positions up to its own.
    """

    def weights(scores: Tensor) -> Tensor:
        if window_size is not None:
            return _banded_softmax(scores, _band(scores, causal_mask, window_size))
        return softmax(scores, 2) if causal_mask is None else _masked_softmax(scores, causal_mask)

    return _attend(query, key, value, bias, scale, weights)


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    scale: float | None,
    normalized: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return normalized(query · keyᵀ * scale + bias) · value for each head. Half precision is computed in single."""
    dtype, wide = query.type, wide_type(query.type)
    batch, length, heads, size = query.dims
    other, size_v = key.dims[1], value.dims[3]
    merged = mul(batch, heads)

    def by_head(t: Tensor) -> Tensor:
        return tf.reshape(tf.transpose(t, [0, 2, 1, 3]), [merged, t.dims[1], t.dims[3]])

    scores = batch_matmul(by_head(query), by_head(key), wide)
    if scale is None:
        scores = bc.divide(scores, math_functions.sqrt(from_sym(size).astype(wide)))
    else:
        scores = bc.multiply(scores, tx.const(scale, wide))
    if bias is not None:
        split = tf.reshape(scores, [batch, heads, length, other])
        scores = tf.reshape(bc.add(split, _as(bias, wide)), [merged, length, other])
    out = _as(batch_matmul(normalized(scores), by_head(value), transpose_b=False), dtype)
    return tf.transpose(tf.reshape(out, [batch, heads, length, size_v]), [0, 2, 1, 3])


def _as(x: Tensor, dtype: Attribute) -> Tensor:
    return x if x.type == dtype else ew.cast(x, dtype)


def attention_var_len(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts_q: Tensor,
    starts_k: Tensor,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Tensor:
    """Compute attention within each of several concatenated sequences.

    Sequence s of the queries is from starts_q[s] to before starts_q[s + 1]; keys and values likewise.
    """
    count = starts_q.dims[0] - 1
    s = IterVar("s", Const(0, count.dtype), count, is_reduction=True)
    ended = compute(
        [query.dims[1]],
        lambda i: red.sum(tx.less_equal(starts_q(s + 1).astype(i64), i).astype(i64), axis=s),
        "ended_sequences",
    )

    def start(starts: Tensor, at: PrimExpr) -> PrimExpr:
        """Return the start of a sequence; 0 if there are no sequences."""
        return tx.if_then_else(from_sym(count) > 0, starts(at).astype(i64), tx.const(0, i64))

    def bounds(i: PrimExpr, upper: bool) -> PrimExpr:
        own = tx.minimum(ended(i), from_sym(count - 1))
        first_q, end_q, first_k, end_k = (start(t, at) for t in (starts_q, starts_k) for at in (own, own + 1))
        longer = (end_k - first_k) - (end_q - first_q)
        shift = tx.maximum(longer, longer * -1) if causal_mask == "BottomRight" else tx.const(0, i64)
        last = first_k + (i - first_q) + shift
        if not upper:
            return first_k if window_size is None else tx.maximum(first_k, last - (window_size - 1))
        end = end_k if causal_mask is None else tx.minimum(end_k, last + 1)
        return tx.select(tx.logical_and(first_q <= i, i < end_q), end, first_k)

    low = compute([query.dims[1]], lambda i: bounds(i, False), "first_key")
    high = compute([query.dims[1]], lambda i: bounds(i, True), "end_of_keys")
    return _attend(query, key, value, None, scale, lambda t: _banded_softmax(t, lambda i: (low(i), high(i))))


def _masked_softmax(scores: Tensor, causal_mask: str) -> Tensor:
    shift = Const(0) if causal_mask == "TopLeft" else _shift(scores.dims[2] - scores.dims[1])
    masked = lower_triangle(scores, shift)
    top = rd.at_least_lowest(masked, 2, keepdims=True)
    powers = lower_triangle(ew.exp(bc.subtract(masked, top)), shift)
    return bc.divide(powers, rd.sum(powers, 2, keepdims=True))


def dropout(x: Tensor) -> list[Tensor]:
    """Return `x` itself and a mask of ones, as at inference."""
    return [ew.identity(x), ew.full_like(x, 1)]
