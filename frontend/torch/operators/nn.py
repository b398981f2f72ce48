"""Activations and losses."""

from __future__ import annotations

from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, dtype_of, is_float, rank_of, shape_of
from ..promotion import float_dtype, in_single
from ..table import row
from .elementwise import number, scaled
from .linear_algebra import linear

# Activations.


@row("relu6")
def relu6(e: Emitter, x: Expr) -> Expr:
    """Clamp x to [0, 6]."""
    return R.clip(x, 0, 6)


@row("hardtanh")
def hardtanh(e: Emitter, x: Expr, min_val: Any = -1, max_val: Any = 1) -> Expr:
    """Clamp x to [min_val, max_val]."""
    if not is_float(dtype_of(x)):
        return R.minimum(R.maximum(x, number(x, min_val)), number(x, max_val))
    return R.clip(x, float(min_val), float(max_val))


@row("hardsigmoid")
@in_single
def hardsigmoid(e: Emitter, x: Expr) -> Expr:
    """Return x / 6 + 1/2, clamped to [0, 1]."""
    return _hard(e, x)


def _hard(e: Emitter, x: Expr) -> Expr:
    shifted = e.emit(R.add(x, number(x, 3.0)))
    limited = e.emit(R.clip(shifted, 0, 6))
    return e.emit(R.divide(limited, number(x, 6.0)))


@row("hardswish")
@in_single
def hardswish(e: Emitter, x: Expr) -> Expr:
    """x * hardsigmoid(x)"""
    return R.multiply(x, _hard(e, x))


@row("gelu")
def gelu(e: Emitter, x: Expr, approximate: str = "none") -> Expr:
    """Return x * (1 + erf(x / sqrt(2))) / 2, or the tanh approximation."""
    return R.nn.gelu(x) if approximate == "none" else R.nn.gelu_tanh(x)


@row("leaky_relu")
def leaky_relu(e: Emitter, x: Expr, negative_slope: Any = 0.01) -> Expr:
    """Return x if positive, else negative_slope * x."""
    return R.nn.leakyrelu(x, float(negative_slope))


