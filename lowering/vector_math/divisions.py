"""Division by a constant: multiplication by the reciprocal, with a correction; a division costs as much as ten
products.

    q = x * r               r = 1 / c, rounded
    e = x - c * q           exact by fma
    x / c = q + e * r       rounded once

If r is correctly rounded and q is off by less than one ulp, the last sum equals the correctly rounded x / c (P.
Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990, theorem 1), unless all bits
of the significand of c are 1. If e is 0 or NaN, q is the quotient: this handles signed zeros, infinities and NaN. If x
is so small that e is denormal, e may be rounded, and the quotient is off by at most one ulp.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .lanes import Float, Format, Lanes, rounded

_LARGEST = 2.0**60
"""Upper bound of the divisors, which are greater than 1, so that no product overflows."""


def has_reciprocal(divisor: float, format: Format) -> bool:
    """Return whether `divide` is exact for a constant and pays off: LLVM itself multiplies by reciprocals of
    powers of two.
    """
    if not 1 < abs(divisor) < _LARGEST:
        return False
    significand = abs(math.frexp(divisor)[0])
    return significand not in (0.5, 1 - 2.0**-format.precision)


def divide(at: Lanes, x: Float, divisor: float) -> Float:
    """Return x / divisor; requires `has_reciprocal(divisor)` and a target with fma."""
    reciprocal = float(rounded(1 / Fraction(divisor), at.format.precision))
    quotient = x * reciprocal
    rest = at.fma(quotient, -divisor, x)
    return rest.compare("one", 0.0).pick(at.fma(rest, reciprocal, quotient), quotient)
