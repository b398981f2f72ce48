"""Operators on each element beside numpy: which there are, on which numbers they are tried, and what they should give.

A row of a table is an operator with its reference and its bound: how many units in the last place a result may be off,
or None where it is to be the same number. A reference computes in a wider format where there is one, and is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Array = Any
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *INTEGERS, "bool", "float8_e4m3fn", "float8_e5m2")
"""What is converted to each of the others."""


def numpy_dtype(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def wide(x: Array) -> Array:
    """Floats in a format with more digits."""
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


class Row(NamedTuple):
    """`reference` is applied to floats in a wider format, and to integers as they are."""

    reference: Callable[..., Array]
    bound: float | None = None
    """None: no difference."""
    dtypes: tuple[str, ...] = FLOATS
    in_dtype: bool = False
    """Whether the reference computes in the dtype itself, in float32 where that has fewer digits."""
    signs: bool = True
    """Whether a zero has to have the sign of the reference's."""
    flushed: float = 0
    """So many least normal numbers may be 0: where a function is computed by one that overflows first."""
    least: float = 0
    """Smaller results may be off by as much as this one: where there is a difference of large numbers."""


# Numbers


def float_values(name: str) -> Array:
    """Zeros, ties, neighbours of integers, denormals, the largest and the smallest numbers, infinities, NaN."""
    dtype = numpy_dtype(name)
    info = ml_dtypes.finfo(dtype)
    limit = 2.0**info.nmant
    chosen = [0, info.smallest_subnormal, 3 * float(info.smallest_subnormal), info.tiny, info.eps, 0.1, 1 / 3, 0.2, 0.5]
    chosen += [1, 1.5, 2, 2.5, 3, 3.5, 5, 6, 7.5, 10, math.pi / 2, math.pi, 20.5, 88.7, 104, 709.7, 745.2]
    chosen += [limit / 2 + 0.5, limit - 0.5, limit, 2 * limit + 2, 1e4, 6e4, 1e8, 1e22, 1e30, info.max, np.inf]
    numbers = np.array([float(v) for v in chosen]).astype(dtype)
    beside = numbers[np.isfinite(numbers.astype("f8"))].view(f"u{dtype.itemsize}")
    beside = np.concatenate([beside + 1, np.maximum(beside, 1) - 1]).astype(beside.dtype).view(dtype)
    both = np.concatenate([numbers, beside[:: 1 if dtype.itemsize < 8 else 1]])
    both = np.unique(both.view(f"u{dtype.itemsize}")).view(dtype)
    return np.concatenate([both, -both, np.array([np.nan], dtype)])


