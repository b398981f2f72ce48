"""`tvm.arith`'s linear equations and inequalities for scalar expressions: views of `solver`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IntegerType

from ...diagnostics import TiraxError
from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.sym.linear import linear_in
from ...dialects.sym.operators import ge, lt
from ...handles.tir.domains import Range
from ...handles.tir.prim_expr import ExprLike, PrimExpr, const
from ...handles.tir.variables import Var as VarView
from .arith.analyzer import IntervalSet, IntSet, domain_of
from .arith.ranges import ends_of, to_sym, to_view, variable
from .solver import clip_bounds, deduced_set, solved


def detect_linear_equation(expr: ExprLike, var_list: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return the coefficients of the variables followed by the constant term, or an empty list for non-linear
    expressions.

    A negative coefficient of an unsigned variable is signed: that of `128 - c` is -1, which wraps around when
    used.
    """
    coefficients = linear_in(to_sym(expr), [variable(v) for v in var_list])
    return [] if coefficients is None else [_signed(e) for e in (*coefficients[0], coefficients[1])]


def _signed(e: SymExpr) -> PrimExpr:
    if e.constant is not None and e.constant < 0 and is_unsigned(e.dtype):
        return const(e.constant, IntegerType(bit_width(e.dtype)))
    return to_view(e)


def detect_clip_bound(expr: ExprLike, var_list: Sequence[PrimExpr]) -> list[PrimExpr | None]:
    """Return the lower and upper bound of each variable from inequalities, None if unbounded.

    Returns an empty list if one of the inequalities is not about exactly one of the variables.
    """
    bounds = clip_bounds(to_sym(expr), [variable(v) for v in var_list])
    return [None if e is None else to_view(e) for limits in bounds or () for e in limits]


def deduce_bound(
    var: PrimExpr, cond: ExprLike, hint_map: Mapping[Any, Any], relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """Return the values of a variable that satisfy a condition for all values of the variables in `relax_map`."""
    return IntSet.of(deduced_set(variable(var), to_sym(cond), domain_of(hint_map), domain_of(relax_map)))


@dataclass(frozen=True)
class IntConstraints:
    """Variables, their ranges, and relations between them."""

    variables: list[PrimExpr]
    ranges: dict[PrimExpr, Range] = field(default_factory=dict[PrimExpr, Range])
    relations: list[PrimExpr] = field(default_factory=list[PrimExpr])


@dataclass(frozen=True)
class IntConstraintsTransform:
    """Equivalent constraints in terms of other variables."""

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: dict[PrimExpr, PrimExpr]
    """Each old variable in terms of the new ones."""
    dst_to_src: dict[PrimExpr, PrimExpr]
    """Each new variable in terms of the old ones."""


def solve_linear_equations(
    equations: Any, variables: Sequence[PrimExpr] | None = None, ranges: Mapping[Any, Range] | None = None
) -> IntConstraintsTransform:
    """Return the integer solutions of linear equations, in terms of new free variables.

    The ranges of the old variables become relations of the new ones. Raises `TiraxError` if an equation is not
    linear in the variables with constant coefficients.
    """
    equation_list = list(equations) if isinstance(equations, Sequence) else [equations]
    exprs = [to_sym(e) for e in equation_list]
    unknowns = (
        [variable(v) for v in variables] if variables else list(dict.fromkeys(v for e in exprs for v in e.free_vars()))
    )
    solution = solved(exprs, unknowns)
    if solution is None:
        raise TiraxError(
            "not linear equations with constant factors", expected="e.g. x * 2 + y == n", found=equation_list
        )
    fresh: dict[Var, SymExpr] = {v: to_sym(VarView(str(v), v.dtype)) for v in solution.free}
    values = {v: e.substitute(fresh) for v, e in solution.values.items()}
    limits: list[SymExpr] = list(solution.conditions)
    for v, (first, extent) in ((variable(v), ends_of(r)) for v, r in (ranges or {}).items()):
        limits += [ge(values[v] - first, 0), lt(values[v] - first, extent)]
    known = Analyzer()
    relations = [to_view(e) for e in map(known.simplify, limits) if e.constant != 1]
    new = [to_view(fresh[v]) for v in solution.free]
    return IntConstraintsTransform(
        IntConstraints([to_view(v) for v in unknowns], dict(ranges or {}), [to_view(e) for e in exprs]),
        IntConstraints(new, {}, relations),
        {to_view(v): to_view(e) for v, e in values.items()},
        {to_view(fresh[v]): to_view(e) for v, e in solution.free_values.items()},
    )
