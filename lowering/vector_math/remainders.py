"""The remainder of a truncating division, C's `fmod`: exact, since every such remainder is a float.

For x, y > 0 and q = trunc(x / y) rounded, below 2^precision, the exact quotient is q or q - 1: a rounded quotient may
have reached an integer. So x - q y lies between -y and y and has no digits below those of the smaller operand, which
makes it a float: fma computes it without rounding, and y is added if it is negative. Larger quotients (and those of 0,
of infinities and NaN that are not small) are computed by the C library, if there is such a lane.
"""

from __future__ import annotations

from collections.abc import Callable

from .lanes import Float, Lanes, Mask

Library = Callable[[], Float]


def fmod(at: Lanes, x: Float, y: Float, library: Library) -> Float:
    a, b = abs(x), abs(y)
    quotient = a / b
    multiple = quotient.floor()
    rest = _rest(at, a, multiple, b)
    rest = (rest < 0.0).pick(rest + b, rest)
    result = (a < b).pick(x, rest.with_sign_of(x))
    return at.unless(_is_beyond(at, quotient, a, b), result, library)


def _rest(at: Lanes, a: Float, multiple: Float, b: Float) -> Float:
    """Return a - multiple b, not rounded."""
    if at.has_fma:
        return at.fma(-multiple, b, a)
    product, missing = at.product(multiple, b)
    return (a - product) - missing


def _is_beyond(at: Lanes, quotient: Float, a: Float, b: Float) -> Mask:
    """Return the lanes where `_rest` is not exact; without fma also where the product is too large, or a part of
    it too small.
    """
    limit = 2.0**at.format.precision
    beyond = quotient.compare("oge", limit)
    if at.has_fma:
        return beyond
    large = a.compare("oge", 2.0 ** (at.format.bias - 1))
    return beyond | large | (b < at.format.least_normal * limit**2)
