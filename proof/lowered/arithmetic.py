"""arith and math on values, by the names of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from ...interpreter import scalars
from ..algebra import Level
from ..functions import FUNCTIONS
from ..terms import NotCoveredError, Terms, is_unknown
from .values import Address, Value, alike, dtype_of, evaluated, number, signed, unsigned, viewed

Function = Callable[..., Value]


def _plain(name: str) -> Function:
    return lambda _op, *values: evaluated(name, *values)


def _of_sign(function: Callable[..., Value], name: str) -> Function:
    return lambda _op, *values: evaluated(name, *map(function, values))


def _bitwise(name: str) -> Function:
    """Return and, or, xor of bits; of booleans they are logical."""
    logical = name.replace("bitwise", "logical")

    def run(_op: Any, a: Value, b: Value) -> Value:
        return evaluated(logical if a.dtype.kind == "b" else name, a, b)

    return run


def _scalar(name: str, sign: Callable[..., Value] = signed) -> Function:
    """Return an operation of tir's table on integers."""
    function = scalars.BINARY[name]

    def run(_op: Any, a: Value, b: Value) -> Value:
        a, b = (sign(v) for v in alike((a, b)))
        return function(a, b) if is_unknown(a) or is_unknown(b) else function(*map(np.asarray, map(number, (a, b))))[()]

    return run


_SIGNS = (None, None, *[signed] * 4, *[unsigned] * 4)
_ORDERS = ("equal", "not_equal", *("less", "less_equal", "greater", "greater_equal") * 2)


def _cmpi(op: Any, a: Value, b: Value) -> Value:
    at = op.predicate.value.data
    a, b = alike((a, b))
    sign = _SIGNS[at]
    if sign is None and a.dtype.kind == "b":
        differ = evaluated("logical_xor", a, b)
        return differ if _ORDERS[at] == "not_equal" else evaluated("logical_not", differ)
    return evaluated(_ORDERS[at], *((a, b) if sign is None else map(sign, (a, b))))


_ORDERED = {1: "equal", 2: "greater", 3: "greater_equal", 4: "less", 5: "less_equal"}
_NEGATED = {9: "less_equal", 10: "less", 11: "greater_equal", 12: "greater", 13: "equal"}


def _cmpf(op: Any, a: Value, b: Value) -> Value:
    """Return comparisons of floats; those that hold of NaN too are negations of the others."""
    at = op.predicate.value.data
    if at in _ORDERED:
        return evaluated(_ORDERED[at], a, b)
    if at in _NEGATED:
        return evaluated("logical_not", evaluated(_NEGATED[at], a, b))
    if at in (7, 14):
        one, other = (evaluated("isnan", v) for v in (a, b))
        nan = one if is_unknown(a) and is_unknown(b) and _same(a, b) else evaluated("logical_or", one, other)
        return nan if at == 14 else evaluated("logical_not", nan)
    raise NotCoveredError(f"the predicate {at} of arith.cmpf")


def _select(_op: Any, condition: Value, a: Value, b: Value) -> Value:
    a, b = alike((a, b))
    if not is_unknown(condition):
        return np.where(number(condition), a, b) if np.ndim(number(condition)) else (a if number(condition) else b)
    result = _extremum(condition, a, b)
    return FUNCTIONS[np.where](condition.algebra, condition, a, b) if result is None else result


def _extremum(condition: Terms, a: Value, b: Value) -> Value | None:
    """Return the maximum of `a > b ? a : b`, and minima: for floats above bits, which are not NaN there.

    A NaN that is kept, `a != a ? a : b`, is `b` then.
    """
    algebra = condition.algebra
    if a.dtype.kind not in "iu" and (algebra.level is Level.BITS or a.dtype.kind == "b"):
        return None
    if is_unknown(a) and a.dtype.kind not in "iu" and _same(evaluated("isnan", a), condition):
        return b
    for name, orders in (("maximum", ("greater", "greater_equal")), ("minimum", ("less", "less_equal"))):
        for order in orders:
            if not (is_unknown(a) or is_unknown(b)):
                continue
            holds = evaluated(order, a, b)
            if isinstance(holds, Terms) and _same(holds, condition):
                return evaluated(name, a, b)
    return None


def _same(a: Terms, b: Terms) -> bool:
    return a.shape == b.shape and bool((a.data["term"][..., 0, :] == b.data["term"][..., 0, :]).all())


