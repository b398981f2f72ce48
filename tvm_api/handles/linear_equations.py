"""`tvm.arith`'s linear equations and inequalities for scalar expressions: views of `solver`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IntegerType

from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.linear import linear_in
from ...handles.array import Array
from ...handles.tir.domains import Range
from ...handles.tir.prim_expr import ExprLike, PrimExpr, const, convert
from .arith.analyzer import IntervalSet, IntSet, domain_of
from .arith.ranges import to_sym, to_view, variable
from .linear_inequalities import deskewed, to_ranges
from .linear_systems import solve
from .solver import clip_bounds, deduced_set


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


@dataclass(frozen=True, repr=False)
class IntConstraints:
    """Variables, their ranges, and relations between them."""

    variables: Sequence[PrimExpr] = ()
    ranges: Mapping[PrimExpr, Range] = field(default_factory=dict[PrimExpr, Range])
    relations: Sequence[PrimExpr] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", Array(self.variables or ()))
        object.__setattr__(self, "ranges", dict(self.ranges or {}))
        object.__setattr__(self, "relations", Array(self.relations or ()))

    def __repr__(self) -> str:
        return f"IntConstraints({self.variables}, {self.ranges}, {self.relations})"


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
    """Return the integer solutions of linear equations, in terms of new free variables, `n0`, `n1`, ….

    What the ranges of the old variables say, beyond the inferred ranges of the new ones, becomes relations, as do
    relations that are no linear equations with constant factors. Without a solution the only relation is false.
    `equations` may be `IntConstraints`, which have the variables and the ranges.
    """
    system = _constraints(equations, variables, ranges)
    solved = solve(system.relations, system.variables, system.ranges, detect_linear_equation)
    target = IntConstraints(solved.variables, solved.ranges, solved.relations)
    return IntConstraintsTransform(system, target, solved.old, solved.new)


def solve_linear_inequalities(
    equations: Any,
    variables: Sequence[PrimExpr] | None = None,
    ranges: Mapping[Any, Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Return the ranges that linear inequalities give the variables, in which a variable may use those after it.

    Relations that the ranges do not imply are kept. With `deskew_range` the solution has new variables whose ranges
    begin at 0. Without a solution the only relation is false. `equations` may be `IntConstraints`.
    """
    system = _constraints(equations, variables, ranges)
    problem = system.variables, system.ranges, system.relations, detect_linear_equation
    never = IntConstraints([], {}, [const(False, "bool")])
    if not deskew_range:
        found = to_ranges(*problem)
        return never if found is None else IntConstraints(system.variables, *found)
    moved = deskewed(*problem)
    if moved is None:
        return IntConstraintsTransform(system, never, {}, {})
    target = IntConstraints(moved.variables, moved.ranges, moved.relations)
    return IntConstraintsTransform(system, target, moved.there, moved.back)


def _constraints(
    relations: Any, variables: Sequence[PrimExpr] | None, ranges: Mapping[Any, Range] | None
) -> IntConstraints:
    if isinstance(relations, IntConstraints):
        return relations
    listed = list(relations) if isinstance(relations, Sequence) else [relations]
    return IntConstraints(list(variables or ()), dict(ranges or {}), [convert(e) for e in listed])
