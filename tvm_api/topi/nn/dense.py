"""Dense layers, activations, normalisation, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import TiraxError
from ....te.tensor import Tensor
from ....topi import classic as _classic
from ....topi import nn as _nn
from ....topi import normalization as _norm
from ....topi.nn import log_softmax, relu, softmax, softplus
from ....topi.util import normalize_axes, normalize_axis
from ..common import axes as _axes
from ..common import integer, no_rewritten_layout


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """x where it is positive, alpha * x elsewhere."""
    return _nn.leaky_relu(x, float(alpha))


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """x where it is positive, slope * x elsewhere, slope by the index of `axis`."""
    return _norm.prelu(x, slope, normalize_axis(integer(axis), x.ndim))


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`softmax` with the fast exponential."""
    return _classic.fast_softmax(x, integer(axis))


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Tensor:
    """`fast_softmax` or `softmax`."""
    return fast_softmax(x, axis) if use_fast_exp else softmax(x, integer(axis))


def flatten(data: Tensor) -> Tensor:
    """All dimensions but the first in one."""
    return _classic.batch_flatten(data)


def dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """data · weightᵀ + bias"""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _nn.dense(data, weight, bias, out_dtype)


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """tensor_a · tensor_b + bias; operands transposed as asked."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _classic.matmul(tensor_a, tensor_b, bias, out_dtype, (bool(transpose_a), bool(transpose_b)))


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """The matrix product for each element of the first dimension, of which one tensor may have but one."""
    no_rewritten_layout(auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _nn.batch_matmul(tensor_a, tensor_b, out_dtype, bool(transpose_a), bool(transpose_b))


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """The normalised data, and the moving mean and variance (brought nearer to the batch's in `training`).

    gamma counts where `scale`, beta where `center` (both by default); the axis is 1, epsilon 1e-5, momentum 0.1.
    """
    place = normalize_axis(1 if axis is None else integer(axis), data.ndim)
    factors = (None if scale is False else gamma, None if center is False else beta)
    numbers = (1e-5 if epsilon is None else float(epsilon), 0.1 if momentum is None else float(momentum))
    return _norm.batch_norm(data, *factors, moving_mean, moving_var, place, *numbers, bool(training))


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) over `axis`, times gamma, plus beta."""
    return _nn.layer_norm(data, gamma, beta, _required(axis), epsilon)


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) over `axes` and the channels of a group, times gamma, plus beta."""
    channel, over = normalize_axis(integer(channel_axis), data.ndim), normalize_axes(_axes(axes), data.ndim)
    return _norm.grouped_norm(data, gamma, beta, integer(num_groups), channel, over, epsilon, "T_group_norm")


def instance_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    channel_axis: int,
    axis: Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) over `axis`, times gamma, plus beta."""
    channel, over = normalize_axis(integer(channel_axis), data.ndim), normalize_axes(_axes(axis), data.ndim)
    return _norm.grouped_norm(data, gamma, beta, None, channel, over, epsilon, "T_instance_norm")


def rms_norm(data: Tensor, weight: Tensor, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """data / sqrt(mean(data * data) + epsilon) over `axis`, times weight."""
    return _norm.rms_norm(data, weight, normalize_axes(_required(axis), data.ndim), epsilon)


def _required(axis: Any) -> int | list[int]:
    found = _axes(axis)
    if found is None:
        raise TiraxError("the axes of a normalisation are needed", expected="one or more")
    return found


def lrn(data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2) -> Tensor:
    """data / (bias + alpha / size * the sum of squares of `size` neighbours along `axis`) ** beta"""
    return _classic.lrn(data, integer(size), integer(axis), float(alpha), float(beta), float(bias))


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Input * Scale + Shift, by channel."""
    return _classic.scale_shift(Input, Scale, Shift, (1,))


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Input * Scale + Shift, by channel."""
    return _classic.scale_shift(Input, Scale, Shift, (3,))


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """Input * Scale + Shift, by channel, which is in blocks."""
    return _classic.scale_shift(Input, Scale, Shift, (1, 4))


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """`buffer` moved on along `axis`, with `data` at its end."""
    return _classic.fifo_buffer(data, buffer, integer(axis))


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """-predictions[…, target, …] * weights[target], 0 where the target is `ignore_index`; reduced as asked."""
    return _norm.nll_loss(predictions, targets, weights, reduction, integer(ignore_index))


__all__ = [
    "batch_matmul",
    "batch_norm",
    "dense",
    "fast_softmax",
    "fifo_buffer",
    "flatten",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "nll_loss",
    "prelu",
    "relu",
    "rms_norm",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "softmax",
    "softmax_common",
    "softplus",
]
