"""erf and erfc.

erfc(t) = exp(-t²) P(q) / (t + 3) with q = (t - 3) / (t + 3), by the polynomial ERFC; t² is taken in two parts, without
which its rounding would cost up to 50 units in the last place of the tail.
"""

from __future__ import annotations

from .exponentials import reduce, scaled
from .lanes import Float, Lanes

_CENTRE = 3.0
_END = {24: 10.1, 53: 27.3}
"""Precision -> where erfc is 0, as in the fit."""
_NEAR = 0.875
"""Below this erf is an odd polynomial."""


def _upper(at: Lanes, t: Float) -> Float:
    """erfc(t) of t >= 0."""
    t = t.at_most(_END[at.format.precision])
    square, rest = at.product(t, t)
    inverse = 1.0 / (t + _CENTRE)
    ratio = at.polynomial((t - _CENTRE) * inverse, "ERFC") * inverse
    reduced = reduce(at, -square, -rest)
    power = at.polynomial(reduced.r, 1.0, 1.0, "EXP")
    return scaled(at, power * ratio, reduced.n, reduced.bits)


def erfc(at: Lanes, x: Float) -> Float:
    """1 - erf(x), accurate where that is tiny, too."""
    upper = _upper(at, abs(x))
    return (x < 0.0).pick(2.0 - upper, upper)


def erf(at: Lanes, x: Float) -> Float:
    a = abs(x)
    near = at.fma(x, at.polynomial(x * x, "ERF"), x)
    return (a < _NEAR).pick(near, (1.0 - _upper(at, a)).with_sign_of(x))
