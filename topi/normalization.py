"""Batch, instance, group and root-mean-square normalization, and classification losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dialects.sym.expr import Const, SymExpr, product
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.tensor import Tensor, compute
from . import broadcast as bc
from . import elementwise as ew
from . import reduction as rd
from .util import affine, wide_type


def _axis_vars(dims: Sequence[SymExpr], axes: Sequence[int]) -> list[IterVar]:
    return [IterVar(f"k{a}", Const(0, dims[a].dtype), dims[a], is_reduction=True) for a in axes]


def grouped_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    groups: int | None,
    channel: int,
    axes: Sequence[int],
    epsilon: float,
    name: str,
    rounds_first: bool = False,
) -> Tensor:
    """Return (data - mean) / sqrt(variance + epsilon) over `axes` and, with `groups`, over the channels of a group.

    `rounds_first`: as in `nn.layer_norm`.
    """
    wide = wide_type(data.type)
    each = Const(1) if groups is None else data.dims[channel] // groups
    kc = [] if groups is None else [IterVar("kc", Const(0, each.dtype), each, is_reduction=True)]
    ks = _axis_vars(data.dims, axes)
    count = from_sym(product([each, *(data.dims[a] for a in axes)])).astype(wide)
    outer = [n for n in range(data.ndim) if n not in axes]
    places = {n: outer.index(n) for n in outer}
    dims = [Const(groups, data.dims[n].dtype) if groups and n == channel else data.dims[n] for n in outer]

    def value(i: Sequence[PrimExpr]) -> PrimExpr:
        return data(*i).astype(wide)

    def spread(o: Indices) -> list[PrimExpr]:
        """Return the indices of the data at a point of the sums."""
        inner = dict(zip(axes, ks, strict=True))
        first = o[places[channel]] * from_sym(each) + kc[0] if kc else o[places[channel]]
        return [inner[n] if n in inner else first if n == channel else o[places[n]] for n in range(data.ndim)]

    def total(part: str, term: Callable[[PrimExpr, Indices], PrimExpr]) -> Tensor:
        return over_axes(dims, lambda o: red.sum(term(value(spread(o)), o), axis=[*kc, *ks]), f"{data.name}_{part}")

    sums = total("sum", lambda v, _: v)
    means = over_axes(dims, lambda o: tx.div(sums(*o), count), f"{data.name}_mean")
    squares = total("var_sum", lambda v, o: (v - means(*o)) * (v - means(*o)))

    def element(i: Indices) -> PrimExpr:
        o = [tx.floordiv(i[n], from_sym(each)) if kc and n == channel else i[n] for n in outer]
        deviation = math_functions.rsqrt(tx.div(squares(*o), count) + tx.const(epsilon, wide))
        out = (value(i) - means(*o)) * deviation
        factors = [None if p is None else p(i[channel]) for p in (gamma, beta)]
        return affine(out.astype(data.type) if rounds_first else out, factors[0], factors[1], data.type)

    return over_axes(data.dims, element, name, "injective")


def batch_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int,
    epsilon: float,
    momentum: float,
    training: bool,
) -> list[Tensor]:
    """Return the normalized data and the moving mean and variance, which `training` updates towards those of the batch.

    16-bit data is normalized in float32, and rounded once.
    """
    axes = [n for n in range(data.ndim) if n != axis]
    wide = wide_type(data.type)
    mean, variance = moving_mean, moving_var
    if training:
        mean, variance = rd.wide_mean(data, axes), rd.wide_variance(data, axes)

    def element(i: Indices) -> PrimExpr:
        c = i[axis]
        spread = math_functions.sqrt(variance(c).astype(wide) + tx.const(epsilon, wide))
        out = tx.div(data(*i).astype(wide) - mean(c).astype(wide), spread)
        out = out if gamma is None else out * gamma(c).astype(wide)
        return (out if beta is None else out + beta(c).astype(wide)).astype(data.type)

    out = over_axes(data.dims, element, "T_batch_norm", "broadcast")
    if not training:
        return [out, ew.identity(moving_mean), ew.identity(moving_var)]
    keep, come = tx.const(1 - momentum, wide), tx.const(momentum, wide)

    def moved(old: Tensor, new: Tensor) -> Tensor:
        return ew.rounded(bc.add(bc.multiply(keep, ew.rounded(old, wide)), bc.multiply(come, new)), old.type)

    return [out, moved(moving_mean, mean), moved(moving_var, variance)]


def rms_norm(data: Tensor, weight: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """Return data / sqrt(mean(data * data) + epsilon) over `axes`, times weight."""
    wide = wide_type(data.type)
    outer = [n for n in range(data.ndim) if n not in axes]
    ks = _axis_vars(data.dims, axes)
    count = from_sym(product(data.dims[a] for a in axes)).astype(wide)
    dims = [data.dims[n] for n in outer]

    def square(o: Indices) -> PrimExpr:
        rest, inner = iter(o), dict(zip(axes, ks, strict=True))
        value = data(*(inner[n] if n in inner else next(rest) for n in range(data.ndim))).astype(wide)
        return value * value

    sums = over_axes(dims, lambda o: red.sum(square(o), axis=ks), "T_multiply_red", "comm_reduce")
    factors = over_axes(
        dims, lambda o: math_functions.rsqrt(tx.div(sums(*o), count) + tx.const(epsilon, wide)), "rsqrt"
    )

    def element(i: Indices) -> PrimExpr:
        scaled = factors(*(i[n] for n in outer)) * data(*i).astype(wide)
        return (scaled * weight(*(i[a] for a in axes)).astype(wide)).astype(data.type)

    return over_axes(data.dims, element, "T_rms_norm", "injective")


def prelu(x: Tensor, alpha: Tensor, axis: int) -> Tensor:
    """Return `x` where it is positive, alpha * x elsewhere; alpha depends on the index of `axis`."""

    def element(*i: PrimExpr) -> PrimExpr:
        return tx.select(x(*i) > tx.const(0, x.type), x(*i), x(*i) * alpha(i[axis]))

    return compute(x.dims, element, "compute", "broadcast")


def cross_entropy_with_logits(predictions: Tensor, labels: Tensor) -> Tensor:
    """Return -sum(predictions * labels), divided by the first extent if there are several dimensions."""
    dtype, wide = predictions.type, wide_type(predictions.type)
    terms = bc.multiply(ew.rounded(predictions, wide), ew.rounded(labels, wide))
    total = bc.multiply(rd.sum(terms), tx.const(-1, wide))
    if predictions.ndim >= 2:
        total = bc.divide(total, from_sym(predictions.dims[0]).astype(wide))
    return ew.rounded(total, dtype)


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """Return -predictions[…, target, …] * weights[target], 0 where the target is `ignore_index`, then reduced."""
    dtype, wide = predictions.type, wide_type(predictions.type)
    classes = predictions.dims[min(1, predictions.ndim - 1)]

    def weighted(name: str, value: Callable[[PrimExpr, Indices], PrimExpr]) -> Tensor:
        def element(i: Indices) -> PrimExpr:
            target = targets(*i)
            at = target.astype(classes.dtype)
            weight = tx.const(1, wide) if weights is None else weights(at).astype(wide)
            kept = tx.not_equal(target, tx.const(ignore_index, target.type))
            return tx.if_then_else(kept, value(at, i) * weight, tx.const(0, wide))

        return over_axes(targets.dims, element, name, "injective")

    out = weighted("nll_loss", lambda at, i: tx.const(0, wide) - predictions(*i[:1], at, *i[1:]).astype(wide))
    if reduction != "none":
        out = _sum_of(out)
    if reduction == "mean":
        out = bc.divide(out, _sum_of(weighted("nll_loss_weight", lambda _, __: tx.const(1, wide))))
    return ew.rounded(out, dtype)


def _sum_of(x: Tensor) -> Any:
    return rd.sum(x) if x.ndim else x
