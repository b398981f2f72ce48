"""atan, atan2 by the polynomial ATAN up to tan(pi / 8), asin, acos by the polynomial ASIN up to 1/2."""

from __future__ import annotations

import math
from fractions import Fraction

from .constants import HALF_PI, PI, parts
from .lanes import Float, Lanes, Mask

_LOW, _HIGH = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


def _two(at: Lanes, value: Fraction) -> tuple[float, ...]:
    return parts(value, at.format.precision, 2)


def _angle(at: Lanes, y: Float, x: Float) -> Float:
    """atan(y / x) of y, x >= 0, neither both 0 nor both infinite: from y / x, (y - x) / (y + x) or -x / y."""
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
    """The angle of (x, y): of zeros that of (1, 0), of two infinities that of (1, 1), with the signs that they have."""
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
    """(|x| > 1/2, asin(|x|)), where it is set asin(sqrt((1 - |x|) / 2))."""
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
