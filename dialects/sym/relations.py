"""Bounds of sums with dependent terms, which an interval for each term alone cannot find.

    n - n // 8 * 8                is from 0 to 7: 8 * (n // 8) is n - n % 8
    min(n, i * 8 + 8) - i * 8     is at most 8: the lesser of n - i * 8 and 8
    i * n + j - m * n             is below 0 for i below m and j below n

Only minima are computed; a maximum is that of the negated sum. One term is eliminated from the sum at a time, up to
`steps` times; parts of a sum that share no variable are treated separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from math import gcd, inf

from .bounds import EVERYTHING, Interval, Number
from .expr import Op, Product, Sum, SymExpr, Var, floordiv, floormod, mul, offset_of, product, sum_of, terms_of
from .facts import Knowing

_STEPS = 10
"""Maximum number of terms that are eliminated from a sum."""
_TERMS = 40
"""Maximum number of terms of a sum: longer ones are only treated by parts that share no variable."""
_FACT_DEPTH, _FACT_TRIALS, _FACT_STEPS = 4, 64, 3
"""Limits of a proof by facts: length of a chain, combinations tried, and elimination steps of each."""


def sum_bounds(known: Knowing, e: Sum) -> Interval:
    """Return an interval that contains the values of a sum."""
    if not known.facts.ends and not any(isinstance(t, Op) for t, _ in e.terms):
        return known.residue(e).within(_each_alone(known, e))
    out = Interval(e.offset, e.offset)
    for terms in _independent_parts(known, e):
        all_terms = len(terms) == len(e.terms)
        part = e if all_terms else sum_of(terms, 0, e.dtype)
        around = Interval(_least(known, part, _STEPS), -_least(known, -part, _STEPS))
        out = around if all_terms else out + around
    return known.residue(e).within(out)


def _each_alone(known: Knowing, e: SymExpr) -> Interval:
    if not isinstance(e, Sum):
        return known.bounds(e)
    out = Interval(e.offset, e.offset)
    for term, c in e.terms:
        out = out + known.bounds(term).scaled(c)
    return out


def _independent_parts(known: Knowing, e: Sum) -> Collection[list[tuple[SymExpr, int]]]:
    """Return the terms in groups that share no variable with each other."""
    parent: dict[Var, Var] = {}

    def root(v: Var) -> Var:
        while parent[v] is not v:
            parent[v] = v = parent[parent[v]]
        return v

    used = [_with_ends(known, term.free_vars()) for term, _ in e.terms]
    for variables in used:
        for v in variables:
            parent.setdefault(v, v)
            parent[root(v)] = root(variables[0])
    groups: dict[Var | None, list[tuple[SymExpr, int]]] = {}
    for variables, part in zip(used, e.terms, strict=True):
        groups.setdefault(root(variables[0]) if variables else None, []).append(part)
    return groups.values()


def _with_ends(known: Knowing, variables: list[Var]) -> list[Var]:
    """Return the variables and those in their bounds."""
    if not known.facts.ends:
        return variables
    closure: dict[Var, None] = {}
    stack = list(variables)
    while stack:
        v = stack.pop()
        if v not in closure:
            closure[v] = None
            stack += [w for end in known.facts.ends.get(v, ()) for w in end.free_vars()]
    return list(closure)


def _least(known: Knowing, e: SymExpr, steps: int) -> Number:
    """Return a lower bound of `e`."""
    out = _each_alone(known, e).low
    if steps and isinstance(e, Sum) and len(e.terms) <= _TERMS:
        out = max(out, _related(known, e, steps - 1))
    if known.seeking:
        known.seeking = False
        out = max(out, _by_facts(known, e, 2, [_FACT_TRIALS // 4]).low)
        known.seeking = True
    return known.residue(e).within(Interval(out, inf)).low


def _related(known: Knowing, e: Sum, steps: int) -> Number:
    """Return the lower bound after eliminating one term that depends on others; -inf if there is none."""
    for var in reversed(known.facts.ends):
        least = _by_ends(known, e, var, steps)
        if least is not None:
            return least
    for term, factor in _related_terms(known, e):
        least = _TAKEN_OUT[term.kind](known, e, term, factor, steps)
        if least is not None:
            return least
    return -inf


def _related_terms(known: Knowing, e: Sum) -> Iterator[tuple[Op, int]]:
    """Yield the operations among the terms that share a variable with another term, the last first."""
    if not any(isinstance(t, Op) and t.kind in _TAKEN_OUT for t, _ in e.terms):
        return
    variables = {t: _with_ends(known, t.free_vars()) for t, _ in e.terms}
    uses = Counter(v for group in variables.values() for v in group)
    for term, factor in reversed(e.terms):
        if (
            isinstance(term, Op)
            and term.kind in _TAKEN_OUT
            and (known.seeking or any(uses[v] > 1 for v in variables[term]))
        ):
            yield term, factor


def _others(e: Sum, term: SymExpr) -> list[tuple[SymExpr, int]]:
    return [(t, c) for t, c in e.terms if t is not term]


def _by_quotient(known: Knowing, e: Sum, term: Op, factor: int, steps: int) -> Number | None:
    """Rewrite `x // d * d` as `x - x % d`; the sum is first scaled so that its factor is a multiple of d."""
    x, by = term.args
    d = by.constant
    if d is None:
        return _by_symbolic_quotient(known, e, term, factor, steps)
    if d <= 0:
        return None
    scale = d // gcd(factor, d)
    times = factor * scale // d
    new = sum_of([*((t, c * scale) for t, c in _others(e, term)), (x, times)], e.offset * scale, e.dtype)
    low = _least(known, new, steps) + known.bounds(floormod(x, d)).scaled(-times).low
    return Interval(low, inf).divided(scale).low


def _by_symbolic_quotient(known: Knowing, e: Sum, term: Op, factor: int, steps: int) -> Number | None:
    """Bound `e` by k if `e * d` is above (k - 1) * d; only the bounds 0 and 1 are tried."""
    x, d = term.args
    if known.bounds(d).low < 0:
        return None
    new = mul(sum_of(_others(e, term), e.offset, e.dtype), d) + x * factor + d - 1
    if factor > 0:
        new = new - (d - 1) * factor
    return next((k for k in (1, 0) if _least(known, new - d * k, steps) >= 0), None)


def _by_remainder(known: Knowing, e: Sum, term: Op, factor: int, steps: int) -> Number | None:
    """Rewrite `x - x % d` as `x // d * d` if that is no longer; x % d is from 0 to d - 1."""
    x, d = term.args
    if d.constant is not None:
        new = sum_of([*_others(e, term), (x, factor), (floordiv(x, d), -factor * d.constant)], e.offset, e.dtype)
        return _least(known, new, steps) if d.constant > 0 and len(terms_of(new)) <= len(e.terms) else None
    if known.bounds(d).low < 0:
        return None
    rest = sum_of(_others(e, term), e.offset, e.dtype)
    return _least(known, rest if factor > 0 else rest + (d - 1) * factor, steps)


def _by_choice(known: Knowing, e: Sum, term: Op, factor: int, steps: int) -> Number | None:
    """Bound a minimum, a maximum or a selection by the sum with either side."""
    others = _others(e, term)
    sides = [_least(known, sum_of([*others, (a, factor)], e.offset, e.dtype), steps // 2) for a in term.args[-2:]]
    return max(sides) if term.kind == ("max" if factor > 0 else "min") else min(sides)


_TAKEN_OUT: dict[str, Callable[[Knowing, Sum, Op, int, int], Number | None]] = {
    "floordiv": _by_quotient,
    "floormod": _by_remainder,
    "min": _by_choice,
    "max": _by_choice,
    "select": _by_choice,
}


def _by_ends(known: Knowing, e: Sum, var: Var, steps: int) -> Number | None:
    """Bound a sum that is linear in a variable by the end of the variable's range that minimizes it."""
    slope = slope_in(e, var)
    if slope is None or slope.constant == 0:
        return None
    sign = known.bounds(slope)
    if not (sign.low >= 0 or sign.high <= 0):
        return None
    first, last = known.facts.ends[var]
    return _least(known, e - mul(var, slope) + mul(first if sign.low >= 0 else last, slope), steps)


