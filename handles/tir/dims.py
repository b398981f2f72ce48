"""Extents as users write them: ints, text such as `"n + 1"`, symbolic and scalar expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from xdsl.dialects.builtin import FloatAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import DTypeError, ShapeError
from ...dialects.dtypes import dtype_name, float_attr, is_float
from ...dialects.relax.types import PrimType
from ...dialects.sym.expr import Const, SymExpr, Var, as_expr
from ...ir.locations import location_of
from ...ir.python_text import python_tree
from .placeholders import named_var
from .prim_expr import PrimExpr, as_sym, const
from .symbolic_nodes import SymbolicNodes
from .variables import SizeVar
from .variables import Var as TirVar

Dim = int | PrimExpr

_VARIABLES: WeakValueDictionary[SymExpr, SSAValue] = WeakValueDictionary()
"""The variables that extents were last built from: reading an extent returns the original variable."""
_EXTENTS: WeakSet[SSAValue] = WeakSet()
"""The variables that extents were built from: they are identified by name."""


class ExtentInt(int):
    """A constant extent: an integer that knows its dtype, and has a `value` like an `IntImm`."""

    dtype: str

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def dim_of(value: Any) -> SymExpr:
    """Return an extent as a symbolic expression: an int, text such as `"n + 1"`, a `SymExpr` or a scalar TIR
    expression.

    Raises `DTypeError` for a scalar that is not an integer, `ShapeError` for anything else.
    """
    if isinstance(value, SymExpr):
        return value
    if isinstance(value, str):
        return _parse_dim(value)
    if isinstance(value, bool):
        raise ShapeError("an extent is an integer", found=value)
    if isinstance(value, PrimExpr):
        if not isinstance(value.type, IntegerType):
            what = "the value in ShapeStructInfo can only have dtype of int64"
            raise DTypeError(what, expected="an integer", found=dtype_name(value.type))
        expr = as_sym(value)
        named = {v: named_var(v) for v in expr.free_vars()}
        for var, name in named.items():
            if var.value is not None:
                _VARIABLES[name] = var.value
                _EXTENTS.add(var.value)
        return expr.substitute(named)
    if not hasattr(value, "__index__"):
        raise ShapeError("an extent is an integer or a symbolic expression", found=type(value).__name__)
    return Const(operator.index(value))


def prim_type_of(value: Any, dtype: Attribute | None = None) -> PrimType:
    """Return the struct info of a known scalar: an extent as for `dim_of`, or a float, a constant or a variable.

    Raises `ShapeError` for anything else, and `DTypeError` if it is not of `dtype`.
    """
    if isinstance(value, float):
        value = const(value, dtype)
    if isinstance(value, PrimExpr) and is_float(value.type):
        info = PrimType.of(value.type, _float_value(value))
    else:
        expr = dim_of(value)
        info = PrimType.of(expr.dtype, expr)
    if dtype not in (None, info.dtype):
        raise DTypeError("the value is of another dtype", expected=dtype_name(dtype), found=dtype_name(info.dtype))
    return info


def _float_value(value: PrimExpr) -> FloatAttr[Any] | StringAttr:
    constant = value.constant
    if constant is not None:
        return float_attr(float(constant), value.type)
    if not isinstance(value, TirVar):
        raise ShapeError("a scalar's float is a constant or a variable", found=str(value))
    return StringAttr(value.name)


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
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_fold(node.operand)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_fold(node.left), _fold(node.right))
    raise KeyError(type(node).__name__)


def is_extent_var(value: SSAValue) -> bool:
    """Return whether a variable occurs in extents, where it is identified by name."""
    return value in _EXTENTS


def dim_value(expr: SymExpr, owner: SSAValue | None = None) -> Dim:
    """Return an extent as users read it: an int if it is constant, else an expression over its original variables.

    `owner` is the value that has the extent.
    """
    if expr.constant is None:
        return expr.fold(_Declared(owner))
    return extent_int(expr.constant, dtype_name(expr.dtype))


def extent_int(value: int, dtype: str = "int64") -> ExtentInt:
    """Return an integer that knows its dtype."""
    extent = ExtentInt(value)
    extent.dtype = dtype
    return extent


class _Declared(SymbolicNodes):
    def __init__(self, owner: SSAValue | None):
        super().__init__()
        self.owner = owner

    def var(self, e: Var) -> PrimExpr:
        variable = _VARIABLES.get(e)
        if variable is not None and not _was_parsed(self.owner):
            return TirVar.of(variable)
        return super().var(e) if e.value is not None else SizeVar(str(e.name), e.dtype, self.owner)


def _was_parsed(value: SSAValue | None) -> bool:
    """Return whether a program was parsed from text: then its variables are its own, unrelated to Python
    variables of the same names.
    """
    if value is None:
        return False
    return location_of(value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()) is not None
