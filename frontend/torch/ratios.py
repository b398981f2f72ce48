"""Sizes in floating point, as PyTorch computes them: `math.trunc(1.5 * n)`, as an integer expression over a number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr, as_expr, floordiv, floormod

_LARGEST = 1 << 20
"""The largest denominator of a factor: the product of a size and a fraction of this kind is exact in floating point."""
_DECIMAL = 1 << 10
"""The largest denominator of the fraction that a decimal number such as 1.7 is read as."""


class Ratio:
    """An integer expression over a positive integer.

    `rounds`: the floating-point number differs from the fraction, but products with it round to the same integers.
    """

    def __init__(self, numerator: SymExpr, denominator: int = 1, rounds: bool = False):
        self.numerator, self.denominator, self.rounds = numerator, denominator, rounds

    def scaled(self, factor: int) -> SymExpr:
        """Return `factor` times the numerator."""
        return self.numerator * factor


def exact(value: float) -> Ratio:
    """Return a number. Raises `UnsupportedError` if its product with a size may be rounded."""
    fraction = Fraction(value)
    if fraction.denominator > _LARGEST:
        raise UnsupportedError("a factor that is not exact", found=value)
    return Ratio(as_expr(fraction.numerator), fraction.denominator)


def factor(value: float) -> Ratio:
    """Return a number, or the fraction p/q that stands for it in a product with a size, or a quotient of one.

    A size n times 1.7 is rounded in floating point. Where 17/10 n is no integer, it is 1/10 from the next one, which
    rounding does not bridge. Where it is an integer K, the product is K too if the number is within 2^-54 of the
    fraction, as a part of it: the error is at most half the distance of K to the next number in floating point.
    Raises `UnsupportedError` for other numbers: 170 * 0.7 is less than 119.
    """
    fraction = Fraction(value)
    near = fraction.limit_denominator(_DECIMAL)
    if fraction.denominator <= _LARGEST or abs(fraction - near) * (1 << 54) > abs(near):
        return exact(value)
    return Ratio(as_expr(near.numerator), near.denominator, rounds=True)


def _rounds(a: Ratio, b: Ratio) -> bool:
    """Return whether a result of a and b is rounded. Raises `UnsupportedError` if that happens twice."""
    if (a.rounds and not _is_exact(b)) or (b.rounds and not _is_exact(a)):
        raise UnsupportedError("a number that is rounded twice")
    return a.rounds or b.rounds


def _is_exact(a: Ratio) -> bool:
    return not a.rounds and a.denominator & (a.denominator - 1) == 0


def _is_constant(a: Ratio) -> bool:
    return a.numerator.constant is not None


def total(a: Ratio, b: Ratio) -> Ratio:
    """Return a + b. Raises `UnsupportedError` if both are rounded."""
    rounds = _rounds(a, b)
    return Ratio(a.scaled(b.denominator) + b.scaled(a.denominator), a.denominator * b.denominator, rounds)


def difference(a: Ratio, b: Ratio) -> Ratio:
    """Return a - b. Raises `UnsupportedError` if both are rounded."""
    rounds = _rounds(a, b)
    return Ratio(a.scaled(b.denominator) - b.scaled(a.denominator), a.denominator * b.denominator, rounds)


def product(a: Ratio, b: Ratio) -> Ratio:
    """Return a * b. Raises `UnsupportedError` if one is the rounded result of an operation."""
    rounds = _rounds(a, b)
    if any(r.rounds and not _is_constant(r) for r in (a, b)):
        raise UnsupportedError("a number that is rounded twice")
    return Ratio(a.numerator * b.numerator, a.denominator * b.denominator, rounds)


def quotient(a: Ratio, b: Ratio) -> Ratio:
    """Return a / b. Raises `UnsupportedError` if b is 0 or not constant, or a is the rounded result of an operation."""
    divisor = b.numerator.constant
    if not isinstance(divisor, int) or divisor == 0:
        raise UnsupportedError("a division by a size")
    if a.rounds and not _is_constant(a):
        raise UnsupportedError("a number that is rounded twice")
    numerator = a.scaled(b.denominator if divisor > 0 else -b.denominator)
    return Ratio(numerator, a.denominator * abs(divisor), _rounds(a, b))


def rounded(divide: Callable[[SymExpr, int], SymExpr]) -> Callable[[Ratio], Ratio]:
    """Return the function that rounds as `divide` does."""
    return lambda a: Ratio(divide(a.numerator, a.denominator))


def comparable(a: Ratio, b: Ratio) -> tuple[SymExpr, SymExpr]:
    """Return two integer expressions that compare as a and b. Raises `UnsupportedError` if both are rounded."""
    _rounds(a, b)
    return a.scaled(b.denominator), b.scaled(a.denominator)


def floor_quotient(a: Ratio, b: Ratio) -> Ratio:
    """Return a // b. Raises `UnsupportedError` for rounded numbers."""
    if a.rounds or b.rounds:
        raise UnsupportedError("a number that is rounded twice")
    return Ratio(floordiv(a.scaled(b.denominator), b.scaled(a.denominator)))


def modulo(a: Ratio, b: Ratio) -> Ratio:
    """Return a % b. Raises `UnsupportedError` for fractions."""
    if a.denominator != 1 or b.denominator != 1:
        raise UnsupportedError("a remainder of fractions")
    return Ratio(floormod(a.numerator, b.numerator))


def extremum(build: Callable[[SymExpr, SymExpr], SymExpr]) -> Callable[..., Ratio]:
    """Return the function of several numbers that `build` is for two integers."""

    def of_two(a: Ratio, b: Ratio) -> Ratio:
        value = build(a.scaled(b.denominator), b.scaled(a.denominator))
        return Ratio(value, a.denominator * b.denominator, a.rounds or b.rounds)

    return lambda *args: reduce(of_two, args)
