"""Constants as exact fractions, and as sums of floats with few bits."""

from __future__ import annotations

from fractions import Fraction

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
LN10 = Fraction("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599720508959830")
HALF_PI = PI / 2
LOG2_E = 1 / LN2
LOG10_E = 1 / LN10
LOG10_2 = LN2 / LN10


def rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest fraction with a significand of `bits` bits."""
    if value == 0:
        return value
    exponent = 0
    while abs(value) >= 2**bits:
        value, exponent = value / 2, exponent + 1
    while abs(value) < 2 ** (bits - 1):
        value, exponent = value * 2, exponent - 1
    return Fraction(round(value)) * Fraction(2) ** exponent


def parts(value: Fraction, bits: int, count: int) -> tuple[float, ...]:
    """`count` floats of `bits` bits each, the largest first, whose sum is nearly `value`."""
    parts: list[float] = []
    for _ in range(count):
        part = rounded(value, bits)
        parts.append(float(part))
        value -= part
    return tuple(parts)


def head_and_rest(value: Fraction, head_bits: int, rest_bits: int) -> tuple[float, float]:
    """A float of few bits, such that its product with a small integer is exact, and what is missing."""
    head = rounded(value, head_bits)
    return float(head), float(rounded(value - head, rest_bits))
