"""The store of facts about variables and expressions, from which the analyzer draws its conclusions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from .bounds import Interval, Residue
from .expr import Op, SymExpr, Var


class Knowing(Protocol):
    """The interface of the analyzer used by rules and relations."""

    facts: Facts
    depth: int
    """The nesting of condition scopes."""
    seeking: bool
    """True if facts are used at each step, see `fact_bounds`."""

    def bounds(self, e: SymExpr) -> Interval: ...

    def residue(self, e: SymExpr) -> Residue: ...

    def simplify(self, e: SymExpr) -> SymExpr: ...

    def decide(self, e: Op) -> bool | None: ...

    def constraint_scope(self, condition: SymExpr) -> AbstractContextManager[None]: ...


class Facts:
    """Bounds of variables, and conditions that hold."""

    def __init__(self) -> None:
        self.bounds: dict[Var, Interval] = {}
        self.residues: dict[Var, Residue] = {}
        self.values: dict[Var, SymExpr] = {}
        """Variables that are equal to expressions, which take their places."""
        self.namesakes: set[Var] = set()
        """Variables that are equal to another one, as a condition says: either name is as good as the other."""
        self.classes: list[tuple[SymExpr, Residue]] = []
        self.truths: dict[SymExpr, bool] = {}
        """Conditions that hold, or do not."""
        self.ends: dict[Var, tuple[SymExpr, SymExpr]] = {}
        """Variables with their least and greatest values, where these are no constants, outer ones first."""
        self.nonnegative: list[SymExpr] = []

    def copy(self) -> Facts:
        """Return an independent copy."""
        out = Facts()
        for name, known in vars(self).items():
            setattr(out, name, known.copy())
        return out

    def forget(self, var: Var) -> None:
        """Remove the facts about a variable, whose name another one reuses."""
        for known in (self.bounds, self.residues, self.values, self.ends):
            known.pop(var, None)
        self.namesakes.discard(var)
        self.nonnegative = [e for e in self.nonnegative if var not in e.free_vars()]
        self.classes = [(e, of) for e, of in self.classes if var not in e.free_vars()]
        self.truths = {e: holds for e, holds in self.truths.items() if var not in e.free_vars()}

    def resolved(self, e: SymExpr) -> SymExpr:
        """Return an expression with the known values of variables substituted."""
        if not self.values or not any(v in self.values for v in e.free_vars()):
            return e
        try:
            return e.substitute(self.values)
        except ZeroDivisionError:  # it is undefined: any value is valid
            return e

    def bind_value(self, var: Var, value: SymExpr) -> None:
        """Record that a variable equals `value`, unless that contains the variable."""
        resolved = self.resolved(value)
        if var not in resolved.free_vars():
            self.values = {v: e.substitute({var: resolved}) for v, e in self.values.items()} | {var: resolved}

    def mentions(self, e: SymExpr) -> bool:
        """Return whether a condition that holds mentions a variable of an expression."""
        variables = set(e.free_vars())
        return any(not variables.isdisjoint(known.free_vars()) for known in self.truths)
