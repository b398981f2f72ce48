"""exp, exp2, expm1, sinh, cosh, tanh; erf, erfc and gelu.

x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n exp(r), by the polynomial EXP. The integer n is read from the lowest
bits of x log2(e) + 1.5 * 2^mantissa, so that no float is ever converted to an integer: of NaN that is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass

from .lanes import LN2, LOG2_E, Float, Int, Lanes, head_and_rest

_LIMITS = {24: (-106.0, 89.0), 53: (-748.0, 710.0)}
"""Precision -> the bounds beyond which exp is 0 and infinite, rounded outwards."""
_LIMITS2 = {24: (-151.0, 129.0), 53: (-1076.0, 1025.0)}
"""The same bounds for exp2."""
_HEAD_BITS = {24: 15, 53: 40}
"""Bits of the first part of ln 2, such that its product with n is exact."""
_LIFT = 64
"""The power of two by which a result is scaled out of the denormal range before its last rounding."""


@dataclass(frozen=True)
class Reduced:
    """x as n and r; `bits` holds n in its lowest bits."""

    n: Float
    r: Float
    bits: Int


def reduce(at: Lanes, x: Float, low: Float | None = None) -> Reduced:
    """Return n and r with x + low = n ln 2 + r."""
    precision = at.format.precision
    shifted = at.fma(x, float(LOG2_E), at.format.shifter)
    n = shifted - at.format.shifter
    head, rest = head_and_rest(LN2, _HEAD_BITS[precision], precision)
    r = at.fma(n, -head, x)
    return Reduced(n, at.fma(n, -rest, r if low is None else r + low), shifted.bits())


def power_of_two(at: Lanes, bits: Int, less: int = 0) -> Float:
    """Return 2^(n - less) for n in the lowest bits of `bits`; the result must not be denormal."""
    return ((bits << at.format.mantissa) + (at.format.one - (less << at.format.mantissa))).as_float()


def scaled(at: Lanes, x: Float, n: Float, bits: Int) -> Float:
    """Return x 2^n, rounded once, for x near 1 and every n that exp can have; too large n gives infinity.

    Processors take a hundred cycles for results that round to 0: below half of the smallest denormal nothing is
    computed.
    """
    x = (n < 1.0 - at.format.bias - at.format.precision).pick(0.0, x)
    if at.is_avx512:
        return at.scale(x, n)
    shift, one = at.format.mantissa, at.format.one
    small = n < 4.0 - at.format.bias
    exponent = (bits << shift) + small.pick_bits(one + (_LIFT << shift), one - (1 << shift))
    return x * small.pick(2.0**-_LIFT, 2.0) * exponent.as_float()


def _within(at: Lanes, x: Float, limits: dict[int, tuple[float, float]]) -> Float:
    """Clamp x to the range where the power is neither 0 nor infinite; with AVX-512, `scaled` needs no lower limit."""
    low, high = limits[at.format.precision]
    return (x if at.is_avx512 else x.at_least(low)).at_most(high)


def exp(at: Lanes, x: Float) -> Float:
    reduced = reduce(at, _within(at, x, _LIMITS))
    return scaled(at, at.polynomial(reduced.r, 1.0, 1.0, "EXP"), reduced.n, reduced.bits)


def exp2(at: Lanes, x: Float) -> Float:
    x = _within(at, x, _LIMITS2)
    shifted = x + at.format.shifter
    n = shifted - at.format.shifter
    return scaled(at, at.polynomial(x - n, 1.0, "EXP2"), n, shifted.bits())


def _minus_one(at: Lanes, r: Float) -> Float:
    """Return exp(r) - 1."""
    return at.fma(r * r, at.polynomial(r, "EXPM1"), r)


def expm1(at: Lanes, x: Float) -> Float:
    """Return twice (2^(n-1) (exp(r) - 1) + 2^(n-1) - 1/2), which overflows only if the result does."""
    reduced = reduce(at, x.at_least(-64.0).at_most(_LIMITS[at.format.precision][1]))
    half = power_of_two(at, reduced.bits, less=1)
    result = at.fma(half, _minus_one(at, reduced.r), half - 0.5) * 2.0
    return (abs(x) < 2.0**-at.format.precision).pick(x, result)


def tanh(at: Lanes, x: Float) -> Float:
    """Return t / (t + 2) with t = expm1(2 |x|)."""
    reduced = reduce(at, abs(x).at_most(20.0) * 2.0)
    power = power_of_two(at, reduced.bits)
    t = at.fma(power, _minus_one(at, reduced.r), power - 1.0)
    return (t / (t + 2.0)).with_sign_of(x)


def _half_exp(at: Lanes, a: Float) -> Float:
    """Return exp(a) / 2 for a >= 0; it may be infinite although the exact value is finite, just below the
    overflow bound.
    """
    reduced = reduce(at, a.at_most(_LIMITS[at.format.precision][1] + 1.0))
    return at.polynomial(reduced.r, 1.0, 1.0, "EXP") * power_of_two(at, reduced.bits, less=2) * 2.0


def cosh(at: Lanes, x: Float) -> Float:
    half = _half_exp(at, abs(x))
    return half + 0.25 / half


def sinh(at: Lanes, x: Float) -> Float:
    """Return the difference of exponentials for |x| >= 1, an odd polynomial below."""
    a = abs(x)
    half = _half_exp(at, a)
    z = a * a
    near = at.fma(a * z, at.polynomial(z, "SINH"), a)
    return (a < 1.0).pick(near, half - 0.25 / half).with_sign_of(x)


# erf and erfc.
#
# erfc(t) = exp(-t²) P(q) / (t + 3) with q = (t - 3) / (t + 3), by the polynomial ERFC; t² is taken in two parts,
# without which its rounding would cost up to 50 units in the last place of the tail.

_CENTRE = 3.0
_END = {24: 10.3, 53: 27.4}
"""Precision -> the bound from which erfc is 0; the fit ends there or slightly before."""
_ONE = {24: 4.0, 53: 6.0}
"""Precision -> the bound from which erf is 1."""
_NEAR = 0.875
"""Below this bound, erf is an odd polynomial."""


def _upper(at: Lanes, t: Float) -> Float:
    """Return erfc(t) for t >= 0."""
    t = t.at_most(_END[at.format.precision])
    square, rest = at.product(t, t)
    inverse = 1.0 / (t + _CENTRE)
    ratio = at.polynomial((t - _CENTRE) * inverse, "ERFC") * inverse
    reduced = reduce(at, -square, -rest)
    power = at.polynomial(reduced.r, 1.0, 1.0, "EXP")
    return scaled(at, power * ratio, reduced.n, reduced.bits)


def erfc(at: Lanes, x: Float) -> Float:
    """Return 1 - erf(x), accurate also if that is tiny."""
    upper = _upper(at, abs(x))
    return (x < 0.0).pick(2.0 - upper, upper)


def erf(at: Lanes, x: Float) -> Float:
    a = abs(x)
    near = at.fma(x, at.polynomial(x * x, "ERF"), x)
    far = 1.0 - _upper(at, a.at_most(_ONE[at.format.precision]))
    return (a < _NEAR).pick(near, far.with_sign_of(x))


# gelu of f32.
#
# x (1 + erf(x / sqrt(2))) / 2 = max(x, 0) - t Q(t), t = |x|, where Q(t) = 0.98 exp(-t²/2) P(q) / (t + 2.5) is what the
# normal distribution has above t, by the polynomial GELU of q = (t - 2.5) / (t + 2.5) = 1 - 5 / (t + 2.5). EXP2_SHORT
# has the factor 0.98. Nothing is done against the rounding of t²: written out, x / sqrt(2) is rounded as well.

_GELU_CENTRE = 2.5
_GELU_END = 14.5
"""The bound from which t Q(t) is 0."""


def gelu(at: Lanes, x: Float) -> Float:
    """Return x (0.5 + 0.5 erf(x / sqrt(2))); NaN for minus infinity, as the product is."""
    t = at.magnitude(x, _GELU_END)
    inverse = 1.0 / (t + _GELU_CENTRE)
    q = at.fma(inverse, -2 * _GELU_CENTRE, 1.0)
    square, exponent = t * t, float(-LOG2_E / 2)
    shifted = at.fma(square, exponent, at.format.shifter)
    n = shifted - at.format.shifter
    tail = scaled(at, at.polynomial(q, "GELU") * (t * inverse), n, shifted.bits())
    power = at.polynomial(at.fma(square, exponent, -n), "EXP2_SHORT")
    not_negative = (x < 0.0).pick(x * 0.0, x)
    return at.fma(-tail, power, not_negative)