def slope_in(e: SymExpr, var: Var) -> SymExpr | None:
    """Return the factor of a variable in an expression; None if it is not linear in it."""
    parts: list[tuple[SymExpr, int]] = []
    for term, factor in terms_of(e):
        if term == var:
            parts.append((product([], e.dtype), factor))
        elif isinstance(term, Product) and var in term.atoms:
            others = list(term.atoms)
            others.remove(var)
            if any(var in a.free_vars() for a in others):
                return None
            parts.append((product(others, e.dtype), factor))
        elif not isinstance(term, Var) and var in term.free_vars():
            return None
    return sum_of(parts, 0, e.dtype)


def fact_bounds(known: Knowing, e: SymExpr) -> Interval:
    """Return an interval of `e` from expressions known to be nonnegative, with chains of up to `_FACT_DEPTH` facts.

    Facts are also used when quotients and remainders are eliminated: `x < y` implies `x // 8 <= y // 8`.
    """
    if not 0 < len(terms_of(e)) <= _TERMS:
        return EVERYTHING
    out = _by_facts(known, e, _FACT_DEPTH, [_FACT_TRIALS])
    if not any(isinstance(t, Op) and t.kind in ("floordiv", "floormod") for t, _ in terms_of(e)):
        return out
    known.seeking = True
    try:
        return out.meet(Interval(_least(known, e, _FACT_STEPS), -_least(known, -e, _FACT_STEPS)))
    finally:
        known.seeking = False


def _by_facts(known: Knowing, e: SymExpr, depth: int, trials: list[int]) -> Interval:
    out = EVERYTHING
    for rest, scale, sign in _fact_steps(known, e):
        if trials[0] <= 0:
            break
        trials[0] -= 1
        low = _least(known, rest * sign, _FACT_STEPS)
        if depth > 1 and terms_of(rest):
            low = max(low, _by_facts(known, rest * sign, depth - 1, trials).low)
        end = Interval(low, inf).divided(scale)
        out = out.meet(end if sign > 0 else end.scaled(-1))
    return out


def _fact_steps(known: Knowing, e: SymExpr) -> Iterator[tuple[SymExpr, int, int]]:
    """Yield (rest, scale, sign): `e * scale * sign` is at least `rest * sign`, where one term of `e` is eliminated."""
    factors = dict(terms_of(e))
    for fact in known.facts.nonnegative:
        for term, factor in terms_of(fact):
            own = factors.get(term)
            if own is None:
                continue
            common = gcd(own, factor)
            scale, times = abs(factor) // common, (own if factor > 0 else -own) // common
            rest = sum_of([(e, scale), (fact, -times)], 0, e.dtype)
            if len(terms_of(rest)) <= len(factors):
                yield rest, scale, 1 if times > 0 else -1


def tightened(e: SymExpr) -> SymExpr:
    """Return an expression that is nonnegative exactly if `e` is: `4 * i - 4 * j + 3` becomes `i - j`."""
    common = gcd(*(c for _, c in terms_of(e)))
    if common <= 1:
        return e
    return sum_of([(t, c // common) for t, c in terms_of(e)], offset_of(e) // common, e.dtype)
