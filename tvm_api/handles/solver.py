"""Linear equations and inequalities of symbolic expressions, solved for variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, SymExpr, Var, floordiv, mul, terms_of
from ...dialects.sym.int_set import EVERYTHING, NOTHING, SymInterval, values_of, within
from ...dialects.sym.linear import conjuncts, linear_in, not_negative
from ...dialects.sym.operators import OPS
from ...dialects.sym.relations import slope_in

Limits = tuple[SymExpr | None, SymExpr | None]
"""The minimum and the maximum; None means unbounded."""


def _ceildiv(e: SymExpr, divisor: SymExpr) -> SymExpr:
    return floordiv(e + (divisor - 1), divisor)


def _tightest(choose: Callable[..., SymExpr], limits: Sequence[SymExpr | None]) -> SymExpr | None:
    out: SymExpr | None = None
    for limit in limits:
        out = limit if out is None else out if limit is None else choose(out, limit)
    return out


def clip_bounds(condition: SymExpr, variables: Sequence[Var]) -> list[Limits] | None:
    """Return the limits of each variable implied by a conjunction of inequalities.

    None if one of them is not linear, with a constant factor, in a single one of the variables.
    """
    limits_of: dict[Var, list[Limits]] = {v: [] for v in variables}
    for part in conjuncts(condition):
        e = not_negative(part)
        used = [] if e is None else [v for v in variables if v in e.free_vars()]
        if e is None or len(used) != 1:
            return None
        linear = linear_in(e, used)
        if linear is None or linear[0][0].constant is None:
            return None
        limits_of[used[0]].append(_limits_at(e, used[0], Analyzer()) or (None, None))
    return [
        (_tightest(OPS["max"], [low for low, _ in limits]), _tightest(OPS["min"], [high for _, high in limits]))
        for limits in limits_of.values()
    ]


def _limits_at(e: SymExpr, var: Var, known: Analyzer) -> Limits | None:
    """Return the limits implied by `e >= 0` if the variable occurs once: alone, with a factor, or in quotients
    by constants.
    """
    terms = [(t, c) for t, c in terms_of(e) if var in t.free_vars()]
    term, factor = terms[0] if len(terms) == 1 else (e, 1)
    if isinstance(term, Op):
        return _limits_in_quotient(e, term, factor, var, known)
    slope = slope_in(e, var)
    if slope is None or slope.constant == 0 or var in slope.free_vars():
        return None
    sign, rest = known.bounds(slope), e - mul(var, slope)
    if sign.low > 0:
        return _ceildiv(-rest, slope), None
    return (None, floordiv(rest, -slope)) if sign.high < 0 else None


def _limits_in_quotient(e: SymExpr, term: Op, factor: int, var: Var, known: Analyzer) -> Limits | None:
    """Solve `c * (x // d) + rest >= 0`: x >= l * d, or x <= h * d + d - 1."""
    x, d = term.args[0], term.args[-1].constant
    if term.kind != "floordiv" or d is None or d <= 0:
        return None
    rest = e - mul(term, factor)
    if factor > 0:
        return _limits_at(x - _ceildiv(-rest, Const(factor, e.dtype)) * d, var, known)
    return _limits_at(floordiv(rest, -factor) * d + (d - 1) - x, var, known)


def deduced_set(
    var: Var, condition: SymExpr, hints: Mapping[Var, SymInterval], relaxed: Mapping[Var, SymInterval]
) -> SymInterval:
    """Return the values of a variable for which a condition holds for all values of the variables in `relaxed`.

    `hints` are the sets of other variables. If the condition cannot be solved, the result is the empty set: nothing is
    certain.
    """
    known = within({**hints, **relaxed})
    out = EVERYTHING
    for part in conjuncts(condition):
        for e in _sides(part):
            limits = None if e is None else _limits_at(e, var, known)
            if limits is None:
                return NOTHING
            low = None if limits[0] is None else values_of(limits[0], relaxed, known).high
            high = None if limits[1] is None else values_of(limits[1], relaxed, known).low
            if (low is None) != (limits[0] is None) or (high is None) != (limits[1] is None):
                return NOTHING
            out = out.intersect(SymInterval(low, high), known)
    return out


def _sides(condition: SymExpr) -> list[SymExpr | None]:
    """Return the expressions that are nonnegative if a condition holds: both differences for an equation."""
    if isinstance(condition, Op) and condition.kind == "eq":
        difference = condition.args[0] - condition.args[1]
        return [difference, -difference]
    return [not_negative(condition)]
