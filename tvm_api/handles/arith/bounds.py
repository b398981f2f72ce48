"""Constant bounds of terms by interval arithmetic, of casts, shifts and vectors as well, unlike those of `sym`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, inf, isinf, isnan, log2, trunc

from xdsl.dialects.builtin import IntegerType, i1

from ....dialects.dtypes import bit_width, is_float, is_scalable, is_unsigned, lanes_of, numpy_dtype, scalar_of
from ....dialects.sym.operations import COMPARISONS
from .terms import Term

Interval = tuple[float, float]
EVERYTHING: Interval = (-inf, inf)
_EXACT_IN_FLOAT32 = 1 << 24


def bounds_of(term: Term, leaf: Callable[[Term], Interval]) -> Interval:
    """The least and the greatest value; `leaf` knows those of leaves. Division by zero does not happen."""
    if term.op == "const":
        return _constant(term)
    if term.op in COMPARISONS or term.op in ("and", "or", "not"):
        return (0, 1)
    if term.op == "leaf":
        return leaf(term)
    rules = _FLOAT_RULES if is_float(scalar_of(term.dtype)) else _RULES
    rule = rules.get(term.value if term.op == "call" else term.op)
    found = EVERYTHING if rule is None else rule(term, [bounds_of(a, leaf) for a in term.args])
    return _within_dtype(term, found)


def _constant(term: Term) -> Interval:
    """Itself, as its dtype holds it; nothing is known of NaN."""
    if not is_float(scalar_of(term.dtype)):
        return (term.value, term.value)
    value = float(numpy_dtype(scalar_of(term.dtype)).type(term.value))
    return EVERYTHING if isnan(value) else (value, value)


def _within_dtype(term: Term, found: Interval) -> Interval:
    """What a narrow integer may be; where a result may wrap around, that is all."""
    dtype = scalar_of(term.dtype)
    if not isinstance(dtype, IntegerType):
        return found
    limits = dtype_bounds(dtype)
    fits = limits[0] <= found[0] and found[1] <= limits[1]
    return found if fits or not (dtype == i1 or is_unsigned(dtype) or bit_width(dtype) < 32) else limits


def dtype_bounds(dtype: IntegerType) -> Interval:
    """The least and the greatest value of an integer dtype."""
    bits = bit_width(dtype)
    if dtype == i1:
        return (0, 1)
    return (0, (1 << bits) - 1) if is_unsigned(dtype) else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _product(a: float, b: float) -> float:
    return 0 if 0 in (a, b) else a * b


def _corners(combine: Callable[[float, float], float], a: Interval, b: Iterable[float]) -> Interval:
    values = [combine(x, y) for x in a for y in b]
    return (min(values), max(values))


def _divisors(b: Interval) -> list[float]:
    """Where quotients are extreme: the ends of the divisors, and those next to zero."""
    return [d for d in (*b, -1, 1) if d != 0 and b[0] <= d <= b[1]]


def _divided(rounded: Callable[[float, float], float]) -> Callable[[Term, list[Interval]], Interval]:
    def rule(term: Term, args: list[Interval]) -> Interval:
        divisors = _divisors(args[1])
        return _corners(rounded, args[0], divisors) if divisors else EVERYTHING

    return rule


def _floor(a: float, b: float) -> float:
    if isinf(b):
        return 0 if not isinf(a) and (a >= 0) == (b > 0) or a == 0 else -1 if not isinf(a) else a * (1 if b > 0 else -1)
    return a * (1 if b > 0 else -1) if isinf(a) else int(a) // int(b)


def _trunc(a: float, b: float) -> float:
    if isinf(a):
        return a * (1 if b > 0 else -1)
    return 0 if isinf(b) else abs(int(a)) // abs(int(b)) * (1 if (a >= 0) == (b > 0) else -1)


def _floormod(term: Term, args: list[Interval]) -> Interval:
    (low, high), (least, most) = args
    if low >= 0 and high < least:
        return (low, high)
    below, above = min(least + 1, 0), max(most - 1, 0)
    # of what is not negative the rest by a positive divisor is no greater than it
    return (below, min(above, high) if low >= 0 and least >= 0 else above)


def _truncmod(term: Term, args: list[Interval]) -> Interval:
    (low, high), (least, most) = args
    size = max(abs(least), abs(most)) - 1
    return (max(min(low, 0), -size), min(max(high, 0), size))


def _cast(term: Term, args: list[Interval]) -> Interval:
    """To an integer, toward zero; what does not fit may be anything."""
    (given,) = term.args
    low, high = args[0]
    target = scalar_of(term.dtype)
    limits = dtype_bounds(target) if isinstance(target, IntegerType) else EVERYTHING
    if is_float(scalar_of(given.dtype)):
        if max(-low, high) > _EXACT_IN_FLOAT32:
            return limits
        low, high = trunc(low), trunc(high)
    return (low, high) if limits[0] <= low and high <= limits[1] else limits


def _cast_to_float(term: Term, args: list[Interval]) -> Interval:
    """Rounding keeps the order, so integers that the float holds exactly bound what lies between them."""
    low, high = args[0]
    exact = bit_width(scalar_of(term.dtype)) >= 32 and max(-low, high) <= _EXACT_IN_FLOAT32
    return (low, high) if exact and low == trunc(low) and high == trunc(high) else EVERYTHING


def _union(term: Term, args: list[Interval]) -> Interval:
    return (min(args[1][0], args[2][0]), max(args[1][1], args[2][1]))


def _ramp(term: Term, args: list[Interval]) -> Interval:
    (low, high), (least, most) = args
    if is_scalable(term.dtype):
        return EVERYTHING
    last = lanes_of(term.dtype) - 1
    return (low + min(0, _product(last, least)), high + max(0, _product(last, most)))


def _shift_right(term: Term, args: list[Interval]) -> Interval:
    low, high = args[1]
    if low < 0 or isinf(high):
        return EVERYTHING
    return _corners(lambda a, n: a if isinf(a) else int(a) >> int(n), args[0], (low, high))


def _shift_left(term: Term, args: list[Interval]) -> Interval:
    """Of what is not negative, as long as nothing is shifted out."""
    (low, high), (least, most) = args
    dtype = scalar_of(term.dtype)
    if low < 0 or least < 0 or isinf(high) or not isinstance(dtype, IntegerType) or most >= bit_width(dtype):
        return EVERYTHING
    found = int(low) << int(least), int(high) << int(most)
    return found if found[1] <= dtype_bounds(dtype)[1] else EVERYTHING


_ROUNDING = 1e-6
"""More than a logarithm in single precision is off, of its value or, near zero, of one."""


def _log2(term: Term, args: list[Interval]) -> Interval:
    low, high = args[0]
    if low <= 0 or isinf(high) or bit_width(scalar_of(term.dtype)) < 32:
        return EVERYTHING
    least, most = log2(low), log2(high)
    return (least - _ROUNDING * max(1, abs(least)), most + _ROUNDING * max(1, abs(most)))


def _ceil(term: Term, args: list[Interval]) -> Interval:
    low, high = args[0]
    return EVERYTHING if isinf(low) or isinf(high) else (ceil(low), ceil(high))


def _bitwise_and(term: Term, args: list[Interval]) -> Interval:
    """What is not negative is no less than its bits."""
    tops = [high for low, high in args if low >= 0]
    return (0, min(tops)) if tops else EVERYTHING


_RULES: dict[str, Callable[[Term, list[Interval]], Interval]] = {
    "add": lambda t, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "sub": lambda t, a: (a[0][0] - a[1][1], a[0][1] - a[1][0]),
    "mul": lambda t, a: _corners(_product, a[0], a[1]),
    "min": lambda t, a: (min(a[0][0], a[1][0]), min(a[0][1], a[1][1])),
    "max": lambda t, a: (max(a[0][0], a[1][0]), max(a[0][1], a[1][1])),
    "div": _divided(_trunc),
    "floordiv": _divided(_floor),
    "floormod": _floormod,
    "truncmod": _truncmod,
    "cast": _cast,
    "select": _union,
    "if": _union,
    "broadcast": lambda t, a: a[0],
    "ramp": _ramp,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "bitwise_and": _bitwise_and,
    "vscale": lambda t, a: (1, inf),
}

_FLOAT_RULES: dict[str, Callable[[Term, list[Interval]], Interval]] = {
    "cast": _cast_to_float,
    "log2": _log2,
    "ceil": _ceil,
}
"""Few: what floats are added, divided or compared to is rounded, and any of it may be NaN."""
