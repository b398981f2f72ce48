"""sin, cos, tan: x = k pi / 2 + r with |r| <= pi / 4, by the polynomials SIN and COS.

pi / 2 is subtracted in parts (Cody and Waite): with fma every product with k is exact anyway, without it the parts have
few enough bits. Where |x| is too large for that, and for infinities and NaN, the C library is asked, if there is such a
lane at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .constants import HALF_PI, parts
from .lanes import Float, Int, Lanes, Mask

_WITH_FMA = {24: (2.0**15, 24, 3), 53: (2.0**30, 53, 3)}
"""Precision -> (limit of |x|, bits of a part of pi / 2, number of parts)."""
_WITHOUT = {24: (2.0**12, 12, 6), 53: (2.0**20, 33, 5)}

Library = Callable[[], Float]


@dataclass(frozen=True)
class Reduced:
    """r, and k in the lowest bits."""

    r: Float
    quadrant: Int
    beyond: Mask
    """Where |x| is too large, or not a number."""


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
    """sin(r + quadrant pi / 2): the sign changes with the second bit."""
    sine, cosine = _sine_and_cosine(at, r)
    sign = (quadrant & 2) << (at.format.integer_bits - 2)
    return (_odd(quadrant).pick(cosine, sine).bits() ^ sign).as_float()


def _tiny(at: Lanes, x: Float) -> Mask:
    """Where sin(x) and tan(x) are x; it keeps the sign of zero."""
    return abs(x) < 2.0 ** -(at.format.precision // 2 + 1)


def sin(at: Lanes, x: Float, library: Library) -> Float:
    reduced = reduce(at, x)
    result = _tiny(at, x).pick(x, _of_quadrant(at, reduced.r, reduced.quadrant))
    return at.unless(reduced.beyond, result, library)


def cos(at: Lanes, x: Float, library: Library) -> Float:
    reduced = reduce(at, x)
    return at.unless(reduced.beyond, _of_quadrant(at, reduced.r, reduced.quadrant + 1), library)


def tan(at: Lanes, x: Float, library: Library) -> Float:
    """sin / cos, or -cos / sin in odd quadrants."""
    reduced = reduce(at, x)
    sine, cosine = _sine_and_cosine(at, reduced.r)
    odd = _odd(reduced.quadrant)
    result = odd.pick(-cosine, sine) / odd.pick(sine, cosine)
    return at.unless(reduced.beyond, _tiny(at, x).pick(x, result), library)
