"""Analysis of symbolic expressions: bounds, residues, and proofs based on them.

Symbolic shape variables are extents, so a named variable is nonnegative unless it has other bounds.
"""

from __future__ import annotations

from collections.abc import Container, Generator
from contextlib import contextmanager
from math import inf
from typing import Any

from .bounds import ANY, EVERYTHING, TRUTH, Interval, Number, Residue, residue_of_op
from .expr import Algebra, Const, Op, Sum, SymExpr, Var, i1, mul, offset_of, sum_of, terms_of
from .facts import Facts
from .operations import COMPARISONS, NEGATED, OPERATIONS
from .operators import OPS, logical_not
from .relations import fact_bounds, sum_bounds, tightened
from .rules import simplified

EXTENT = Interval(0, inf)
__all__ = ["ANY", "EVERYTHING", "TRUTH", "Analyzer", "Interval", "Number", "Residue"]


_CASES = 3
"""Number of selections that a proof splits into cases."""


_OF_PRODUCTS = {"lt": ("lt", 0), "le": ("lt", 1), "ge": ("ge", 0), "gt": ("ge", 1)}
"""For each comparison of x // n with c: the comparison of x with (c + 0) * n or (c + 1) * n."""


class ExtentBounds(Algebra[Interval]):
    """Interval analysis without relations between terms; named variables are extents, except those in `signed`."""

    def __init__(self, signed: Container[Any] = ()):
        self.signed = signed

    def const(self, e: Const) -> Interval:
        return Interval(e.value, e.value)

    def var(self, e: Var) -> Interval:
        return EXTENT if isinstance(e.name, str) and e.name not in self.signed else EVERYTHING

    def mul(self, a: Interval, b: Interval) -> Interval:
        return a * b

    def sum(self, e: Sum) -> Interval:
        out = Interval(e.offset, e.offset)
        for term, c in e.terms:
            out = out + self.of(term).scaled(c)
        return out

    def apply(self, kind: str, args: list[Interval]) -> Interval:
        return OPERATIONS[kind].bounds(*args)


def is_nonnegative(e: SymExpr, signed: Container[str] = ()) -> bool:
    """Return whether an expression is provably nonnegative if its named variables, except those in `signed`, are
    extents.
    """
    return e.fold(ExtentBounds(signed)).low >= 0


class _Bounds(ExtentBounds):
    """Interval analysis with the facts of an analyzer."""

    def __init__(self, known: Analyzer):
        self.signed = ()
        self.known = known

    def of(self, e: SymExpr) -> Interval:
        return self.known.bounds(e)

    def var(self, e: Var) -> Interval:
        return self.known.facts.bounds.get(e) or super().var(e)

    def sum(self, e: Sum) -> Interval:
        return sum_bounds(self.known, e)

    def op(self, e: Op) -> Interval:
        around = OPERATIONS[e.kind].bounds(*map(self.known.bounds, e.args))
        return around if e.kind in COMPARISONS else self.known.residue(e).within(around)


class _Residues(Algebra[Residue]):
    """Residue analysis with the facts of an analyzer."""

    def __init__(self, known: Analyzer):
        self.known = known

    def of(self, e: SymExpr) -> Residue:
        return self.known.residue(e)

    def const(self, e: Const) -> Residue:
        return Residue(0, e.value)

    def var(self, e: Var) -> Residue:
        return self.known.facts.residues.get(e, ANY)

    def mul(self, a: Residue, b: Residue) -> Residue:
        return a * b

    def sum(self, e: Sum) -> Residue:
        out = Residue(0, e.offset)
        for term, c in e.terms:
            out = out + self.known.residue(term) * Residue(0, c)
        return out

    def op(self, e: Op) -> Residue:
        return residue_of_op(e.kind, [*map(self.known.residue, e.args)], e.args[-1].constant)


