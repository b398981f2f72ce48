"""`tvm.tir.generic`: arithmetic with TVM's parameters; and comparisons that are made by name."""

from __future__ import annotations

from typing import Any

from ...handles.relax.expr import Expr
from ...handles.tir import expr_kinds, prim_expr
from ...handles.tir.prim_expr import ExprLike, PrimExpr


def cast(src: ExprLike, dtype: str, span: object = None) -> PrimExpr:
    """Return a value converted to a dtype."""
    return prim_expr.cast(dtype, src)


def divide(lhs: ExprLike, rhs: ExprLike, span: object = None) -> PrimExpr:
    """Return lhs / rhs."""
    return prim_expr.div(lhs, rhs)


def floordiv(lhs: ExprLike, rhs: ExprLike, span: object = None) -> PrimExpr:
    """Return lhs // rhs, rounded down."""
    return prim_expr.floordiv(lhs, rhs)


class _Comparison:
    """A comparison that is not evaluated until it is asked for: as a condition, it compares the expressions' forms."""

    _node = "EQ"
    _equal = True

    def __init__(self, a: Any, b: Any, span: object = None):
        self.a, self.b = a, b

    def asobject(self) -> PrimExpr:
        """Return the comparison as an expression."""
        return expr_kinds.CLASSES[self._node](self.a, self.b)

    def same_as(self, other: object) -> bool:
        """Return whether the other one is this comparison."""
        return self is other

    def __bool__(self) -> bool:
        return self.a.same_as(self.b) is self._equal


class EqualOp(_Comparison):
    """`a == b`: true where both are the same expression."""


class NotEqualOp(_Comparison):
    """`a != b`: true where both are not the same expression."""

    _node = "NE"
    _equal = False


def is_relax_expr(expr: object) -> bool:
    """Return whether a value is an expression of Relax."""
    return isinstance(expr, Expr)


__all__ = ["EqualOp", "NotEqualOp", "cast", "divide", "floordiv", "is_relax_expr"]
