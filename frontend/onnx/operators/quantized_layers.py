"""Layers with quantized inputs or weights that ONNX Runtime's quantizers and optimizers write."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Output, Value, as_value, op
from .attention_contrib import microsoft_attention
from .convolution import shifted
from .elementwise import converted
from .fusions import channels_first, channels_last
from .indexing import from_front
from .normalization import embed_layer_norm
from .quantization import dequantized, qlinear_conv, requantized
from .recurrent import lstm


@converter("QLinearConv", domain=MICROSOFT)
def qlinear_conv_of_images(node: Node, x: Value, *others: Any) -> Expr:
    """Like ONNX's, of images whose channels may be last; those of filters are not."""
    if not node.attr("channels_last", 0):
        return qlinear_conv(node, x, *others)
    return channels_last(node, qlinear_conv(node, channels_first(node, x), *others))


@converter("QLinearWhere", domain=MICROSOFT)
def qlinear_where(
    node: Node,
    condition: Value,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    y: Value,
    y_scale: Value,
    y_zero: Value,
    z_scale: Value,
    z_zero: Value,
) -> Expr:
    left, right = dequantized(node, x, x_scale, x_zero), dequantized(node, y, y_scale, y_zero)
    return requantized(node, node.emit(op("where", condition, left, right)), z_scale, z_zero, x.dtype)


def _axes(node: Node, x: Value) -> dict[str, Any]:
    axes = node.attr("axes") or list(range(x.rank))
    return {"axis": axes, "keepdims": bool(node.attr("keepdims", 1))}


@converter("QLinearReduceMean", domain=MICROSOFT)
def qlinear_mean(
    node: Node, x: Value, x_scale: Value, x_zero: Value | None, y_scale: Value, y_zero: Value | None = None
) -> Expr:
    y = op("mean", dequantized(node, x, x_scale, x_zero), **_axes(node, x))
    return requantized(node, node.emit(y), y_scale, y_zero, x.dtype)


@converter("MulInteger", domain=MICROSOFT)
def product_of_integers(node: Node, a: Value, a_zero: Value | None, b: Value, b_zero: Value | None = None) -> Expr:
    return op("multiply", shifted(a, a_zero), shifted(b, b_zero))


@converter("ReduceSumInteger", domain=MICROSOFT)
def sum_of_integers(node: Node, x: Value) -> Expr:
    return op("sum", op("astype", x, dtype="int32"), **_axes(node, x))


@converter("QAttention", domain=MICROSOFT)
def quantized_attention(
    node: Node,
    x: Value,
    weights: Value,
    bias: Value,
    x_scale: Value,
    weight_scale: Value,
    mask_index: Value | None = None,
    x_zero: Value | None = None,
    weight_zero: Value | None = None,
    past: Value | None = None,
) -> Any:
    data = as_value(node.emit(dequantized(node, x, x_scale, x_zero)))
    matrix = as_value(node.emit(dequantized(node, weights, weight_scale, weight_zero, axis=1)))
    return microsoft_attention(node, data, matrix, bias, mask_index, past)


@converter("QEmbedLayerNormalization", domain=MICROSOFT)
def quantized_embed_layer_norm(node: Node, words: Value, segments: Value | None, *tensors: Value | None) -> Any:
    """The tables, the scale and the shift are quantized: after them and the mask there are their scales and zeros."""
    tables, mask, scales, zeros = tensors[:5], tensors[5], tensors[6:11], tensors[11:16]
    plain = [
        None if t is None or s is None else as_value(node.emit(dequantized(node, t, s, z)))
        for t, s, z in zip(tables, scales, zeros, strict=True)
    ]
    word, position, segment, scale, shift = plain
    if word is None or position is None:
        raise node.error("a table is missing")
    return embed_layer_norm(node, words, segments, word, position, segment, scale, shift, mask)[:2]