class Analyzer:
    """Bounds of variables, conditions that hold, and conclusions from them.

    Conclusions are cached until a fact is added.
    """

    def __init__(self) -> None:
        self.facts = Facts()
        self.depth = 0
        """In how many scopes of conditions this is."""
        self.seeking = False
        self._plainly = False
        self._forget()

    def _forget(self) -> None:
        self._known_bounds: dict[SymExpr, Interval] = {}
        self._plain_bounds: dict[SymExpr, Interval] = {}
        self._known_residues: dict[SymExpr, Residue] = {}
        self._simple: dict[SymExpr, SymExpr] = {}

    def copy(self) -> Analyzer:
        """Return an independent copy, to which more facts can be added."""
        out = Analyzer()
        out.facts = self.facts.copy()
        return out

    # Learning

    def bind(self, var: Var, low: Number, high: Number = inf, *, multiple_of: int = 1) -> None:
        """Bound a variable: it is from `low` to `high`, both included, and a multiple of `multiple_of`."""
        self.facts.bounds[var] = Interval(low, high)
        self.facts.ends.pop(var, None)
        if multiple_of != 1:
            self.facts.residues[var] = Residue.of(multiple_of, 0)
        self._forget()

    def forget(self, var: Var) -> None:
        """Remove the facts about a variable, whose name another one reuses."""
        self.facts.forget(var)
        self._forget()

    def bind_residue(self, var: Var, residue: Residue) -> None:
        """Restrict a variable to a residue class."""
        self.facts.residues[var] = residue
        self._forget()

    def bind_range(self, var: Var, first: SymExpr, extent: SymExpr) -> None:
        """Bound a variable to the range from `first` to below `first + extent`, which may be symbolic."""
        first, extent = self.facts.resolved(first), self.facts.resolved(extent)
        last = first + extent - 1
        self.bind(var, self.bounds(first).low, self.bounds(last).high)
        if first.constant is None or last.constant is None:
            self.facts.ends[var] = (first, last)

    def bind_value(self, var: Var, value: SymExpr) -> None:
        """Substitute `value` for a variable."""
        self.facts.bind_value(var, value)
        self._forget()

    def assume(self, condition: SymExpr) -> None:
        """Assume that a condition holds from here on."""
        condition = self.facts.resolved(condition)
        self.facts.truths[condition] = True
        self.facts.truths[logical_not(condition)] = False
        if isinstance(condition, Op):
            self._assume(condition, holds=True)
        self._forget()

    def _assume(self, e: Op, holds: bool) -> None:
        if e.kind == "not" and isinstance(e.args[0], Op):
            self._assume(e.args[0], not holds)
        elif e.kind == ("and" if holds else "or"):
            for part in e.args:
                self.assume(part if holds else logical_not(part))
        elif e.kind in COMPARISONS:
            kind = e.kind if holds else NEGATED[e.kind]
            self.facts.truths[OPS[kind](*e.args)] = True
            self.facts.truths[OPS[NEGATED[kind]](*e.args)] = False
            self._compare(kind, *e.args)

    def _compare(self, kind: str, a: SymExpr, b: SymExpr) -> None:
        difference = a - b
        if kind in ("gt", "ge"):
            self._not_negative(difference - (kind == "gt"))
        elif kind in ("lt", "le"):
            self._not_negative(-difference - (kind == "lt"))
        elif kind == "eq":
            self._not_negative(difference)
            self._not_negative(-difference)
            self._equal(a, b)
        else:
            around = self.bounds(difference)
            if around.low == 0:
                self._not_negative(difference - 1)
            if around.high == 0:
                self._not_negative(-difference - 1)

    def _equal(self, a: SymExpr, b: SymExpr) -> None:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Var) and x not in self.facts.values and x not in y.free_vars():
                self.bind_value(x, y)
                if isinstance(y, Var):
                    self.facts.namesakes.add(x)
                return
            step = x.args[1].constant if isinstance(x, Op) and x.kind in ("floormod", "truncmod") else None
            if isinstance(x, Op) and step and step > 0 and y.constant is not None:
                self.facts.classes.append((x.args[0], Residue.of(step, y.constant)))
                if isinstance(x.args[0], Var):
                    self.facts.residues[x.args[0]] = self.residue(x.args[0]).meet(Residue.of(step, y.constant))

    def _not_negative(self, e: SymExpr) -> None:
        e = tightened(e)
        terms = terms_of(e)
        if len(terms) == 1 and isinstance(terms[0][0], Var):
            var, factor = terms[0]
            limit = -offset_of(e) * factor
            half_line = Interval(limit, inf) if factor > 0 else Interval(-inf, limit)
            assert isinstance(var, Var)
            self.facts.bounds[var] = self.bounds(var).meet(half_line)
        elif terms:
            self.facts.nonnegative.append(e)
        self._forget()

    @contextmanager
    def scope(self) -> Generator[None]:
        """Drop the facts added inside at the end of the scope."""
        before, self.facts = self.facts, self.facts.copy()
        memos = (self._known_bounds, self._plain_bounds, self._known_residues, self._simple)
        try:
            yield
        finally:
            self.facts = before
            self._known_bounds, self._plain_bounds, self._known_residues, self._simple = memos

    @contextmanager
    def constraint_scope(self, condition: SymExpr) -> Generator[None]:
        """Assume that a condition holds inside the scope."""
        self.depth += 1
        try:
            with self.scope():
                self.assume(condition)
                yield
        finally:
            self.depth -= 1

    # Bounds and residues

    def bounds(self, e: SymExpr) -> Interval:
        """Return an interval that contains every value of `e`."""
        memo = self._known_bounds if self.facts.nonnegative and not self._plainly else self._plain_bounds
        around = memo.get(e)
        if around is None:
            resolved = self.facts.resolved(e)
            around = resolved.fold(_Bounds(self))
            if memo is self._known_bounds and not isinstance(resolved, Const):
                around = around.meet(self._fact_bounds(resolved))
            memo[e] = around
        return around

    def _fact_bounds(self, e: SymExpr) -> Interval:
        """Return the bounds of `e` by facts, which are not used recursively, so that the proof terminates."""
        self._plainly = True
        try:
            return fact_bounds(self, e)
        finally:
            self._plainly = False

    def residue(self, e: SymExpr) -> Residue:
        """Return a residue class that contains every value of `e`."""
        residue = self._known_residues.get(e)
        if residue is None:
            resolved = self.facts.resolved(e)
            residue = resolved.fold(_Residues(self))
            for x, of in self.facts.classes:
                residue = residue.meet(self._from_class(resolved, x, of))
            self._known_residues[e] = residue
        return residue

    def _from_class(self, e: SymExpr, x: SymExpr, of: Residue) -> Residue:
        """Return the residue of `e`, a multiple of `x` plus other terms, from the class of `x`."""
        (term, factor), factors = terms_of(x)[0], dict(terms_of(e))
        times, rest = divmod(factors.get(term, 0), factor)
        if rest or not times:
            return ANY
        other = sum_of([(e, 1), (x, -times)], 0, e.dtype)
        return other.fold(_Residues(self)) + of * Residue(0, times) if len(terms_of(other)) < len(factors) else ANY

    # Simplification and proofs

    def simplify(self, e: SymExpr) -> SymExpr:
        """Return an equal expression, simplified by bounds, residues and facts."""
        simple = self._simple.get(e)
        if simple is None:
            simple = simplified(self, self.facts.resolved(e))
            self._simple[e] = self._simple[simple] = simple
        return simple

    def truth(self, e: SymExpr) -> bool | None:
        """Return whether a fact states that a condition holds or does not hold; None if there is none."""
        return self.facts.truths.get(e)

    def decide(self, e: Op) -> bool | None:
        """Return whether a comparison always or never holds; None if neither can be proved."""
        known = self.truth(e)
        if known is not None:
            return known
        difference = e.args[0] - e.args[1]
        interval = self.bounds(difference)
        always, never = COMPARISONS[e.kind](interval)
        if not always and not never and e.kind in ("eq", "ne"):
            residue = self.residue(difference)
            if residue.step and residue.base % residue.step:
                return e.kind == "ne"
        return True if always else False if never else None

    def can_prove(self, condition: SymExpr) -> bool:
        """Return whether a condition provably holds."""
        if not isinstance(condition, Op):
            return bool(self.simplify(condition).constant) or bool(self.truth(condition))
        if condition.kind == "and":
            return all(self.can_prove(a) for a in condition.args)
        if condition.kind == "or":
            return self._can_prove_either(*condition.args)
        if condition.kind in COMPARISONS and self.decide(condition):
            return True
        if self.simplify(condition).constant or self._by_difference(condition) or self._by_cases(condition):
            return True
        product = self.as_product(condition)
        return product is not None and self.can_prove(product)

    def _can_prove_either(self, a: SymExpr, b: SymExpr) -> bool:
        if self.can_prove(a) or self.can_prove(b):
            return True
        with self.constraint_scope(logical_not(a)):
            return self.can_prove(b)

    def _by_difference(self, condition: Op) -> bool:
        """Prove a comparison by the simplified difference of its sides."""
        if condition.kind not in COMPARISONS:
            return False
        difference = self.simplify(condition.args[0] - condition.args[1])
        if condition.kind == "ne":
            return bool(self.simplify(condition).constant)
        return COMPARISONS[condition.kind](self.bounds(difference))[0]

    def as_product(self, condition: SymExpr) -> SymExpr | None:
        """Rewrite a comparison of a quotient by a symbolic size without it: x // n < c  ->  x < c * n; None for
        other conditions.
        """
        quotient = condition.args[0] if isinstance(condition, Op) and condition.kind in _OF_PRODUCTS else None
        if not isinstance(condition, Op) or not isinstance(quotient, Op) or quotient.kind != "floordiv":
            return None
        x, divisor = quotient.args
        if divisor.constant is not None or self.bounds(divisor).low < 0:  # the division implies that it is not 0
            return None
        kind, more = _OF_PRODUCTS[condition.kind]
        return OPS[kind](x, mul(condition.args[1] + more, divisor))

    def _by_cases(self, condition: Op) -> bool:
        """Prove a comparison with a selection in it by cases: its condition holds, or does not."""
        terms = [t for a in condition.args for t, _ in terms_of(a)] if condition.kind in COMPARISONS else []
        choice = next((t for t in terms if isinstance(t, Op) and t.kind == "select"), None)
        if choice is None or self.depth >= _CASES:
            return False
        for case, value in ((choice.args[0], choice.args[1]), (logical_not(choice.args[0]), choice.args[2])):
            a, b = (
                sum_of([(value if t == choice else t, c) for t, c in terms_of(e)], offset_of(e), e.dtype)
                for e in condition.args
            )
            with self.constraint_scope(case):
                if not self.can_prove(OPS[condition.kind](a, b)):
                    return False
        return True

    def can_prove_equal(self, a: SymExpr, b: SymExpr) -> bool:
        """Return whether two expressions are provably equal."""
        if a.dtype == i1 and b.dtype == i1:
            return self.simplify(a) == self.simplify(b)
        difference = a - b
        if difference.constant == 0 or self.simplify(difference).constant == 0:
            return True
        return bool(self.facts.nonnegative or self.facts.ends) and self.bounds(difference) == Interval(0, 0)
