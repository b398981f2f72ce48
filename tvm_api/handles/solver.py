"""Linear equations and inequalities of symbolic expressions, solved for variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, SymExpr, Var, floordiv, floormod, mul, sum_of, terms_of
from ...dialects.sym.int_set import EVERYTHING, NOTHING, SymInterval, values_of, within
from ...dialects.sym.linear import conjuncts, linear_in, not_negative
from ...dialects.sym.operators import OPS, eq
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


@dataclass(frozen=True)
class Solution:
    """The integer solutions of linear equations: each variable in terms of free ones, and vice versa."""

    free: tuple[Var, ...]
    values: dict[Var, SymExpr]
    free_values: dict[Var, SymExpr]
    conditions: tuple[SymExpr, ...]
    """The conditions for the existence of a solution."""


def solved(equations: Sequence[SymExpr], variables: Sequence[Var], prefix: str = "n") -> Solution | None:
    """Return the integer solutions of equations with constant factors; None if one has another form.

    The variables are transformed, `x = U y` with U unimodular, until each equation determines one y.
    """
    rows: list[list[int]] = []
    rests: list[SymExpr] = []
    for equation in equations:
        linear = _equation(equation, variables)
        if linear is None:
            return None
        rows.append(linear[0])
        rests.append(-linear[1])
    change, back = _identity(len(variables)), _identity(len(variables))
    pivots = _echelon(rows, change, back)
    values, conditions = _determined(rows, rests, pivots)
    dtype = variables[0].dtype
    free = [k for k in range(len(variables)) if k not in values]
    names = tuple(Var(f"{prefix}{i}", dtype) for i in range(len(free)))
    values |= dict(zip(free, names, strict=True))
    solution = {v: sum_of([(values[k], c) for k, c in enumerate(change[i])], 0, dtype) for i, v in enumerate(variables)}
    inverse = {
        name: sum_of([(v, back[k][i]) for i, v in enumerate(variables)], 0, dtype)
        for name, k in zip(names, free, strict=True)
    }
    return Solution(names, solution, inverse, tuple(conditions))


def _equation(e: SymExpr, variables: Sequence[Var]) -> tuple[list[int], SymExpr] | None:
    if not isinstance(e, Op) or e.kind != "eq":
        return None
    linear = linear_in(e.args[0] - e.args[1], variables)
    if linear is None:
        return None
    factors = [slope.constant for slope in linear[0]]
    known = [f for f in factors if f is not None]
    return (known, linear[1]) if len(known) == len(factors) else None


def _identity(size: int) -> list[list[int]]:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _echelon(rows: list[list[int]], change: list[list[int]], back: list[list[int]]) -> list[int | None]:
    """Reduce rows to column echelon form; return the pivot position of each row, or None."""
    pivots: list[int | None] = []
    done = 0
    for row in rows:
        while sum(1 for c in row[done:] if c) > 1:
            least = min((k for k in range(done, len(row)) if row[k]), key=lambda k: abs(row[k]))
            for k in range(done, len(row)):
                if k != least and row[k]:
                    _subtract_column(rows, change, back, k, least, row[k] // row[least])
        at = next((k for k in range(done, len(row)) if row[k]), None)
        if at is not None:
            for matrix in (rows, change):
                for line in matrix:
                    line[at], line[done] = line[done], line[at]
            back[at], back[done] = back[done], back[at]
            done += 1
        pivots.append(None if at is None else done - 1)
    return pivots


def _subtract_column(
    rows: list[list[int]], change: list[list[int]], back: list[list[int]], k: int, other: int, times: int
) -> None:
    for matrix in (rows, change):
        for line in matrix:
            line[k] -= times * line[other]
    back[other] = [a + times * b for a, b in zip(back[other], back[k], strict=True)]


def _determined(
    rows: list[list[int]], rests: list[SymExpr], pivots: list[int | None]
) -> tuple[dict[int, SymExpr], list[SymExpr]]:
    """Return the transformed variables that the equations determine, and the remaining conditions."""
    values: dict[int, SymExpr] = {}
    conditions: list[SymExpr] = []
    for row, rest, pivot in zip(rows, rests, pivots, strict=True):
        left = rest - sum_of([(values[k], c) for k, c in enumerate(row) if c and k in values], 0, rest.dtype)
        if pivot is None:
            conditions.append(eq(left, 0))
            continue
        divisor = row[pivot]
        if divisor < 0:
            left, divisor = -left, -divisor
        if all(c < 0 for _, c in terms_of(left)):
            conditions.append(eq(floormod(-left, divisor), 0))
            values[pivot] = -floordiv(-left, divisor)
        else:
            conditions.append(eq(floormod(left, divisor), 0))
            values[pivot] = floordiv(left, divisor)
    return values, [c for c in conditions if c.constant != 1]
