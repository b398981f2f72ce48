"""Divisions by constants: a product with the reciprocal, corrected; a division takes as long as ten products.

    q = x * r               r = 1 / c, rounded
    e = x - c * q           exact by fma
    x / c = q + e * r       rounded once

With r rounded correctly, and q off by less than a unit in the last place, the last sum is x / c as a division rounds it
(P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990, theorem 1), unless all
bits of the significand of c are 1. Where e is 0 or NaN, q is the quotient: of zeros with their signs, of infinities and
of NaN. Where x is so small that e is denormal it may be rounded, and the quotient is off by a unit at most.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .lanes import Float, Format, Lanes, rounded

_LARGEST = 2.0**60
"""Of the divisors, which are more than 1, so that no product overflows."""


def has_reciprocal(divisor: float, format: Format) -> bool:
    """Whether `divide` is exact for a constant, and shorter: what is a power of two LLVM multiplies by itself."""
    if not 1 < abs(divisor) < _LARGEST:
        return False
    significand = abs(math.frexp(divisor)[0])
    return significand not in (0.5, 1 - 2.0**-format.precision)


def divide(at: Lanes, x: Float, divisor: float) -> Float:
    """x / divisor, where that `has_reciprocal` and the target has fma."""
    reciprocal = float(rounded(1 / Fraction(divisor), at.format.precision))
    quotient = x * reciprocal
    rest = at.fma(quotient, -divisor, x)
    return rest.compare("one", 0.0).pick(at.fma(rest, reciprocal, quotient), quotient)
