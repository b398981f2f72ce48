"""Sets of integers between two expressions: what an expression is, over the values of some of its variables.

`IntervalSet(low, high)` is the integers from `low` to `high`, both included; an end that is None is infinite. A set is
a superset of the values: it may be larger than needed, never smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from .analyzer import Analyzer
from .expr import OPS, Const, Op, Product, Sum, SymExpr, Var, i1, maximum, minimum, mul
from .operations import CONDITIONS


@dataclass(frozen=True)
class IntervalSet:
    """The integers from `low` to `high`, both included; None: there is no end."""

    low: SymExpr | None
    high: SymExpr | None
    is_empty: bool = False

    @staticmethod
    def point(e: SymExpr) -> IntervalSet:
        """The set of one value."""
        return IntervalSet(e, e)

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def is_everything(self) -> bool:
        return self.low is None and self.high is None and not self.is_empty

    def union(self, other: IntervalSet, known: Analyzer | None = None) -> IntervalSet:
        """The least interval around both."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return IntervalSet(_pick(minimum, self.low, other.low, known), _pick(maximum, self.high, other.high, known))

    def intersect(self, other: IntervalSet, known: Analyzer | None = None) -> IntervalSet:
        """What is in both."""
        low = _tighter(maximum, self.low, other.low, known)
        high = _tighter(minimum, self.high, other.high, known)
        empty = self.is_empty or other.is_empty
        if low is not None and high is not None and not empty:
            empty = (known or Analyzer()).bounds(high - low).high < 0
        return IntervalSet(None, None, is_empty=True) if empty else IntervalSet(low, high)


EVERYTHING, NOTHING = IntervalSet(None, None), IntervalSet(None, None, is_empty=True)


def _pick(
    choose: Callable[[SymExpr, SymExpr], SymExpr], a: SymExpr | None, b: SymExpr | None, known: Analyzer | None
) -> SymExpr | None:
    if a is None or b is None:
        return None
    chosen = choose(a, b)
    return chosen if known is None else known.simplify(chosen)


def _tighter(
    choose: Callable[[SymExpr, SymExpr], SymExpr], a: SymExpr | None, b: SymExpr | None, known: Analyzer | None
) -> SymExpr | None:
    return b if a is None else a if b is None else _pick(choose, a, b, known)


def values_of(e: SymExpr, domain: Mapping[Var, IntervalSet], known: Analyzer | None = None) -> IntervalSet:
    """The values of `e` while the variables in `domain` take theirs; the ends may use all other variables.

    Ends of a variable's set may use variables that stand before it in `domain`.
    """
    evaluator = _Evaluator(dict(domain), within(domain, known))
    return evaluator.ends_relaxed(evaluator.of(e))


def within(domain: Mapping[Var, IntervalSet], known: Analyzer | None = None) -> Analyzer:
    """An analyzer that knows of which sets variables are, whatever was said of them before."""
    out = Analyzer() if known is None else known.copy()
    for var, given in domain.items():
        out.forget(var)
        if given.low is not None and given.high is not None:
            out.bind_range(var, given.low, given.high - given.low + 1)
        else:
            low = -inf if given.low is None else out.bounds(given.low).low
            out.bind(var, low, inf if given.high is None else out.bounds(given.high).high)
    return out


