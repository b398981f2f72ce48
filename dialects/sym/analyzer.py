"""What can be known of symbolic expressions: bounds, residues, and proofs from them.

Symbolic shape variables are extents, so a named variable is at least 0 unless it is bound otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, inf

from .expr import CONDITIONS, OPS, Const, Op, Product, Sum, SymExpr, Var, i1

Number = int | float
"""An int, or an infinity."""


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included; either may be infinite."""

    low: Number
    high: Number

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def scaled(self, factor: int) -> Interval:
        """Every element times `factor`, which is not zero."""
        ends = (self.low * factor, self.high * factor)
        return Interval(min(ends), max(ends))

    def __mul__(self, other: Interval) -> Interval:
        ends = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def join(self, other: Interval) -> Interval:
        """The least interval around both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


EVERYTHING = Interval(-inf, inf)
TRUTH = Interval(0, 1)


def _times(a: Number, b: Number) -> Number:
    return 0 if a == 0 or b == 0 else a * b


def _floor(a: Number, b: Number) -> Number:
    if a in (inf, -inf):
        return a if b > 0 else -a
    if b in (inf, -inf):
        return 0 if (a >= 0) == (b > 0) or a == 0 else -1
    return int(a) // int(b)


@dataclass(frozen=True)
class Residue:
    """All values that are `base` modulo `step`; a step of 0 is the one value `base`."""

    step: int
    base: int

    @staticmethod
    def of(step: int, base: int) -> Residue:
        return Residue(step, base % step if step else base)

    def __add__(self, other: Residue) -> Residue:
        return Residue.of(gcd(self.step, other.step), self.base + other.base)

    def __mul__(self, other: Residue) -> Residue:
        step = gcd(self.step * other.step, self.step * other.base, other.step * self.base)
        return Residue.of(step, self.base * other.base)

    def join(self, other: Residue) -> Residue:
        """The least residue class around both."""
        return Residue.of(gcd(self.step, other.step, self.base - other.base), self.base)


ANY = Residue(1, 0)


class Analyzer:
    """Bounds of variables, and what follows from them."""

    def __init__(self) -> None:
        self._bounds: dict[Var, Interval] = {}
        self._residues: dict[Var, Residue] = {}

    def copy(self) -> Analyzer:
        """Another analyzer that knows the same, and may learn more."""
        out = Analyzer()
        out._bounds, out._residues = dict(self._bounds), dict(self._residues)
        return out

    def bind(self, var: Var, low: Number, high: Number = inf, *, multiple_of: int = 1) -> None:
        """The variable is from `low` to `high`, both included, and a multiple of `multiple_of`."""
        self._bounds[var] = Interval(low, high)
        if multiple_of != 1:
            self._residues[var] = Residue.of(multiple_of, 0)

    def bounds(self, e: SymExpr) -> Interval:
        """An interval that holds every value of `e`."""
        if isinstance(e, Const):
            return Interval(e.value, e.value)
        if isinstance(e, Var):
            return self._bounds.get(e, Interval(0, inf) if isinstance(e.name, str) else EVERYTHING)
        if isinstance(e, Product):
            out = Interval(1, 1)
            for atom in e.atoms:
                out = out * self.bounds(atom)
            return out
        if isinstance(e, Sum):
            out = Interval(e.offset, e.offset)
            for term, c in e.terms:
                out = out + self.bounds(term).scaled(c)
            return out
        return self._op_bounds(e) if isinstance(e, Op) else EVERYTHING

    def _op_bounds(self, e: Op) -> Interval:
        if e.kind in CONDITIONS:
            return TRUTH
        rule = _BOUNDS.get(e.kind)
        return EVERYTHING if rule is None else rule(*(self.bounds(a) for a in e.args))

    def residue(self, e: SymExpr) -> Residue:
        """A residue class that holds every value of `e`."""
        if isinstance(e, Const):
            return Residue(0, e.value)
        if isinstance(e, Var):
            return self._residues.get(e, ANY)
        if isinstance(e, Product):
            out = Residue(0, 1)
            for atom in e.atoms:
                out = out * self.residue(atom)
            return out
        if isinstance(e, Sum):
            out = Residue(0, e.offset)
            for term, c in e.terms:
                out = out + self.residue(term) * Residue(0, c)
            return out
        if isinstance(e, Op) and e.kind in ("min", "max", "select"):
            return self.residue(e.args[-2]).join(self.residue(e.args[-1]))
        return ANY

    def simplify(self, e: SymExpr) -> SymExpr:
        """An equal expression, smaller where bounds and residues allow."""
        if isinstance(e, Product | Sum):
            parts = [self.simplify(c) for c in e.children()]
            if isinstance(e, Product):
                out = parts[0]
                for p in parts[1:]:
                    out = out * p
                return out
            total: SymExpr = Const(e.offset, e.dtype)
            for p, (_, c) in zip(parts, e.terms, strict=True):
                total = p * c + total if isinstance(total, Const) and not total.value else total + p * c
            return total
        if not isinstance(e, Op):
            return e
        e2 = OPS[e.kind](*(self.simplify(a) for a in e.args))
        return self._simplify_op(e2) if isinstance(e2, Op) else e2

    def _simplify_op(self, e: Op) -> SymExpr:
        if e.kind in _COMPARISONS:
            known = self._decide(e)
            return e if known is None else Const(int(known), i1)
        if e.kind in ("floordiv", "floormod"):
            return self._simplify_division(e)
        if e.kind in ("min", "max"):
            a, b = e.args
            difference = self.bounds(a - b)
            if difference.high <= 0:
                return a if e.kind == "min" else b
            if difference.low >= 0:
                return b if e.kind == "min" else a
        return e

    def _simplify_division(self, e: Op) -> SymExpr:
        x, d = e.args
        dividend, divisor = self.bounds(x), self.bounds(d)
        if divisor.low > 0 and dividend.low >= 0 and self.bounds(x - d).high < 0:
            # 0 <= x < d: x // d -> 0, x % d -> x
            return Const(0, e.dtype) if e.kind == "floordiv" else x
        step = d.constant
        residue = self.residue(x)
        if e.kind == "floormod" and step and step > 0 and residue.step % step == 0:
            return Const(residue.base % step, e.dtype)
        return e

    def _decide(self, e: Op) -> bool | None:
        difference = e.args[0] - e.args[1]
        interval = self.bounds(difference)
        if e.kind in ("eq", "ne"):
            residue = self.residue(difference)
            never = interval.low > 0 or interval.high < 0 or (residue.step != 0 and residue.base % residue.step != 0)
            always = interval.low == interval.high == 0
            return (e.kind == "ne") if never else (e.kind == "eq") if always else None
        always, never = _COMPARISONS[e.kind](interval)
        return True if always else False if never else None

    def can_prove(self, condition: SymExpr) -> bool:
        """Whether the condition holds for certain."""
        if isinstance(condition, Op) and condition.kind == "and":
            return all(self.can_prove(a) for a in condition.args)
        return bool(self.simplify(condition).constant)

    def can_prove_equal(self, a: SymExpr, b: SymExpr) -> bool:
        """Whether two expressions are equal for certain."""
        return (a - b).constant == 0 or self.simplify(a - b).constant == 0


def _floordiv_bounds(a: Interval, b: Interval) -> Interval:
    if b.low <= 0 <= b.high:
        return EVERYTHING
    ends = [_floor(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends))


def _floormod_bounds(a: Interval, b: Interval) -> Interval:
    if b.low <= 0:
        return EVERYTHING
    return Interval(0, min(b.high - 1, a.high) if a.low >= 0 else b.high - 1)


def _min_bounds(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


def _max_bounds(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


def _select_bounds(_condition: Interval, a: Interval, b: Interval) -> Interval:
    return a.join(b)


_BOUNDS: dict[str, Callable[..., Interval]] = {
    "floordiv": _floordiv_bounds,
    "floormod": _floormod_bounds,
    "min": _min_bounds,
    "max": _max_bounds,
    "select": _select_bounds,
}

_COMPARISONS: dict[str, Callable[[Interval], tuple[bool, bool]]] = {
    "eq": lambda i: (i.low == i.high == 0, i.low > 0 or i.high < 0),
    "ne": lambda i: (i.low > 0 or i.high < 0, i.low == i.high == 0),
    "lt": lambda i: (i.high < 0, i.low >= 0),
    "le": lambda i: (i.high <= 0, i.low > 0),
    "gt": lambda i: (i.low > 0, i.high <= 0),
    "ge": lambda i: (i.low >= 0, i.high < 0),
}
"""Comparison of a difference with 0 -> (always, never)."""