def _cast(sign: Callable[..., Value] | None) -> Function:
    def run(op: Any, value: Value) -> Value:
        if isinstance(value, Address):
            return value
        value = value if sign is None or value.dtype.kind == "b" else sign(value)
        dtype = dtype_of(op.result.type)
        if sign is unsigned and dtype.kind == "i" and value.dtype.itemsize == dtype.itemsize:
            return viewed(value, dtype)
        return value.astype(dtype) if isinstance(value, Terms) else np.asarray(value).astype(dtype)[()]

    return run


def _truncated(op: Any, value: Value) -> Value:
    """Return the low bits; those of a boolean that was widened are the boolean."""
    dtype = dtype_of(op.result.type)
    if dtype.kind != "b":
        return value.astype(dtype) if isinstance(value, Terms) else np.asarray(value).astype(dtype)[()]
    if value.dtype.kind == "b":
        return value
    if not is_unknown(value):
        return (np.asarray(number(value)) & 1).astype(bool)[()]
    if value.source is None:
        raise NotCoveredError("the lowest bit of data")
    return value.source


def _negated(_op: Any, value: Value) -> Value:
    return evaluated("negative", value)


def _extremum_of_floats(name: str) -> Function:
    """Return minima and maxima, which differ in NaN and in signs of zero, hence bit by bit."""

    def run(op: Any, a: Value, b: Value) -> Value:
        if is_unknown(a) and a.algebra.level is Level.BITS:
            return a.call(op.name, b)
        return evaluated(name, a, b)

    return run


def constant(op: arith.ConstantOp) -> Value:
    """Return the numbers of a constant."""
    dtype, value = dtype_of(op.result.type), op.value
    if isinstance(value, IntegerAttr | FloatAttr):
        data: Any = value.value.data
        return np.asarray(data & 1 if dtype.kind == "b" else data).astype(dtype)[()]
    if isinstance(value, DenseIntOrFPElementsAttr):
        return dense(value, dtype)
    raise NotCoveredError("a constant of another form")


def dense(value: DenseIntOrFPElementsAttr, dtype: np.dtype[Any]) -> Value:
    given: Any = value.get_values()
    values = np.asarray([int(v) & 1 if dtype.kind == "b" else v for v in given]).astype(dtype)
    shape = value.get_shape()
    return np.broadcast_to(values, shape).copy() if values.size == 1 else values.reshape(shape)


_MATH = {
    "absf": "absolute", "absi": "absolute", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log",
    "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "erf": "erf",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "roundeven": "rint", "powf": "power",
    "copysign": "copysign", "fma": "fma", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip

ARITHMETIC: dict[str, Function] = {
    **{f"math.{name}": _plain(function) for name, function in _MATH.items()},
    **{f"arith.add{t}": _plain("add") for t in "if"},
    **{f"arith.sub{t}": _plain("subtract") for t in "if"},
    **{f"arith.mul{t}": _plain("multiply") for t in "if"},
    "arith.divf": _plain("divide"),
    "arith.remf": _plain("fmod"),
    "arith.negf": _negated,
    "arith.andi": _bitwise("bitwise_and"),
    "arith.ori": _bitwise("bitwise_or"),
    "arith.xori": _bitwise("bitwise_xor"),
    "arith.shli": _plain("left_shift"),
    "arith.shrsi": _of_sign(signed, "right_shift"),
    "arith.shrui": _of_sign(unsigned, "right_shift"),
    "arith.maxsi": _of_sign(signed, "maximum"),
    "arith.minsi": _of_sign(signed, "minimum"),
    "arith.maxui": _of_sign(unsigned, "maximum"),
    "arith.minui": _of_sign(unsigned, "minimum"),
    "arith.divsi": _scalar("div"),
    "arith.remsi": _scalar("truncmod"),
    "arith.divui": _scalar("div", unsigned),
    "arith.remui": _scalar("truncmod", unsigned),
    "arith.floordivsi": _scalar("floordiv"),
    **{f"arith.{name}": _extremum_of_floats("maximum") for name in ("maximumf", "maxnumf")},
    **{f"arith.{name}": _extremum_of_floats("minimum") for name in ("minimumf", "minnumf")},
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.extsi": _cast(signed),
    "arith.extui": _cast(unsigned),
    "arith.trunci": _truncated,
    "arith.sitofp": _cast(signed),
    "arith.uitofp": _cast(unsigned),
    **{f"arith.{name}": _cast(None) for name in ("extf", "truncf", "fptosi", "fptoui", "index_cast")},
    "arith.index_castui": _cast(unsigned),
}
"""Operations on values."""


def is_arithmetic(op: Operation) -> bool:
    return op.name in ARITHMETIC
