"""Layers that ONNX Runtime's optimizers make of several operators."""

from __future__ import annotations

from typing import Any

from ....dialects.sym.expr import product
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Output, Value, as_value, op
from .convolution import conv
from .elementwise import converted, fast_gelu
from .pooling import max_pool


def channels_first(node: Node, x: Value) -> Value:
    """Return an image whose channels are last with the channels first."""
    return as_value(node.emit(op("permute_dims", x, axes=[0, x.rank - 1, *range(1, x.rank - 1)])))


def channels_last(node: Node, y: Output) -> Expr:
    """Return an image whose channels are first with the channels last."""
    first = as_value(node.emit(as_value(y).expr))
    return op("permute_dims", first, axes=[0, *range(2, first.rank), 1])


@converter("BiasAdd", domain=MICROSOFT)
def bias_add(node: Node, x: Value, bias: Value, skip: Value) -> Expr:
    return op("add", op("add", x, bias), skip)


@converter("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(node: Node, x: Value, bias: Value) -> Expr:
    """Return the softmax of all dimensions from `axis` on."""
    axis = node.attr("axis", 1) % x.rank
    total = node.emit(op("add", x, bias))
    if axis == x.rank - 1:
        return op("nn.softmax", total, axis=-1)
    flat = op("reshape", total, (product(x.dims[:axis]), product(x.dims[axis:])))
    return op("reshape", op("nn.softmax", flat, axis=-1), x.dims)


@converter("BiasDropout", domain=MICROSOFT)
def bias_dropout(
    node: Node,
    x: Value,
    bias: Value,
    residual: Value | None = None,
    ratio: Value | None = None,
    training: Value | None = None,
) -> tuple[Expr, Expr]:
    """Return the sum, and a mask that keeps all elements: dropout is for training."""
    if training is not None and node.number(training):
        raise node.unsupported("training")
    y = op("add", x, bias)
    return y if residual is None else op("add", y, residual), op("full", x.dims, Value.constant(True), dtype="bool")


@converter("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(node: Node, x: Value, bias: Value) -> Expr:
    total, half = node.emit(op("add", x, bias)), x.dims[-1] // 2
    axis = x.rank - 1
    left, right = (op("strided_slice", total, axes=[axis], begin=[half * i], end=[half * (i + 1)]) for i in (0, 1))
    return op("multiply", left, op("nn.gelu", right))


@converter("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Expr:
    return fast_gelu(node, as_value(node.emit(op("matmul", x, weight))), bias)


@converter("GroupNorm", domain=MICROSOFT)
def group_norm_of_images(node: Node, x: Value, scale: Value, shift: Value) -> Expr:
    """Return the group normalization, with channels last by default, and the SiLU of it if `activation` is 1."""
    last = bool(node.attr("channels_last", 1))
    axes = list(range(1, x.rank - 1) if last else range(2, x.rank))
    parameters = [converted(v, x.dtype) for v in (scale, shift)]
    attrs = {"num_groups": node.attr("groups"), "channel_axis": x.rank - 1 if last else 1, "axes": axes}
    y = op("nn.group_norm", x, *parameters, epsilon=node.attr("epsilon", 1e-5), **attrs)
    return op("nn.silu", node.emit(y)) if node.attr("activation") else y


@converter("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(
    node: Node, x: Value, scale: Value, shift: Value, skip: Value, bias: Value | None = None
) -> tuple[Expr, Expr]:
    """Return the group normalization of a sum, and the sum."""
    last = bool(node.attr("channels_last", 1))
    ones = [1] * (x.rank - 2)
    if skip.rank == 2:
        skip = as_value(op("reshape", skip, (skip.dims[0], *ones, skip.dims[1]) if last else (*skip.dims, *ones)))
    total = op("add", x, skip)
    if bias is not None:
        total = op("add", total, bias if last else op("reshape", bias, (-1, *ones)))
    bound = node.emit(total)
    return group_norm_of_images(node, as_value(bound), scale, shift), bound


@converter("NhwcConv", domain=MICROSOFT)
def conv_of_channels_last(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Expr:
    """Return the convolution of images and filters whose channels are last."""
    return channels_last(node, conv(node, channels_first(node, x), channels_first(node, weight), bias))


@converter("NhwcMaxPool", domain=MICROSOFT)
def max_pool_of_channels_last(node: Node, x: Value) -> Any:
    return channels_last(node, max_pool(node, channels_first(node, x))[0])
