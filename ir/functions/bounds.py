"""Bounds of symbolic variables from the function attributes `tir_var_lower_bound` and `tir_var_upper_bound`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.sym.analyzer import Analyzer, Interval
from ...dialects.sym.expr import Var
from ..locations import location_of

LOWER_BOUND, UPPER_BOUND = "tir_var_lower_bound", "tir_var_upper_bound"


def upper_bounds(func: relax.FuncOp | tir.FuncOp) -> dict[str, int]:
    """Return the greatest values of variables by name. Raises `TiraxError` for a malformed attribute."""
    return _numbers(func, UPPER_BOUND)


def variable_bounds(func: relax.FuncOp | tir.FuncOp) -> dict[str, Interval]:
    """Return the bounds of a function's symbolic variables, which are never negative.

    Raises `TiraxError` for a malformed attribute.
    """
    lower, upper = _numbers(func, LOWER_BOUND), _numbers(func, UPPER_BOUND)
    return {name: Interval(lower.get(name, 0), upper.get(name, inf)) for name in {**lower, **upper}}


def bind_bounds(func: relax.FuncOp | tir.FuncOp, analyzer: Analyzer, variables: Iterable[Var]) -> None:
    """Add the bounds of some of a function's variables to an analyzer."""
    bounds = variable_bounds(func)
    for var in variables:
        if isinstance(var.name, str) and var.name in bounds:
            analyzer.bind(var, bounds[var.name].low, bounds[var.name].high)


def extents_of_buffers(func: tir.FuncOp) -> list[Var]:
    """Return the variables that are extents of buffers among the parameters."""
    dims = [d for p in func.params if isinstance(p.type, tir.BufferType) for d in p.type.dims]
    return list(dict.fromkeys(d for d in dims if isinstance(d, Var)))


def set_bounds(func: tir.FuncOp, bounds: Mapping[str, Interval]) -> None:
    """Set the attributes for the bounds of variables, and remove others; trivial bounds are left out."""
    before = {} if func.func_attrs is None else func.func_attrs.data
    attrs = {key: value for key, value in before.items() if key not in (LOWER_BOUND, UPPER_BOUND)}
    lower = {name: int(b.low) for name, b in bounds.items() if 0 < b.low < inf}
    upper = {name: int(b.high) for name, b in bounds.items() if b.high < inf}
    for key, numbers in ((LOWER_BOUND, lower), (UPPER_BOUND, upper)):
        if numbers:
            attrs[key] = DictionaryAttr({name: IntegerAttr(n, i64) for name, n in sorted(numbers.items())})
    if attrs != before:
        func.func_attrs = DictionaryAttr(attrs) if attrs else None


def _numbers(func: relax.FuncOp | tir.FuncOp, key: str) -> dict[str, int]:
    bounds: Attribute | None = None if func.func_attrs is None else func.func_attrs.data.get(key)
    if bounds is None:
        return {}
    entries = bounds.data.items() if isinstance(bounds, DictionaryAttr) else ()
    numbers = {name: b.value.data for name, b in entries if isinstance(b, IntegerAttr) and b.value.data >= 0}
    if not isinstance(bounds, DictionaryAttr) or len(numbers) < len(bounds.data):
        raise TiraxError(
            f"the attribute {key} of '{func.sym_name.data}' is malformed",
            location=location_of(func),
            expected='numbers that are not negative, by variable: {"n": 1024}',
            found=bounds,
        )
    return numbers
