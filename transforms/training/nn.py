"""Gradients of normalization, dropout and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...dialects.sym.expr import Const
from ...handles.relax.expr import Expr
from .expressions import (
    added,
    call,
    count,
    dims,
    extent,
    inverse,
    mean,
    permute,
    rank,
    reshape,
    tensor,
    total,
)
from .gradient_rules import Gradients, Site, gradient


def _beside(vector: Expr, x: Expr, axes: Sequence[int]) -> Expr:
    """Return a tensor with a dimension for each of `axes` in a form that broadcasts to x."""
    return reshape(permute(vector, inverse(axes)), [d if i in axes else 1 for i, d in enumerate(dims(x))])


def _along(g: Expr, axes: Sequence[int]) -> Expr:
    """Return the sum over all dimensions except `axes`, in their order."""
    summed = total(g, [i for i in range(rank(g)) if i not in axes])
    return permute(summed, inverse(inverse(axes)))


def _normalized(x: Expr, axes: Sequence[int], epsilon: float) -> tuple[Expr, Expr]:
    """Return (x - mean) / sqrt(variance + epsilon), and 1 / sqrt(variance + epsilon)."""
    centered = x - mean(x, axes)
    factor = call("rsqrt", mean(centered * centered, axes) + epsilon)
    return centered * factor, factor


def _unnormalized(g: Expr, standard: Expr, factor: Expr, axes: Sequence[int]) -> Expr:
    """Return the gradient of x, from that of the standardized x."""
    return factor * (g - mean(g, axes) - standard * mean(g * standard, axes))


@gradient("nn.layer_norm")
def layer_norm(s: Site) -> Gradients:
    """layer_norm(x, gamma, beta) -> with h = (x - mean) / deviation: that of h over the axes, sums of g * h and g"""
    x, gamma, _ = s.args
    axes = [a % rank(x) for a in s.attr("axes")]
    standard, factor = _normalized(x, axes, s.attr("epsilon"))
    inner = s.grad * _beside(gamma, x, axes) if s.attr("scale") else s.grad
    by_x = _unnormalized(inner, standard, factor, axes)
    return [by_x, *_affine(s, standard, axes)]


def _affine(s: Site, standard: Expr, axes: Sequence[int]) -> list[Expr | None]:
    """Return the gradients of gamma and beta, which have a dimension for each of `axes`."""
    by_gamma = _along(s.grad * standard, axes) if s.attr("scale") else None
    return [by_gamma, _along(s.grad, axes) if s.attr("center") else None]


@gradient("nn.instance_norm")
def instance_norm(s: Site) -> Gradients:
    """instance_norm(x, gamma, beta) -> as layer_norm, with gamma and beta by channel"""
    x, gamma, _ = s.args
    channel = s.attr("channel_axis") % rank(x)
    axes = [a % rank(x) for a in s.attr("axes")]
    standard, factor = _normalized(x, axes, s.attr("epsilon"))
    inner = s.grad * _beside(gamma, x, [channel]) if s.attr("scale") else s.grad
    return [_unnormalized(inner, standard, factor, axes), *_affine(s, standard, [channel])]


@gradient("nn.group_norm")
def group_norm(s: Site) -> Gradients:
    """group_norm(x, gamma, beta) -> as layer_norm, over the channels of a group, too"""
    x, gamma, _ = s.args
    channel, groups = cast(int, s.attr("channel_axis")) % rank(x), cast(int, s.attr("num_groups"))
    axes = [channel + 1, *(a % rank(x) + (a % rank(x) > channel) for a in s.attr("axes"))]
    split = [*dims(x)[:channel], Const(groups), dims(x)[channel] // groups, *dims(x)[channel + 1 :]]
    standard, factor = _normalized(reshape(x, split), axes, s.attr("epsilon"))
    inner = s.grad * _beside(gamma, x, [channel]) if s.attr("scale") else s.grad
    by_x = reshape(_unnormalized(reshape(inner, split), standard, factor, axes), dims(x))
    return [by_x, *_affine(s, reshape(standard, dims(x)), [channel])]


@gradient("nn.rms_norm")
def rms_norm(s: Site) -> Gradients:
    """rms_norm(x, w) -> with f = 1 / sqrt(mean(x²)): f * (g * w - x * f² * mean(g * w * x)), the sum of g * x * f"""
    x, weight = s.args
    axes = [a % rank(x) for a in s.attr("axes")]
    factor = call("rsqrt", mean(x * x, axes) + s.attr("epsilon"))
    inner = s.grad * _beside(weight, x, axes)
    by_x = factor * (inner - x * (factor * factor) * mean(inner * x, axes))
    return [by_x, _along(s.grad * (x * factor), axes)]


@gradient("nn.batch_norm")
def batch_norm(s: Site) -> Gradients:
    """batch_norm(x, gamma, beta, mean, var) -> in training as layer_norm over the batch, else with constants"""
    x, gamma = s.args[:2]
    channel = s.attr("axis") % rank(x)
    g, by_new_mean, by_new_var = (s.part(i) for i in range(3))
    axes = [i for i in range(rank(x)) if i != channel]
    g = call("zeros_like", x) if g is None else g
    inner = g * _beside(gamma, x, [channel]) if s.attr("scale") else g
    if not s.attr("training"):
        return _inference(s, g, inner, [by_new_mean, by_new_var])
    standard, factor = _normalized(x, axes, s.attr("epsilon"))
    by_x = _unnormalized(inner, standard, factor, axes)
    momentum, n = s.attr("momentum"), extent(count(x, axes), tensor(x).element)
    if by_new_mean is not None:
        by_x = by_x + _beside(momentum * by_new_mean / n, x, [channel])
    if by_new_var is not None:
        by_x = by_x + (x - mean(x, axes)) * _beside(2.0 * momentum * by_new_var / n, x, [channel])
    kept = [None if part is None else (1.0 - momentum) * part for part in (by_new_mean, by_new_var)]
    by_gamma = _along(g * standard, [channel]) if s.attr("scale") else None
    return [by_x, by_gamma, _along(g, [channel]) if s.attr("center") else None, *kept]


def _inference(s: Site, g: Expr, inner: Expr, passed: list[Expr | None]) -> Gradients:
    x, _, _, moving_mean, moving_var = s.args
    channel = s.attr("axis") % rank(x)
    factor = call("rsqrt", _beside(moving_var, x, [channel]) + s.attr("epsilon"))
    standard = (x - _beside(moving_mean, x, [channel])) * factor
    by_x = inner * factor
    by_mean = -_along(by_x, [channel])
    by_var = -0.5 * _along(by_x * standard * factor, [channel])
    moved = [m if p is None else added(m, p) for m, p in zip((by_mean, by_var), passed, strict=True)]
    by_gamma = _along(g * standard, [channel]) if s.attr("scale") else None
    return [by_x, by_gamma, _along(g, [channel]) if s.attr("center") else None, *moved]


@gradient("nn.dropout")
def dropout(s: Site) -> Gradients:
    """dropout(x) -> g times the mask"""
    g = s.part(0)
    return [None if g is None else g * s.out[1]]


@gradient("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(s: Site) -> Gradients:
    """-sum(p * t) / n -> -g / n * t, -g / n * p"""
    predictions, labels = s.args
    g = s.grad / extent(dims(predictions)[0], tensor(predictions).element) if rank(predictions) > 1 else s.grad
    return [-g * labels, -g * predictions]


@gradient("nn.nll_loss")
def nll_loss(s: Site) -> Gradients:
    """nll_loss(p, t, w) -> nll_loss_backward(g, p, t, w); none for the weights, which are hyperparameters"""
    attrs = {n: s.attr(n) for n in ("reduction", "ignore_index")}
    return [call("grad.nll_loss_backward", s.grad, *s.args, **attrs), None, None]


@gradient("grad.nll_loss_backward")
def nll_loss_backward(s: Site) -> Gradients:
    """nll_loss_backward(g, p, t, w), independent of p -> nll_loss(h, t, w)"""
    attrs = {n: s.attr(n) for n in ("reduction", "ignore_index")}
    return [call("nn.nll_loss", s.grad, *s.args[2:], **attrs), None, None, None]
