"""Integer representations of values in types without arithmetic, and their conversions by bit operations.

Conversion rounds float32 to nearest, ties to even; overflow becomes infinity, or NaN in types without infinity, as in
`ml_dtypes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import IntegerType, bf16, f32, i32
from xdsl.ir import Attribute

from ...dialects import tir
from ...dialects.dtypes import NARROW, NarrowFloat, bit_width, is_unsigned, ui8, ui16, ui32
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr

_INFINITY = 0xFF << 23
"""The bits of infinity in float32; greater magnitudes are NaN."""


@dataclass(frozen=True)
class Codec:
    """The storage integer type, and expressions to decode (bits -> int32 or float32) and encode (any type -> bits)."""

    bits: IntegerType
    decode: Callable[[PrimExpr], PrimExpr]
    encode: Callable[[PrimExpr], PrimExpr]


def reinterpreted(value: PrimExpr, dtype: Attribute) -> PrimExpr:
    """Return the same bits as another type."""
    return PrimExpr(tir.ReinterpretOp(value.ssa, dtype).result)


def _signed(sign: int, byte: PrimExpr) -> PrimExpr:
    return (_unsigned(sign, byte) ^ sign) - sign


def _unsigned(sign: int, byte: PrimExpr) -> PrimExpr:
    return (byte & (2 * sign - 1)).astype(i32)


def _low_bits(sign: int, value: PrimExpr) -> PrimExpr:
    return (value.astype(i32) & (2 * sign - 1)).astype(ui8)


def _decode(form: NarrowFloat, byte: PrimExpr) -> PrimExpr:
    bits = byte.astype(ui32)
    magnitude = bits & (form.sign - 1)
    # the narrow exponent at float32's position: too small by the difference of the biases
    value = reinterpreted(magnitude << (23 - form.mantissa), f32) * tx.const(2.0 ** (127 - form.bias), f32)
    nan = tx.const(float("nan"), f32)
    if form.single_nan:
        value = tx.select(tx.equal(bits, form.nan), nan, value)
    elif form.infinity is None and not form.finite:
        value = tx.select(tx.equal(magnitude, form.nan), nan, value)
    elif form.infinity is not None:
        value = tx.select(tx.equal(magnitude, form.infinity), tx.const(float("inf"), f32), value)
        value = tx.select(magnitude > form.infinity, nan, value)
    return tx.select(tx.equal(bits & form.sign, 0), value, value * tx.const(-1.0, f32))


def _encode(form: NarrowFloat, value: PrimExpr) -> PrimExpr:
    bits = reinterpreted(value.astype(f32), ui32)
    magnitude = bits & 0x7FFFFFFF
    code = tx.select(
        reinterpreted(magnitude, f32) < tx.const(2.0 ** (1 - form.bias), f32),
        _subnormal(magnitude, form),
        _normal(magnitude, form),
    )
    code = tx.select(code > form.greatest, tx.const(form.too_great, ui32), code)
    code = tx.select(magnitude > _INFINITY, tx.const(form.nan, ui32), code)
    negative = tx.equal(bits >> 31, 1)
    if form.single_nan:
        negative = tx.logical_and(negative, tx.logical_and(tx.less(0, code), code < form.nan))
    return (code ^ tx.select(negative, tx.const(form.sign, ui32), tx.const(0, ui32))).astype(ui8)


def _subnormal(magnitude: PrimExpr, form: NarrowFloat) -> PrimExpr:
    """Return the magnitude in subnormal steps of the narrow type: adding a large number rounds the fraction away."""
    steps = reinterpreted(magnitude, f32) * tx.const(2.0 ** (form.bias - 1 + form.mantissa), f32)
    return reinterpreted(steps + tx.const(2.0**23, f32), ui32) - ((127 + 23) << 23)


def _normal(magnitude: PrimExpr, form: NarrowFloat) -> PrimExpr:
    """Return the upper bits, rounded: half a step is added, minus one if the last remaining bit is even."""
    cut = 23 - form.mantissa
    return (_rounded(magnitude, cut) >> cut) - ((127 - form.bias) << form.mantissa)


def _rounded(bits: PrimExpr, cut: int) -> PrimExpr:
    return bits + ((1 << (cut - 1)) - 1) + ((bits >> cut) & 1)


def _decode_bfloat16(bits: PrimExpr) -> PrimExpr:
    """Return the float32 whose upper half are these bits."""
    return reinterpreted(bits.astype(ui32) << 16, f32)


def _encode_bfloat16(value: PrimExpr) -> PrimExpr:
    bits = reinterpreted(value.astype(f32), ui32)
    quiet = (bits >> 16) | 0x40
    return tx.select((bits & 0x7FFFFFFF) > _INFINITY, quiet, _rounded(bits, 16) >> 16).astype(ui16)


def _codec(dtype: Attribute, form: NarrowFloat | None) -> Codec:
    if form is not None:
        return Codec(ui8, partial(_decode, form), partial(_encode, form))
    sign = 1 << (bit_width(dtype) - 1)
    return Codec(ui8, partial(_unsigned if is_unsigned(dtype) else _signed, sign), partial(_low_bits, sign))


NARROW_CODECS: dict[Attribute, Codec] = {t: _codec(t, form) for t, form in NARROW.items()}
"""Floats of 8 or 4 bits and integers of 4 or 2, each in a byte."""
FP8_CODECS: dict[Attribute, Codec] = {t: NARROW_CODECS[t] for t, form in NARROW.items() if form is not None}
BF16_CODECS: dict[Attribute, Codec] = {bf16: Codec(ui16, _decode_bfloat16, _encode_bfloat16)}
