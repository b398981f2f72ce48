"""Narrowing of loop variables by conditions: intervals of their values where a condition holds."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import logical_not

Ends = tuple[SymExpr, SymExpr]
"""The least and the greatest value."""


def narrowed(condition: SymExpr, holds: bool, bounds: Mapping[SSAValue, Ends | None]) -> dict[SSAValue, Ends]:
    """Return narrower intervals of variables than `bounds`, where `condition` is true (or false, according to `holds`).

    `i < 5` with i from 0 to 7: 0 to 4, else 5 to 7. If the condition is impossible, variables keep their bounds.
    """
    known, numbers = Analyzer(), dict[SSAValue, tuple[int, int]]()
    variables = {v: v.value for v in condition.free_vars() if v.value is not None}
    for var, value in variables.items():
        low, high = (None if end is None else end.constant for end in bounds.get(value) or (None, None))
        if low is not None and high is not None and low <= high:
            numbers[value] = (low, high)
            known.bind_range(var, Const(low, var.dtype), Const(high - low + 1, var.dtype))
    if not numbers:
        return {}
    known.assume(condition if holds else logical_not(condition))
    ends: dict[SSAValue, Ends] = {}
    for var, value in variables.items():
        interval = known.bounds(var)
        if value in numbers and numbers[value] != (interval.low, interval.high) and interval.low <= interval.high:
            ends[value] = (Const(int(interval.low), var.dtype), Const(int(interval.high), var.dtype))
    return ends
