"""Quantized operators of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.block_formats import GROUP_SIZES, group_blocks
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import MICROSOFT, converter, rows
from ..values import Value, as_value, op
from .convolution import shifted
from .linear_algebra import integer_product
from .pooling import average_pool
from .quantization import (
    binary_on_quantized,
    dequantize_linear,
    dequantized,
    dynamic_quantize_linear,
    quantize_linear,
    requantized,
    spread,
)

rows(quantize_linear, "QuantizeLinear", domain=MICROSOFT)
rows(dequantize_linear, "DequantizeLinear", domain=MICROSOFT)
rows(binary_on_quantized("add"), "QLinearAdd", domain=MICROSOFT)
rows(binary_on_quantized("multiply"), "QLinearMul", domain=MICROSOFT)


@converter("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    y = node.emit(op("sigmoid", dequantized(node, x, x_scale, x_zero)))
    return requantized(node, y, y_scale, y_zero, x.dtype)


@converter("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    y = op("nn.leakyrelu", dequantized(node, x, x_scale, x_zero), alpha=node.attr("alpha", 0.01))
    return requantized(node, node.emit(y), y_scale, y_zero, x.dtype)


@converter("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    y = op("nn.softmax", dequantized(node, x, x_scale, x_zero), axis=node.attr("axis", -1))
    return requantized(node, node.emit(y), y_scale, y_zero, x.dtype)


@converter("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: Node, y_scale: Value, y_zero: Value, *parts: Value) -> Expr:
    """Concatenate tensors that each have a scale and a zero point."""
    plain = [dequantized(node, x, s, z) for x, s, z in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]
    return requantized(node, node.emit(op("concat", plain, axis=node.attr("axis"))), y_scale, y_zero)


def _channels_first(node: Node, x: Value) -> Value:
    if not node.attr("channels_last", 0):
        return x
    return as_value(node.emit(op("permute_dims", x, axes=[0, x.rank - 1, *range(1, x.rank - 1)])))


def _as_before(node: Node, y: Expr) -> Expr:
    if not node.attr("channels_last", 0):
        return y
    rank = as_value(y).rank
    return op("permute_dims", y, axes=[0, *range(2, rank), 1])


@converter("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    data = _channels_first(node, x)
    plain = as_value(node.emit(dequantized(node, data, x_scale, x_zero)))
    y = _as_before(node, average_pool(node, plain))
    return requantized(node, node.emit(y), y_scale, y_zero, x.dtype)


@converter("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    axes = list(range(1, x.rank - 1)) if node.attr("channels_last", 0) else list(range(2, x.rank))
    y = op("mean", dequantized(node, x, x_scale, x_zero), axis=axes, keepdims=True)
    return requantized(node, node.emit(y), y_scale, y_zero, x.dtype)


@converter("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(
    node: Node,
    a: Value,
    b: Value,
    a_scale: Value,
    b_scale: Value,
    a_zero: Value | None = None,
    b_zero: Value | None = None,
    bias: Value | None = None,
) -> Expr:
    """Return the integer product as floats; `b` may have a scale for each column."""
    sums = integer_product(a, b, a_zero, b_zero)
    factor = op("multiply", spread(node, a_scale, a, -1), spread(node, b_scale, b, b.rank - 1))
    y = op("multiply", op("astype", sums, dtype=a_scale.dtype), factor)
    return y if bias is None else op("add", y, bias)


@converter("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(
    node: Node, a: Value, b: Value, b_scale: Value, b_zero: Value | None = None, bias: Value | None = None
) -> Expr:
    """Like `MatMulIntegerToFloat`, quantizing the float input first."""
    quantized, scale, zero = (as_value(node.emit(as_value(t).expr)) for t in dynamic_quantize_linear(node, a))
    return matmul_integer_to_float(node, quantized, b, scale, b_scale, zero, b_zero, bias)


@converter("QGemm", domain=MICROSOFT)
def qgemm(
    node: Node,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    c: Value | None = None,
    y_scale: Value | None = None,
    y_zero: Value | None = None,
) -> Expr:
    """Return alpha · a · b + c of quantized tensors, as floats if the result has no scale."""
    turned_a, turned_b = node.attr("transA", 0), node.attr("transB", 0)
    left, right = shifted(a, a_zero), shifted(b, b_zero, 0 if turned_b else 1)
    sums = op(
        "matmul", op("permute_dims", left) if turned_a else left, op("permute_dims", right) if turned_b else right
    )
    sums = sums if c is None else op("add", sums, c)
    column = spread(node, b_scale, Value.known(np.zeros((1, 1))), 1)
    factor = op("multiply", op("multiply", spread(node, a_scale, a, -1), column), node.attr("alpha", 1.0))
    y = node.emit(op("multiply", op("astype", sums, dtype="float32"), factor))
    return y if y_scale is None else requantized(node, y, y_scale, y_zero, a.dtype)


@converter("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(
    node: Node,
    a: Value,
    b: Value,
    scales: Value,
    zeros: Value | None = None,
    groups: Value | None = None,
    bias: Value | None = None,
) -> Expr:
    """Return a product with a constant matrix of 4- or 8-bit integers with scales for blocks along K.

    The matrix remains in blocks (`matmul_blocks`) if scales and integer zero points are constant. With an
    `accuracy_level` of 4 the activations are quantized to int8.
    """
    k, n, bits, block = (node.attr(name) for name in ("K", "N", "bits", "block_size"))
    if bits not in (4, 8):
        raise node.unsupported(f"weights of {bits} bits")
    if groups is not None:
        raise node.unsupported("an order of groups")
    y = _matmul_blocks(node, a, b, scales, zeros)
    if y is not None:
        return y if bias is None else op("add", node.emit(y), bias)
    weights = _unpacked(node, b, k, n, bits)
    count = -(-k // block)
    scale = op("reshape", scales, (n, count, 1))
    zero: Any = float(1 << (bits - 1))
    if zeros is not None:
        integers = zeros.dtype == "uint8"
        points = _unpacked(node, zeros, count, n, bits) if integers else op("reshape", zeros, (n, count))
        zero = op("reshape", op("astype", points, dtype=scales.dtype), (n, count, 1))
    padded = count * block
    plain = op("astype", weights, dtype=scales.dtype)
    if padded != k:
        plain = op("nn.pad", plain, pad_width=[0, 0, 0, padded - k])
    blocks = op("multiply", op("subtract", op("reshape", plain, (n, count, block)), zero), scale)
    matrix = op("reshape", blocks, (n, padded))
    matrix = matrix if padded == k else op("strided_slice", matrix, axes=[1], begin=[0], end=[k])
    y = op("matmul", a, op("permute_dims", node.emit(matrix)))
    return y if bias is None else op("add", y, bias)


def _matmul_blocks(node: Node, a: Value, b: Value, scales: Value, zeros: Value | None) -> Expr | None:
    """Return the product with rows of blocks, or None if no format has their size or they are not constant."""
    k, n, bits, block = (node.attr(name) for name in ("K", "N", "bits", "block_size"))
    if block not in GROUP_SIZES or scales.array is None:
        return None
    if zeros is not None and (zeros.array is None or zeros.dtype != "uint8"):
        return None
    count = -(-k // block)
    q = _integers(node, b, n, bits)[:, : count * block].reshape(n, count, block)
    if zeros is None:
        zero = np.full((n, count, 1), 1 << (bits - 1), np.uint8)
    else:
        zero = _integers(node, zeros, n, bits)[:, :count].reshape(n, count, 1)
    scale = scales.array.astype(np.float32).reshape(n, count, 1)
    packed = Value.constant(group_blocks(q, scale, zero, bits).reshape(n, -1)).expr
    x: Any = a
    if count * block != k:
        x = node.emit(op("nn.pad", a, pad_width=[0, 0] * (a.rank - 1) + [0, count * block - k]))
    activation = "int8" if node.attr("accuracy_level", 0) == 4 else "float32"
    return op("matmul_blocks", x, packed, format=f"int{bits}_g{block}", out_dtype=a.dtype, activation=activation)


def _unpacked(node: Node, packed: Value, k: int, n: int, bits: int) -> Expr:
    """Return the unpacked bytes (n, k)."""
    return Value.constant(np.ascontiguousarray(_integers(node, packed, n, bits)[:, :k])).expr


def _integers(node: Node, packed: Value, n: int, bits: int) -> np.ndarray[Any, Any]:
    """Return the integers of n constant rows; a byte holds two 4-bit numbers, the lower half first."""
    if packed.array is None:
        raise node.not_constant(packed, "its weights")
    data = packed.array.reshape(n, -1)
    return np.stack([data & 15, data >> 4], axis=-1).reshape(n, -1) if bits == 4 else data
