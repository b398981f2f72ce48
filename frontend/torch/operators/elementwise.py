"""Elementwise operators: functions, arithmetic, comparisons, logic, selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, const
from ....topi import number_parts
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, dtype_of, is_float, rank_of
from ..promotion import common_dtype, floating, in_single, operands
from ..table import add_rows, row

_SAME = {"abs": R.abs, "neg": R.negative, "relu": R.nn.relu}
"""Functions of any dtype, which they preserve."""
_ROUNDING = {"ceil": R.ceil, "floor": R.floor, "trunc": R.trunc, "fix": R.trunc}
"""Rounding functions, which return integers unchanged."""
_FLOATING = {
    "acos": R.acos, "acosh": R.acosh, "asin": R.asin, "asinh": R.asinh, "atan": R.atan, "atanh": R.atanh, "cos": R.cos,
    "cosh": R.cosh, "erf": R.erf, "exp": R.exp, "log": R.log, "rsqrt": R.rsqrt, "sigmoid": R.sigmoid, "sin": R.sin,
    "sinh": R.sinh, "sqrt": R.sqrt, "tan": R.tan, "tanh": R.tanh, "silu": R.nn.silu, "selu": R.nn.selu,
    "expm1": R.expm1, "log1p": R.log1p, "log2": R.log2, "log10": R.log10,
    "lgamma": R.lgamma, "digamma": R.digamma, "erfinv": R.erfinv,
}  # fmt: skip
"""Floating-point functions; integers are converted."""
_ARITHMETIC = {"maximum": R.maximum, "minimum": R.minimum, "max.other": R.maximum,
               "min.other": R.minimum, "fmod": R.mod}  # fmt: skip
_BITS = {
    "bitwise_and": (R.bitwise_and, R.logical_and),
    "bitwise_or": (R.bitwise_or, R.logical_or),
    "bitwise_xor": (R.bitwise_xor, R.logical_xor),
    "__and__": (R.bitwise_and, R.logical_and),
    "__or__": (R.bitwise_or, R.logical_or),
    "__xor__": (R.bitwise_xor, R.logical_xor),
}
"""Operators on integers, and on booleans."""
_SHIFTS = {"bitwise_left_shift": R.left_shift, "bitwise_right_shift": R.right_shift, "__lshift__": R.left_shift,
           "__rshift__": R.right_shift}  # fmt: skip
_COMPARISONS = {
    "eq": R.equal, "ne": R.not_equal, "lt": R.less, "le": R.less_equal, "gt": R.greater, "ge": R.greater_equal,
    "greater": R.greater, "greater_equal": R.greater_equal, "less": R.less, "less_equal": R.less_equal,
    "not_equal": R.not_equal,
}  # fmt: skip
_ROOTS = {0.5: R.sqrt, -0.5: R.rsqrt}
_LOGIC = {"logical_and": R.logical_and, "logical_or": R.logical_or, "logical_xor": R.logical_xor}

Build = Callable[..., Expr]
_single = partial(in_single, rounds=True)
_with_number = partial(in_single, rounds=True, keeps_right=True)


def _same(build: Build) -> Callable[[Emitter, Expr], Expr]:
    return lambda e, x: build(x)


def _rounding(build: Build) -> Callable[[Emitter, Expr], Expr]:
    return lambda e, x: build(x) if is_float(dtype_of(x)) else x


def _floating(build: Build) -> Callable[[Emitter, Expr], Expr]:
    return lambda e, x: build(*floating(e, x))


def _arithmetic(build: Build) -> Callable[[Emitter, Any, Any], Expr]:
    return lambda e, x, other: build(*operands(e, x, other))


def _bits(of_numbers: Build, of_truth: Build) -> Callable[[Emitter, Any, Any], Expr]:
    def convert(e: Emitter, x: Any, other: Any) -> Expr:
        a, b = operands(e, x, other)
        return of_truth(a, b) if dtype_of(a) == "bool" else of_numbers(a, b)

    return convert


def _logic(build: Build) -> Callable[[Emitter, Expr, Expr], Expr]:
    return lambda e, x, other: build(*(truth(v) for v in (x, other)))


add_rows((name, _same(build)) for name, build in _SAME.items())
add_rows((name, _rounding(build)) for name, build in _ROUNDING.items())
add_rows((name, _floating(build)) for name, build in _FLOATING.items())
add_rows((name, _arithmetic(build)) for name, build in (_ARITHMETIC | _SHIFTS | _COMPARISONS).items())
add_rows((name, _bits(*builds)) for name, builds in _BITS.items())
add_rows((name, _logic(build)) for name, build in _LOGIC.items())


def truth(x: Expr) -> Expr:
    """Return whether the elements are nonzero."""
    dtype = dtype_of(x)
    return x if dtype == "bool" else R.not_equal(x, const(0, dtype))


def number(x: Expr, value: float) -> Expr:
    """Return a constant of the dtype of x."""
    return const(value, dtype_of(x))


# Arithmetic.


def scaled(e: Emitter, value: Any, alpha: Any) -> Any:
    """Return value * alpha, or value itself if alpha is 1."""
    if isinstance(alpha, int | float) and alpha == 1:
        return value
    if isinstance(value, Expr):
        product = R.logical_and if dtype_of(value) == "bool" else R.multiply
        return e.emit(product(value, e.tensor(alpha, dtype_of(value))))
    return value * alpha


def _beside_number(convert: Callable[[Emitter, Any, Any], Expr]) -> Callable[[Emitter, Any, Any], Expr]:
    """Wrap a row so that, as in PyTorch, a rank-0 right operand is not rounded to the left operand's 16 bits."""
    wide = _with_number(convert)

    def apply(e: Emitter, x: Any, other: Any) -> Expr:
        kept = isinstance(other, Expr) and not rank_of(other) and dtype_of(other) != common_dtype([x, other])
        return (wide if kept else convert)(e, x, other)

    return apply


