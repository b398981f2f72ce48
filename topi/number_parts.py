"""Functions of the digits of numbers: common divisors, neighbours, significands and exponents."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f64, i32, i64

from ..dialects.dtypes import bit_width
from ..handles.tir import intrinsics
from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.intrinsics import reinterpret
from ..handles.tir.prim_expr import PrimExpr
from ..te.broadcast import broadcasting, over_axes
from ..te.extern_body import Statements
from ..te.tensor import Tensor
from .per_element import per_element

_BIAS, _FRACTION = 1022, 52
"""The exponent field of 0.5 in float64, and the bits below it."""
_SUBNORMAL = 54
"""The power of two that makes any number of float64 a normal one."""


def _gcd(b: Statements, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    a, rest = b.cell("a", i64, m.abs_(x)), b.cell("rest", i64, m.abs_(y))
    with b.repeat_while(tx.not_equal(rest.value, 0)):
        last = b.let("last", rest.value)
        rest.set(tx.truncmod(a.value, last))
        a.set(last)
    return a.value


def _nextafter(b: Statements, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """Return the number after x on the way to y: the bits of a number, without the sign, count up as it grows."""
    bits = IntegerType(bit_width(x.type))
    zero, one = tx.const(0.0, x.type), tx.const(1, bits)
    number = b.let("number", reinterpret(bits, x))
    outwards = tx.equal(y > x, x > zero)
    moved = b.let("moved", number + tx.select(outwards, one, tx.const(-1, bits)))
    least = tx.select(y > zero, one, tx.const(-(1 << (bit_width(x.type) - 1)) + 1, bits))
    value = reinterpret(x.type, b.let("bits", tx.select(tx.equal(x, zero), least, moved)))
    value = tx.select(tx.equal(x, y), y, value)
    return tx.select(m.isnan(x), x, tx.select(m.isnan(y), y, value))


def _parts(b: Statements, x: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """Return the bits of a number with the exponent of 0.5, its exponent, and whether it has one."""
    small = b.let("small", m.abs_(x) < 2.0**-1000)
    bits = b.let("bits", reinterpret(i64, b.let("normal", tx.select(small, x * 2.0**_SUBNORMAL, x))))
    exponent = ((bits >> _FRACTION) & 0x7FF) - _BIAS - tx.select(small, _SUBNORMAL, 0).astype(i64)
    fraction = (bits & ~(0x7FF << _FRACTION)) | (_BIAS << _FRACTION)
    return fraction, exponent, tx.logical_and(tx.not_equal(x, 0.0), m.abs_(x) < float("inf"))


def _significand(b: Statements, x: PrimExpr) -> PrimExpr:
    fraction, _, regular = _parts(b, x)
    return tx.select(regular, reinterpret(f64, b.let("fraction", fraction)), x)


def _exponent(b: Statements, x: PrimExpr) -> PrimExpr:
    _, exponent, regular = _parts(b, x)
    return tx.select(regular, exponent, tx.const(0, i64))


def signbit(x: Tensor) -> Tensor:
    """Return whether the sign of each float is negative, also of zeros and NaN."""
    bits = IntegerType(bit_width(x.type))
    return over_axes(x.dims, lambda i: tx.less(reinterpret(bits, x(*i)), tx.const(0, bits)), "T_signbit", "elemwise")


copysign = broadcasting("copysign", intrinsics.copysign)
gcd = per_element("gcd", _gcd, i64)
nextafter = per_element("nextafter", _nextafter, None)
frexp_significand = per_element("frexp_significand", _significand)
frexp_exponent = per_element("frexp_exponent", _exponent, f64, i32)
