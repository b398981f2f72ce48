"""Extents as users write them: ints, text such as `"n + 1"`, symbolic and scalar expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ...diagnostics import ShapeError
from ...dialects.sym.expr import Const, SymExpr, Var, as_expr
from ...ir.python_text import python_tree
from .prim_expr import PrimExpr, as_sym, named_var

Dim = int | SymExpr

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def dim_of(value: Any) -> SymExpr:
    """An extent as a symbolic expression: an int, text such as `"n + 1"`, a `SymExpr` or a scalar TIR expression.

    Raises `ShapeError` for anything else.
    """
    if isinstance(value, SymExpr):
        return value
    if isinstance(value, str):
        return _parse_dim(value)
    if isinstance(value, bool):
        raise ShapeError("an extent is an integer", found=value)
    if isinstance(value, PrimExpr):
        expr = as_sym(value)
        return expr.substitute({v: named_var(v) for v in expr.free_vars()})
    if not hasattr(value, "__index__"):
        raise ShapeError("an extent is an integer or a symbolic expression", found=type(value).__name__)
    return Const(operator.index(value))


def _parse_dim(text: str) -> SymExpr:
    try:
        return as_expr(_fold(python_tree(text.strip(), mode="eval").body))
    except (SyntaxError, KeyError) as error:
        hint = "extents are integers, names and + - * // % of them"
        raise ShapeError(f"'{text}' is no symbolic extent", hint=hint) from error


def _fold(node: ast.expr) -> SymExpr | int:
    if isinstance(node, ast.Name):
        return Var(node.id)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_fold(node.left), _fold(node.right))
    raise KeyError(type(node).__name__)


def dim_value(expr: SymExpr) -> Dim:
    """An extent as users read it: an int where it is constant."""
    return expr if expr.constant is None else expr.constant
