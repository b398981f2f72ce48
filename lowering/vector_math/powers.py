"""pow: 2^(y log2 |x|), for f32 computed in f64, for f64 with the logarithm as a sum of two floats.

The special cases of the C standard (0, 1, infinities, NaN and negative x) are added at the end. With AVX-512, ordinary
powers of f32 are computed by tables instead (`tables`).
"""

from __future__ import annotations

import math
from fractions import Fraction

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64

from ..tir_to_scf.emitter import like
from . import tables
from .exponentials import power_of_two, scaled
from .lanes import LOG2_E, Float, Lanes, Mask, parts
from .logarithms import split

_LIMITS = {24: (-200.0, 200.0), 53: (-1076.0, 1025.0)}
"""Precision of the result -> the bounds of the exponent beyond which it is 0 or infinite."""
_LARGE = 2.0**80
"""An exponent beyond this bound acts like infinity, unless |x| is 1."""
Pair = tuple[Float, Float]


def pow(at: Lanes, x: Float, y: Float) -> Float:
    return tables.in_registers(at, _power_by_tables, x, y) if tables.fits(at) else _any_power(at, x, y)


def _power_by_tables(at: Lanes, x: Float, y: Float) -> Float:
    return tables.pow(at, x, y, lambda: _any_power(at, x, y))


def _any_power(at: Lanes, x: Float, y: Float) -> Float:
    power = _power_in_f64(at, abs(x), y) if at.format.precision == 24 else _power(at, abs(x), y)
    return _special(at, x, y, power)


def _power_in_f64(at: Lanes, a: Float, y: Float) -> Float:
    """Return a^y for finite a > 0, in f32 precision. The division is done in f32, in a third of the time, and
    corrected.
    """
    wide = Lanes(at.emit, like(at.type, f64), at.target)
    exponent, fraction = split(at, a)
    near = at.convert(arith.ExtFOp, 1.0 / (fraction + 2.0), wide)
    e, f = (at.convert(arith.ExtFOp, part, wide) for part in (exponent, fraction))
    s = f * near
    s = wide.fma(s, 1.0 - (f + 2.0) * near, s)
    z = s * s
    atanh = wide.fma(s * z, wide.polynomial(z, "LOG_FOR_F32"), s)
    lowest, highest = _LIMITS[24]
    t = at.convert(arith.ExtFOp, y, wide) * wide.fma(atanh, float(2 * LOG2_E), e)
    t = t.at_least(lowest).at_most(highest)
    shifted = t + wide.format.shifter
    fraction = t - (shifted - wide.format.shifter)
    power = wide.polynomial(fraction, 1.0, "EXP2_FOR_F32") * power_of_two(wide, shifted.bits())
    return wide.convert(arith.TruncFOp, power, at)


def _power(at: Lanes, a: Float, y: Float) -> Float:
    """Return a^y for finite a > 0, in f64."""
    lowest, highest = _LIMITS[53]
    y = y.at_least(-_LARGE).at_most(_LARGE)
    high, low = _log2(at, a)
    t, rest = at.product(y, high)
    inside = (t > lowest) & (t < highest)
    rest = inside.pick(at.fma(y, low, rest), 0.0)
    t = t.at_least(lowest).at_most(highest)
    shifted = t + at.format.shifter
    n = shifted - at.format.shifter
    return scaled(at, at.polynomial((t - n) + rest, 1.0, "EXP2"), n, shifted.bits())


def _log2(at: Lanes, a: Float) -> Pair:
    """Return log2(a) as a sum of two floats, to about 2^-64: e + 2 log2(e) (s + s³ / 3 + s⁵ P(s²)), by the
    polynomial LOG5.
    """
    e, f = split(at, a)
    s = _quotient(at, f)
    square = _times(at, s, s)
    third = _times(at, _times(at, s, square), _constant(at, Fraction(1, 3)))
    tail = s[0] * square[0] * square[0] * at.polynomial(square[0], "LOG5")
    high, low = at.sum(s[0], third[0])
    atanh = _renormalised(high, low + (s[1] + (third[1] + tail)))
    scaled_log = _times(at, atanh, _constant(at, 2 * LOG2_E))
    high, low = at.sum(e, scaled_log[0])
    return _renormalised(high, low + scaled_log[1])


def _constant(at: Lanes, value: Fraction) -> Pair:
    high, low = parts(value, at.format.precision, 2)
    return at.constant(high), at.constant(low)


def _quotient(at: Lanes, f: Float) -> Pair:
    """Return f / (2 + f) as a sum of two floats."""
    divisor, rest = at.sum(2.0, f)
    s = f / divisor
    p, error = at.product(s, divisor)
    return s, (((f - p) - error) - s * rest) / divisor


def _times(at: Lanes, a: Pair, b: Pair) -> Pair:
    p, error = at.product(a[0], b[0])
    return _renormalised(p, error + (a[0] * b[1] + a[1] * b[0]))


def _renormalised(high: Float, low: Float) -> Pair:
    """Return the same sum with its first part rounded to the nearest float, for |high| > |low|."""
    total = high + low
    return total, low - (total - high)


def _is_integer(y: Float) -> Mask:
    return y.floor().compare("oeq", y)


def _special(at: Lanes, x: Float, y: Float, power: Float) -> Float:
    a = abs(x)
    at_zero, at_infinity = a.compare("oeq", 0.0), a.compare("oeq", math.inf)
    grows = (y < 0.0) ^ at_infinity
    result = (at_zero | at_infinity).pick(grows.pick(math.inf, 0.0), power)
    integral = _is_integer(y)
    half = y * 0.5
    odd = integral & half.floor().compare("one", half)
    negative = x.bits().compare("slt", 0)
    result = (negative & odd).pick(-result, result)
    finite = (a > 0.0) & (a < math.inf)
    result = ((x < 0.0) & finite & integral.complement()).pick(math.nan, result)
    result = x.compare("uno", y).pick(x + y, result)
    is_one = x.compare("oeq", 1.0) | y.compare("oeq", 0.0)
    both = a.compare("oeq", 1.0) & abs(y).compare("oeq", math.inf)
    return (is_one | both).pick(1.0, result)
