"""What the parts of `rewrite_simplify` need of each other: the analyzer, and the simplifier."""

from __future__ import annotations

from enum import IntFlag
from typing import Any, Protocol

from ....dialects.sym.bounds import Interval, Residue
from ....handles.tir.prim_expr import PrimExpr
from .terms import Term


class Extension(IntFlag):
    """What `rewrite_simplify` does beyond its rules, by TVM's names."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class Knowledge(Protocol):
    """What an analyzer knows."""

    enabled_extensions: Extension

    def bounds(self, expr: PrimExpr) -> Interval: ...

    def residue(self, expr: PrimExpr) -> Residue: ...

    def is_constrained(self, expr: Any) -> bool:
        """Whether a condition was said to hold of one of the variables of an expression, beyond their ranges."""
        ...

    def can_prove(self, expr: Any) -> bool:
        """Whether a condition holds for certain."""
        ...

    def bound_value(self, var: Any) -> Any:
        """What a variable is bound to, itself where it is bound to nothing."""
        ...

    def constraint_scope(self, constraint: Any) -> Any:
        """A `with` statement inside of which a condition holds."""
        ...


class Simplifier(Protocol):
    """Brings terms to normal form by what an analyzer knows."""

    @property
    def analyzer(self) -> Knowledge: ...

    def bounds(self, term: Term) -> Interval: ...

    def low(self, term: Term) -> float: ...

    def high(self, term: Term) -> float: ...

    def residue(self, term: Term) -> Residue: ...

    def simplified(self, term: Term) -> Term: ...

    def operation(self, op: str, a: Term, b: Term) -> Term:
        """A binary operation on terms in normal form."""
        ...
