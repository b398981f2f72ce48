"""Sets of integers between two expressions: the values of an expression while some of its variables vary.

`SymInterval(low, high)` is the integers from `low` to `high`, both included; an end that is None is infinite. A set is
conservative: it contains all values, and possibly more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import inf
from typing import NamedTuple

from .analyzer import Analyzer
from .expr import Algebra, Const, Op, Product, Sum, SymExpr, Var, add, i1, mul, total
from .operations import CONDITIONS
from .operators import OPS, maximum, minimum

Choice = Callable[[SymExpr, SymExpr], SymExpr]


class SymInterval(NamedTuple):
    """The integers from `low` to `high`, both included; None means unbounded."""

    low: SymExpr | None
    high: SymExpr | None

    @staticmethod
    def point(e: SymExpr) -> SymInterval:
        """Return the set of one value."""
        return SymInterval(e, e)

    @property
    def is_empty(self) -> bool:
        return self == NOTHING

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def is_everything(self) -> bool:
        return self.low is None and self.high is None

    def union(self, other: SymInterval, known: Analyzer | None = None) -> SymInterval:
        """Return the smallest interval that contains both; its ends are simplified by the analyzer."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        lesser, greater = _choices(known)
        return SymInterval(_both(lesser, self.low, other.low), _both(greater, self.high, other.high))

    def intersect(self, other: SymInterval, known: Analyzer) -> SymInterval:
        """Return the intersection."""
        if self.is_empty or other.is_empty:
            return NOTHING
        lesser, greater = _choices(known)
        low, high = _either(greater, self.low, other.low), _either(lesser, self.high, other.high)
        empty = low is not None and high is not None and known.bounds(high - low).high < 0
        return NOTHING if empty else SymInterval(low, high)


EVERYTHING, NOTHING = SymInterval(None, None), SymInterval(Const(1), Const(0))


def _choices(known: Analyzer | None) -> tuple[Choice, Choice]:
    """Return the functions for the minimum and the maximum of two ends."""
    if known is None:
        return minimum, maximum
    return lambda a, b: known.simplify(minimum(a, b)), lambda a, b: known.simplify(maximum(a, b))


def _both(choose: Choice, a: SymExpr | None, b: SymExpr | None) -> SymExpr | None:
    return None if a is None or b is None else choose(a, b)


def _added(a: SymExpr | None, b: SymExpr | None) -> SymExpr | None:
    return _both(add, a, b)


def _either(choose: Choice, a: SymExpr | None, b: SymExpr | None) -> SymExpr | None:
    return b if a is None else a if b is None else choose(a, b)


class Intervals(Algebra[SymInterval]):
    """The values of expressions while some variables vary; ends are expressions of the other variables.

    `known` determines the signs of factors and divisors; with a `simplifier`, ends are simplified and compared by it.
    """

    def __init__(self, known: Analyzer, simplifier: Analyzer | None = None) -> None:
        self.known = known
        self.simplifier = simplifier

    def moves(self, v: Var) -> bool:
        """Return whether a variable varies."""
        raise NotImplementedError

    def of(self, e: SymExpr) -> SymInterval:
        return e.fold(self) if any(map(self.moves, e.free_vars())) else SymInterval(e, e)

    def sum(self, e: Sum) -> SymInterval:
        lows, highs = list[SymExpr | None]([Const(0, e.dtype)]), list[SymExpr | None]([Const(0, e.dtype)])
        for term, factor in e.terms:
            least, most = self.of(term)
            if factor < 0:
                least, most = most, least
            lows.append(None if least is None else least * factor)
            highs.append(None if most is None else most * factor)
        low, high = total(lows, _added), total(highs, _added)
        return SymInterval(*(None if bound is None else bound + e.offset for bound in (low, high)))

    def product(self, e: Product) -> SymInterval:
        return reduce(self.mul, [self.of(a) for a in e.atoms])

    def mul(self, a: SymInterval, b: SymInterval) -> SymInterval:
        low, high = _both(mul, a.low, b.low), _both(mul, a.high, b.high)
        for fixed in (a, b):
            if fixed.low is None or not fixed.is_point:
                continue
            sign = self.known.bounds(fixed.low)
            if sign.low >= 0 or sign.high <= 0:
                return SymInterval(low, high) if sign.low >= 0 else SymInterval(high, low)
            if low is not None and high is not None:
                return SymInterval(minimum(low, high), maximum(low, high))
        if all(s.low is not None and self.known.bounds(s.low).low >= 0 for s in (a, b)):
            return SymInterval(low, high)
        return EVERYTHING

    def op(self, e: Op) -> SymInterval:
        if e.kind in CONDITIONS:
            return SymInterval(Const(0, i1), Const(1, i1))
        sets = [self.of(a) for a in e.args]
        points = [s.low for s in sets if s.low is not None and s.is_point]
        if len(points) == len(sets):
            return SymInterval.point(OPS[e.kind](*points))
        if e.kind == "select":
            return sets[1].union(sets[2], self.simplifier)
        if e.kind in ("min", "max"):
            return self._extremum(e.kind, *sets)
        if e.kind in _TRUNCATED and sets[0].low is not None and self.known.bounds(sets[0].low).low >= 0:
            return self._division(e, *sets)
        return self._division(e, *sets) if e.kind in ("floordiv", "floormod") else EVERYTHING

    def _extremum(self, kind: str, a: SymInterval, b: SymInterval) -> SymInterval:
        lesser, greater = _choices(self.simplifier)
        if kind == "min":
            return SymInterval(_both(lesser, a.low, b.low), _either(lesser, a.high, b.high))
        return SymInterval(_either(greater, a.low, b.low), _both(greater, a.high, b.high))

    def _division(self, e: Op, x: SymInterval, by: SymInterval) -> SymInterval:
        """Return the set for a division by a fixed positive divisor: a constant, or an extent, which is nonzero
        wherever it divides.

        Truncated divisions are only supported for nonnegative dividends.
        """
        d = by.low
        if d is None or not by.is_point or d.constant == 0 or self.known.bounds(d).low < 0:
            return EVERYTHING
        low, high = (None if end is None else OPS[_QUOTIENTS[e.kind]](end, d) for end in x)
        if e.kind in ("floordiv", "truncdiv"):
            return SymInterval(low, high)
        if x.low is not None and x.high is not None and low is not None and high is not None and self._equal(low, high):
            return SymInterval(self._simple(x.low - mul(d, low)), self._simple(x.high - mul(d, low)))
        last = d - 1
        return SymInterval(Const(0, e.dtype), last if last.constant is None else Const(last.constant, e.dtype))

    def _equal(self, a: SymExpr, b: SymExpr) -> bool:
        return a == b or (self.simplifier is not None and self.simplifier.can_prove_equal(a, b))

    def _simple(self, e: SymExpr) -> SymExpr:
        return e if self.simplifier is None else self.simplifier.simplify(e)


