"""Quantization to and from small integers and 8-bit floats, and operators on quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ml_dtypes import iinfo

from ....dialects.dtypes import dtype_of, numpy_dtype
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..tensors import dtype_name
from ..values import Value, as_value, op
from .convolution import convolved
from .elementwise import converted
from .linear_algebra import integer_product

Operand = Value | Expr
BYTES = ("int8", "uint8")


def limits(dtype: str) -> tuple[int, int]:
    """Return the minimum and maximum of an integer dtype."""
    info = iinfo(numpy_dtype(dtype_of(dtype)))
    return int(info.min), int(info.max)


def spread(node: Node, parameter: Value, x: Value, axis: int, block: int = 0) -> Operand:
    """Broadcast a scale or zero point to `x`: per tensor, per index of `axis`, or per block along it."""
    if parameter.rank == 0 or (parameter.rank == 1 and parameter.dims[0].constant == 1 and not block):
        return scalar_or_vector(parameter)
    if block:
        repeated = node.emit(op("repeat", parameter, repeats=block, axis=axis))
        if as_value(repeated).dims[axis] == x.dims[axis]:
            return repeated
        return node.emit(op("strided_slice", repeated, axes=[axis], begin=[0], end=[x.dims[axis]]))
    if parameter.rank == 1:
        return op("reshape", parameter, [-1 if i == axis % x.rank else 1 for i in range(x.rank)])
    return parameter


def scalar_or_vector(value: Value) -> Value:
    """Return a scale or zero point in the form of `relax.quantize`: a scalar or a vector."""
    if value.rank == 0 or (value.rank == 1 and value.dims[0].constant != 1):
        return value
    return as_value(op("reshape", value, ())) if value.array is None else Value.constant(value.array.reshape(()))


def dequantized_bytes(x: Value, scale: Value, zero: Value | None, axis: int = -1) -> Expr | None:
    """Emit `relax.dequantize` of int8 or int32 data to single precision, or return None if it does not apply."""
    if x.dtype not in (*BYTES, "int32") or scale.dtype != "float32" or not _are_plain(x, scale, zero):
        return None
    point = _zero_of(x.dtype) if zero is None else scalar_or_vector(zero)
    return op("dequantize", x, scalar_or_vector(scale), point, axis=axis)


def _are_plain(x: Value, scale: Value, zero: Value | None) -> bool:
    """Return whether both parameters are per tensor or per index of an axis."""
    return x.rank > 0 and all(p.rank == 0 or (p.rank == 1 and p.type.dims) for p in (scale, zero or scale))


def _zero_of(dtype: str) -> Value:
    return Value.constant(np.zeros((), dtype))


def _axis(node: Node, x: Value) -> int:
    axis = node.attr("axis", 1)
    return axis % x.rank if x.rank else 0


@converter("QuantizeLinear")
def quantize_linear(node: Node, x: Value, scale: Value, zero: Value | None = None) -> Expr:
    """Return round(x / scale) + zero point, clamped to the range; 8-bit floats are rounded as in conversions."""
    target = "uint8" if zero is None else zero.dtype
    if zero is None and node.attr("output_dtype"):
        target = dtype_name(node.attr("output_dtype"), "the result")
    axis, block = _axis(node, x), node.attr("block_size") or 0
    wide = dtype_name(node.attr("precision"), "the quotient") if node.attr("precision") else scale.dtype
    factor = spread(node, as_value(converted(scale, wide)), x, axis, block)
    quotient = op("divide", converted(x, wide), factor)
    if target.startswith("float"):
        return _to_float8(node, as_value(node.emit(quotient)), target)
    moved = None if zero is None else spread(node, zero, x, axis, block)
    return limited(node, quotient, moved, target)


def limited(node: Node, quotient: Expr, zero: Operand | None, dtype: str) -> Expr:
    """Return round(quotient) + zero point as `dtype`, clamped to its range; computed in at least single precision."""
    value = as_value(node.emit(quotient))
    rounded = op("round", value if value.dtype != "float16" else op("astype", value, dtype="float32"))
    if zero is not None and not _is_zero(zero):
        rounded = op("add", rounded, converted(as_value(zero), as_value(rounded).dtype))
    low, high = limits(dtype)
    return op("astype", op("minimum", op("maximum", rounded, float(low)), float(high)), dtype=dtype)


def _is_zero(zero: Operand) -> bool:
    array = as_value(zero).array
    return array is not None and not array.any()


def _to_float8(node: Node, x: Value, dtype: str) -> Expr:
    """Convert to an 8-bit float; values out of range become the maximum if `saturate`."""
    if not node.attr("saturate", 1):
        return op("astype", x, dtype=dtype)
    import ml_dtypes

    top = float(ml_dtypes.finfo(numpy_dtype(dtype_of(dtype))).max)
    inside = op("minimum", op("maximum", x, -top), top)
    return op("astype", op("where", op("isnan", x), x, node.emit(inside)), dtype=dtype)


@converter("DequantizeLinear")
def dequantize_linear(node: Node, x: Value, scale: Value, zero: Value | None = None) -> Expr | Value:
    """Return (x - zero point) * scale in the dtype of the scale."""
    dtype = dtype_name(node.attr("output_dtype"), "the result") if node.attr("output_dtype") else scale.dtype
    axis, block = _axis(node, x), node.attr("block_size") or 0
    plainly = None if block or dtype != "float32" else dequantized_bytes(x, scale, zero, axis)
    if plainly is not None:
        return plainly
    between = "float32" if x.dtype.startswith("float") or scale.dtype != "float64" else "float64"
    if x.dtype.startswith("float") or zero is None:
        plain: Operand = converted(x, between)
    else:
        offset = spread(node, as_value(converted(zero, "int32")), x, axis, block)
        plain = op("astype", op("subtract", op("astype", x, dtype="int32"), offset), dtype=between)
    factor = spread(node, as_value(converted(scale, between)), x, axis, block)
    return converted(as_value(op("multiply", plain, factor)), dtype)


@converter("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node, x: Value) -> Any:
    """Quantize to uint8 with a range that covers 0 and all elements; return also the scale and the zero point."""
    low = node.emit(op("minimum", op("min", x), 0.0))
    high = op("maximum", op("max", x), 0.0)
    scale = node.emit(op("divide", op("subtract", high, low), 255.0))
    safe = node.emit(op("where", op("equal", scale, 0.0), 1.0, scale))
    point = op("round", op("minimum", op("maximum", op("divide", op("negative", low), safe), 0.0), 255.0))
    zero = node.emit(op("astype", point, dtype="uint8"))
    return limited(node, op("divide", x, safe), zero, "uint8"), scale, zero


def dequantized(node: Node, x: Value, scale: Value, zero: Value | None, axis: int = 0) -> Expr:
    """Return (x - zero) * scale in single precision; vectors are along `axis`."""
    plainly = dequantized_bytes(x, scale, zero, axis)
    if plainly is not None:
        return plainly
    offset = None if zero is None else spread(node, as_value(converted(zero, "int32")), x, axis)
    plain = op("astype", x, dtype="int32")
    moved = plain if offset is None else op("subtract", plain, offset)
    return op("multiply", op("astype", moved, dtype=scale.dtype), spread(node, scale, x, axis))


def requantized(node: Node, y: Expr, scale: Value, zero: Value | None, dtype: str | None = None) -> Expr:
    """Quantize floats with one scale and zero point."""
    value = as_value(y)
    target = dtype or ("uint8" if zero is None else zero.dtype)
    factor = spread(node, scale, value, -1)
    return limited(node, op("divide", y, factor), None if zero is None else spread(node, zero, value, -1), target)


@converter("QLinearConv")
def qlinear_conv(
    node: Node,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    weight: Value,
    weight_scale: Value,
    weight_zero: Value,
    y_scale: Value,
    y_zero: Value,
    bias: Value | None = None,
) -> Expr:
    """Return a quantized convolution; weights may have a scale for each output channel."""
    data = as_value(node.emit(dequantized(node, x, x_scale, x_zero)))
    kernel = as_value(node.emit(dequantized(node, weight, weight_scale, weight_zero)))
    y = convolved(node, data, kernel)
    if bias is not None:
        factor = as_value(op("multiply", scalar_or_vector(x_scale), scalar_or_vector(weight_scale)))
        added = as_value(node.emit(dequantized(node, bias, factor, None)))
        y = op("add", y, op("reshape", added, (1, -1, *[1] * (x.rank - 2))))
    return requantized(node, node.emit(y), y_scale, y_zero)


@converter("QLinearMatMul")
def qlinear_matmul(
    node: Node,
    a: Value,
    a_scale: Value,
    a_zero: Value,
    b: Value,
    b_scale: Value,
    b_zero: Value,
    y_scale: Value,
    y_zero: Value,
) -> Expr:
    """Return a quantized matrix product; `a` may have a scale for each row, `b` for each column."""
    rows, columns = a.rank - 2, b.rank - 1
    sums = integer_product(a, b, a_zero, b_zero)
    left = spread(node, a_scale, a, rows) if a_scale.rank < 2 else a_scale
    right = spread(node, b_scale, b, columns) if b_scale.rank < 2 else b_scale
    wide = "float32" if y_scale.dtype != "float64" else "float64"
    parts = [as_value(converted(as_value(s), wide)) for s in (left, right, y_scale)]
    factor = op("divide", op("multiply", parts[0], parts[1]), op("reshape", parts[2], ()))
    y = op("multiply", op("astype", sums, dtype=wide), node.emit(factor))
    return limited(node, y, op("reshape", y_zero, ()), y_zero.dtype)


def binary_on_quantized(name: str) -> Callable[..., Expr]:
    """Return a converter of a binary operator on quantized tensors, computed in floats."""

    def convert(
        node: Node,
        a: Value,
        a_scale: Value,
        a_zero: Value | None,
        b: Value,
        b_scale: Value,
        b_zero: Value | None,
        y_scale: Value,
        y_zero: Value | None = None,
    ) -> Expr:
        left, right = dequantized(node, a, a_scale, a_zero), dequantized(node, b, b_scale, b_zero)
        return requantized(node, node.emit(op(name, left, right)), y_scale, y_zero, a.dtype)

    return convert