def integer_values(name: str) -> Array:
    """The least and the greatest, their neighbours, those of zero, numbers of bits, powers of two."""
    info = np.iinfo(name)
    bits, low, high = info.bits, int(info.min), int(info.max)
    chosen = {low, low + 1, low // 2, high, high - 1, high // 2, high // 2 + 1, bits - 1, bits, bits + 1, 100}
    chosen |= {v for v in (-100, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 31, 32, 63, 64) if low <= v <= high}
    return np.array(sorted(v for v in chosen if low <= v <= high), name)


def values(name: str) -> Array:
    if name == "bool":
        return np.array([False, True])
    return integer_values(name) if name in INTEGERS else float_values(name)


def pairs(name: str) -> tuple[Array, Array]:
    """Each number beside each."""
    x = values(name)
    if name in FLOATS:
        x = np.concatenate([x[:: max(1, len(x) // 60)], [0, 1, 0.1, -0.1, 3, np.inf, -np.inf]]).astype(x.dtype)
    both = np.array(list(product(range(len(x)), repeat=2)))
    return x[both[:, 0]], x[both[:, 1]]


def ulps(got: Array, exact: Array, least: float = 0) -> Array:
    """How far floats are off, in units in the last place (of `least` at least); infinite where only one is NaN."""
    info = ml_dtypes.finfo(got.dtype)
    beyond = np.ldexp(np.longdouble(1), int(info.maxexp))
    a, b = (np.clip(np.asarray(v, np.longdouble), -beyond, beyond) for v in (got, exact))
    exponent = np.frexp(np.maximum(np.abs(b), np.longdouble(max(least, info.tiny))))[1] - 1
    unit = np.ldexp(np.longdouble(1), exponent - info.nmant)
    far = np.where(np.isnan(a) != np.isnan(b), np.inf, np.where(np.isnan(a), 0, np.abs(a - b) / unit))
    return np.where(a == b, 0, far)


def convertible(x: Array, target: str) -> Array:
    """Which numbers have a value in a dtype: an integer type has none of NaN, infinities and what is beyond it."""
    if target not in INTEGERS or x.dtype.kind in "iub":
        return np.ones(x.shape, bool)
    info, integers = np.iinfo(target), np.trunc(x.astype(np.float64))
    return (integers >= float(info.min)) & (integers < float(info.max) + 1)


# Operators


def expected(row: Row, *args: Array) -> Array:
    """What a row gives, not rounded unless its reference computes in the dtype."""
    if args[0].dtype.kind in "iub":
        return row.reference(*args)
    if not row.in_dtype:
        return row.reference(*map(wide, args))
    wider = [a.astype(np.float32) if a.dtype.itemsize < 4 else a for a in args]
    return row.reference(*wider).astype(args[0].dtype)


def _each(function: Callable[..., float]) -> Callable[..., Array]:
    """A function of Python floats on arrays; NaN where it has no value."""

    def one(*args: Any) -> float:
        try:
            return function(*map(float, args))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(one, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _erf(x: Array) -> Array:
    return _each(math.erf)(x)


def _trunc_div(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y) + ((np.mod(x, y) != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _floor_mod(x: Array, y: Array) -> Array:
    rest = np.mod(x, y)
    return rest if rest.dtype.kind in "iu" else np.where(rest == 0, np.copysign(rest, x), rest)


def _greater(x: Array, y: Array) -> Array:
    return np.where((y > x) | (y != y), y, x)


def _lesser(x: Array, y: Array) -> Array:
    return np.where((y < x) | (y != y), y, x)


def _log_gamma(x: Array) -> Array:
    return np.where((x <= 0) & (x == np.floor(x)), np.inf, _each(math.lgamma)(x))


def _of_python(function: Callable[[int, int, int], int]) -> Callable[[Array, Array], Array]:
    """Of Python's integers and the number of bits, modulo 2**bits."""

    def of_arrays(x: Array, y: Array) -> Array:
        bits = 8 * x.dtype.itemsize
        out = [function(a, b, bits) % (1 << bits) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        return np.array(out, f"u{x.dtype.itemsize}").view(x.dtype)

    return of_arrays


def _integer_power(x: int, y: int, bits: int) -> int:
    if y >= 0:
        return pow(x, y, 1 << bits)
    return 1 if x == 1 else (-1) ** (y % 2) if x == -1 else 0


def _shift_right(x: int, y: int, bits: int) -> int:
    return x >> y if 0 <= y < bits else -(x < 0)


_INTEGER_POWER = _of_python(_integer_power)


def _power(x: Array, y: Array) -> Array:
    return _INTEGER_POWER(x, y) if x.dtype.kind in "iu" else np.power(x, y)


def _numbers(reference: Callable[..., Array], bound: float | None = None) -> Row:
    return Row(reference, bound, FLOATS + INTEGERS)


UNARY: dict[str, Row] = {
    "abs": _numbers(np.abs),
    "ceil": Row(np.ceil),
    "floor": Row(np.floor),
    "round": Row(np.rint),
    "square": _numbers(np.square, 0.5),
    "trunc": Row(np.trunc),
    "nn.relu": _numbers(lambda x: np.where(x < 0, x.dtype.type(0), x)),
    "negative": _numbers(np.negative),
    "sign": _numbers(lambda x: np.where(x == x, np.sign(x), 0).astype(x.dtype)),
    "logical_not": Row(np.logical_not, dtypes=("bool",)),
    "bitwise_not": Row(np.invert, dtypes=(*INTEGERS, "bool")),
    "acos": Row(np.arccos, 1.5),
    "acosh": Row(np.arccosh, 2.25),
    "asin": Row(np.arcsin, 2.75),
    "asinh": Row(np.arcsinh, 2),
    "atan": Row(np.arctan, 2.25),
    "atanh": Row(np.arctanh, 2),
    "cos": Row(np.cos, 2.5),
    "cosh": Row(np.cosh, 2),
    "erf": Row(_erf, 2.25),
    "exp": Row(np.exp, 1.25),
    "expm1": Row(np.expm1, 2.25),
    "lgamma": Row(_log_gamma, 64, signs=False, least=1),
    "log": Row(np.log, 1),
    "log10": Row(np.log10, 1),
    "log1p": Row(np.log1p, 1),
    "log2": Row(np.log2, 1),
    "rsqrt": Row(lambda x: 1 / np.sqrt(x), 1.5),
    "sigmoid": Row(_sigmoid, 4, flushed=1),
    "sin": Row(np.sin, 2.5),
    "sinh": Row(np.sinh, 2),
    "sqrt": Row(np.sqrt, 0.5),
    "tan": Row(np.tan, 4),
    "tanh": Row(np.tanh, 3),
    "nn.silu": Row(lambda x: x * _sigmoid(x), 4, signs=False, flushed=1024),
    "isfinite": Row(np.isfinite),
    "isinf": Row(np.isinf),
    "isnan": Row(np.isnan),
}
BINARY: dict[str, Row] = {
    "add": _numbers(np.add, 0.5),
    "subtract": _numbers(np.subtract, 0.5),
    "multiply": _numbers(np.multiply, 0.5),
    "divide": Row(lambda x, y: x / y if x.dtype.kind not in "iu" else _trunc_div(x, y), 0.5, FLOATS + INTEGERS),
    "floor_divide": Row(np.floor_divide, None, FLOATS + INTEGERS, in_dtype=True),
    "power": Row(_power, 1.5, FLOATS + INTEGERS),
    "mod": Row(np.fmod, None, FLOATS + INTEGERS, in_dtype=True),
    "floor_mod": Row(_floor_mod, None, FLOATS + INTEGERS, in_dtype=True),
    "maximum": _numbers(_greater),
    "minimum": _numbers(_lesser),
    **{name: Row(getattr(np, name), dtypes=("bool",)) for name in ("logical_and", "logical_or", "logical_xor")},
    **{
        name: Row(getattr(np, name), dtypes=(*INTEGERS, "bool"))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    "left_shift": Row(_of_python(lambda x, y, bits: x << y if 0 <= y < bits else 0), dtypes=INTEGERS),
    "right_shift": Row(_of_python(_shift_right), dtypes=INTEGERS),
    **{
        name: Row(getattr(np, name), dtypes=(*FLOATS, *INTEGERS, "bool"))
        for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
    },
}
