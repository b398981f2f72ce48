"""Scalar semantics of TIR's expressions in numpy, each operation in its exact dtype.

The functions work on numpy scalars and, lane by lane, on arrays (TIR's vectors).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects.dtypes import numpy_dtype, scalar_of

Value = Any
"""A numpy scalar or array."""


def limits(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype, or bool."""
    return (False, True) if np.dtype(dtype).kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def as_array(x: Any) -> Any:
    """Return `x` as an array; arrays of other kinds that take numpy's functions are unchanged."""
    return x if hasattr(x, "__array_function__") else np.asarray(x)


def address(array: Any) -> int:
    """Return where an array's elements begin in memory."""
    own = getattr(array, "address", None)
    return array.__array_interface__["data"][0] if own is None else own


def inside(indices: Any, extent: int) -> Any:
    """Return the indices as int64. Raises `IndexError` if one is negative or not below the extent."""
    array = np.asarray(indices)
    outside = array[(array < 0) | (array >= extent)]
    if outside.size:
        raise IndexError(f"index {outside.flat[0]} is outside of 0 to {extent}")
    return array.astype(np.int64)


def wide(x: Any) -> Any:
    """Convert floats to float64; other values are unchanged."""
    x = as_array(x)
    if not isinstance(x, np.ndarray):
        return x.widened()
    return x if x.dtype.kind in "iub" else x.astype(np.float64)


def summable(x: Any) -> Any:
    """Convert floats to float64 and integers to int64."""
    x = as_array(x)
    return x.astype(np.int64) if x.dtype.kind in "iu" else wide(x)


class InterpreterError(TiraxError, RuntimeError):
    """A program that is undefined on its inputs: an index out of bounds, a division by zero."""


class AssertionFailedError(InterpreterError):
    """A program whose assertion does not hold of its inputs."""


def of_type(value: object, dtype: Attribute) -> Value:
    """Convert a Python number to a scalar of `dtype`; integers wrap."""
    target = numpy_dtype(scalar_of(dtype))
    if target.kind in "iu" and isinstance(value, int):
        return np.array(value & ((1 << (8 * target.itemsize)) - 1), f"u{target.itemsize}").view(target)[()]
    return before_narrowing(np.array(value), target).astype(target)[()]


def _check_divisor(b: Value) -> None:
    if np.any(b == 0):
        raise InterpreterError("division of an integer by zero")


def _in_floats(function: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    """Apply a numpy function; floats narrower than 32 bits are computed in float32 and rounded once."""
    dtype, narrow = a.dtype, a.dtype.kind not in "iu" and a.dtype.itemsize < 4
    x, y = (a.astype(np.float32), b.astype(np.float32)) if narrow else (a, b)
    return as_array(function(x, y)).astype(dtype)[()]


def floor_div(a: Value, b: Value) -> Value:
    if a.dtype.kind in "iu":
        _check_divisor(b)
    return _in_floats(np.floor_divide, a, b)


def floor_mod(a: Value, b: Value) -> Value:
    if a.dtype.kind in "iu":
        _check_divisor(b)
        return np.mod(a, b)
    rest = _in_floats(np.mod, a, b)
    return np.where(rest == 0, np.copysign(rest, a), rest).astype(a.dtype)[()]


def trunc_div(a: Value, b: Value) -> Value:
    if a.dtype.kind not in "iu":
        return (a / b).astype(a.dtype)[()]
    _check_divisor(b)
    quotient = np.floor_divide(a, b)
    inexact = (np.mod(a, b) != 0) & ((a < 0) != (b < 0))
    return (quotient + inexact.astype(a.dtype)).astype(a.dtype)[()]


def trunc_mod(a: Value, b: Value) -> Value:
    if a.dtype.kind in "iu":
        _check_divisor(b)
    return _in_floats(np.fmod, a, b)


def minimum(a: Value, b: Value) -> Value:
    """Return the lesser operand: NaN if either is NaN, the first of equal ones (0 and -0)."""
    return np.where((b < a) | (b != b), b, a).astype(a.dtype)[()]


def maximum(a: Value, b: Value) -> Value:
    """Return the greater operand: NaN if either is NaN, the first of equal ones (0 and -0)."""
    return np.where((b > a) | (b != b), b, a).astype(a.dtype)[()]


def cast(value: Value, dtype: Attribute) -> Value:
    """Convert as in C: floats to integers truncate, integers wrap, anything to bool is `!= 0`."""
    array, target = as_array(value), numpy_dtype(scalar_of(dtype))
    return before_narrowing(array, target).astype(target)[()]


def before_narrowing(array: Any, target: np.dtype[Any]) -> Any:
    """Return float64 as float32 where the target is a float of 8 or 4 bits: native code rounds twice, as PyTorch does,
    and ml_dtypes once since 0.7.
    """
    narrow = target.itemsize == 1 and target.name.startswith("float")
    return array.astype(np.float32) if narrow and array.dtype == np.float64 else array


def select(c: Value, a: Value, b: Value) -> Value:
    return np.where(c, a, b).astype(as_array(a).dtype)[()]


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": trunc_div,
    "truncmod": trunc_mod,
    "floordiv": floor_div,
    "floormod": floor_mod,
    "min": minimum,
    "max": maximum,
    "and": np.logical_and,
    "or": np.logical_or,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _in_float64(function: Callable[..., Any]) -> Callable[..., Value]:
    """Wrap a function to compute in float64 and round once."""

    def run(*args: Value) -> Value:
        wide = [np.asarray(a).astype(np.float64) for a in args]
        return np.asarray(function(*wide)).astype(np.asarray(args[0]).dtype)[()]

    return run


erf = np.vectorize(math.erf, otypes=[np.float64])


def _round_away(x: Any) -> Any:
    """Round halves away from zero, like C's `round`."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def power(x: Any, y: Any) -> Any:
    """Return x to the power y; integers wrap, and a negative y gives 1 / x**-y truncated, or 0 for x = 0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        return np.power(x, y)
    integral = np.power(x, np.maximum(y, 0))
    inverse = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0))
    return np.where(y < 0, inverse, integral).astype(integral.dtype)[()]


