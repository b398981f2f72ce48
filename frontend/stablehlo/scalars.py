"""Elementwise operations on scalars: a row for each, the expression of the result's element.

The bodies of reductions, sorts, … are made of them, and so are kernels of operations that Relax has no operator for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i1, i32
from xdsl.ir import Attribute, Operation

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import NARROW, bit_width, is_float, is_unsigned
from ...handles.tir import math_functions as m
from ...handles.tir import prim_expr as tx
from ...handles.tir.intrinsics import clz, nextafter, reinterpret
from ...handles.tir.prim_expr import PrimExpr
from ...te.extern_body import Statements
from ...topi import special
from .narrow import carried, kept
from .values import element_of, integer, word

Formula = Callable[..., PrimExpr]
"""(operation, elements of its operands) -> the element of its result"""


def number(value: float, like: PrimExpr | Attribute) -> PrimExpr:
    """Return a constant of the dtype of another expression."""
    return tx.const(value, like.type if isinstance(like, PrimExpr) else like)


def unsigned_of(dtype: Attribute) -> Attribute:
    """Return the unsigned integers of the same width."""
    return IntegerType(bit_width(dtype), Signedness.UNSIGNED)


def signed_of(dtype: Attribute) -> Attribute:
    """Return the signed integers of the same width."""
    return IntegerType(bit_width(dtype))


def as_integer(x: PrimExpr) -> PrimExpr:
    """Return a truth value as a number."""
    return x.astype(i32) if x.type == i1 else x


def _of_kinds(floats: Formula | None, integers: Formula | None = None, truths: Formula | None = None) -> Formula:
    """Return a formula that differs between floats, integers and truth values."""

    def formula(op: Operation, *args: PrimExpr) -> PrimExpr:
        kind = args[-1].type
        found = truths if kind == i1 else floats if is_float(kind) else integers
        if found is None:
            raise UnsupportedError(f"'{op.name}' of {kind}")
        return found(*args)

    return formula


def _plain(function: Callable[..., PrimExpr]) -> Formula:
    return lambda op, *args: function(*args)


def _intrinsic(name: str) -> Formula:
    return lambda op, *args: tx.call_intrin(args[0].type, name, *args)


def _in_double(function: Callable[[PrimExpr], PrimExpr]) -> Formula:
    return lambda op, x: function(x.astype(f64)).astype(x.type)


def _different(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tx.not_equal(as_integer(a), as_integer(b))


# -- integers ----------------------------------------------------------------------------------------------------------


def _quotient(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """All bits set for a division by zero."""
    zero = tx.equal(b, number(0, b))
    every = number(2 ** bit_width(a.type) - 1 if is_unsigned(a.type) else -1, a)
    return tx.select(zero, every, tx.div(a, tx.select(zero, number(1, b), b)))


def _rest(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The dividend for a division by zero."""
    zero = tx.equal(b, number(0, b))
    unit = (
        tx.select(zero, number(1, b), b)
        if is_unsigned(b.type)
        else tx.select(tx.logical_or(zero, tx.equal(b, number(-1, b))), number(1, b), b)
    )
    return tx.select(zero, a, tx.truncmod(a, unit))


def integer_power(b: Statements, base: PrimExpr, exponent: PrimExpr) -> PrimExpr:
    """By squaring; a negative exponent gives 0, unless the base is 1 or -1."""
    kind = base.type
    one, zero = number(1, kind), number(0, kind)
    result, square, rest = b.cell("result", kind, one), b.cell("square", kind, base), b.cell("rest", kind, exponent)
    with b.repeat_while(tx.greater(rest.value, zero)):
        with b.when(tx.not_equal(tx.call_intrin(kind, "bitwise_and", rest.value, one), zero)):
            result.set(result.value * square.value)
        square.set(square.value * square.value)
        rest.set(tx.call_intrin(kind, "shift_right", rest.value, one))
    if is_unsigned(kind):
        return result.value
    minus = number(-1, kind)
    odd = tx.not_equal(tx.call_intrin(kind, "bitwise_and", exponent, one), zero)
    small = tx.select(tx.equal(base, one), one, zero)
    small = tx.select(tx.equal(base, minus), tx.select(odd, minus, one), small)
    return tx.select(tx.less(exponent, zero), small, result.value)


