"""`tvm.testing`'s checks of conditions and of transformed constraints, by all values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...diagnostics import UnsupportedError
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import class_name, expr_node
from ...handles.tir.prim_expr import PrimExpr, all_of, any_of, const, convert, equal, logical_not
from ...ir.origins import origin
from ..handles.arith.analyzer import Analyzer
from ..handles.linear_equations import IntConstraints, IntConstraintsTransform
from ..handles.tir_functor import substitute

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide, "FloorMod": np.mod,
    "Min": np.minimum, "Max": np.maximum, "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
    "GT": np.greater, "GE": np.greater_equal, "And": np.logical_and, "Or": np.logical_or, "Not": np.logical_not,
}  # fmt: skip


def check_bool_expr_is_true(bool_expr: PrimExpr, vranges: Mapping[Any, Range], cond: PrimExpr | None = None) -> None:
    """Raise `AssertionError`, with a counterexample, if a condition does not hold for all values of the variables.

    With `cond` it need only hold where that does. The ranges are constant.
    """
    condition = bool_expr if cond is None else any_of(logical_not(cond), bool_expr)
    ranges = {v: range(int(r.min), int(r.min) + int(r.extent)) for v, r in vranges.items()}
    grids = np.meshgrid(*(np.array(r, "int64") for r in ranges.values()), indexing="ij", sparse=True)
    values = {origin(v.ssa): grid for v, grid in zip(ranges, grids, strict=True)}
    holds = np.broadcast_to(_value(condition, values), [len(r) for r in ranges.values()])
    if not holds.all():
        at = np.argwhere(~holds)[0]
        example = ", ".join(sorted(f"{v} = {r[int(k)]}" for (v, r), k in zip(ranges.items(), at, strict=True)))
        raise AssertionError(f"Expression {condition}\nis not true on {dict(vranges)}\nCounterexample: {example}")


def _value(e: PrimExpr, values: Mapping[Any, Any]) -> Any:
    """Return the values of an expression of integers for arrays of values of its variables."""
    node = expr_node(convert(e).ssa)
    if node.constant is not None:
        return np.bool_(node.constant) if node.dtype == "bool" else np.int64(node.constant)
    known = values.get(origin(node.ssa))
    if known is not None:
        return known
    function = _FUNCTIONS.get(class_name(node))
    if function is None:
        raise UnsupportedError("a condition of integer arithmetic is checked", found=str(node))
    parts = ("a",) if function is np.logical_not else ("a", "b")
    return function(*(_value(node.part_of(name), values) for name in parts))


def check_int_constraints_trans_consistency(
    constraints_trans: IntConstraintsTransform, vranges: Mapping[Any, Range] | None = None
) -> None:
    """Raise `AssertionError` unless each solution of the one constraints is mapped to one of the other and back.

    `vranges` are the ranges of parameters.
    """
    there, back, known = constraints_trans.src_to_dst, constraints_trans.dst_to_src, dict(vranges or {})
    _check_side(constraints_trans.src, constraints_trans.dst, there, back, known)
    _check_side(constraints_trans.dst, constraints_trans.src, back, there, known)


def _check_side(
    source: IntConstraints,
    target: IntConstraints,
    there: Mapping[PrimExpr, PrimExpr],
    back: Mapping[PrimExpr, PrimExpr],
    known: Mapping[Any, Range],
) -> None:
    true = const(True, "bool")
    claims = [equal(v, substitute(there[v], dict(back))) for v in source.variables if v in there]
    conditions = list(target.relations)
    for var in (v for v in target.variables if v in target.ranges):
        domain = target.ranges[var]
        conditions += [var >= domain.min, var < domain.min + domain.extent]
    claims += [substitute(condition, dict(back)) for condition in conditions]
    claim = Analyzer().simplify(all_of(true, *claims))
    check_bool_expr_is_true(claim, {**known, **source.ranges}, all_of(true, *source.relations))


__all__ = ["check_bool_expr_is_true", "check_int_constraints_trans_consistency"]
