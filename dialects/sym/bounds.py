"""The two abstract domains of the analyzer: intervals of integers, and residue classes.

The table of `operations` has the interval rule of each operation, `residue_of_op` the residue rules. Divisors are
nonzero wherever an expression is defined, so a nonnegative divisor is positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd, inf
from typing import NamedTuple

Number = int | float
"""An int, or an infinity."""


class Interval(NamedTuple):
    """The integers from `low` to `high`, both included; either may be infinite."""

    low: Number
    high: Number

    def __add__(self, other: Interval) -> Interval:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def scaled(self, factor: int) -> Interval:
        """Return every element times `factor`, which is nonzero."""
        ends = (self.low * factor, self.high * factor)
        return Interval(min(ends), max(ends))

    def __mul__(self, other: Interval) -> Interval:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _corners(_times, self, other)

    def join(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: Interval) -> Interval:
        """Return the intersection."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def divided(self, divisor: int) -> Interval:
        """Return the integers whose multiples by `divisor`, which is positive, are in the interval."""
        low = self.low if self.low in (inf, -inf) else -(-int(self.low) // divisor)
        return Interval(low, floor(self.high, divisor))

    @property
    def point(self) -> int | None:
        """Return the only integer in it, or None if there are several."""
        return int(self.low) if self.low == self.high and self.low not in (inf, -inf) else None


EVERYTHING = Interval(-inf, inf)
TRUTH = Interval(0, 1)


def _times(a: Number, b: Number) -> Number:
    return 0 if a == 0 or b == 0 else a * b


def floor(a: Number, b: Number) -> Number:
    """Return floor(a / b), or the limit if one is infinite; b is nonzero."""
    if a in (inf, -inf):
        return a if b > 0 else -a
    if b in (inf, -inf):
        return 0 if (a >= 0) == (b > 0) or a == 0 else -1
    return int(a) // int(b)


class Residue(NamedTuple):
    """The integers congruent to `base` modulo `step`; a step of 0 means the single value `base`."""

    step: int
    base: int

    @staticmethod
    def of(step: int, base: int) -> Residue:
        return Residue(step, base % step if step else base)

    def __add__(self, other: Residue) -> Residue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Residue.of(gcd(self.step, other.step), self.base + other.base)

    def __mul__(self, other: Residue) -> Residue:  # pyright: ignore[reportIncompatibleMethodOverride]
        step = gcd(self.step * other.step, self.step * other.base, other.step * self.base)
        return Residue.of(step, self.base * other.base)

    def join(self, other: Residue) -> Residue:
        """Return the smallest residue class that contains both."""
        return Residue.of(gcd(self.step, other.step, self.base - other.base), self.base)

    def meet(self, other: Residue) -> Residue:
        """Return the intersection (the Chinese remainder theorem), or the finer class if it is empty."""
        if self.step == 0 or other.step == 0:
            return self if self.step == 0 else other
        common = gcd(self.step, other.step)
        if (other.base - self.base) % common:
            return self if self.step >= other.step else other
        step, modulus = self.step // common * other.step, other.step // common
        times = (other.base - self.base) // common * pow(self.step // common, -1, modulus) % modulus
        return Residue.of(step, self.base + self.step * times)

    def floordiv(self, divisor: int) -> Residue:
        """Return the class of the quotients by a positive constant."""
        if self.step % divisor:
            return ANY
        return Residue.of(self.step // divisor, self.base // divisor)

    def floormod(self, divisor: int) -> Residue:
        """Return the class of the remainders of a division by a positive constant."""
        if self.step % divisor == 0:
            return Residue(0, self.base % divisor)
        return Residue.of(gcd(self.step, divisor), self.base)

    def within(self, interval: Interval) -> Interval:
        """Return the interval with its ends tightened to the class."""
        if self.step == 0:
            return Interval(self.base, self.base)
        low, high = interval.low, interval.high
        if low not in (inf, -inf):
            low += (self.base - int(low)) % self.step
        if high not in (inf, -inf):
            high -= (int(high) - self.base) % self.step
        return Interval(low, high)


ANY = Residue(1, 0)


def residue_of_op(kind: str, args: Sequence[Residue], divisor: int | None) -> Residue:
    """Return the residue class of the results of an operation; `divisor` is its last operand if that is constant."""
    if kind in ("min", "max", "select"):
        return args[-2].join(args[-1])
    if kind == "floordiv" and divisor and divisor > 0:
        return args[0].floordiv(divisor)
    if kind == "floormod" and divisor and divisor > 0:
        return args[0].floormod(divisor)
    return ANY


def _corners(combine: Callable[[Number, Number], Number], a: Interval, b: Iterable[Number]) -> Interval:
    """Return the bounds of a function that is monotone in both arguments between the corners."""
    ends = [combine(x, y) for y in b for x in a]
    return Interval(min(ends), max(ends)) if ends else EVERYTHING


def _divisors(b: Interval) -> Sequence[Number]:
    """Return the divisors at which quotients are extreme: the ends of the interval, and the values next to zero."""
    if 0 < b.low <= b.high or b.low <= b.high < 0:
        return b
    return [d for d in (b.low, -1, 1, b.high) if d and b.low <= d <= b.high]


def floordiv_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of quotients rounded down."""
    return _corners(floor, a, _divisors(b))


def floormod_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of the remainders of floor division."""
    if a.low >= 0 and a.high < b.low:
        return a
    by = b.point
    if by and by > 0 and abs(a.low) != inf != abs(a.high) and floor(a.low, by) == floor(a.high, by):
        return Interval(a.low % by, a.high % by)
    highest = max(b.high - 1, 0)
    # the remainder of a nonnegative number by a positive divisor is at most that number
    return Interval(min(b.low + 1, 0), min(highest, a.high) if a.low >= 0 and b.low >= 0 else highest)


def _truncate(a: Number, b: Number) -> Number:
    quotient = floor(abs(a), abs(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def truncdiv_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of quotients rounded towards zero."""
    return _corners(_truncate, a, _divisors(b))


def truncmod_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of the remainders of truncated division."""
    most = max(abs(b.low), abs(b.high)) - 1
    return Interval(max(-most, min(a.low, 0)), min(most, max(a.high, 0)))


def shift_right_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of arithmetic right shifts by a bounded number of bits."""
    if b.low < 0 or b.high == inf:
        return EVERYTHING
    return _corners(lambda x, n: x if abs(x) == inf else int(x) >> int(n), a, b)


def bitwise_and_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of a bitwise and: with a nonnegative operand it is between 0 and that operand."""
    highest = [x.high for x in (a, b) if x.low >= 0]
    return Interval(0, min(highest)) if highest else EVERYTHING


def min_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of the minimum."""
    return Interval(min(a.low, b.low), min(a.high, b.high))


def max_bounds(a: Interval, b: Interval) -> Interval:
    """Return the bounds of the maximum."""
    return Interval(max(a.low, b.low), max(a.high, b.high))


def select_bounds(_condition: Interval, a: Interval, b: Interval) -> Interval:
    """Return the bounds of a selection."""
    return a.join(b)


def truth_bounds(*_args: Interval) -> Interval:
    """Return the bounds of a condition."""
    return TRUTH
