"""Quantization operators of PyTorch's export (pt2e): `quantized_decomposed`, int8 between floats.

Numbers are multiplied by the inverse of the scale, and rounded to nearest even. Scales of
`relax.dequantize` are float32: where PyTorch's are float64 the result may differ in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....handles.relax.expr import Expr, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, constant_of, dtype_of, rank_of, shape_of
from ..promotion import operands
from ..table import row
from .elementwise import number

_BYTES = ("int8", "uint8")
_EPSILON = float(np.finfo(np.float32).eps)


def _named(name: str) -> Callable[[Any], Any]:
    return row(f"quantized_decomposed::{name}")


def _as(x: Expr, dtype: str) -> Expr:
    """Convert `x` to `dtype`; constants remain constants, which passes match."""
    array = constant_of(x)
    return cast_to(x, dtype) if array is None else const(np.asarray(array), dtype)


def _limited(rounded: Expr, least: int, most: int, dtype: str) -> Expr:
    low, high = number(rounded, float(least)), number(rounded, float(most))
    return R.astype(R.minimum(R.maximum(rounded, low), high), dtype=dtype)


# One scale, or one for each index of an axis.


@_named("quantize_per_tensor")
def quantize_per_tensor(
    e: Emitter, x: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: str
) -> Expr:
    """Return round(x / scale) + zero_point, clamped, as `dtype`."""
    return _quantized(e, x, _inverse(e, scale), _shift(e, zero_point), (quant_min, quant_max, dtype))


def _inverse(e: Emitter, scale: Any) -> Expr:
    """Return 1 / scale as a float32 scalar, divided in float64."""
    if not isinstance(scale, Expr):
        return const(np.float32(1.0 / scale), "float32")
    inverse = R.divide(const(1.0, "float64"), cast_to(_scalar(e, scale), "float64"))
    return e.emit(R.astype(e.emit(inverse), dtype="float32"))


def _shift(e: Emitter, zero_point: Any) -> Expr | None:
    if isinstance(zero_point, Expr):
        return cast_to(_scalar(e, zero_point), "float32")
    return const(float(zero_point), "float32") if zero_point else None


def _scalar(e: Emitter, parameter: Expr) -> Expr:
    """Return a tensor of one element as a scalar."""
    if not rank_of(parameter):
        return parameter
    array = constant_of(parameter)
    return e.emit(R.reshape(parameter, ShapeExpr([]))) if array is None else const(np.asarray(array).reshape(()))


def _quantized(e: Emitter, x: Expr, inverse: Expr, shift: Expr | None, limits: tuple[int, int, str]) -> Expr:
    rounded = R.round(e.emit(R.multiply(cast_to(x, "float32"), inverse)))
    return _limited(rounded if shift is None else R.add(rounded, shift), *limits)


@_named("quantize_per_channel")
def quantize_per_channel(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr, axis: int, quant_min: int, quant_max: int, dtype: str
) -> Expr:
    """Return round(x / scale) + zero point, clamped, as `dtype`; both are vectors along `axis`."""
    inverse = e.emit(R.divide(number(scales, 1.0), scales))
    factor, shift = (e.emit(_along(x, axis, cast_to(v, "float32"))) for v in (inverse, zero_points))
    return _quantized(e, x, factor, shift, (quant_min, quant_max, dtype))


def _along(x: Expr, axis: int, vector: Expr) -> Expr:
    rank = rank_of(x)
    return R.reshape(vector, ShapeExpr([-1 if i == axis % rank else 1 for i in range(rank)]))


@_named("dequantize_per_tensor")
def dequantize_per_tensor(
    e: Emitter, x: Expr, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: str,
    *, out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    """(x - zero_point) * scale"""
    factor = _scalar(e, scale) if isinstance(scale, Expr) else const(scale, "float32")
    zero = _scalar(e, zero_point) if isinstance(zero_point, Expr) else const(zero_point, "int32")
    if dtype_of(x) in _BYTES and out_dtype in (None, "float32"):
        return R.dequantize(x, _as(factor, "float32"), _as(zero, "int32"))
    wide = out_dtype or "float32"
    return R.multiply(R.subtract(R.astype(x, dtype=wide), cast_to(zero, wide)), cast_to(factor, wide))


@_named("dequantize_per_channel")
def dequantize_per_channel(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr | None, axis: int, quant_min: int, quant_max: int, dtype: str,
    *, out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    """Return (x - zero point) * scale; both are vectors along `axis`."""
    if dtype_of(x) in _BYTES and out_dtype in (None, "float32") and rank_of(x) > 0:
        zeros = const(0, "int32") if zero_points is None else _as(zero_points, "int32")
        return R.dequantize(x, _as(scales, "float32"), zeros, axis=axis)
    moved = x if zero_points is None else R.subtract(*operands(e, x, _along(x, axis, zero_points)))
    return cast_to(R.multiply(*operands(e, moved, _along(x, axis, scales))), out_dtype or "float32")


# Rows and groups: scales of any shape that broadcasts.


@_named("quantize_per_token")
def quantize_per_token(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr, quant_min: int, quant_max: int, dtype: str
) -> Expr:
    """Return round(x / scale + zero point), clamped, as `dtype`, with a scale for each row."""
    scaled = e.emit(R.multiply(*operands(e, x, R.divide(number(scales, 1.0), scales))))
    return _limited(R.round(R.add(*operands(e, scaled, zero_points))), quant_min, quant_max, dtype)


@_named("dequantize_per_token")
def dequantize_per_token(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr, quant_min: int, quant_max: int, dtype: str, output_dtype: str
) -> Expr:
    """Return (x - zero point) * scale, with a scale for each row."""
    moved = R.subtract(*operands(e, x, zero_points))
    return cast_to(R.multiply(*operands(e, moved, scales)), output_dtype)


def _grouped(x: Expr, scales: Expr, group_size: int) -> tuple[Expr, list[Any]]:
    """Reshape rows into groups, and return also the original shape."""
    shape = shape_of(x)
    alone = shape_of(scales)[-1] == 1 and isinstance(shape[-1], int) and group_size > shape[-1]
    return R.reshape(x, ShapeExpr([-1, shape[-1] if alone else group_size])), shape


def _column(parameter: Expr) -> Expr:
    return R.reshape(parameter, ShapeExpr([-1, 1]))


@_named("quantize_per_channel_group")
def quantize_per_channel_group(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr, quant_min: int, quant_max: int, dtype: str,
    group_size: int = 128,
) -> Expr:  # fmt: skip
    """Like `quantize_per_token`, with a scale for every `group_size` elements of a row."""
    groups, shape = _grouped(x, scales, group_size)
    columns = e.emit(_column(scales)), e.emit(_column(zero_points))
    result = quantize_per_token(e, e.emit(groups), *columns, quant_min, quant_max, dtype)
    return R.reshape(e.emit(result), ShapeExpr(shape))


@_named("dequantize_per_channel_group")
def dequantize_per_channel_group(
    e: Emitter, x: Expr, scales: Expr, zero_points: Expr | None, quant_min: int, quant_max: int, dtype: str,
    group_size: int = 128, output_dtype: str = "float32",
) -> Expr:  # fmt: skip
    """Like `dequantize_per_token`, with a scale for every `group_size` elements of a row."""
    groups, shape = _grouped(x, scales, group_size)
    zeros = const(np.zeros((1, 1)), "int32") if zero_points is None else e.emit(_column(zero_points))
    columns = e.emit(_column(scales)), zeros
    result = dequantize_per_token(e, e.emit(groups), *columns, quant_min, quant_max, dtype, output_dtype)
    return R.reshape(e.emit(result), ShapeExpr(shape))


# Scales and zero points for dynamic quantization.


def _range_of(e: Emitter, x: Expr, axes: list[int] | None = None) -> tuple[Expr, Expr]:
    """Return the minimum and maximum, extended to include 0."""
    keep = axes is not None
    low, high = R.min(x, axis=axes, keepdims=keep), R.max(x, axis=axes, keepdims=keep)
    return e.emit(R.minimum(low, number(x, 0.0))), e.emit(R.maximum(high, number(x, 0.0)))


def _as_parameters(scale: Expr, zero: Expr) -> list[Expr]:
    return [R.astype(scale, dtype="float64"), R.astype(zero, dtype="int64")]


@_named("choose_qparams.tensor")
def choose_qparams(e: Emitter, x: Expr, quant_min: int, quant_max: int, eps: float, dtype: str) -> list[Expr]:
    """Return the scale and zero point, vectors of one element, that map the range of x to the integers."""
    low, high = _range_of(e, cast_to(x, "float32"))
    scale = R.divide(R.subtract(high, low), const(float(quant_max - quant_min), "float32"))
    scale = e.emit(R.reshape(R.maximum(scale, const(eps, "float32")), ShapeExpr([1])))
    zero = R.subtract(const(float(quant_min), "float32"), R.round(R.divide(low, scale)))
    ends = const(float(quant_min), "float32"), const(float(quant_max), "float32")
    return _as_parameters(scale, R.minimum(R.maximum(zero, ends[0]), ends[1]))


@_named("choose_qparams_symmetric.tensor")
def choose_qparams_symmetric(e: Emitter, x: Expr, quant_min: int, quant_max: int, eps: float, dtype: str) -> list[Expr]:
    """Like `choose_qparams`, with zero point 0 (symmetric)."""
    low, high = _range_of(e, cast_to(x, "float32"))
    half = const(float(quant_max - quant_min) / 2, "float32")
    scale = R.maximum(R.divide(R.maximum(R.negative(low), high), half), const(eps, "float32"))
    zero = const(np.array([128 if dtype == "uint8" else 0]), "int64")
    return [R.astype(R.reshape(scale, ShapeExpr([1])), dtype="float64"), zero]


@_named("choose_qparams_per_token")
def choose_qparams_per_token(e: Emitter, x: Expr, dtype: str) -> list[Expr]:
    """Return for each row the scale that maps its largest magnitude to 127, and zero points of 0."""
    largest = R.max(R.abs(x), axis=[-1], keepdims=True)
    largest = e.emit(cast_to(largest, "float32") if dtype_of(x) == "float16" else largest)
    scale = e.emit(R.divide(R.maximum(largest, number(largest, 1e-5)), number(largest, 127.0)))
    return [scale, R.zeros_like(scale)]


@_named("choose_qparams_per_token_asymmetric")
def choose_qparams_per_token_asymmetric(e: Emitter, x: Expr, dtype: str) -> list[Expr]:
    """Return for each row the scale and zero point that map its range to int8."""
    low, high = _range_of(e, x, [-1])
    scale = R.divide(R.subtract(high, low), number(x, 255.0))
    scale = e.emit(R.maximum(scale, number(x, _EPSILON)))
    least, most = (e.emit(R.divide(end, scale)) for end in (low, high))
    bottom, top = number(x, -128.0), number(x, 127.0)
    nearer = R.greater(R.add(R.add(bottom, least), R.add(top, most)), number(x, 0.0))
    zero = R.where(nearer, R.subtract(bottom, least), R.subtract(top, most))
    return _as_parameters(scale, R.round(R.minimum(R.maximum(zero, bottom), top)))


@_named("convert_element_type.no_fuse")
def convert_element_type(e: Emitter, x: Expr, dtype: str) -> Expr:
    """Convert x to `dtype`."""
    return cast_to(x, dtype)
