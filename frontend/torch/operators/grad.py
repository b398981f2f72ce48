"""Gradients of layers in training graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr, const
from ....transforms.training.expressions import discard
from ....transforms.training.windows import window_gradients
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, count_of, dtype_of, plain, rank_of, shape_of
from ..table import row
from .convolution import batched, convolution_call, each, spatial_rank, transposed_call, unbatched
from .pooling import known


@row("convolution_backward")
def convolution_backward(
    e: Emitter, grad_output: Expr, input: Expr, weight: Expr, bias_sizes: Any, stride: Any, padding: Any,
    dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Sequence[bool],
) -> list[Any]:  # fmt: skip
    """Return the gradients of a convolution for its data, weight and bias."""
    spatial_rank(weight)
    if transposed:
        forward = transposed_call(input, weight, stride, padding, dilation, groups, output_padding)
    else:
        forward = convolution_call(input, weight, stride, padding, dilation, groups)
    gradients = window_gradients(forward, input, weight, grad_output)
    axes = [a for a in range(rank_of(grad_output)) if a != 1]
    gradients.append(R.sum(grad_output, axis=axes, keepdims=False))
    results = [e.emit(g) if keep else discard(g) for g, keep in zip(gradients, output_mask, strict=True)]
    discard(forward)
    return results


@row("native_layer_norm_backward")
def native_layer_norm_backward(
    e: Emitter, grad_out: Expr, input: Expr, normalized_shape: Sequence[Extent], mean: Expr, rstd: Expr,
    weight: Expr | None, bias: Expr | None, output_mask: Sequence[bool],
) -> list[Any]:  # fmt: skip
    """Return the gradients of layer_norm for its data, weight and bias."""
    rank, inner = rank_of(input), len(normalized_shape)
    axes, outer = list(range(rank - inner, rank)), list(range(rank - inner))
    normal = e.emit(R.multiply(R.subtract(input, mean), rstd))
    by_normal = grad_out if weight is None else e.emit(R.multiply(grad_out, weight))
    by_data = e.emit(_by_normalized(e, by_normal, normal, rstd, axes)) if output_mask[0] else None
    by_weight = _summed(e, R.multiply(grad_out, normal), outer) if output_mask[1] and weight is not None else None
    by_bias = _summed(e, grad_out, outer) if output_mask[2] and bias is not None else None
    return [by_data, by_weight, by_bias]


def _summed(e: Emitter, x: Expr, axes: list[int]) -> Expr:
    return e.emit(R.sum(x, axis=axes, keepdims=False)) if axes else e.bound(x)


def _by_normalized(e: Emitter, grad: Expr, normal: Expr, rstd: Expr, axes: list[int]) -> Expr:
    """rstd * (grad - mean(grad) - normal * mean(grad * normal))"""
    mean = R.mean(grad, axis=axes, keepdims=True)
    along = R.multiply(normal, R.mean(R.multiply(grad, normal), axis=axes, keepdims=True))
    return R.multiply(rstd, R.subtract(R.subtract(grad, mean), along))


@row("native_group_norm_backward")
def native_group_norm_backward(
    e: Emitter, grad_out: Expr, input: Expr, mean: Expr, rstd: Expr, weight: Expr | None, N: Extent, C: Extent,
    HxW: Extent, group: int, output_mask: Sequence[bool],
) -> list[Any]:  # fmt: skip
    """Return the gradients of group_norm for its data, weight and bias."""
    per_group = plain(C // group)
    grouped = ShapeExpr([N, group, per_group, HxW])
    grad, data = (e.emit(R.reshape(v, grouped)) for v in (grad_out, input))
    mean, rstd = (e.emit(R.reshape(v, ShapeExpr([N, group, 1, 1]))) for v in (mean, rstd))
    normal = e.emit(R.multiply(R.subtract(data, mean), rstd))
    scale = None if weight is None else e.emit(R.reshape(weight, ShapeExpr([1, group, per_group, 1])))
    by_normal = grad if scale is None else e.emit(R.multiply(grad, scale))
    by_data = R.reshape(_by_normalized(e, by_normal, normal, rstd, [2, 3]), ShapeExpr(shape_of(input)))
    by_weight, by_bias = (
        R.reshape(R.sum(v, axis=[0, 3], keepdims=False), ShapeExpr([C])) for v in (R.multiply(grad, normal), grad)
    )
    results = zip((by_data, by_weight, by_bias), output_mask, strict=True)
    return [e.emit(value) if keep else None for value, keep in results]


@row("avg_pool2d_backward")
def avg_pool2d_backward(
    e: Emitter, grad_output: Expr, x: Expr, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Expr:  # fmt: skip
    """Return the gradient of avg_pool2d."""
    if divisor_override is not None:
        raise UnsupportedError("the gradient of a mean with a divisor of its own")
    grad, alone = batched(e, grad_output, 2)
    data, _ = batched(e, x, 2)
    result = R.grad.avg_pool2d_backward(
        grad, data, pool_size=each(kernel_size, 2), strides=each(stride or kernel_size, 2), padding=each(padding, 2),
        ceil_mode=ceil_mode, count_include_pad=count_include_pad,
    )  # fmt: skip
    return unbatched(result, alone)


@row("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_with_indices_backward(
    e: Emitter, grad_output: Expr, x: Expr, kernel_size: Sequence[int], stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Expr,
) -> Expr:  # fmt: skip
    """Return the gradient of max_pool, which flows to the maximum of each window."""
    outer, extents = shape_of(x)[: -len(kernel_size)], shape_of(x)[-len(kernel_size) :]
    zeros = e.emit(R.zeros(ShapeExpr([*outer, count_of(extents)]), dtype=dtype_of(x)))
    flat = ShapeExpr([*outer, count_of(shape_of(indices)[len(outer) :])])
    grad, places = (e.emit(R.reshape(v, flat)) for v in (grad_output, indices))
    summed = e.emit(R.scatter_elements(zeros, places, grad, axis=len(outer), reduction="add"))
    return R.reshape(summed, ShapeExpr(shape_of(x)))


@row("_adaptive_avg_pool2d_backward")
def adaptive_avg_pool2d_backward(e: Emitter, grad_output: Expr, x: Expr) -> Expr:
    """Return the gradient of adaptive_avg_pool2d, as two products with averaging matrices."""
    rows, columns = (
        const(_means(known(n), known(m)), dtype_of(x))
        for n, m in zip(shape_of(x)[-2:], shape_of(grad_output)[-2:], strict=True)
    )
    return R.matmul(R.permute_dims(rows), e.emit(R.matmul(grad_output, columns)))


def _means(extent: int, parts: int) -> np.ndarray[Any, Any]:
    matrix = np.zeros((parts, extent))
    for i in range(parts):
        begin, end = i * extent // parts, -(-(i + 1) * extent // parts)
        matrix[i, begin:end] = 1.0 / (end - begin)
    return matrix


@row("embedding_dense_backward")
def embedding_dense_backward(
    e: Emitter, grad_output: Expr, indices: Expr, num_weights: Extent, padding_idx: int, scale_grad_by_freq: bool
) -> Expr:
    """Return the gradient of embedding for its table: rows are added at their indices."""
    if scale_grad_by_freq:
        raise UnsupportedError("the gradient of an embedding by how often a row is used")
    count, width = count_of(shape_of(indices)), shape_of(grad_output)[-1]
    places = e.emit(R.reshape(cast_to(indices, "int64"), ShapeExpr([count, 1])))
    grad = e.emit(R.reshape(grad_output, ShapeExpr([count, width])))
    if padding_idx >= 0:
        padding = R.equal(places, const(padding_idx, "int64"))
        grad = e.emit(R.where(padding, const(0, dtype_of(grad)), grad))
    zeros = e.emit(R.zeros(ShapeExpr([num_weights, width]), dtype=dtype_of(grad)))
    return R.scatter_nd(zeros, places, grad, reduction="add")
