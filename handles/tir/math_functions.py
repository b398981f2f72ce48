"""Functions of floats as scalar expressions: the unary intrinsics, rounding, tests for infinity and NaN, powers."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.builtin import i1

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_float, is_unsigned, scalar_of
from .limits import infinity
from .prim_expr import (
    BINARY,
    ExprLike,
    PrimExpr,
    call_intrin,
    cast,
    const,
    convert,
    equal,
    logical_not,
    match_types,
    not_equal,
    select,
)


def _half_away(x: float) -> float:
    """Round x to the nearest integer, halves away from 0."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


_ROUNDED: dict[str, Callable[[float], float]] = {
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "nearbyint": lambda x: float(round(x)),
    "round": _half_away,
}


def _unary_intrinsic(name: str, integers: str = "float32") -> Callable[[ExprLike], PrimExpr]:
    """Return a function that builds an intrinsic; `integers` is the dtype that integer operands become, or `same`."""

    def build(x: ExprLike) -> PrimExpr:
        e = convert(x)
        if not is_float(e.type):
            if integers == "same":
                return e
            e = cast(integers, e)
        known = e.constant
        if integers == "same" and isinstance(known, float) and math.isfinite(known):
            return const(_ROUNDED[name](known), e.type)
        return call_intrin(e.type, name, e)

    build.__name__, build.__doc__ = name, f"{name}(x), element by element."
    return build


exp, exp2, exp10, expm1 = (_unary_intrinsic(n) for n in ("exp", "exp2", "exp10", "expm1"))

log, log2, log10, log1p = (_unary_intrinsic(n) for n in ("log", "log2", "log10", "log1p"))

sin, cos, tan, sinh, cosh, tanh = (_unary_intrinsic(n) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh"))

asin, acos, atan = (_unary_intrinsic(n) for n in ("asin", "acos", "atan"))

asinh, acosh, atanh = (_unary_intrinsic(n) for n in ("asinh", "acosh", "atanh"))

erf, sqrt, rsqrt, sigmoid = (_unary_intrinsic(n) for n in ("erf", "sqrt", "rsqrt", "sigmoid"))

floor, ceil, trunc = (_unary_intrinsic(n, "same") for n in ("floor", "ceil", "trunc"))

nearbyint = _unary_intrinsic("nearbyint", "same")

round_ = _unary_intrinsic("round", "same")


def abs_(value: ExprLike) -> PrimExpr:
    """Return |x|."""
    x = convert(value)
    if is_float(x.type):
        return call_intrin(x.type, "fabs", x)
    return x if is_unsigned(x.type) else select(x >= 0, x, const(0, x.type) - x)


def isnan(value: ExprLike) -> PrimExpr:
    """Return whether x is NaN, as an expression; never for integers."""
    x = convert(value)
    truth = tir.with_lanes(i1, x.type)
    if not is_float(scalar_of(x.type)):
        return cast(truth, const(False, i1))
    return call_intrin(truth, "isnan", cast("float32", x) if bit_width(scalar_of(x.type)) < 32 else x)


def isinf(value: ExprLike) -> PrimExpr:
    """Return whether x is infinite, as an expression; never for integers."""
    x = convert(value)
    if not is_float(x.type):
        return const(False, i1)
    return BINARY["and"](equal(abs_(x), infinity(x.type)), logical_not(isnan(x)))


def isfinite(value: ExprLike) -> PrimExpr:
    """Return whether x is neither infinite nor NaN, as an expression; always for integers."""
    x = convert(value)
    if not is_float(x.type):
        return const(True, i1)
    nan = isnan(x)
    return BINARY["and"](BINARY["or"](not_equal(abs_(x), infinity(x.type)), nan), logical_not(nan))


def power(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return a to the power b."""
    x, y = match_types(a, b)
    return call_intrin(x.type, "pow", x, y)