_quotient = _beside_number(lambda e, x, other: R.divide(*floating(e, x, other)))
_product = _beside_number(_bits(R.multiply, R.logical_and))
add_rows([("mul", _product), ("multiply", _product)])


@row("add")
def add(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Expr:
    """x + alpha * other"""
    return (_sum if alpha == 1 else _single(_sum))(e, x, other, alpha)


def _sum(e: Emitter, x: Any, other: Any, alpha: Any) -> Expr:
    a, b = operands(e, x, other)
    return R.logical_or(a, b) if dtype_of(a) == "bool" else R.add(a, scaled(e, b, alpha))


@row("sub", "subtract")
def sub(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Expr:
    """x - alpha * other"""
    return (_difference if alpha == 1 else _single(_difference))(e, x, other, alpha)


def _difference(e: Emitter, x: Any, other: Any, alpha: Any) -> Expr:
    a, b = operands(e, x, other)
    return R.subtract(a, scaled(e, b, alpha))


@row("rsub")
def rsub(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Expr:
    """other - alpha * x"""
    return sub(e, other, x, alpha)


@row("div", "divide", "true_divide")
def div(e: Emitter, x: Any, other: Any, rounding_mode: str | None = None) -> Expr:
    """Return x / other, rounded towards zero (`trunc`) or down (`floor`) if requested."""
    if rounding_mode is None:
        return _quotient(e, x, other)
    if rounding_mode == "floor":
        return floor_divide(e, x, other)
    of_numbers = not isinstance(other, Expr) or not rank_of(other)
    build = _with_number(_truncated_quotient) if of_numbers else _truncated_quotient
    return build(e, _dividend(e, x, other), other)


@row("floor_divide")
def floor_divide(e: Emitter, x: Any, other: Any) -> Expr:
    """floor(x / other)"""
    return _floored_quotient(e, _dividend(e, x, other), other)


@_with_number
def _floored_quotient(e: Emitter, x: Any, other: Any) -> Expr:
    return R.floor_divide(*operands(e, x, other))


def _dividend(e: Emitter, x: Any, other: Any) -> Expr:
    """Return a number as a tensor rounded to 16 bits, since PyTorch rounds dividends but not divisors."""
    return x if isinstance(x, Expr) else e.tensor(x, common_dtype([x, other]))


def _truncated_quotient(e: Emitter, x: Any, other: Any) -> Expr:
    """Return the truncated quotient; as in PyTorch, 16-bit quotients of tensors (not numbers) are rounded first."""
    quotient = R.divide(*operands(e, x, other))
    return R.trunc(quotient) if is_float(dtype_of(quotient)) else quotient


@row("remainder")
def remainder(e: Emitter, x: Any, other: Any) -> Expr:
    """Return the remainder with the sign of the divisor."""
    return R.floor_mod(*operands(e, x, other))


@row("pow")
def power(e: Emitter, x: Any, exponent: Any) -> Expr:
    """Return x to the power of the exponent, also for negative integer exponents. An exponent of 0.5 is a square
    root.
    """
    root = None if isinstance(exponent, Expr) else _ROOTS.get(exponent)
    if root is not None:
        return root(*floating(e, x))
    a, b = operands(e, x, exponent)
    return R.logical_or(a, R.logical_not(b)) if dtype_of(a) == "bool" else R.power(a, b)


@row("square")
def square(e: Emitter, x: Expr) -> Expr:
    """Return x * x; booleans count as integers."""
    return R.square(cast_to(x, "int64") if dtype_of(x) == "bool" else x)


@row("reciprocal")
def reciprocal(e: Emitter, x: Expr) -> Expr:
    """1 / x"""
    (a,) = floating(e, x)
    return R.divide(number(a, 1.0), a)


@row("addcmul")
@_single
def addcmul(e: Emitter, x: Expr, tensor1: Expr, tensor2: Expr, value: Any = 1) -> Expr:
    """x + value * tensor1 * tensor2"""
    a, b, c = operands(e, x, tensor1, tensor2)
    return R.add(a, scaled(e, e.emit(R.multiply(b, c)), value))


@row("addcdiv")
@_single
def addcdiv(e: Emitter, x: Expr, tensor1: Expr, tensor2: Expr, value: Any = 1) -> Expr:
    """x + value * tensor1 / tensor2"""
    a, b, c = floating(e, x, tensor1, tensor2)
    return R.add(a, scaled(e, e.emit(R.divide(b, c)), value))


@row("lerp")
@_single
def lerp(e: Emitter, x: Expr, end: Expr, weight: Any) -> Expr:
    """x + weight * (end - x)"""
    a, b = operands(e, x, end)
    return R.add(a, R.multiply(e.tensor(weight, dtype_of(a)), R.subtract(b, a)))


# Unary functions composed of others.


@row("positive", "clone", "detach", "detach_", "alias", "contiguous", "lift_fresh_copy", "lift_fresh", "resolve_conj",
     "resolve_neg", "detach_copy", "alias_copy", "lift")  # fmt: skip
def identity(e: Emitter, x: Expr) -> Expr:
    """Return x itself: values have no storage identity here."""
    return x


@row("round")
def round_(e: Emitter, x: Expr, decimals: int = 0) -> Expr:
    """Round to the given number of decimals, halves to even."""
    if not is_float(dtype_of(x)):
        if decimals < 0:
            raise UnsupportedError("integers are rounded to no power of ten")
        return x
    if decimals == 0:
        return R.round(x)
    factor = number(x, 10.0 ** abs(decimals))
    if decimals > 0:
        return R.divide(R.round(R.multiply(x, factor)), factor)
    return R.multiply(R.round(R.divide(x, factor)), factor)


@row("exp2")
def exp2(e: Emitter, x: Expr) -> Expr:
    """Return 2 to the power of x."""
    (a,) = floating(e, x)
    return R.power(number(a, 2.0), a)


@row("erfc")
@_single
def erfc(e: Emitter, x: Expr) -> Expr:
    """Return 1 + erf(-x), which is accurate for large x (docs/vector_math.md)."""
    (a,) = floating(e, x)
    return R.add(number(a, 1.0), R.erf(R.negative(a)))


@row("frac")
def frac(e: Emitter, x: Expr) -> Expr:
    """Return the fractional part, x - trunc(x)."""
    return R.subtract(x, R.trunc(x))


@row("hypot")
@_single
def hypot(e: Emitter, x: Any, other: Any) -> Expr:
    """Return sqrt(x² + other²), computed without overflow; infinite if one of them is."""
    a, b = (e.bound(R.abs(v)) for v in floating(e, x, other))
    most, least = e.emit(R.maximum(a, b)), e.emit(R.minimum(a, b))
    part = e.emit(R.divide(least, R.where(R.equal(most, number(a, 0.0)), number(a, 1.0), most)))
    length = R.multiply(most, R.sqrt(R.add(number(a, 1.0), R.multiply(part, part))))
    return R.where(R.logical_or(R.isinf(a), R.isinf(b)), number(a, math.inf), length)


@row("atan2", "arctan2")
@_single
def atan2(e: Emitter, x: Any, other: Any) -> Expr:
    """Return the angle of the point (other, x), respecting the signs of zeros."""
    y, x = (e.bound(v) for v in floating(e, x, other))
    origin = R.logical_and(R.equal(y, number(y, 0.0)), R.equal(x, number(x, 0.0)))
    far = R.logical_and(R.isinf(y), R.isinf(x))
    quotient = R.where(far, R.multiply(R.sign(y), R.sign(x)), R.where(origin, y, R.divide(y, x)))
    angle = e.emit(R.atan(quotient))
    pi = number(x, math.pi)
    return R.where(_signbit(e, x), R.where(_signbit(e, y), R.subtract(angle, pi), R.add(angle, pi)), angle)


def _signbit(e: Emitter, x: Expr) -> Expr:
    return e.emit(e.builder.call_te(number_parts.signbit, x))


# Predicates and selection.


def _test(build: Build, of_integers: bool) -> Callable[[Emitter, Expr], Expr]:
    def convert(e: Emitter, x: Expr) -> Expr:
        return build(x) if is_float(dtype_of(x)) else R.full_like(x, const(of_integers, "bool"), dtype="bool")

    return convert


add_rows((("isnan", _test(R.isnan, False)), ("isinf", _test(R.isinf, False)), ("isfinite", _test(R.isfinite, True))))


@row("sign")
def sign(e: Emitter, x: Expr) -> Expr:
    """Return -1, 0 or 1; booleans are unchanged."""
    return x if dtype_of(x) == "bool" else R.sign(x)


@row("bitwise_not")
def bitwise_not(e: Emitter, x: Expr) -> Expr:
    """Invert each bit, or a boolean."""
    return R.logical_not(x) if dtype_of(x) == "bool" else R.bitwise_not(x)


@row("logical_not")
def logical_not(e: Emitter, x: Expr) -> Expr:
    """Return whether the elements are zero."""
    return R.logical_not(truth(x))


@row("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(e: Emitter, condition: Expr, x: Any, other: Any) -> Expr:
    """Select x where the condition is true, else other."""
    return R.where(truth(condition), *operands(e, x, other))


@row("masked_fill")
def masked_fill(e: Emitter, x: Expr, mask: Expr, value: Any) -> Expr:
    """Select value where the mask is true, else x."""
    return R.where(mask, e.tensor(value, dtype_of(x)), x)


@row("clamp", "clip")
def clamp(e: Emitter, x: Expr, min: Any = None, max: Any = None) -> Expr:
    """Clamp x to [min, max]; NaN is preserved."""
    bounds = [b for b in (min, max) if b is not None]
    dtype = common_dtype([x, *bounds])
    x = e.bound(cast_to(x, dtype))
    if any(isinstance(b, Expr) for b in bounds) or not is_float(dtype):
        return _clamped_between(e, x, min, max)
    return R.clip(x, -math.inf if min is None else min, math.inf if max is None else max)


def _clamped_between(e: Emitter, x: Expr, low: Any, high: Any) -> Expr:
    dtype = dtype_of(x)
    if low is not None:
        x = e.emit(R.maximum(x, e.tensor(low, dtype)))
    return x if high is None else e.emit(R.minimum(x, e.tensor(high, dtype)))


@row("clamp_min")
def clamp_min(e: Emitter, x: Expr, min: Any) -> Expr:
    """Return the maximum of x and min."""
    return clamp(e, x, min)


@row("clamp_max")
def clamp_max(e: Emitter, x: Expr, max: Any) -> Expr:
    """Return the minimum of x and max."""
    return clamp(e, x, None, max)


# Conversions.


@row("_to_copy", "to")
def to(e: Emitter, x: Expr, dtype: str | None = None, *rest: Any) -> Expr:
    """Convert x to `dtype`."""
    return x if dtype is None else _converted(x, dtype)


@row("to.other", "type_as")
def to_other(e: Emitter, x: Expr, other: Expr, *rest: Any) -> Expr:
    """Convert x to the dtype of another tensor."""
    return _converted(x, dtype_of(other))


def _converted(x: Expr, dtype: str) -> Expr:
    """Convert x to `dtype`; overflow of dtypes without infinity follows the installed PyTorch."""
    if dtype != "float8_e4m3fn" or dtype_of(x) == dtype or not _saturates():
        return cast_to(x, dtype)
    wide = x if dtype_of(x) in _WIDE else cast_to(x, "float32")
    return cast_to(R.clip(wide, -448.0, 448.0), dtype)


_WIDE = ("float16", "bfloat16", "float32", "float64")


@lru_cache(maxsize=1)
def _saturates() -> bool:
    """Return whether the installed PyTorch saturates on overflow; older versions produce NaN."""
    import torch

    return not torch.tensor(1e3).to(torch.float8_e4m3fn).float().isnan().item()


@row("prims::convert_element_type")
def convert_element_type(e: Emitter, a: Expr, dtype: str) -> Expr:
    """Convert a to `dtype`."""
    return _converted(a, dtype)


@row("fmax")
def fmax(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the maximum, ignoring NaN."""
    return _numbers(e, R.maximum, x, other)


@row("fmin")
def fmin(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the minimum, ignoring NaN."""
    return _numbers(e, R.minimum, x, other)


def _numbers(e: Emitter, build: Build, x: Expr, other: Expr) -> Expr:
    a, b = (e.bound(v) for v in operands(e, x, other))
    if not is_float(dtype_of(a)):
        return build(a, b)
    return R.where(R.isnan(a), b, R.where(R.isnan(b), a, build(a, b)))


@row("copysign")
def copysign(e: Emitter, x: Any, other: Any) -> Expr:
    """Return x with the sign of other, including the sign of zero."""
    return e.builder.call_te(number_parts.copysign, *(e.bound(v) for v in floating(e, x, other)))


@row("signbit")
def signbit(e: Emitter, x: Expr) -> Expr:
    """Return whether the sign bit is set, also for zero."""
    return _signbit(e, x) if is_float(dtype_of(x)) else R.less(x, number(x, 0))
