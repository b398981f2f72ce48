"""The form of conditions that `Analyzer.simplify` gives to readers."""

from __future__ import annotations

from functools import reduce
from math import gcd

from ....dialects.sym.analyzer import EVERYTHING, Analyzer
from ....dialects.sym.expr import Op, SymExpr, i1, offset_of, sum_of, terms_of
from ....dialects.sym.operations import COMPARISONS
from ....dialects.sym.operators import OPS
from ....dialects.sym.rules import sides_of


def normal_condition(known: Analyzer, e: SymExpr) -> SymExpr:
    """A condition whose comparisons have each term on one side: `x * 2 + n + 3 > n` becomes `-2 < x`.

    What is joined is joined from the left: `a and (b and c)` becomes `(a and b) and c`.
    """
    if not isinstance(e, Op) or e.dtype != i1:
        return e
    if e.kind in ("and", "or"):
        return reduce(OPS[e.kind], (normal_condition(known, side) for side in sides_of(e, e.kind)))
    if e.kind not in COMPARISONS:
        return OPS[e.kind](*(normal_condition(known, a) for a in e.args))
    kind, a, b = _directed(known, e)
    difference = a - b
    terms, offset = terms_of(difference), offset_of(difference)
    common = gcd(*(c for _, c in terms)) or 1
    if kind in ("eq", "ne") and offset % common:
        return e
    offset = -(-(offset + (kind == "lt")) // common) - (kind == "lt") if kind in ("lt", "le") else offset // common
    left = sum_of([(t, c // common) for t, c in terms if c > 0], max(offset, 0), difference.dtype)
    right = sum_of([(t, -c // common) for t, c in terms if c < 0], max(-offset, 0), difference.dtype)
    return OPS[kind](left, right)


def _directed(known: Analyzer, e: Op) -> tuple[str, SymExpr, SymExpr]:
    """A comparison as `<` or `<=` where it is one: n != 0 -> 0 < n  where n is not negative"""
    a, b = e.args
    if e.kind in ("gt", "ge"):
        return {"gt": "lt", "ge": "le"}[e.kind], b, a
    around = known.bounds(a - b) if e.kind == "ne" else EVERYTHING
    if around.high == 0:
        return "lt", a, b
    return ("lt", b, a) if around.low == 0 else (e.kind, a, b)
