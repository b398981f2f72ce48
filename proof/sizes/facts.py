"""What follows from conditions on integers: by our analyzer where it can, by z3 where it is installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Algebra, Const, SymExpr, Var, i1
from ...dialects.sym.operators import OPS, logical_and, logical_not, logical_or
from ..terms import NotCoveredError

PIP = "pip install 'tirax[proof]'"
_EFFORT = 4_000_000
"""z3's count of steps for one question; unlike seconds, it does not depend on the machine."""


@cache
def solver_package() -> Any | None:
    """Return z3, or None if it is not installed."""
    try:
        import z3
    except ImportError:
        return None
    return z3


class _ToSolver(Algebra[Any]):
    """Integers and conditions as terms of z3. Divisions by what may be negative or zero are functions of their own."""

    def __init__(self, z3: Any):
        self.z3 = z3
        self.names: dict[Any, str] = {}
        self.sides: list[Any] = []
        """Facts on the divisions that occur."""
        self.divisions: dict[tuple[str, str], tuple[Any, Any]] = {}

    def const(self, e: Const) -> Any:
        return self.z3.BoolVal(bool(e.constant)) if e.dtype == i1 else self.z3.IntVal(e.constant)

    def var(self, e: Var) -> Any:
        name = self.names.setdefault(e.name, f"v{len(self.names)}")
        return self.z3.Bool(name) if e.dtype == i1 else self.z3.Int(name)

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def apply(self, kind: str, args: list[Any]) -> Any:
        function = _Z3.get(kind)
        if function is None:
            raise NotCoveredError(f"the operation '{kind}' of an index")
        return function(self, *args)

    def quotient(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return floor quotient and remainder, which are z3's for a positive divisor."""
        if self.z3.is_int_value(b) and b.as_long() > 0:
            return a / b, a % b
        key = a.sexpr(), b.sexpr()
        if key in self.divisions:
            return self.divisions[key]
        number = len(self.sides)
        q, r = self.z3.Int(f"q{number}"), self.z3.Int(f"r{number}")
        self.sides.append(self.z3.Implies(b > 0, self.z3.And(a == q * b + r, r >= 0, r < b)))
        self.divisions[key] = q, r
        return q, r

    def truncated(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the quotient that is rounded to 0, of a positive divisor, and its remainder."""
        (up, over), (down, under) = self.quotient(a, b), self.quotient(-a, b)
        return self.z3.If(a >= 0, up, -down), self.z3.If(a >= 0, over, -under)


_Z3: dict[str, Any] = {
    "floordiv": lambda s, a, b: s.quotient(a, b)[0],
    "floormod": lambda s, a, b: s.quotient(a, b)[1],
    "truncdiv": lambda s, a, b: s.truncated(a, b)[0],
    "truncmod": lambda s, a, b: s.truncated(a, b)[1],
    "min": lambda s, a, b: s.z3.If(a <= b, a, b),
    "max": lambda s, a, b: s.z3.If(a >= b, a, b),
    "select": lambda s, c, a, b: s.z3.If(c, a, b),
    "eq": lambda _s, a, b: a == b,
    "ne": lambda _s, a, b: a != b,
    "lt": lambda _s, a, b: a < b,
    "le": lambda _s, a, b: a <= b,
    "gt": lambda _s, a, b: a > b,
    "ge": lambda _s, a, b: a >= b,
    "and": lambda s, a, b: s.z3.And(a, b),
    "or": lambda s, a, b: s.z3.Or(a, b),
    "not": lambda s, a: s.z3.Not(a),
}


class Facts:
    """Conditions that hold. `entails` decides what follows; `by_solver` counts what needed z3."""

    def __init__(self, conditions: Iterable[SymExpr] = (), parent: Facts | None = None):
        self.conditions = [*(parent.conditions if parent else ()), *conditions]
        self.count = parent.count if parent else [0]
        self._analyzer: Analyzer | None = None

    def having(self, conditions: Iterable[SymExpr]) -> Facts:
        """Return these facts and further ones."""
        return Facts(conditions, self)

    @property
    def by_solver(self) -> int:
        return self.count[0]

    @property
    def analyzer(self) -> Analyzer:
        if self._analyzer is None:
            self._analyzer = Analyzer()
            for condition in self.conditions:
                self._analyzer.assume(condition)
        return self._analyzer

    def entails(self, goal: SymExpr) -> bool:
        """Return whether a condition follows; False also if it is not decided."""
        if goal.constant is not None:
            return bool(goal.constant)
        return self.analyzer.can_prove(goal) or self.excludes([logical_not(goal)])

    def excludes(self, conditions: Sequence[SymExpr]) -> bool:
        """Return whether conditions can not hold together with the facts, by z3. False if z3 does not decide it."""
        z3 = solver_package()
        if z3 is None:
            raise NotCoveredError(f"indices that our analyzer does not decide need z3: {PIP}")
        self.count[0] += 1
        convert = _ToSolver(z3)
        solver = z3.Solver()
        solver.set("rlimit", _EFFORT)
        solver.set("random_seed", 0)
        terms = [convert.of(c) for c in (*self.conditions, *conditions)]
        solver.add(*terms, *convert.sides)
        return solver.check() == z3.unsat


def any_of(conditions: Sequence[SymExpr]) -> SymExpr:
    """Return the disjunction of conditions."""
    out: SymExpr = Const(0, i1)
    for c in conditions:
        out = logical_or(out, c)
    return out


def all_of(conditions: Sequence[SymExpr]) -> SymExpr:
    """Return the conjunction of conditions."""
    out: SymExpr = Const(1, i1)
    for c in conditions:
        out = logical_and(out, c)
    return out


def compared(kind: str, a: SymExpr, b: SymExpr) -> SymExpr:
    return OPS[kind](a, b)


def within(e: SymExpr, low: SymExpr, extent: SymExpr) -> list[SymExpr]:
    """Return the conditions of an expression in a range."""
    return [compared("ge", e, low), compared("lt", e, low + extent)]