FLOAT_INTRINSICS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "erf": erf,
    "sigmoid": sigmoid,
    "fmod": np.fmod,
    "copysign": np.copysign,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "round": _round_away,
    "nearbyint": np.rint,
    "ldexp": lambda x, e: np.ldexp(x, e.astype(np.int64)),
    "fma": lambda a, b, c: a * b + c,
}


def _next_after(a: Value, b: Value) -> Value:
    """Return the next representable number after `a` towards `b`."""
    if np.asarray(a).dtype.name == "bfloat16":
        raise InterpreterError("nextafter of bfloat16 has no reference semantics")
    return np.nextafter(a, b)


INTRINSICS: dict[str, Callable[..., Value]] = {
    **{name: _in_float64(f) for name, f in FLOAT_INTRINSICS.items()},
    "nextafter": _next_after,
    "pow": lambda x, y: power(x, y) if np.asarray(x).dtype.kind in "iu" else _in_float64(np.power)(x, y),
    "strict_multiply": np.multiply,
    "fabs": np.abs,
    "abs": np.abs,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    **dict.fromkeys(("likely", "ignore_loop_partition", "tvm_thread_invariant", "tirax_streamed"), lambda x: x),
    "assume": lambda x: x,
    "undef": lambda: np.int32(0),
    "vectorlow": lambda v: v[: len(v) // 2],
    "vectorhigh": lambda v: v[len(v) // 2 :],
    "vectorcombine": lambda a, b: np.concatenate([a, b]),
    "q_multiply_shift": lambda x, y, q, s: _multiply_shift(
        x, y, np.maximum(s, 0), np.subtract(q, np.minimum(s, 0), dtype=np.int64)
    ),
    "q_multiply_shift_per_axis": lambda x, y, ls, rs, q, left, right: _multiply_shift(
        x, y, np.where(left, ls, 0), np.add(q, np.where(right, rs, 0), dtype=np.int64)
    ),
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "popcount": lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype),
    "clz": lambda x: of_clz(x),
}

COUNTS = frozenset(("popcount", "clz"))
"""Operations that count bits; the result may have another type than the operand."""


def _multiply_shift(x: Value, y: Value, left: Value, right: Value) -> Value:
    """Return x * 2^left * y * 2^-right for 32-bit integers, rounded, computed in 64 bits."""
    product = (x.astype(np.int64) << np.int64(left)) * y.astype(np.int64)
    return ((product + (np.int64(1) << (right - np.int64(1)))) >> right).astype(np.int32)


def of_clz(x: Value) -> Value:
    """Return the number of leading zero bits."""
    bits = 8 * x.dtype.itemsize
    below = x.view(f"u{x.dtype.itemsize}")
    for step in (1, 2, 4, 8, 16, 32):
        if step < bits:
            below = below | below >> step
    return (bits - np.bitwise_count(below)).astype(x.dtype)
