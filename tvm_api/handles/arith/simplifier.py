"""The interfaces between the parts of `rewrite_simplify`: the analyzer and the simplifier."""

from __future__ import annotations

from enum import IntFlag
from math import inf
from typing import Any, Protocol

from ....dialects.sym.bounds import Interval, Residue
from ....handles.tir.prim_expr import PrimExpr
from .terms import Term, build, expression_of


class Extension(IntFlag):
    """The extensions of `rewrite_simplify`, under TVM's names."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


_GREATEST = (1 << 63) - 1


class Knowledge(Protocol):
    """The interface of an analyzer."""

    enabled_extensions: Extension

    def bounds(self, expr: PrimExpr) -> Interval: ...

    def residue(self, expr: PrimExpr) -> Residue: ...

    def is_constrained(self, expr: Any) -> bool:
        """Return whether a condition constrains one of the variables of an expression, beyond their ranges."""
        ...

    def can_prove(self, expr: Any) -> bool:
        """Return whether a condition is provably true."""
        ...

    def bound_value(self, var: Any) -> Any:
        """Return the value that a variable is bound to, or the variable itself."""
        ...

    def constraint_scope(self, constraint: Any) -> Any:
        """Return a context manager in which a condition is assumed."""
        ...


class Simplifier:
    """Normalizes terms with the facts of an analyzer."""

    def __init__(self, analyzer: Knowledge):
        self.analyzer = analyzer
        self.known_bounds: list[dict[Term, Interval]] = [{}]

    def simplified(self, term: Term) -> Term:
        """The normal form of a term."""
        raise NotImplementedError

    def operation(self, op: str, a: Term, b: Term) -> Term:
        """Return the normal form of a binary operation on terms in normal form."""
        raise NotImplementedError

    def bounds(self, term: Term) -> Interval:
        """Return the bounds of an integer, infinite if unknown or not below 2**63 - 1."""
        known = self.known_bounds[-1].get(term)
        if known is None:
            low, high = self.analyzer.bounds(expression_of(term))
            known = Interval(low if low > -_GREATEST else -inf, high if high < _GREATEST else inf)
            self.known_bounds[-1][term] = known
        return known

    def low(self, term: Term) -> float:
        return self.bounds(term).low

    def high(self, term: Term) -> float:
        return self.bounds(term).high

    def residue(self, term: Term) -> Residue:
        return self.analyzer.residue(expression_of(term))

    def same(self, a: Term, b: Term) -> bool:
        """Return whether two integers are provably equal."""
        return a is b or self.simplified(build("sub", a, b)).number == 0
