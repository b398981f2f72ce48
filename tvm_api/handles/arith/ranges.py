"""Conversion of integer expressions and ranges between views and symbolic expressions."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IntegerType

from ....diagnostics import DTypeError
from ....dialects.sym.expr import SymExpr, Var, i32, i64
from ....dialects.sym.rebuild import retyped
from ....handles.tir.domains import Range
from ....handles.tir.prim_expr import PrimExpr, as_sym, convert, from_sym


def ends_of(range_: Range) -> tuple[SymExpr, SymExpr]:
    """Return the first value and the extent of a range."""
    return to_sym(range_.min), to_sym(range_.extent)


def to_sym(value: Any) -> SymExpr:
    """Return an integer expression in canonical form. Raises `TiraxError` for other values."""
    e = convert(value)
    if not isinstance(e.type, IntegerType):
        raise DTypeError("integer expressions are analysed", expected="an integer dtype", found=e.dtype)
    return as_sym(e)


def to_view(expr: SymExpr) -> PrimExpr:
    """Return a symbolic expression as a scalar expression; constants have the type of its variables."""
    if isinstance(expr, Var) and expr.value is not None:
        return PrimExpr(expr.value)
    types = {v.dtype for v in expr.free_vars()}
    return from_sym(retyped(expr, i32, {}) if types and i64 not in types else expr)


def variable(value: Any) -> Var:
    """Return the variable of a view. Raises `DTypeError` for other expressions."""
    var = to_sym(value)
    if not isinstance(var, Var):
        raise DTypeError("a variable is needed", expected="tir.Var", found=value)
    return var


def index_type(*exprs: SymExpr) -> IntegerType:
    """Return the widest type of the expressions, or int32 if there are none."""
    return i64 if any(e.dtype == i64 for e in exprs) else i32