_TRUNCATED = ("truncdiv", "truncmod")
_QUOTIENTS = {"floordiv": "floordiv", "floormod": "floordiv", "truncdiv": "truncdiv", "truncmod": "truncdiv"}
"""The division from which each division and remainder is computed."""


def values_of(e: SymExpr, domain: Mapping[Var, SymInterval], known: Analyzer | None = None) -> SymInterval:
    """Return the values of `e` while the variables in `domain` vary; the ends may use all other variables.

    The ends of a variable's set may use variables that precede it in `domain`.
    """
    evaluator = _OverDomain(dict(domain), within(domain, known))
    return evaluator.ends_relaxed(evaluator.of(e))


def within(domain: Mapping[Var, SymInterval], known: Analyzer | None = None) -> Analyzer:
    """Return an analyzer that knows the sets of variables, replacing earlier facts about them."""
    out = Analyzer() if known is None else known.copy()
    for var, (first, last) in domain.items():
        out.forget(var)
        if first is not None and last is not None:
            out.bind_range(var, first, last - first + 1)
        else:
            low = -inf if first is None else out.bounds(first).low
            out.bind(var, low, inf if last is None else out.bounds(last).high)
    return out


class _OverDomain(Intervals):
    """Intervals that fall back to the analyzer's numeric bounds for expressions without symbolic ends."""

    def __init__(self, domain: dict[Var, SymInterval], known: Analyzer) -> None:
        super().__init__(known, known)
        self.domain = domain

    def moves(self, v: Var) -> bool:
        return v in self.domain

    def var(self, e: Var) -> SymInterval:
        return self.domain[e]

    def of(self, e: SymExpr) -> SymInterval:
        low, high = ends = super().of(e)
        if low is not None and high is not None:
            return ends
        around = self.known.bounds(e)
        least, most = (Const(int(end), e.dtype) if abs(end) != inf else None for end in (around.low, around.high))
        return SymInterval(least if low is None else low, most if high is None else high)

    def ends_relaxed(self, ends: SymInterval) -> SymInterval:
        """Return a set that contains `ends` and whose ends do not use variables of the domain."""
        for _ in self.domain:
            low, high = ends
            if not any(e is not None and self._uses_domain(e) for e in ends):
                return ends
            relaxed = SymInterval(
                None if low is None else self.of(low).low, None if high is None else self.of(high).high
            )
            if relaxed == ends:
                break
            ends = relaxed
        return SymInterval(*(None if e is None or self._uses_domain(e) else e for e in ends))

    def _uses_domain(self, e: SymExpr) -> bool:
        return any(map(self.moves, e.free_vars()))
