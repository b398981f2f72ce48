"""Sizes in floating point, as PyTorch computes them: `math.trunc(1.5 * n)`, as an integer expression over a number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr, as_expr, floordiv, floormod

_LARGEST = 1 << 20
"""The largest denominator of a factor: the product of a size and a fraction of this kind is exact in floating point."""


class Ratio:
    """An integer expression over a positive integer."""

    def __init__(self, numerator: SymExpr, denominator: int = 1):
        self.numerator, self.denominator = numerator, denominator

    def scaled(self, factor: int) -> SymExpr:
        """Return `factor` times the numerator."""
        return self.numerator * factor


def exact(value: float) -> Ratio:
    """Return a number. Raises `UnsupportedError` if its product with a size may be rounded."""
    fraction = Fraction(value)
    if fraction.denominator > _LARGEST:
        raise UnsupportedError("a factor that is not exact", found=value)
    return Ratio(as_expr(fraction.numerator), fraction.denominator)


def total(a: Ratio, b: Ratio) -> Ratio:
    """Return a + b."""
    return Ratio(a.scaled(b.denominator) + b.scaled(a.denominator), a.denominator * b.denominator)


def difference(a: Ratio, b: Ratio) -> Ratio:
    """Return a - b."""
    return Ratio(a.scaled(b.denominator) - b.scaled(a.denominator), a.denominator * b.denominator)


def product(a: Ratio, b: Ratio) -> Ratio:
    """Return a * b."""
    return Ratio(a.numerator * b.numerator, a.denominator * b.denominator)


def quotient(a: Ratio, b: Ratio) -> Ratio:
    """Return a / b. Raises `UnsupportedError` if b is 0, or not constant."""
    divisor = b.numerator.constant
    if not isinstance(divisor, int) or divisor == 0:
        raise UnsupportedError("a division by a size")
    return Ratio(a.scaled(b.denominator if divisor > 0 else -b.denominator), a.denominator * abs(divisor))


def rounded(divide: Callable[[SymExpr, int], SymExpr]) -> Callable[[Ratio], Ratio]:
    """Return the function that rounds as `divide` does."""
    return lambda a: Ratio(divide(a.numerator, a.denominator))


def floor_quotient(a: Ratio, b: Ratio) -> Ratio:
    """Return a // b."""
    return Ratio(floordiv(a.scaled(b.denominator), b.scaled(a.denominator)))


def modulo(a: Ratio, b: Ratio) -> Ratio:
    """Return a % b. Raises `UnsupportedError` for fractions."""
    if a.denominator != 1 or b.denominator != 1:
        raise UnsupportedError("a remainder of fractions")
    return Ratio(floormod(a.numerator, b.numerator))


def extremum(build: Callable[[SymExpr, SymExpr], SymExpr]) -> Callable[..., Ratio]:
    """Return the function of several numbers that `build` is for two integers."""

    def of_two(a: Ratio, b: Ratio) -> Ratio:
        return Ratio(build(a.scaled(b.denominator), b.scaled(a.denominator)), a.denominator * b.denominator)

    return lambda *args: reduce(of_two, args)
