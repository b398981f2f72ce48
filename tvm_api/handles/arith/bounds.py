"""Constant bounds of terms: the interval arithmetic of `sym`, with rules for casts, vectors and floats."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf, isinf, isnan, log2, trunc

from xdsl.dialects.builtin import IntegerType, i1

from ....dialects.dtypes import bit_width, is_float, is_scalable, is_unsigned, lanes_of, numpy_dtype, scalar_of
from ....dialects.sym.bounds import EVERYTHING, TRUTH, Interval
from ....dialects.sym.operations import CONDITIONS, OPERATIONS
from .terms import Term

_EXACT_IN_FLOAT32 = 1 << 24


def bounds_of(term: Term, leaf: Callable[[Term], Interval]) -> Interval:
    """Return the bounds of a term; `leaf` returns those of leaves. Division by zero is assumed not to happen."""
    if term.op == "const":
        return _constant(term)
    if term.op in CONDITIONS:
        return TRUTH
    if term.op == "leaf":
        return leaf(term)
    rules = _FLOAT_RULES if is_float(scalar_of(term.dtype)) else _RULES
    rule = rules.get(term.value if term.op == "call" else term.op)
    bounds = EVERYTHING if rule is None else rule(term, [bounds_of(a, leaf) for a in term.args])
    return _within_dtype(term, bounds)


def _constant(term: Term) -> Interval:
    """Return the bounds of a constant, converted to its dtype; NaN is unbounded."""
    if not is_float(scalar_of(term.dtype)):
        return Interval(term.value, term.value)
    value = float(numpy_dtype(scalar_of(term.dtype)).type(term.value))
    return EVERYTHING if isnan(value) else Interval(value, value)


def _within_dtype(term: Term, bounds: Interval) -> Interval:
    """Return the bounds of a narrow integer: all values of the dtype if the result may wrap around."""
    dtype = scalar_of(term.dtype)
    if not isinstance(dtype, IntegerType):
        return bounds
    limits = dtype_bounds(dtype)
    fits = limits.low <= bounds.low and bounds.high <= limits.high
    return bounds if fits or not (dtype == i1 or is_unsigned(dtype) or bit_width(dtype) < 32) else limits


def dtype_bounds(dtype: IntegerType) -> Interval:
    """Return the minimum and maximum of an integer dtype."""
    bits = bit_width(dtype)
    if dtype == i1:
        return TRUTH
    signs = 0 if is_unsigned(dtype) else 1 << (bits - 1)
    return Interval(-signs, (1 << bits) - 1 - signs)


def _cast(term: Term, args: list[Interval]) -> Interval:
    """Return the bounds of a conversion to an integer, towards zero; values out of range may become anything."""
    (operand,) = term.args
    low, high = args[0]
    target = scalar_of(term.dtype)
    limits = dtype_bounds(target) if isinstance(target, IntegerType) else EVERYTHING
    if is_float(scalar_of(operand.dtype)):
        if max(-low, high) > _EXACT_IN_FLOAT32:
            return limits
        low, high = trunc(low), trunc(high)
    return Interval(low, high) if limits.low <= low and high <= limits.high else limits


def _cast_to_float(term: Term, args: list[Interval]) -> Interval:
    """Return the bounds of a conversion to a float: rounding is monotonic, so exactly representable bounds are kept."""
    low, high = args[0]
    exact = bit_width(scalar_of(term.dtype)) >= 32 and max(-low, high) <= _EXACT_IN_FLOAT32
    return args[0] if exact and low == trunc(low) and high == trunc(high) else EVERYTHING


def _ramp(term: Term, args: list[Interval]) -> Interval:
    base, step = args
    return EVERYTHING if is_scalable(term.dtype) else base + step * Interval(0, lanes_of(term.dtype) - 1)


def _shift_left(term: Term, args: list[Interval]) -> Interval:
    """Return the bounds of a left shift of a non-negative value, if no bits are lost."""
    (low, high), (least, most) = args
    dtype = scalar_of(term.dtype)
    if low < 0 or least < 0 or isinf(high) or not isinstance(dtype, IntegerType) or most >= bit_width(dtype):
        return EVERYTHING
    shifted = Interval(int(low) << int(least), int(high) << int(most))
    return shifted if shifted.high <= dtype_bounds(dtype).high else EVERYTHING


_ROUNDING = 1e-6
"""An upper bound of the rounding error of a single-precision logarithm, relative or, near zero, absolute."""


def _log2(term: Term, args: list[Interval]) -> Interval:
    low, high = args[0]
    if low <= 0 or isinf(high) or bit_width(scalar_of(term.dtype)) < 32:
        return EVERYTHING
    least, most = log2(low), log2(high)
    return Interval(least - _ROUNDING * max(1, abs(least)), most + _ROUNDING * max(1, abs(most)))


def _ceil(term: Term, args: list[Interval]) -> Interval:
    low, high = args[0]
    return EVERYTHING if isinf(low) or isinf(high) else Interval(ceil(low), ceil(high))


def _as_in_sym(name: str) -> Callable[[Term, list[Interval]], Interval]:
    return lambda t, a: OPERATIONS[name].bounds(*a)


_RULES: dict[str, Callable[[Term, list[Interval]], Interval]] = {
    **{name: _as_in_sym(name) for name in OPERATIONS},
    "div": _as_in_sym("truncdiv"),
    "if": _as_in_sym("select"),
    "cast": _cast,
    "broadcast": lambda t, a: a[0],
    "ramp": _ramp,
    "shift_left": _shift_left,
    "vscale": lambda t, a: Interval(1, inf),
}

_FLOAT_RULES: dict[str, Callable[[Term, list[Interval]], Interval]] = {
    "cast": _cast_to_float,
    "log2": _log2,
    "ceil": _ceil,
}
"""The rules for floats are few, since rounding and NaN invalidate most of them."""
