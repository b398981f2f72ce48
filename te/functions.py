"""Scalar functions specific to tensor expressions: TVM's names for index arithmetic and a few intrinsics."""

from __future__ import annotations

from ..diagnostics import DTypeError
from ..dialects.dtypes import is_float
from ..handles.tir.math_functions import exp, log
from ..handles.tir.prim_expr import ExprLike, PrimExpr, add, call_intrin, convert, floordiv, floormod, match_types


def _float_pair(name: str, a: ExprLike, b: ExprLike) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not is_float(x.type):
        raise DTypeError(f"{name} is for floating point numbers", expected="a floating point dtype", found=x.dtype)
    return x, y


def fmod(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return x - trunc(x / y) * y for floating-point operands. Raises `DTypeError` for integers."""
    a, b = _float_pair("fmod", x, y)
    return call_intrin(a.type, "fmod", a, b)


def atan2(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the angle of the point (y, x) in radians. Raises `DTypeError` for integers."""
    a, b = _float_pair("atan2", x, y)
    return call_intrin(a.type, "atan2", a, b)


def logaddexp(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return log(exp(a) + exp(b)); as in TVM, it overflows where exp(a) does."""
    return log(add(exp(a), exp(b)))


def popcount(x: ExprLike) -> PrimExpr:
    """Return the number of set bits of an integer. Raises `DTypeError` for floating-point operands."""
    value = convert(x)
    if is_float(value.type):
        raise DTypeError("popcount is for integers", expected="an integer dtype", found=value.dtype)
    return call_intrin(value.type, "popcount", value)


def indexdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return floor(a / b) for indices."""
    return floordiv(a, b)


def indexmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return a - floor(a / b) * b for indices."""
    return floormod(a, b)