def _shift(name: str) -> Formula:
    """A shift by as many bits as there are, or more, leaves 0, or the sign."""

    def formula(op: Operation, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        kind = a.type
        bits = bit_width(kind)
        by = reinterpret(unsigned_of(kind), b) if bits >= 8 else b.astype(i32)
        inside = tx.logical_and(tx.less(by, number(bits, by)), tx.greater_equal(by, number(0, by)))
        count = tx.select(inside, by, number(0, by))
        plain = unsigned_of(kind) if name == "shift_right_logical" else signed_of(kind)
        plain = kind if name == "shift_left" else plain
        value = carried(a.astype(plain))
        direction = "shift_left" if name == "shift_left" else "shift_right"
        result = tx.call_intrin(value.type, direction, value, count.astype(value.type))
        zero = number(0, value)
        outside = zero
        if name == "shift_right_arithmetic":
            outside = tx.select(tx.less(value, zero), number(-1, value), zero)
        return tx.select(inside, result, outside).astype(kind)

    return formula


def _leading_zeros(x: PrimExpr) -> PrimExpr:
    bits = bit_width(x.type)
    if bits >= 32:
        return clz(x).astype(x.type)
    wide = IntegerType(32, Signedness.UNSIGNED)
    return (clz(x.astype(unsigned_of(x.type)).astype(wide)) - number(32 - bits, i32)).astype(x.type)


def _popcount(x: PrimExpr) -> PrimExpr:
    if bit_width(x.type) >= 8:
        return tx.call_intrin(x.type, "popcount", x)
    wide = IntegerType(32, Signedness.UNSIGNED)
    return tx.call_intrin(wide, "popcount", x.astype(unsigned_of(x.type)).astype(wide)).astype(x.type)


def _negative(x: PrimExpr) -> PrimExpr:
    return number(0, x) - x


def _integer_sign(x: PrimExpr) -> PrimExpr:
    above = tx.select(tx.greater(x, number(0, x)), number(1, x), number(0, x))
    return above if is_unsigned(x.type) else tx.select(tx.less(x, number(0, x)), number(-1, x), above)


def _mulhi(op: Operation, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The upper half of the product."""
    bits, kind = bit_width(a.type), a.type
    if bits < 64:
        wide = IntegerType(
            2 * bits if bits > 4 else 8, Signedness.UNSIGNED if is_unsigned(kind) else Signedness.SIGNLESS
        )
        product = a.astype(wide) * b.astype(wide)
        return tx.call_intrin(wide, "shift_right", product, number(bits, wide)).astype(kind)
    return _wide_mulhi(a, b)


def _wide_mulhi(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    plain = unsigned_of(a.type)
    half, mask = number(32, plain), number(2**32 - 1, plain)

    def low(x: PrimExpr) -> PrimExpr:
        return tx.call_intrin(plain, "bitwise_and", x, mask)

    def high(x: PrimExpr) -> PrimExpr:
        return tx.call_intrin(plain, "shift_right", x, half)

    x, y = a.astype(plain), b.astype(plain)
    middle = high(x) * low(y) + high(low(x) * low(y))
    result = high(x) * high(y) + high(middle) + high(low(middle) + low(x) * high(y))
    if is_unsigned(a.type):
        return result
    zero = number(0, a)
    signed = result.astype(a.type)
    return signed - tx.select(tx.less(a, zero), b, zero) - tx.select(tx.less(b, zero), a, zero)


# -- floats ------------------------------------------------------------------------------------------------------------


def _float_sign(x: PrimExpr) -> PrimExpr:
    sign = tx.select(tx.less(x, number(0, x)), number(-1.0, x), number(1.0, x))
    return tx.select(tx.logical_or(tx.equal(x, number(0, x)), m.isnan(x)), x, sign)


def _cube_root(x: PrimExpr) -> PrimExpr:
    size = m.abs_(x)
    plain = tx.logical_and(tx.not_equal(x, number(0, x)), m.isfinite(x))
    safe = tx.select(plain, size, number(1, x))
    guess = m.power(safe, number(1 / 3, x))
    better = guess - tx.div(guess - tx.div(safe, guess * guess), number(3, x))
    return tx.select(plain, tx.call_intrin(x.type, "copysign", better, x), x)


def _minus(x: PrimExpr) -> PrimExpr:
    return x * number(-1.0, x)


def erfc_of(x: PrimExpr) -> PrimExpr:
    """Compute erfc of float64: above 1/2 by a continued fraction, whose terms suffice for float64 above 2."""
    size = m.abs_(x)
    near = number(1, x) - m.erf(x)
    far = tx.maximum(size, number(2.0, x))
    fraction = far
    for k in range(60, 0, -1):
        fraction = far + tx.div(number(k / 2, x), fraction)
    tail = tx.div(m.exp(_minus(far * far)), fraction) * (1 / math.sqrt(math.pi))
    tail = tx.select(m.isinf(size), number(0, x), tail)
    above = tx.select(tx.less(x, number(0, x)), number(2, x) - tail, tail)
    return tx.select(tx.less(size, number(2.0, x)), near, above)


def order_bits(x: PrimExpr) -> PrimExpr:
    """Return integers in the total order of floats, -NaN, …, -0, 0, …, NaN; of such integers, the bits of the float."""
    kind = signed_of(x.type)
    bits = reinterpret(kind, x)
    rest = number(2 ** (bit_width(kind) - 1) - 1, kind)
    flipped = tx.call_intrin(kind, "bitwise_xor", bits, rest)
    return tx.select(tx.less(bits, number(0, kind)), flipped, bits)


COMPARISONS = {
    "EQ": tx.equal,
    "NE": tx.not_equal,
    "LT": tx.less,
    "LE": tx.less_equal,
    "GT": tx.greater,
    "GE": tx.greater_equal,
}


def _compare(op: Operation, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if word(op, "compare_type") == "TOTALORDER" and is_float(a.type):
        a, b = order_bits(a), order_bits(b)
    return COMPARISONS[word(op, "comparison_direction")](as_integer(a), as_integer(b))


def converted(x: PrimExpr, target: Attribute) -> PrimExpr:
    """Convert a number: floats beyond the range of an integer type become its nearest integer, NaN becomes 0."""
    if x.type == target:
        return x
    if target == i1:
        return tx.not_equal(x, number(0, x))
    if not is_float(x.type) or is_float(target):
        return x.astype(target)
    low, high = tx.integer_range(target)
    wide = x if x.type in (f32, f64) else x.astype(f32)
    above = tx.greater_equal(wide, number(float(high + 1), wide))
    below = tx.less(wide, number(float(low), wide))
    inside = tx.logical_not(tx.logical_or(tx.logical_or(above, below), m.isnan(wide)))
    plain = tx.select(inside, wide, number(0, wide))
    step = plain.astype(target) if bit_width(target) >= 8 else plain.astype(i32).astype(target)
    return tx.select(above, number(high, target), tx.select(below, number(low, target), step))


def _convert(op: Operation, x: PrimExpr) -> PrimExpr:
    return converted(x, element_of(op.results[0]))


def _clamp(op: Operation, low: PrimExpr, x: PrimExpr, high: PrimExpr) -> PrimExpr:
    return tx.minimum(tx.maximum(x, low), high)


def _reduce_precision(op: Operation, x: PrimExpr) -> PrimExpr:
    """Round to fewer bits of the mantissa, halves to the even one; beyond the range of exponents is infinity or 0."""
    exponent, mantissa = integer(op, "exponent_bits"), integer(op, "mantissa_bits")
    form = NARROW.get(element_of(op.operands[0]))
    if form is not None and exponent >= form.bits - 1 - form.mantissa:  # no fewer exponents than there are
        exponent = _EXPONENT_OF_FLOAT32
    return rounded_to(x, exponent, mantissa)


_EXPONENT_OF_FLOAT32 = 8
_MANTISSA = {16: 10, 32: 23, 64: 52}


def rounded_to(x: PrimExpr, exponent_bits: int, mantissa_bits: int) -> PrimExpr:
    """Return a float with so many bits of exponent and mantissa."""
    width = bit_width(x.type)
    own = 7 if str(x.type) == "bf16" else _MANTISSA[width]
    kind = unsigned_of(x.type)
    bits = reinterpret(kind, x)
    sign_bit = number(1 << (width - 1), kind)

    def also(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return tx.call_intrin(kind, "bitwise_and", a, b)

    magnitude = also(bits, number((1 << (width - 1)) - 1, kind))
    sign = also(bits, sign_bit)
    if mantissa_bits < own:
        dropped = own - mantissa_bits
        last = also(tx.call_intrin(kind, "shift_right", magnitude, number(dropped, kind)), number(1, kind))
        magnitude = magnitude + (last + number((1 << (dropped - 1)) - 1, kind))
        magnitude = also(magnitude, number(((1 << width) - 1) ^ ((1 << dropped) - 1), kind))
    own_exponent = width - 1 - own
    if exponent_bits < own_exponent:
        bias, new_bias = (1 << (own_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        infinity = ((1 << own_exponent) - 1) << own
        least = (bias - new_bias + 1) << own
        greatest = ((bias + new_bias) << own) | (((1 << mantissa_bits) - 1) << max(own - mantissa_bits, 0))
        magnitude = tx.select(tx.greater(magnitude, number(greatest, kind)), number(infinity, kind), magnitude)
        magnitude = tx.select(tx.less(magnitude, number(least, kind)), number(0, kind), magnitude)
    result = reinterpret(x.type, tx.call_intrin(kind, "bitwise_or", magnitude, sign))
    return tx.select(m.isnan(x), x, result)


def _is_infinite(sign: float) -> Formula:
    return lambda op, x: tx.equal(x, number(sign * math.inf, x))


def _expm1(x: PrimExpr) -> PrimExpr:
    return m.expm1(x)


_BITS = {name: _intrinsic(f"bitwise_{name}") for name in ("and", "or", "xor")}


def _bits(name: str, of_truths: Callable[..., PrimExpr]) -> Formula:
    def formula(op: Operation, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return of_truths(a, b) if a.type == i1 else _BITS[name](op, a, b)

    return formula


def _not(op: Operation, x: PrimExpr) -> PrimExpr:
    return tx.logical_not(x) if x.type == i1 else tx.bitwise_not(x)


def _select(op: Operation, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tx.select(condition, a, b)


_STABLEHLO: dict[str, Formula] = {
    "abs": _of_kinds(m.abs_, m.abs_),
    "add": _of_kinds(tx.add, tx.add, tx.logical_or),
    "and": _bits("and", tx.logical_and),
    "atan2": _intrinsic("atan2"),
    "cbrt": _in_double(_cube_root),
    "ceil": _plain(m.ceil),
    "clamp": _clamp,
    "compare": _compare,
    "convert": _convert,
    "cosine": _plain(m.cos),
    "count_leading_zeros": _plain(_leading_zeros),
    "divide": _of_kinds(tx.div, _quotient),
    "exponential": _plain(m.exp),
    "exponential_minus_one": _plain(_expm1),
    "floor": _plain(m.floor),
    "is_finite": _plain(m.isfinite),
    "log": _plain(m.log),
    "log_plus_one": _plain(m.log1p),
    "logistic": _plain(m.sigmoid),
    "maximum": _of_kinds(tx.maximum, tx.maximum, tx.logical_or),
    "minimum": _of_kinds(tx.minimum, tx.minimum, tx.logical_and),
    "multiply": _of_kinds(tx.multiply, tx.multiply, tx.logical_and),
    "negate": _of_kinds(_minus, _negative),
    "not": _not,
    "or": _bits("or", tx.logical_or),
    "popcnt": _plain(_popcount),
    "power": _of_kinds(m.power),
    "reduce_precision": _reduce_precision,
    "remainder": _of_kinds(lambda a, b: tx.call_intrin(a.type, "fmod", a, b), _rest),
    "round_nearest_afz": _plain(m.round_),
    "round_nearest_even": _plain(m.nearbyint),
    "rsqrt": _plain(m.rsqrt),
    "select": _select,
    "shift_left": _shift("shift_left"),
    "shift_right_arithmetic": _shift("shift_right_arithmetic"),
    "shift_right_logical": _shift("shift_right_logical"),
    "sign": _of_kinds(_float_sign, _integer_sign),
    "sine": _plain(m.sin),
    "sqrt": _plain(m.sqrt),
    "subtract": _of_kinds(tx.subtract, tx.subtract, _different),
    "tan": _plain(m.tan),
    "tanh": _plain(m.tanh),
    "xor": _bits("xor", _different),
}
_CHLO: dict[str, Formula] = {
    **{n: _intrinsic(n) for n in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "erf")},
    "conj": lambda op, x: x,
    "digamma": _in_double(special.digamma_of),
    "erf_inv": _in_double(special.erfinv_of),
    "erfc": _in_double(erfc_of),
    "is_inf": _plain(m.isinf),
    "is_neg_inf": _is_infinite(-1),
    "is_pos_inf": _is_infinite(1),
    "lgamma": _in_double(special.lgamma_of),
    "mulhi": _mulhi,
    "next_after": lambda op, a, b: nextafter(a, b),
    "square": lambda op, x: x * x,
}
_BROADCAST = """
    add and atan2 compare divide maximum minimum multiply or power remainder select shift_left shift_right_arithmetic
    shift_right_logical subtract xor
"""
SCALARS: dict[str, Formula] = {
    **{f"stablehlo.{name}": formula for name, formula in _STABLEHLO.items()},
    **{f"chlo.{name}": formula for name, formula in _CHLO.items()},
    **{f"chlo.broadcast_{name}": _STABLEHLO[name] for name in _BROADCAST.split()},
    "chlo.broadcast_next_after": _CHLO["next_after"],
}
"""operation -> the element of its result, of those of its operands"""


_OF_WIDTH = frozenset(("count_leading_zeros", "mulhi", "popcnt", *(n for n in _STABLEHLO if n.startswith("shift"))))
"""Operations whose result depends on how many bits there are."""


def scalar(op: Operation, args: Any) -> PrimExpr:
    """Return the element of the result of an elementwise operation, in the type that it is computed in.

    Raises `UnsupportedError` for other operations.
    """
    formula = SCALARS.get(op.name)
    if formula is None:
        raise UnsupportedError(f"'{op.name}' on scalars")
    result = element_of(op.results[0])
    kinds = [element_of(v) for v in op.operands]
    if not any(k in NARROW for k in (result, *kinds)):
        return formula(op, *args)
    name = op.name.partition(".")[2].removeprefix("broadcast_")
    if name == "next_after":
        raise UnsupportedError(f"'{op.name}' of {result}")
    if name in _OF_WIDTH:
        args = [a.astype(k) for a, k in zip(args, kinds, strict=True)]
    else:
        args = [carried(a) for a in args]
    return kept(carried(formula(op, *args)), result)