@dataclass
class _Evaluator:
    domain: dict[Var, IntervalSet]
    known: Analyzer

    def moves(self, e: SymExpr) -> bool:
        return any(v in self.domain for v in e.free_vars())

    def ends_relaxed(self, found: IntervalSet) -> IntervalSet:
        """The set with ends that use no variable of the domain."""
        for _ in self.domain:
            low, high = found.low, found.high
            if not any(e is not None and self.moves(e) for e in (low, high)):
                return found
            least = None if low is None else self.of(low).low
            most = None if high is None else self.of(high).high
            if (least, most) == (low, high):
                break
            found = IntervalSet(least, most)
        low, high = (None if e is None or self.moves(e) else e for e in (found.low, found.high))
        return IntervalSet(low, high, found.is_empty)

    def of(self, e: SymExpr) -> IntervalSet:
        if not self.moves(e):
            return IntervalSet.point(e)
        found = _SETS[type(e)](self, e)
        around = self.known.bounds(e) if found.low is None or found.high is None else None
        if around is None:
            return found
        ends = (Const(int(end), e.dtype) if abs(end) != inf else None for end in (around.low, around.high))
        least, most = ends
        return IntervalSet(least if found.low is None else found.low, most if found.high is None else found.high)

    def var(self, e: Var) -> IntervalSet:
        return self.domain[e]

    def sum(self, e: Sum) -> IntervalSet:
        low: SymExpr | None = Const(e.offset, e.dtype)
        high: SymExpr | None = low
        for term, factor in e.terms:
            found = self.of(term)
            least, most = (found.low, found.high) if factor > 0 else (found.high, found.low)
            low = None if low is None or least is None else low + least * factor
            high = None if high is None or most is None else high + most * factor
        return IntervalSet(low, high)

    def product(self, e: Product) -> IntervalSet:
        out = IntervalSet.point(Const(1, e.dtype))
        for atom in e.atoms:
            out = self._times(out, self.of(atom))
        return out

    def _times(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        for fixed, moving in ((a, b), (b, a)):
            if fixed.low is None or not fixed.is_point:
                continue
            sign = self.known.bounds(fixed.low)
            low, high = (None if end is None else mul(end, fixed.low) for end in (moving.low, moving.high))
            if sign.low >= 0 or sign.high <= 0:
                return IntervalSet(low, high) if sign.low >= 0 else IntervalSet(high, low)
            if low is not None and high is not None:
                return IntervalSet(minimum(low, high), maximum(low, high))
        if all(s.low is not None and self.known.bounds(s.low).low >= 0 for s in (a, b)):
            high = None if a.high is None or b.high is None else mul(a.high, b.high)
            return IntervalSet(mul(a.low or 0, b.low or 0), high)
        return EVERYTHING

    def op(self, e: Op) -> IntervalSet:
        if e.kind in CONDITIONS:
            return IntervalSet(Const(0, i1), Const(1, i1))
        sets = [self.of(a) for a in e.args]
        if all(s.is_point for s in sets):
            return IntervalSet.point(OPS[e.kind](*(s.low or 0 for s in sets)))
        handler = _OPS.get(e.kind)
        return EVERYTHING if handler is None else handler(self, e, sets)

    def extremum(self, e: Op, sets: list[IntervalSet]) -> IntervalSet:
        (a, b), known = sets, self.known
        if e.kind == "min":
            return IntervalSet(_pick(minimum, a.low, b.low, known), _tighter(minimum, a.high, b.high, known))
        return IntervalSet(_tighter(maximum, a.low, b.low, known), _pick(maximum, a.high, b.high, known))

    def select(self, e: Op, sets: list[IntervalSet]) -> IntervalSet:
        return sets[1].union(sets[2], self.known)

    def division(self, e: Op, sets: list[IntervalSet]) -> IntervalSet:
        x, by = sets
        if by.low is None or not by.is_point or self.known.bounds(by.low).low < 0:
            return EVERYTHING
        d = by.low
        low, high = (None if end is None else OPS["floordiv"](end, d) for end in (x.low, x.high))
        if e.kind == "floordiv":
            return IntervalSet(low, high)
        ends = [end for end in (x.low, x.high, low, high) if end is not None]
        if len(ends) == 4 and self.known.can_prove_equal(ends[2], ends[3]):
            low, high = (self.known.simplify(end - mul(ends[2], d)) for end in ends[:2])
            return IntervalSet(low, high)
        return IntervalSet(Const(0, e.dtype), d - 1)


_SETS: dict[type[SymExpr], Callable[..., IntervalSet]] = {
    Var: _Evaluator.var,
    Sum: _Evaluator.sum,
    Product: _Evaluator.product,
    Op: _Evaluator.op,
}
_OPS: dict[str, Callable[[_Evaluator, Op, list[IntervalSet]], IntervalSet]] = {
    "min": _Evaluator.extremum,
    "max": _Evaluator.extremum,
    "select": _Evaluator.select,
    "floordiv": _Evaluator.division,
    "floormod": _Evaluator.division,
}
