"""Linear equations and inequalities of symbolic expressions."""

from __future__ import annotations

from collections.abc import Sequence

from .expr import Op, SymExpr, Var, mul
from .relations import slope_in


def linear_in(e: SymExpr, variables: Sequence[Var]) -> tuple[list[SymExpr], SymExpr] | None:
    """Return the factors of the variables and the rest, which do not use these variables; None if `e` is not
    linear in them.
    """
    slopes: list[SymExpr] = []
    rest = e
    for v in variables:
        slope = slope_in(e, v)
        if slope is None or any(other in slope.free_vars() for other in variables):
            return None
        slopes.append(slope)
        rest = rest - mul(v, slope)
    return None if any(v in rest.free_vars() for v in variables) else (slopes, rest)


def conjuncts(condition: SymExpr) -> list[SymExpr]:
    """Return the conditions of a conjunction."""
    if isinstance(condition, Op) and condition.kind == "and":
        return [part for a in condition.args for part in conjuncts(a)]
    return [condition]


_LESS = {"lt": 1, "le": 0, "gt": 1, "ge": 0}


def not_negative(condition: SymExpr) -> SymExpr | None:
    """Return the expression that is nonnegative exactly if an inequality holds; None for other conditions."""
    if not isinstance(condition, Op) or condition.kind not in _LESS:
        return None
    a, b = condition.args if condition.kind in ("gt", "ge") else condition.args[::-1]
    return a - b - _LESS[condition.kind]