@row("elu")
@in_single
def elu(e: Emitter, x: Expr, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Expr:
    """Return scale * x if positive, else scale * alpha * (exp(input_scale * x) - 1)."""
    below = R.nn.relu(R.subtract(number(x, 1.0), R.exp(scaled(e, x, input_scale))))
    result = e.emit(R.add(R.multiply(number(x, -float(alpha)), below), R.nn.relu(x)))
    return scaled(e, result, scale)


@row("celu")
@in_single
def celu(e: Emitter, x: Expr, alpha: Any = 1.0) -> Expr:
    """Return x if positive, else alpha * (exp(x / alpha) - 1)."""
    power = R.exp(x) if alpha == 1 else R.exp(R.divide(x, number(x, alpha)))
    below = R.minimum(number(x, 0.0), R.subtract(R.divide(power, number(x, 1.0)), number(x, 1.0)))
    return R.add(R.multiply(number(x, alpha), below), R.nn.relu(x))


@row("softplus")
def softplus(e: Emitter, x: Expr, beta: Any = 1, threshold: Any = 20) -> Expr:
    """Return log(1 + exp(beta * x)) / beta, or x where beta * x exceeds the threshold."""
    return R.nn.softplus(x, beta=float(beta), threshold=float(threshold))


@row("softshrink")
@in_single
def softshrink(e: Emitter, x: Expr, lambd: Any = 0.5) -> Expr:
    """Shrink x towards zero by lambd; elements within lambd of zero become zero."""
    over, under = R.subtract(x, number(x, lambd)), R.add(x, number(x, lambd))
    near = R.where(R.less(x, number(x, -lambd)), under, R.multiply(x, number(x, 0.0)))
    return R.where(R.greater(x, number(x, lambd)), over, near)


@row("hardshrink")
def hardshrink(e: Emitter, x: Expr, lambd: Any = 0.5) -> Expr:
    """Zero the elements within lambd of zero; NaN is preserved."""
    return R.where(R.less_equal(R.abs(x), number(x, lambd)), number(x, 0.0), x)


@row("threshold")
def threshold(e: Emitter, x: Expr, threshold: Any, value: Any) -> Expr:
    """Return x where it exceeds the threshold, else value; NaN is preserved."""
    return R.where(R.less_equal(x, number(x, threshold)), number(x, value), x)


@row("prelu", "_prelu_kernel")
def prelu(e: Emitter, x: Expr, weight: Expr) -> Expr:
    """Return x if positive, else weight * x, with one weight or one per channel."""
    shape = [1] * max(rank_of(x), 1)
    if rank_of(x) > 1 and rank_of(weight) == 1:
        shape[1] = shape_of(weight)[0]  # pyright: ignore[reportArgumentType, reportCallIssue]
    alpha = weight if rank_of(weight) > 1 else R.reshape(weight, ShapeExpr(shape if rank_of(x) else []))
    return R.where(R.greater(x, number(x, 0.0)), x, R.multiply(x, alpha))


@row("log_sigmoid")
@in_single
def log_sigmoid(e: Emitter, x: Expr) -> Expr:
    """log(sigmoid(x))"""
    return R.subtract(R.minimum(x, number(x, 0.0)), R.log1p(R.exp(R.negative(R.abs(x)))))


@row("mish")
@in_single
def mish(e: Emitter, x: Expr) -> Expr:
    """x * tanh(softplus(x))"""
    return R.multiply(x, R.tanh(R.nn.softplus(x, beta=1.0, threshold=20.0)))


@row("glu")
@in_single
def glu(e: Emitter, x: Expr, dim: int = -1) -> Expr:
    """Return the first half of x times the sigmoid of the second half."""
    halves = e.emit(R.split(x, indices_or_sections=2, axis=dim))
    return R.multiply(halves[0], R.sigmoid(halves[1]))


@row("logit")
@in_single
def logit(e: Emitter, x: Expr, eps: float | None = None) -> Expr:
    """Return log(x / (1 - x)) with x clamped to [eps, 1 - eps]."""
    x = e.bound(cast_to(x, float_dtype(dtype_of(x))))
    a = x if eps is None else e.emit(R.clip(x, eps, 1.0 - eps))
    return R.log(R.divide(a, R.subtract(number(a, 1.0), a)))


# Losses.

_REDUCTIONS = ("none", "mean", "sum")


def _reduced(e: Emitter, x: Expr, reduction: int) -> Expr:
    return (lambda v: v, R.mean, R.sum)[reduction](x)


@row("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(
    e: Emitter, x: Expr, target: Expr, weight: Expr | None = None, reduction: int = 1, ignore_index: int = -100
) -> Expr:
    """Return -x at the target, weighted by class."""
    weights = [] if weight is None else [weight]
    return R.nn.nll_loss(x, target, *weights, reduction=_REDUCTIONS[reduction], ignore_index=ignore_index)


@row("cross_entropy_loss")
def cross_entropy_loss(
    e: Emitter, x: Expr, target: Expr, weight: Expr | None = None, reduction: int = 1, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Expr:  # fmt: skip
    """Return -log(softmax(x)) at the target."""
    if is_float(dtype_of(target)) or label_smoothing:
        raise UnsupportedError("cross entropy with probabilities or smoothed labels")
    return nll_loss(e, e.emit(R.nn.log_softmax(x, axis=1 if rank_of(x) > 2 else -1)), target, weight, reduction,
                    ignore_index)  # fmt: skip


@row("torch_nn::_linear_cross_entropy_batch_chunked")
def linear_cross_entropy(
    e: Emitter, x: Expr, linear_weight: Expr, target: Expr, linear_bias: Expr | None, weight: Expr | None,
    reduction: str, ignore_index: Any, label_smoothing: float, batch_chunk_size: Any, acc_policy: str,
    acc_dtype: str, *_flags: bool,
) -> list[Expr | None]:  # fmt: skip
    """Return the cross entropy of x · linear_weightᵀ + linear_bias, without its gradients."""
    if label_smoothing or any(e.is_used(i) for i in (1, 2, 3)):
        raise UnsupportedError("cross entropy with smoothed labels, or with gradients")
    how = _REDUCTIONS.index(reduction)
    return [_of_product(e, x, linear_weight, target, linear_bias, weight, how, ignore_index, acc_dtype), *[None] * 3]


@row("torch_nn::_linear_cross_entropy_batch_chunked_no_reduction")
def linear_cross_entropies(
    e: Emitter, x: Expr, linear_weight: Expr, target: Expr, linear_bias: Expr | None, weight: Expr | None,
    ignore_index: Any, batch_chunk_size: Any, acc_policy: str, acc_dtype: str,
) -> Expr:  # fmt: skip
    """Return the cross entropy of each row of x · linear_weightᵀ + linear_bias."""
    return _of_product(e, x, linear_weight, target, linear_bias, weight, 0, ignore_index, acc_dtype)


def _of_product(
    e: Emitter, x: Expr, linear_weight: Expr, target: Expr, linear_bias: Expr | None, weight: Expr | None,
    reduction: int, ignore_index: Any, wide: str,
) -> Expr:  # fmt: skip
    """Return a cross entropy that is computed in the dtype `wide`, and keeps that for float16, as PyTorch does."""
    rows, matrix = (e.bound(cast_to(v, wide)) for v in (x, linear_weight))
    bias, shares = (v if v is None else e.bound(cast_to(v, wide)) for v in (linear_bias, weight))
    logits = e.emit(linear(e, rows, matrix, bias))
    loss = e.bound(cross_entropy_loss(e, logits, target, shares, reduction, ignore_index))
    return e.bound(cast_to(loss, wide if dtype_of(x) == "float16" else dtype_of(x)))


@row("mse_loss")
def mse_loss(e: Emitter, x: Expr, target: Expr, reduction: int = 1) -> Expr:
    """(x - target)²"""
    difference = e.emit(R.subtract(x, target))
    return _reduced(e, e.emit(R.multiply(difference, difference)), reduction)


@row("l1_loss")
def l1_loss(e: Emitter, x: Expr, target: Expr, reduction: int = 1) -> Expr:
    """|x - target|"""
    return _reduced(e, e.emit(R.abs(R.subtract(x, target))), reduction)
