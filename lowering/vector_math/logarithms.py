"""log, log2, log10, log1p, and asinh, acosh, atanh by way of these.

x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). log(1 + f) is f - f²/2 and a tail: in f32 by the polynomial
LOG1P in f, in f64 by LOG in the square of s = f / (2 + f), since log(1 + f) = 2 atanh(s) (as in fdlibm, Sun 1993).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from . import tables
from .lanes import LN2, LOG2_E, LOG10_2, LOG10_E, Float, Lanes, Mask, head_and_rest, parts

_ASINH_NEAR = 1.1755
"""Below this bound, at which asinh is at most 1, it is an odd polynomial in f32: the log of a sum would be less
accurate.
"""
_LARGE = 2.0**14
"""From this bound on, asinh(x) and acosh(x) are log(2 x) in f32."""
_HEAD_BITS = {24: 15, 53: 40}
"""Bits of the first part of log 2, such that its product with e is exact."""


def split(at: Lanes, x: Float) -> tuple[Float, Float]:
    """Return (e, f) for x > 0."""
    form = at.format
    lowest = form.bits(math.sqrt(0.5))
    if at.is_avx512:
        e, m = at.parts(x)
        large = m.compare("oge", 2.0 * form.float_of(lowest))
        return large.pick(e + 1.0, e), large.pick(m * 0.5, m) - 1.0
    lift = form.precision
    tiny = x < form.least_normal
    bits = tiny.pick(x * 2.0**lift, x).bits() + (form.one - lowest)
    m = ((bits & ((1 << form.mantissa) - 1)) + lowest).as_float()
    biased = ((bits >> form.mantissa) + form.bits(form.shifter)).as_float()
    offset = form.shifter + form.bias
    return biased - tiny.pick(offset + lift, offset), m - 1.0


@dataclass(frozen=True)
class Series:
    """The terms of log(1 + f) = f - half + tail."""

    half: Float
    tail: Float


def series(at: Lanes, f: Float) -> Series:
    """Return the terms of log(1 + f); in f32 by LOG1P, which is short enough to cost less than a division."""
    square = f * f
    half = square * 0.5
    if at.format.precision == 24:
        return Series(half, f * square * at.polynomial(f, "LOG1P"))
    s = f / (f + 2.0)
    z = s * s
    return Series(half, s * at.fma(z * 2.0, at.polynomial(z, "LOG"), half))


def where_defined(at: Lanes, x: Float, result: Float) -> Float:
    """Return `result`, but minus infinity at 0, NaN below (with the sign that x86 gives it), and x if it is
    infinite or NaN.
    """
    if at.is_avx512:
        return at.where_positive(result, x)
    result = (x < math.inf).pick(result, x)
    result = x.compare("oeq", 0.0).pick(-math.inf, result)
    return (x < 0.0).pick(-math.nan, result)


def _log_of(at: Lanes, e: Float, f: Float, low: Float | None = None) -> Float:
    """Return e log 2 + log(1 + f) + low."""
    precision = at.format.precision
    head, rest = head_and_rest(LN2, _HEAD_BITS[precision], precision)
    terms = series(at, f)
    small = at.fma(e, rest, terms.tail if low is None else terms.tail + low)
    return e * head - ((terms.half - small) - f)


def log(at: Lanes, x: Float) -> Float:
    return where_defined(at, x, _log_of(at, *split(at, x)))


def to_base(at: Lanes, x: Float, of_two: Fraction, of_e: Fraction) -> Float:
    """Return the logarithm to a base, given the logarithms of 2 and e to that base; as a sum of two floats, so
    that it is rounded once.
    """
    precision = at.format.precision
    half_bits = precision // 2
    e, f = split(at, x)
    terms = series(at, f)
    head, _ = at.halves(f - terms.half)
    rest = ((f - head) - terms.half) + terms.tail
    e_head, e_rest = head_and_rest(of_two, half_bits - (precision == 24), precision)
    head_factor, rest_factor = head_and_rest(of_e, half_bits - 1, precision)
    high = head * head_factor
    low = at.fma(rest + head, rest_factor, rest * head_factor)
    exact = e * e_head
    total = exact + high
    low = at.fma(e, e_rest, low) if e_rest else low
    return where_defined(at, x, (low + ((exact - total) + high)) + total)


def log2(at: Lanes, x: Float) -> Float:
    """Return log2(x): with fma e + (f log2(e) + rest), where only the rest needs full precision of log2(e); f32
    with AVX-512 by a table.
    """
    if tables.fits(at):
        return tables.in_registers(at, tables.log2, x)
    if not at.has_fma:
        return to_base(at, x, Fraction(1), LOG2_E)
    e, f = split(at, x)
    terms = series(at, f)
    head, rest = parts(LOG2_E, at.format.precision, 2)
    low = at.fma(terms.tail - terms.half, head, f * rest)
    return where_defined(at, x, e + at.fma(f, head, low))


def log10(at: Lanes, x: Float) -> Float:
    return to_base(at, x, LOG10_2, LOG10_E)


def log1p(at: Lanes, x: Float) -> Float:
    """Return log(u) + c / u, where u + c is 1 + x exactly; f is x itself if u needs no scaling."""
    u, c = at.sum(1.0, x)
    e, f = split(at, u)
    near = e.compare("oeq", 0.0)
    result = _log_of(at, e, near.pick(x, f), near.pick(0.0, c / u))
    result = where_defined(at, u, result)
    return (abs(x) < 2.0**-at.format.precision).pick(x, result)


def _log_twice(at: Lanes, twice: Mask, x: Float) -> Float:
    """Return log(x), or log(2 x) where `twice` holds, for x > 0."""
    e, f = split(at, x)
    return where_defined(at, x, _log_of(at, twice.pick(e + 1.0, e), f))


def asinh(at: Lanes, x: Float) -> Float:
    """Return log1p(a + a² / (1 + sqrt(1 + a²))), or log(a) + log(2) if a² would overflow; in f32 without a division."""
    a = abs(x)
    if at.format.precision == 24:
        z = a * a
        near = at.fma(a * z, at.polynomial(z, "ASINH"), a)
        large = a > _LARGE
        far = _log_twice(at, large, large.pick(a, a + (z + 1.0).sqrt()))
        return (a < _ASINH_NEAR).pick(near, far).with_sign_of(x)
    big = a > _huge(at)
    z = a * a
    inner = big.pick(a - 1.0, a + z / ((z + 1.0).sqrt() + 1.0))
    return (log1p(at, inner) + big.pick(float(LN2), 0.0)).with_sign_of(x)


def acosh(at: Lanes, x: Float) -> Float:
    """Return log1p(t + sqrt(2 t + t²)) with t = x - 1, or log(x) + log(2) if t² would overflow; in f32 without
    log1p.
    """
    t = x - 1.0
    if at.format.precision == 24:
        near = t < 1.0
        root = near.pick(t * 2.0, at.fma(t, t, t * 2.0)).sqrt()
        large = x > _LARGE
        far = _log_twice(at, large, large.pick(x, x + root))
        return near.pick(at.fma(root * t, at.polynomial(t, "ACOSH"), root), far)
    big = x > _huge(at)
    inner = big.pick(t, t + at.fma(t, t, t * 2.0).sqrt())
    return (x < 1.0).pick(math.nan, log1p(at, inner) + big.pick(float(LN2), 0.0))


def atanh(at: Lanes, x: Float) -> Float:
    """Return log1p(2 a / (1 - a)) / 2; in f32 log((1 + a) / (1 - a)) / 2, and an odd polynomial below 1/2."""
    a = abs(x)
    if at.format.precision == 24:
        z = a * a
        near = at.fma(a * z, at.polynomial(z, "ATANH"), a)
        far = log(at, (a + 1.0) / (1.0 - a)) * 0.5
        return (a < 0.5).pick(near, far).with_sign_of(x)
    return (log1p(at, a * 2.0 / (1.0 - a)) * 0.5).with_sign_of(x)


def _huge(at: Lanes) -> float:
    """Return the bound from which asinh(x) and acosh(x) are log(2 x)."""
    return 2.0 ** (at.format.precision + 2)
