"""Normalizations and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axis_of, cast_to, count_of, dtype_of, rank_of, shape_of
from ..promotion import in_single, promoted
from ..table import row
from .elementwise import number


def filled_like_weight(e: Emitter, shape: Sequence[Extent], value: float, dtype: str) -> Expr:
    """Return ones or zeros in place of a missing weight."""
    if all(isinstance(s, int) for s in shape):
        return const(np.full([int(str(s)) for s in shape], value), dtype)
    return e.emit(R.full(ShapeExpr(shape), const(value, dtype), dtype=dtype))


def _weights(e: Emitter, shape: Sequence[Extent], weight: Expr | None, bias: Expr | None, dtype: str) -> list[Expr]:
    ones = filled_like_weight(e, shape, 1.0, dtype) if weight is None else cast_to(weight, dtype)
    zeros = filled_like_weight(e, shape, 0.0, dtype) if bias is None else cast_to(bias, dtype)
    return [ones, zeros]


@row("layer_norm")
def layer_norm(
    e: Emitter, input: Expr, normalized_shape: Sequence[Extent], weight: Expr | None = None, bias: Expr | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Expr:  # fmt: skip
    """Return (x - mean) / sqrt(variance + eps) over the last dimensions, times weight, plus bias."""
    axes = list(range(-len(normalized_shape), 0))
    weights = _weights(e, normalized_shape, weight, bias, dtype_of(input))
    return R.nn.layer_norm(input, *weights, axes=axes, epsilon=eps, center=True, scale=True)


@row("native_layer_norm")
def native_layer_norm(
    e: Emitter, input: Expr, normalized_shape: Sequence[Extent], weight: Expr | None, bias: Expr | None, eps: float
) -> list[Expr]:
    """Like `layer_norm`; also returns the mean and 1 / sqrt(variance + eps)."""
    result = e.emit(layer_norm(e, input, normalized_shape, weight, bias, eps))
    axes = list(range(-len(normalized_shape), 0))
    return [result, *_statistics(e, input, axes, eps)]


@in_single
def _statistics(e: Emitter, x: Expr, axes: list[int], eps: float) -> list[Expr]:
    mean = e.emit(R.mean(x, axis=axes, keepdims=True))
    variance = e.emit(R.variance(x, axis=axes, keepdims=True))
    return [mean, e.emit(R.rsqrt(R.add(variance, number(x, eps))))]


@row("rms_norm")
def rms_norm(
    e: Emitter, input: Expr, normalized_shape: Sequence[Extent], weight: Expr | None = None, eps: float | None = None
) -> Expr:
    """Return x / sqrt(mean(x * x) + eps) over the last dimensions, times weight."""
    dtype = dtype_of(input)
    # torch computes 16-bit inputs in float32, including the epsilon
    epsilon = float(np.finfo("float64" if dtype == "float64" else "float32").eps) if eps is None else eps
    scale = filled_like_weight(e, normalized_shape, 1.0, dtype) if weight is None else cast_to(weight, dtype)
    return R.nn.rms_norm(input, scale, axes=list(range(-len(normalized_shape), 0)), epsilon=epsilon)


@row("group_norm")
def group_norm(
    e: Emitter, input: Expr, num_groups: int, weight: Expr | None = None, bias: Expr | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Expr:  # fmt: skip
    """Return (x - mean) / sqrt(variance + eps) over groups of channels, times weight, plus bias."""
    shape = shape_of(input)
    weights = _weights(e, [shape[1]], weight, bias, dtype_of(input))
    axes = list(range(2, len(shape)))
    return R.nn.group_norm(
        input, *weights, num_groups=num_groups, channel_axis=1, axes=axes, epsilon=eps, center=True, scale=True
    )


@row("native_group_norm")
def native_group_norm(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, N: Extent, C: Extent, HxW: Extent, group: int,
    eps: float,
) -> list[Expr]:  # fmt: skip
    """Like `group_norm`; also returns the mean and 1 / sqrt(variance + eps) of each group."""
    result = e.emit(group_norm(e, input, group, weight, bias, eps))
    by_group = e.emit(R.reshape(input, ShapeExpr([N, group, C // group * HxW])))
    return [result, *(e.emit(R.squeeze(s, axis=[2])) for s in _statistics(e, by_group, [2], eps))]


@row("instance_norm")
def instance_norm(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, running_mean: Expr | None,
    running_var: Expr | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Expr:  # fmt: skip
    """Return (x - mean) / sqrt(variance + eps) for each channel of each example, times weight, plus bias."""
    if not use_input_stats:
        return batch_norm(e, input, weight, bias, running_mean, running_var, False, momentum, eps)
    if running_mean is not None:
        raise UnsupportedError("instance_norm that updates running statistics")
    shape = shape_of(input)
    weights = _weights(e, [shape[1]], weight, bias, dtype_of(input))
    axes = list(range(2, len(shape)))
    return R.nn.instance_norm(input, *weights, channel_axis=1, axes=axes, epsilon=eps, center=True, scale=True)


@row("batch_norm")
def batch_norm(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, running_mean: Expr | None,
    running_var: Expr | None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Expr:  # fmt: skip
    """Return (x - mean) / sqrt(variance + eps) for each channel, times weight, plus bias."""
    if training or running_mean is None or running_var is None:
        return native_batch_norm_legit_no_stats(e, input, weight, bias, True, momentum, eps)[0]
    if rank_of(input) < 2:
        raise UnsupportedError(
            "batch_norm of a tensor without channels", expected="rank 2 or more", found=rank_of(input)
        )
    dtype = dtype_of(input)
    wide = promoted(dtype, dtype_of(running_var))  # float32 statistics are not rounded to 16 bits
    weights = _weights(e, [shape_of(input)[1]], weight, bias, wide)
    moving = [cast_to(running_mean, wide), cast_to(running_var, wide)]
    x = e.bound(cast_to(input, wide))
    how = {"axis": 1, "epsilon": eps, "center": True, "scale": True, "momentum": momentum, "training": False}
    result = R.nn.batch_norm(x, *weights, *moving, **how)
    return e.emit(cast_to(e.emit(TupleGetItem(e.emit(result), 0)), dtype))


@row("_native_batch_norm_legit_no_training")
def native_batch_norm_legit_no_training(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, running_mean: Expr, running_var: Expr,
    momentum: float, eps: float,
) -> list[Expr]:  # fmt: skip
    """Like `batch_norm`; the statistics saved for training are empty."""
    result = batch_norm(e, input, weight, bias, running_mean, running_var, False, momentum, eps)
    return [result, const(np.zeros(0), dtype_of(input)), const(np.zeros(0), dtype_of(input))]


@row("_native_batch_norm_legit.no_stats")
@in_single
def native_batch_norm_legit_no_stats(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, training: bool, momentum: float, eps: float
) -> list[Expr]:
    """Like `batch_norm` with the batch statistics, which are returned as well."""
    rank = rank_of(input)
    axes = [a for a in range(rank) if a != 1]
    mean, scale = _statistics(e, input, axes, eps)
    result = e.emit(R.multiply(R.subtract(input, mean), scale))
    across = ShapeExpr([shape_of(input)[1] if a == 1 else 1 for a in range(rank)])
    if weight is not None:
        result = e.emit(R.multiply(result, R.reshape(weight, across)))
    if bias is not None:
        result = e.emit(R.add(result, R.reshape(bias, across)))
    return [result, *(e.emit(R.squeeze(s, axis=axes)) for s in (mean, scale))]


@row("_native_batch_norm_legit_functional")
def native_batch_norm_legit_functional(
    e: Emitter, input: Expr, weight: Expr | None, bias: Expr | None, running_mean: Expr, running_var: Expr,
    training: bool, momentum: float, eps: float,
) -> list[Expr]:  # fmt: skip
    """Like `batch_norm`; also returns the saved statistics and the new running statistics."""
    if not training:
        result = native_batch_norm_legit_no_training(e, input, weight, bias, running_mean, running_var, momentum, eps)
        return [*result, running_mean, running_var]
    result = native_batch_norm_legit_no_stats(e, input, weight, bias, True, momentum, eps)
    x = e.bound(cast_to(input, promoted(dtype_of(input), "float32")))
    axes = [a for a in range(rank_of(x)) if a != 1]
    mean, variance = (e.emit(build(x, axis=axes, keepdims=False)) for build in (R.mean, R.variance))
    total = e.emit(e.tensor(count_of(shape_of(x)[a] for a in axes), dtype_of(x)))
    unbiased = e.emit(R.divide(R.multiply(variance, total), R.subtract(total, number(x, 1.0))))
    return [
        *result,
        _running(e, running_mean, mean, momentum),
        _running(e, running_var, unbiased, momentum),
    ]


@in_single
def _running(e: Emitter, old: Expr, new: Expr, momentum: float) -> Expr:
    kept = R.multiply(old, number(old, 1 - momentum))
    return e.emit(R.add(kept, R.multiply(cast_to(new, dtype_of(old)), number(old, momentum))))


# Softmax.


def _along(build: Any, x: Expr, dim: int) -> Expr:
    if rank_of(x):
        return build(x, axis=dim)
    return R.reshape(build(R.reshape(x, (1,)), axis=0), ())


@row("softmax.int", "special_softmax")
def softmax(e: Emitter, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Return exp(x) / sum(exp(x)) along a dimension."""
    return _along(R.nn.softmax, x if dtype is None else cast_to(x, dtype), dim)


@row("log_softmax.int", "special_log_softmax")
def log_softmax(e: Emitter, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Return log(softmax(x)) along a dimension."""
    return _along(R.nn.log_softmax, x if dtype is None else cast_to(x, dtype), dim)


@row("_softmax")
def softmax_of_half(e: Emitter, x: Expr, dim: int, half_to_float: bool) -> Expr:
    """Return softmax, with half precision converted to float32 if requested."""
    return softmax(e, x, dim, "float32" if half_to_float else None)


@row("_log_softmax")
def log_softmax_of_half(e: Emitter, x: Expr, dim: int, half_to_float: bool) -> Expr:
    """Return log_softmax, with half precision converted to float32 if requested."""
    return log_softmax(e, x, dim, "float32" if half_to_float else None)


@row("_safe_softmax")
def safe_softmax(e: Emitter, x: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Return softmax, with zeros for rows of only -inf."""
    result = e.bound(softmax(e, x, dim, dtype))
    most = R.max(cast_to(x, dtype_of(result)), axis=[axis_of(dim, rank_of(x))], keepdims=True)
    hidden = R.equal(most, number(result, float("-inf")))
    return R.where(hidden, number(result, 0.0), result)
