"""Random numbers: new tensors, in-place fills, and dropout in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....handles.relax.calls import to_expr
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, dtype_of, is_float, rank_of, shape_of
from ..promotion import DEFAULT_FLOAT
from ..table import row
from .elementwise import number

_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""The exponents of two up to which `random_` draws integers as floats: all of them are representable."""


def _float(e: Emitter, name: str, size: Sequence[Extent], dtype: str, **attrs: float) -> Expr:
    """Return floats of a distribution. Raises `UnsupportedError` for other dtypes."""
    if dtype not in _DIGITS:
        raise UnsupportedError(f"{name} random numbers of this dtype", found=dtype)
    return e.emit(getattr(R.random, name)(*e.random.draw(), ShapeExpr(list(size)), dtype=dtype, **attrs))


def chosen(e: Emitter, size: Sequence[Extent], p: float | Expr, dtype: str) -> Expr:
    """Return 1 with the probability `p`, else 0."""
    if not isinstance(p, Expr):
        if not 0.0 <= p <= 1.0:
            raise UnsupportedError("a probability is from 0 to 1", found=p)
        p = const(p, "float64")
    return e.emit(R.random.bernoulli(*e.random.draw(), ShapeExpr(list(size)), p, dtype=dtype))


def _integers(e: Emitter, size: Sequence[Extent], low: Any, high: Any, dtype: str) -> Expr:
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise UnsupportedError("random integers of an empty range", found=f"{low} to {high}")
    bounds = (to_expr(v) for v in (low, high))
    return cast_to(e.emit(R.random.randint(*e.random.draw(), ShapeExpr(list(size)), *bounds, dtype="int64")), dtype)


# New tensors.