@converter("GatherBlockQuantized", domain=MICROSOFT)
def gather_blocks(node: Node, data: Value, indices: Value, scales: Value, zeros: Value | None = None) -> Output:
    """Return rows of a matrix whose rows are quantized in blocks; bytes hold numbers of `bits`, the lowest first."""
    bits, size = node.attr("bits", 4), node.attr("block_size", 128)
    last = data.rank - 1
    if node.attr("gather_axis", 0) % data.rank or node.attr("quantize_axis", 1) % data.rank != last:
        raise node.unsupported("other axes than the first, and blocks along the last")
    if "int" not in data.dtype or bits not in (4, 8) or not size:
        raise node.unsupported(f"{data.dtype} of {bits} bits in blocks of {size}")
    packed = data.dtype == "uint8" and bits == 4
    places = from_front(indices, data.dims[0])

    def gathered(x: Value) -> Value:
        return as_value(node.emit(op("take", x, places, axis=0)))

    numbers = _unpacked(node, gathered(data), packed)
    scale = gathered(scales)
    blocks = (*scale.dims, size)
    count = numbers.dims[-1]
    if count != scale.dims[-1] * size:
        raise node.unsupported("blocks that are incomplete")
    each = op("reshape", converted(numbers, scale.dtype), blocks)
    if zeros is not None:
        points = _unpacked(node, gathered(zeros), packed)
        if points.dims[-1] != scale.dims[-1]:
            points = as_value(op("strided_slice", points, axes=[points.rank - 1], begin=[0], end=[scale.dims[-1]]))
        each = op("subtract", each, op("expand_dims", converted(points, scale.dtype), axis=[-1]))
    elif data.dtype == "uint8":
        each = op("subtract", each, float(1 << (bits - 1)))
    y = op("multiply", each, op("expand_dims", scale, axis=[-1]))
    return op("reshape", y, numbers.dims)


def _unpacked(node: Node, x: Value, packed: bool) -> Value:
    """Return the halves of bytes one after another."""
    if not packed:
        return x
    halves = [op("bitwise_and", x, Value.constant(15, "uint8")), op("right_shift", x, Value.constant(4, "uint8"))]
    both = op("concat", [op("expand_dims", h, axis=[-1]) for h in halves], axis=-1)
    return as_value(node.emit(op("reshape", both, (*x.dims[:-1], x.dims[-1] * 2))))


_CODES = (
    np.array([0, 0.0052083333, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25]),
    np.array([
        -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
        -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
        0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
    ]),
)  # fmt: skip
"""What four bits stand for: of FP4, whose highest bit is the sign, and of NF4 (Dettmers et al., "QLoRA", 2023)."""


@converter("MatMulBnb4", domain=MICROSOFT)
def matmul_of_codes(node: Node, a: Value, b: Value, largest: Value) -> Expr:
    """Return a product with a constant matrix whose elements are codes times the largest element of a block."""
    if b.array is None or largest.array is None:
        raise node.not_constant(b, "its weights")
    k, n, size = (node.attr(name) for name in ("K", "N", "block_size"))
    codes = _CODES[node.attr("quant_type")]
    codes = codes if len(codes) == 16 else np.concatenate([codes, -codes])
    data = b.array.reshape(-1)
    numbers = codes[np.stack([data >> 4, data & 15], axis=-1).reshape(-1)[: n * k]]
    factors = np.repeat(largest.array.reshape(-1).astype(np.float64), size)[: n * k]
    matrix = (numbers * factors).reshape(n, k)
    return op(
        "matmul", a, Value.constant(np.ascontiguousarray(matrix.T if node.attr("transB", 1) else matrix), a.dtype)
    )


@converter("DynamicQuantizeLSTM", domain=MICROSOFT)
def quantized_lstm(node: Node, x: Value, weights: Value, recurrence: Value, *others: Any) -> Any:
    """Return an LSTM with quantized weights, (directions, inputs, gates); numbers between layers are not quantized."""
    bias, lengths, initial, initial_cell, peepholes, *parameters = [*others, *[None] * (9 - len(others))]
    plain: list[Value] = []
    for matrix, (scale, zero) in zip((weights, recurrence), (parameters[:2], parameters[2:4]), strict=True):
        if scale is None:
            raise node.error("the scale of weights is missing")
        each = (scale.dims[0], 1, scale.dims[1] if scale.rank == 2 else 1)
        numbers: Output = op("astype", matrix, dtype="float32")
        if zero is not None:
            numbers = op("subtract", numbers, op("reshape", converted(zero, "float32"), each))
        numbers = op("multiply", numbers, op("reshape", scale, each))
        plain.append(as_value(node.emit(op("permute_dims", numbers, axes=[0, 2, 1]))))
    complete = node.with_attributes({"direction": "forward", "input_forget": 0, **node.attributes})
    return lstm(complete, x, *plain, bias, lengths, initial, initial_cell, peepholes)
