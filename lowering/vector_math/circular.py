"""sin, cos, tan, and their inverses.

sin, cos, tan: x = k pi / 2 + r with |r| <= pi / 4, by the polynomials SIN and COS.

pi / 2 is subtracted in parts (Cody and Waite): with fma every product with k is exact anyway; without it, the parts
have few enough bits. If |x| is too large for that, and for infinities and NaN, the C library is called, provided that
such a lane occurs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from .lanes import HALF_PI, PI, Float, Int, Lanes, Mask, parts

_WITH_FMA = {24: (2.0**15, 24, 3), 53: (2.0**30, 53, 3)}
"""Precision -> (limit of |x|, bits of a part of pi / 2, number of parts)."""
_WITHOUT = {24: (2.0**12, 12, 6), 53: (2.0**20, 33, 5)}

Library = Callable[[], Float]


@dataclass(frozen=True)
class Reduced:
    """The reduced argument r, and k in the lowest bits."""

    r: Float
    quadrant: Int
    beyond: Mask
    """Lanes where |x| is too large, infinite or NaN."""


def reduce(at: Lanes, x: Float) -> Reduced:
    limit, bits, count = (_WITH_FMA if at.has_fma else _WITHOUT)[at.format.precision]
    shifted = at.fma(x, float(1 / HALF_PI), at.format.shifter)
    k = shifted - at.format.shifter
    r = x
    for part in parts(HALF_PI, bits, count):
        r = at.fma(k, -part, r)
    return Reduced(r, shifted.bits(), abs(x).compare("ugt", limit))


def _sine_and_cosine(at: Lanes, r: Float) -> tuple[Float, Float]:
    z = r * r
    sine = at.fma(r * z, at.polynomial(z, "SIN"), r)
    return sine, at.polynomial(z, 1.0, -0.5, "COS")


def _odd(quadrant: Int) -> Mask:
    return (quadrant & 1).compare("ne", 0)


def _of_quadrant(at: Lanes, r: Float, quadrant: Int) -> Float:
    """Return sin(r + quadrant pi / 2): the second bit of the quadrant flips the sign."""
    sine, cosine = _sine_and_cosine(at, r)
    sign = (quadrant & 2) << (at.format.integer_bits - 2)
    return (_odd(quadrant).pick(cosine, sine).bits() ^ sign).as_float()


def _tiny(at: Lanes, x: Float) -> Mask:
    """Return the lanes where sin(x) and tan(x) equal x; returning x preserves the sign of zero."""
    return abs(x) < 2.0 ** -(at.format.precision // 2 + 1)


def sin(at: Lanes, x: Float, library: Library) -> Float:
    reduced = reduce(at, x)
    result = _tiny(at, x).pick(x, _of_quadrant(at, reduced.r, reduced.quadrant))
    return at.unless(reduced.beyond, result, library)


def cos(at: Lanes, x: Float, library: Library) -> Float:
    reduced = reduce(at, x)
    return at.unless(reduced.beyond, _of_quadrant(at, reduced.r, reduced.quadrant + 1), library)


def tan(at: Lanes, x: Float, library: Library) -> Float:
    """Return sin / cos, or -cos / sin in odd quadrants."""
    reduced = reduce(at, x)
    sine, cosine = _sine_and_cosine(at, reduced.r)
    odd = _odd(reduced.quadrant)
    result = odd.pick(-cosine, sine) / odd.pick(sine, cosine)
    return at.unless(reduced.beyond, _tiny(at, x).pick(x, result), library)


# atan, atan2 by the polynomial ATAN up to tan(pi / 8), asin, acos by the polynomial ASIN up to 1/2.

_LOW, _HIGH = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


def _two(at: Lanes, value: Fraction) -> tuple[float, ...]:
    return parts(value, at.format.precision, 2)


def _angle(at: Lanes, y: Float, x: Float) -> Float:
    """Return atan(y / x) for y, x >= 0, neither both 0 nor both infinite: from y / x, (y - x) / (y + x) or -x / y."""
    steep, middle = y > x * _HIGH, y > x * _LOW
    numerator = steep.pick(-x, middle.pick(y - x, y))
    t = numerator / steep.pick(y, middle.pick(y + x, x))
    bases = [_two(at, HALF_PI), _two(at, HALF_PI / 2)]
    base, rest = (steep.pick(bases[0][i], middle.pick(bases[1][i], 0.0)) for i in (0, 1))
    z = t * t
    return base + (t + at.fma(t * z, at.polynomial(z, "ATAN"), rest))


def atan(at: Lanes, x: Float) -> Float:
    return _angle(at, abs(x), at.constant(1.0)).with_sign_of(x)


def atan2(at: Lanes, y: Float, x: Float) -> Float:
    """Return the angle of (x, y). Two zeros count as (1, 0) and two infinities as (1, 1), with their signs."""
    a, b = abs(y), abs(x)
    large = (a > 2.0 ** (at.format.bias - 2)) | (b > 2.0 ** (at.format.bias - 2))
    scale = large.pick(0.25, 1.0)
    infinite = a.compare("oeq", math.inf) & b.compare("oeq", math.inf)
    zero = a.compare("oeq", 0.0) & b.compare("oeq", 0.0)
    top = infinite.pick(1.0, a * scale)
    angle = _angle(at, top, infinite.pick(1.0, zero.pick(1.0, b * scale)))
    head, rest = _two(at, PI)
    left = x.bits().compare("slt", 0)
    result = left.pick(head - (angle - rest), angle).with_sign_of(y)
    return y.compare("uno", x).pick(y + x, result)


def _half_range(at: Lanes, x: Float) -> tuple[Mask, Float]:
    """Return the mask of |x| > 1/2, and asin(|x|), or asin(sqrt((1 - |x|) / 2)) for the lanes of the mask."""
    a = abs(x)
    big = a > 0.5
    inner = (1.0 - a) * 0.5
    t = big.pick(inner.sqrt(), a)
    z = big.pick(inner, a * a)
    return big, at.fma(t * z, at.polynomial(z, "ASIN"), t)


def asin(at: Lanes, x: Float) -> Float:
    big, angle = _half_range(at, x)
    head, rest = _two(at, HALF_PI)
    return big.pick(head - (angle * 2.0 - rest), angle).with_sign_of(x)


def acos(at: Lanes, x: Float) -> Float:
    big, angle = _half_range(at, x)
    head, rest = _two(at, PI)
    twice = angle * 2.0
    outer = (x < 0.0).pick(head - (twice - rest), twice)
    head, rest = _two(at, HALF_PI)
    return big.pick(outer, head - (angle.with_sign_of(x) - rest))