@row("rand")
def rand(e: Emitter, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return uniform numbers in [0, 1)."""
    return _float(e, "uniform", size, dtype or DEFAULT_FLOAT)


@row("rand_like")
def rand_like(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Like `rand`, in the shape of x."""
    return _float(e, "uniform", shape_of(x), dtype or dtype_of(x))


@row("randn")
def randn(e: Emitter, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return standard normal numbers."""
    return _float(e, "normal", size, dtype or DEFAULT_FLOAT)


@row("randn_like")
def randn_like(e: Emitter, x: Expr, dtype: str | None = None) -> Expr:
    """Like `randn`, in the shape of x."""
    return _float(e, "normal", shape_of(x), dtype or dtype_of(x))


@row("randint", "randint.generator")
def randint(e: Emitter, high: Any, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return integers in [0, `high`)."""
    return _integers(e, size, 0, high, dtype or "int64")


@row("randint.low", "randint.low_generator")
def randint_from(e: Emitter, low: Any, high: Any, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return integers in [`low`, `high`)."""
    return _integers(e, size, low, high, dtype or "int64")


@row("randint_like", "randint_like.generator")
def randint_like(e: Emitter, x: Expr, high: Any, dtype: str | None = None) -> Expr:
    """Like `randint`, in the shape of x."""
    return _integers(e, shape_of(x), 0, high, dtype or dtype_of(x))


@row("randint_like.low_dtype", "randint_like.low_generator_dtype")
def randint_like_from(e: Emitter, x: Expr, low: Any, high: Any, dtype: str | None = None) -> Expr:
    """Like `randint.low`, in the shape of x."""
    return _integers(e, shape_of(x), low, high, dtype or dtype_of(x))


@row("randint_like.Tensor", "randint_like.Tensor_generator")
def randint_like_below(e: Emitter, x: Expr, high: Expr, dtype: str | None = None) -> Expr:
    """Unsupported: the bound is a tensor."""
    raise UnsupportedError("random integers below a bound that is a tensor")


@row("randperm")
def randperm(e: Emitter, n: Any, dtype: str | None = None) -> Expr:
    """Return a random permutation of the integers below n."""
    return cast_to(e.emit(R.random.permutation(*e.random.draw(), PrimValue(n), dtype="int64")), dtype or "int64")


@row("normal.float_float")
def normal_of_size(e: Emitter, mean: float, std: float, size: Sequence[Extent], dtype: str | None = None) -> Expr:
    """Return normally distributed numbers."""
    return _float(e, "normal", size, dtype or DEFAULT_FLOAT, mean=mean, std=std)


@row("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal_of_tensors(e: Emitter, mean: Expr | float, std: Expr | float = 1.0) -> Expr:
    """Return normally distributed numbers in the shape that mean and std broadcast to."""
    tensors = [v for v in (mean, std) if isinstance(v, Expr)]
    dtype = dtype_of(tensors[0])
    mean, std = (v if isinstance(v, Expr) else const(v, dtype) for v in (mean, std))
    shape = shape_of(e.emit(R.add(mean, std)))
    return R.add(R.multiply(_float(e, "normal", shape, dtype), std), mean)


# In-place fills.


@row("uniform")
def uniform(e: Emitter, x: Expr, from_: float = 0.0, to: float = 1.0) -> Expr:
    """Replace x by uniform numbers in [`from_`, `to`)."""
    return _float(e, "uniform", shape_of(x), dtype_of(x), low=from_, high=to)


@row("normal_functional")
def normal_functional(e: Emitter, x: Expr, mean: float = 0.0, std: float = 1.0) -> Expr:
    """Replace x by normally distributed numbers."""
    return _float(e, "normal", shape_of(x), dtype_of(x), mean=mean, std=std)


@row("log_normal")
def log_normal(e: Emitter, x: Expr, mean: float = 1.0, std: float = 2.0) -> Expr:
    """Replace x by log-normal numbers."""
    return R.exp(normal_functional(e, x, mean, std))


@row("exponential")
def exponential(e: Emitter, x: Expr, lambd: float = 1.0) -> Expr:
    """Replace x by exponentially distributed numbers."""
    return _float(e, "exponential", shape_of(x), dtype_of(x), rate=lambd)


@row("cauchy")
def cauchy(e: Emitter, x: Expr, median: float = 0.0, sigma: float = 1.0) -> Expr:
    """Replace x by median + sigma * tan(pi * (u - 1/2)), computed in float64."""
    angle = _float(e, "uniform", shape_of(x), "float64", low=-math.pi / 2, high=math.pi / 2)
    spread = R.multiply(R.tan(angle), const(sigma, "float64"))
    return cast_to(e.emit(R.add(spread, const(median, "float64"))), dtype_of(x))


@row("geometric")
def geometric(e: Emitter, x: Expr, p: float) -> Expr:
    """Replace x by the number of trials until the first success with probability p."""
    if not 0.0 < p < 1.0:
        raise UnsupportedError("a probability between 0 and 1", found=p)
    trials = R.ceil(_float(e, "exponential", shape_of(x), "float64", rate=-math.log1p(-p)))
    return cast_to(e.emit(trials), dtype_of(x))


@row("random")
def random(e: Emitter, x: Expr) -> Expr:
    """Replace x by integers from 0 to the dtype's maximum, or to the largest contiguous integer of a float."""
    dtype = dtype_of(x)
    if dtype in _DIGITS:
        return _integers(e, shape_of(x), 0, (1 << _DIGITS[dtype]) + 1, dtype)
    if dtype in ("int64", "uint64"):
        bits = R.random.bits(*e.random.draw(), ShapeExpr(shape_of(x)), dtype=dtype)
        return bits if dtype == "uint64" else R.bitwise_and(bits, const(np.int64((1 << 63) - 1), dtype))
    return _integers(e, shape_of(x), 0, 2 if dtype == "bool" else int(np.iinfo(dtype).max) + 1, dtype)


@row("random.from")
def random_from(e: Emitter, x: Expr, from_: int, to: int | None) -> Expr:
    """Replace x by integers in [`from_`, `to`)."""
    if to is None:
        raise UnsupportedError("random integers of all 64 bits")
    return _integers(e, shape_of(x), from_, to, dtype_of(x))


@row("random.to")
def random_to(e: Emitter, x: Expr, to: int) -> Expr:
    """Replace x by integers in [0, `to`)."""
    return _integers(e, shape_of(x), 0, to, dtype_of(x))


# Sampling.


@row("bernoulli")
def bernoulli(e: Emitter, x: Expr) -> Expr:
    """Return 1 with the probability x, else 0."""
    return chosen(e, shape_of(x), x, dtype_of(x))


@row("bernoulli.p")
def bernoulli_of(e: Emitter, x: Expr, p: float = 0.5) -> Expr:
    """Return 1 with the probability p, else 0, in the shape of x."""
    return chosen(e, shape_of(x), p, dtype_of(x))


@row("bernoulli.Tensor")
def bernoulli_of_tensor(e: Emitter, x: Expr, p: Expr) -> Expr:
    """Like `bernoulli.p`, with broadcast probabilities."""
    return chosen(e, shape_of(x), p if is_float(dtype_of(p)) else cast_to(p, "float64"), dtype_of(x))


@row("multinomial")
def multinomial(e: Emitter, x: Expr, num_samples: int, replacement: bool = False) -> Expr:
    """Draw indices along the last dimension with the weights x."""
    return R.random.multinomial(*e.random.draw(), x, num_samples=num_samples, replacement=replacement)


# Dropout, and the activation with random slopes in training.


def dropout_mask_applied(e: Emitter, x: Expr, p: float, size: Sequence[Extent] | None = None) -> Expr:
    """Multiply x by a mask that is 0 with the probability p, else 1 / (1 - p); `size` is its shape, which
    broadcasts.
    """
    if p == 0:
        return x
    dtype = dtype_of(x)
    kept = chosen(e, shape_of(x) if size is None else size, 1.0 - p, dtype)
    scale = number(x, 1.0 / (1.0 - p) if p < 1 else 0.0)
    return R.multiply(x, R.multiply(kept, scale))


def _of_features(x: Expr) -> list[Extent]:
    """Return a shape with one element for each feature: the first two dimensions, then 1."""
    if rank_of(x) < 2:
        raise UnsupportedError("dropout of features needs two dimensions", found=f"rank {rank_of(x)}")
    return [*shape_of(x)[:2], *[1] * (rank_of(x) - 2)]


@row("dropout")
def dropout(e: Emitter, input: Expr, p: float, train: bool) -> Expr:
    """Return the input; in training, drop random elements."""
    return dropout_mask_applied(e, input, p) if train else input


@row("feature_dropout")
def feature_dropout(e: Emitter, input: Expr, p: float, train: bool) -> Expr:
    """Like `dropout`, for full features."""
    return dropout_mask_applied(e, input, p, _of_features(input)) if train else input


@row("alpha_dropout")
def alpha_dropout(e: Emitter, input: Expr, p: float, train: bool) -> Expr:
    """Return the input; in training, set random elements to SELU's saturation value, preserving mean and variance."""
    return _alpha_dropped(e, input, p, shape_of(input)) if train else input


@row("feature_alpha_dropout")
def feature_alpha_dropout(e: Emitter, input: Expr, p: float, train: bool) -> Expr:
    """Like `alpha_dropout`, for full features."""
    return _alpha_dropped(e, input, p, _of_features(input)) if train else input


def _alpha_dropped(e: Emitter, x: Expr, p: float, size: Sequence[Extent]) -> Expr:
    if p in (0, 1):
        return x if p == 0 else R.multiply(x, number(x, 0.0))
    alpha = 1.7580993408473766
    scale = 1.0 / math.sqrt((alpha * alpha * p + 1.0) * (1.0 - p))
    kept = chosen(e, size, 1.0 - p, "bool")
    shift = R.where(kept, number(x, alpha * scale * p), number(x, alpha * scale * (p - 1.0)))
    return R.add(R.multiply(x, R.where(kept, number(x, scale), number(x, 0.0))), shift)


@row("native_dropout")
def native_dropout(e: Emitter, input: Expr, p: float, train: bool | None) -> list[Expr]:
    """Like `dropout`; also returns the mask of the kept elements."""
    if train is False or p == 0:
        return [input, R.full_like(input, const(True, "bool"), dtype="bool")]
    mask = chosen(e, shape_of(input), 1.0 - p, "bool")
    scale = number(input, 1.0 / (1.0 - p) if p < 1 else 0.0)
    return [R.multiply(R.multiply(input, cast_to(mask, dtype_of(input))), scale), mask]


@row("rrelu")
def rrelu(e: Emitter, x: Expr, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Expr:
    """Return x if positive, else x times a slope: random in training, else the average."""
    return rrelu_with_noise(e, x, x, lower, upper, training)[0]


@row("rrelu_with_noise", "rrelu_with_noise_functional")
def rrelu_with_noise(
    e: Emitter, x: Expr, noise: Expr, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> list[Expr]:
    """Like `rrelu`; also returns the slopes."""
    positive = e.emit(R.greater(x, number(x, 0.0)))
    if not training:
        return [R.where(positive, x, R.multiply(x, number(x, (lower + upper) / 2))), noise]
    drawn = _float(e, "uniform", shape_of(x), dtype_of(x), low=lower, high=upper)
    slopes = e.emit(R.where(positive, number(x, 1.0), drawn))
    return [R.multiply(x, slopes), slopes]
