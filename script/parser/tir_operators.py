"""Python operators in a prim_func, folded as TVM folds them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import copy
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.sym.expr import SymExpr, i32
from .folding import SYMBOLS, fold, fold_symbolic
from .tir_state import TirParser
from .tir_values import (
    LOGICAL,
    as_condition,
    cast_to,
    convert,
    element,
    emit_operator,
    expr,
    imm_of,
    lanes,
    promote,
    type_of,
)
from .values import Imm, describe

_INTRINSIC_OPERATORS = {
    "pow": "pow",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}
_LOGICAL = frozenset({"and", "or"})
_NEUTRAL_RIGHT: dict[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "floordiv": 1, "truncdiv": 1}
_NEUTRAL_LEFT: dict[str, int] = {"add": 0, "mul": 1}


_NEUTRAL_RIGHT: dict[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "floordiv": 1, "truncdiv": 1}
_NEUTRAL_LEFT: dict[str, int] = {"add": 0, "mul": 1}


def binary(p: TirParser, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
    _check_operands(p, kind, (a, b), node)
    symbolic = fold_symbolic(kind, a, b) if isinstance(a, SymExpr) or isinstance(b, SymExpr) else None
    if symbolic is not None:
        return as_written(p, symbolic, kind, a, b)
    x, y = imm_of(a), imm_of(b)
    if x is not None and y is not None:
        folded = _fold_imms(p, kind, x, y, node)
        if folded is not None:
            return folded
    if kind in LOGICAL and lanes(type_of(p, a, node)) * lanes(type_of(p, b, node)) > 1:
        kind = f"bitwise_{kind}"  # for booleans, lane by lane, unlike `T.And`
        a, b = as_condition(p, a, node), as_condition(p, b, node)
    kept = _identity(p, kind, a, b, node)
    return emit_operator(p, kind, a, b, node) if kept is None else kept


def as_written(p: TirParser, value: SymExpr, kind: str, a: Any, b: Any) -> SymExpr:
    """Return `value`, the canonical form of an operator on `a` and `b`, and remember the operands for `expr`."""
    if value.constant is not None or value is a or value is b:
        return value
    own = copy(value)
    p.state.written[id(own)] = own, kind, a, b
    return own


def operator_node(p: TirParser, kind: str, a: Any, b: Any, node: ast.AST) -> SSAValue:
    """Build an operator on `a` and `b` without folding."""
    _check_operands(p, kind, (a, b), node)
    return emit_operator(p, kind, a, b, node)


def _check_operands(p: TirParser, kind: str, operands: Sequence[Any], node: ast.AST) -> None:
    for value in operands:
        is_buffer = isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType)
        if is_buffer or isinstance(value, str | tuple | list) or value is None:
            what = "a buffer" if is_buffer else describe(value)
            raise p.error(node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=what)


def _fold_imms(p: TirParser, kind: str, x: Imm, y: Imm, node: ast.AST) -> Imm | None:
    if kind in LOGICAL or kind == "div":
        return None
    dtype = promote(x.dtype, y.dtype)
    values = [convert(v, dtype).value for v in (x, y)]
    try:
        result = fold(kind, *values)
    except (ValueError, ArithmeticError, TypeError) as error:
        if is_float(dtype) and not isinstance(error, TypeError):
            return None  # division by 0 and the like are left to run time
        raise p.error(node, f"'{SYMBOLS.get(kind, kind)}' on constants fails: {error}") from None
    if isinstance(result, complex):
        return None
    return Imm(int(result), i1) if isinstance(result, bool) else convert(Imm(result, dtype), dtype)


def _identity(p: TirParser, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
    """Fold `x + 0`, `x * 1`, `x // 1` and similar identities as TVM's operators do."""
    for value, other, right in ((a, b, True), (b, a, False)):
        imm = imm_of(other)
        if imm is None or isinstance(value, Imm) or kind not in (_NEUTRAL_RIGHT if right else _NEUTRAL_LEFT):
            continue
        neutral = (_NEUTRAL_RIGHT if right else _NEUTRAL_LEFT)[kind]
        if imm.value == neutral:
            x = expr(p, value, node)
            fits = promote(element(x.type), imm.dtype) == element(x.type)
            return x if fits and _is_neutral(kind, is_float(element(x.type))) else None
    return None


def _is_neutral(kind: str, of_floats: bool) -> bool:
    """Return whether a division by 1 is an identity.

    `//` of floats is not, because it rounds; `/` of integers is an error.
    """
    return of_floats if kind == "div" else not of_floats if kind == "floordiv" else True


def unary(p: TirParser, kind: str, value: Any, node: ast.AST) -> Any:
    _check_operands(p, kind, (value,), node)
    imm = imm_of(value)
    if kind == "neg":
        if isinstance(value, SymExpr):
            return -value
        if imm is not None:
            return convert(Imm(-imm.value, imm.dtype), imm.dtype)
        x = expr(p, value, node)
        minus = cast_to(p, Imm(-1, i32), x.type, node)
        return p.emit(tir.MulOp(x, minus), node)
    if kind == "not":
        return p.emit(tir.NotOp(as_condition(p, value, node)), node)
    x = expr(p, value, node)
    return p.emit(tir.CallIntrinOp(kind, [x], x.type), node)
