"""Constant folding of Python operators, with limits so that no text can make the parser run for long."""

from __future__ import annotations

import ast
from typing import Any, cast

from xdsl.dialects.builtin import i1

from ...diagnostics import DTypeError
from ...dialects.sym.expr import Const, SymExpr, i32, i64
from ...dialects.sym.operations import COMPARISONS, OPERATIONS
from ...dialects.sym.operators import ARITHMETIC
from ...dialects.sym.text import beyond_64_bits
from ...ir.passes.limits import check_limit
from .values import Imm

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.Pow: "pow",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.MatMult: "matmul",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Not: "not",
    ast.Invert: "bitwise_not",
}
"""Python's operators by the names that the tables of both dialects use."""

SYMBOLS = {name: row.symbol for name, row in OPERATIONS.items() if row.symbol}
UNARY = {name: OPERATIONS[name].evaluate for name in ("neg", "pos", "not", "bitwise_not")}
_NOT_FOLDED = frozenset({"and", "or", "matmul"})


def is_constant(value: Any) -> bool:
    """Return whether `value` is a number, a string, None, or a sequence of these."""
    if isinstance(value, tuple | list):
        return all(is_constant(v) for v in cast("tuple[Any, ...]", value))
    return value is None or isinstance(value, int | float | str)


def fold(kind: str, a: Any, b: Any) -> Any:
    """Apply an operator to two constants. Raises `ValueError`, `ArithmeticError` or `TypeError` if that fails."""
    row = OPERATIONS[kind]
    if kind in COMPARISONS:
        return row.evaluate(a, b)
    sequences = isinstance(a, tuple | list | str) and isinstance(b, tuple | list | str)
    if sequences and kind == "add":
        check_limit("parse.length", len(cast("str", a)) + len(cast("str", b)), "the sequence is too long")
        return row.evaluate(a, b)
    if not (isinstance(a, int | float) and isinstance(b, int | float)) or kind in _NOT_FOLDED:
        raise TypeError("only numbers can be combined so")
    check_limit("parse.bits", _result_bits(kind, a, b), "the number is too large")
    return row.evaluate(a, b)


def _result_bits(kind: str, a: int | float, b: int | float) -> int:
    if not isinstance(a, int) or not isinstance(b, int):
        return 0
    if kind == "pow":
        return a.bit_length() * max(b, 1)
    return a.bit_length() + (b if kind == "shift_left" else b.bit_length())


def as_sym(value: Any, like: SymExpr | None = None, *, default: Any = None) -> SymExpr | None:
    """Return an integer as a symbolic expression, or None if it is not one.

    An int has the type of `like`, or `default`.
    """
    if isinstance(value, SymExpr):
        return value
    if isinstance(value, bool) and like is not None and like.dtype == i1:
        return Const(int(value), i1)
    if isinstance(value, Imm) and isinstance(value.value, int) and value.dtype in _INDEX_TYPES:
        return Const(value.value, cast("Any", value.dtype))
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(1 << 63) <= value < 1 << 64:
            raise DTypeError(f"{value} does not fit 64 bits")
        dtype = default if like is None else like.dtype
        return Const(value, dtype) if dtype is not None else Const(value)
    return None


_INDEX_TYPES = (i32, i64)


def fold_symbolic(kind: str, a: Any, b: Any) -> SymExpr | None:
    """Apply an operator to symbolic integers; None if the operator has no symbolic form.

    Raises `DTypeError` if a constant in the result does not fit in 64 bits.
    """
    build = ARITHMETIC.get(kind)
    x = as_sym(a, b if isinstance(b, SymExpr) else as_sym(b) if isinstance(b, Imm) else None)
    y = as_sym(b, a if isinstance(a, SymExpr) else as_sym(a) if isinstance(a, Imm) else None)
    if build is None or x is None or y is None:
        return None
    result = build(x, y)
    number = beyond_64_bits(result)
    if number is not None:
        raise DTypeError(f"{number} does not fit 64 bits")
    return result
