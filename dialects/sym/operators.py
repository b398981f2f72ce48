"""Constructors of nonlinear symbolic operations; constants are folded."""

from __future__ import annotations

from collections.abc import Callable

from .expr import Const, ExprLike, Op, SymExpr, add, floordiv, floormod, i1, i64, mul, sub, typed_like, widest_type
from .operations import COMPARISONS, CONDITIONS, OPERATIONS


def _folded(kind: str, *args: ExprLike) -> tuple[tuple[SymExpr, ...], SymExpr | None]:
    first = next((a for a in args if isinstance(a, SymExpr)), i64)
    exprs = tuple(typed_like(a, first if isinstance(first, SymExpr) else a) for a in args)
    if all(e.constant is not None for e in exprs):
        dtype = i1 if kind in CONDITIONS else widest_type(exprs[-2:])
        return exprs, Const(int(OPERATIONS[kind].evaluate(*(e.constant for e in exprs))), dtype)
    return exprs, None


def truncdiv(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a / b rounded towards zero."""
    args, folded = _folded("truncdiv", a, b)
    return folded or (args[0] if args[1].constant == 1 else Op("truncdiv", args))


def truncmod(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a - trunc(a / b) * b."""
    args, folded = _folded("truncmod", a, b)
    return folded or (Const(0, args[0].dtype) if args[1].constant == 1 else Op("truncmod", args))


def minimum(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return the minimum of a and b."""
    return _extremum("min", a, b)


def maximum(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return the maximum of a and b."""
    return _extremum("max", a, b)


def _extremum(kind: str, a: ExprLike, b: ExprLike) -> SymExpr:
    args, folded = _folded(kind, a, b)
    if folded is not None:
        return folded
    difference = (args[0] - args[1]).constant
    if difference is not None:
        return args[0] if (difference <= 0) == (kind == "min") else args[1]
    return Op(kind, args)


def select(condition: ExprLike, a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a if the condition holds, else b."""
    args, folded = _folded("select", condition, a, b)
    if folded is not None:
        return folded
    if args[0].constant is not None:
        return args[1] if args[0].constant else args[2]
    return args[1] if args[1] == args[2] else Op("select", args)


def _compare(kind: str) -> Callable[[ExprLike, ExprLike], SymExpr]:
    def build(a: ExprLike, b: ExprLike) -> SymExpr:
        args, folded = _folded(kind, a, b)
        if folded is not None:
            return folded
        difference = (args[0] - args[1]).constant
        if difference is not None:
            return Const(int(OPERATIONS[kind].evaluate(difference, 0)), i1)
        return Op(kind, args)

    build.__doc__ = f"Whether a {OPERATIONS[kind].symbol} b, a condition."
    return build


def logical_and(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return the conjunction of two conditions."""
    args, folded = _folded("and", a, b)
    if folded is not None:
        return folded
    for this, other in ((args[0], args[1]), (args[1], args[0])):
        if this.constant is not None:
            return other if this.constant else this
    return args[0] if args[0] == args[1] else Op("and", args)


def logical_or(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return the disjunction of two conditions."""
    args, folded = _folded("or", a, b)
    if folded is not None:
        return folded
    for this, other in ((args[0], args[1]), (args[1], args[0])):
        if this.constant is not None:
            return this if this.constant else other
    return args[0] if args[0] == args[1] else Op("or", args)


def logical_not(a: ExprLike) -> SymExpr:
    """Return the negation of a condition."""
    args, folded = _folded("not", a)
    if folded is not None:
        return folded
    return args[0].args[0] if isinstance(args[0], Op) and args[0].kind == "not" else Op("not", args)


_COMPARE = {kind: _compare(kind) for kind in COMPARISONS}
eq, ne, lt, le, gt, ge = (_COMPARE[kind] for kind in ("eq", "ne", "lt", "le", "gt", "ge"))

OPS: dict[str, Callable[..., SymExpr]] = {
    "floordiv": floordiv,
    "floormod": floormod,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "min": minimum,
    "max": maximum,
    "select": select,
    **_COMPARE,
    "and": logical_and,
    "or": logical_or,
    "not": logical_not,
}
"""The nonlinear operations, by name."""
ARITHMETIC: dict[str, Callable[..., SymExpr]] = {"add": add, "sub": sub, "mul": mul, **OPS}
"""All operations on symbolic expressions, by name."""
