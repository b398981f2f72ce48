"""Elementwise operations on complex numbers: formulas of their parts, in float64, which are rounded at the end.

The inverse functions are Kahan's, whose branch cuts are those of C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, Operation

from ...handles.tir import math_functions as m
from ...handles.tir import prim_expr as tx
from ...handles.tir.intrinsics import copysign, hypot
from ...handles.tir.prim_expr import PrimExpr
from .scalars import converted, number
from .values import element_of, is_complex, word


class Complex(NamedTuple):
    """The parts of a complex number."""

    re: PrimExpr
    im: PrimExpr

    def plus(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def minus(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def times(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def scaled(self, factor: PrimExpr) -> Complex:
        return Complex(self.re * factor, self.im * factor)

    def conjugate(self) -> Complex:
        return Complex(self.re, _minus(self.im))

    def negative(self) -> Complex:
        return Complex(_minus(self.re), _minus(self.im))

    def turned(self) -> Complex:
        """Return the product with i."""
        return Complex(_minus(self.im), self.re)

    def cast(self, dtype: Attribute) -> Complex:
        return Complex(self.re.astype(dtype), self.im.astype(dtype))


Scalar = PrimExpr | Complex


def _minus(x: PrimExpr) -> PrimExpr:
    return x * number(-1.0, x)


def _one(like: PrimExpr) -> Complex:
    return Complex(number(1, like), number(0, like))


def _where(condition: PrimExpr, a: Complex, b: Complex) -> Complex:
    return Complex(tx.select(condition, a.re, b.re), tx.select(condition, a.im, b.im))


def _is_zero(z: Complex) -> PrimExpr:
    return tx.logical_and(tx.equal(z.re, number(0, z.re)), tx.equal(z.im, number(0, z.im)))


def divided(a: Complex, b: Complex) -> Complex:
    """Return the quotient, by Smith's method: nothing overflows that need not."""
    wide = tx.greater_equal(m.abs_(b.re), m.abs_(b.im))
    large, small = tx.select(wide, b.re, b.im), tx.select(wide, b.im, b.re)
    ratio = tx.div(small, large)
    below = large + small * ratio
    re = tx.select(wide, a.re + a.im * ratio, a.re * ratio + a.im)
    im = tx.select(wide, a.im - a.re * ratio, a.im * ratio - a.re)
    return Complex(tx.div(re, below), tx.div(im, below))


def _exp(z: Complex) -> Complex:
    size = m.exp(z.re)
    real = tx.equal(z.im, number(0, z.im))
    return Complex(size * m.cos(z.im), tx.select(real, z.im, size * m.sin(z.im)))


def _log(z: Complex) -> Complex:
    size = hypot(z.re, z.im)
    large, small = tx.maximum(m.abs_(z.re), m.abs_(z.im)), tx.minimum(m.abs_(z.re), m.abs_(z.im))
    close = (large - number(1, large)) * (large + number(1, large)) + small * small
    near = tx.logical_and(tx.greater(size, number(0.5, size)), tx.less(size, number(2, size)))
    re = tx.select(near, m.log1p(close) * 0.5, m.log(size))
    return Complex(re, tx.call_intrin(z.im.type, "atan2", z.im, z.re))


def _log1p(z: Complex) -> Complex:
    square = z.re * (z.re + 2.0) + z.im * z.im
    above = z.re + 1.0
    re = tx.select(tx.less(m.abs_(square), number(0.5, square)), m.log1p(square) * 0.5, m.log(hypot(above, z.im)))
    return Complex(re, tx.call_intrin(z.im.type, "atan2", z.im, above))


def _expm1(z: Complex) -> Complex:
    half = m.sin(z.im * 0.5)
    return Complex(m.expm1(z.re) * m.cos(z.im) - half * half * 2.0, m.exp(z.re) * m.sin(z.im))


def _sqrt(z: Complex) -> Complex:
    scale = tx.select(tx.less(hypot(z.re, z.im), number(1e-300, z.re)), number(2.0**200, z.re), number(1, z.re))
    w = z.scaled(scale)
    half = m.sqrt((m.abs_(w.re) + hypot(w.re, w.im)) * 0.5)
    zero = tx.equal(half, number(0, half))
    other = tx.div(m.abs_(w.im), tx.select(zero, number(1, half), half) * 2.0)
    right = tx.greater_equal(w.re, number(0, w.re))
    re, im = tx.select(right, half, other), tx.select(right, other, half)
    back = tx.select(tx.greater(scale, number(1, scale)), number(2.0**-100, scale), number(1, scale))
    im = copysign(tx.select(m.isinf(z.im), m.abs_(z.im), im), z.im)
    return Complex(tx.select(m.isinf(z.im), m.abs_(z.im), re), im).scaled(back)


def _tanh(z: Complex) -> Complex:
    """Kahan's formula; far out it is a sign, and what remains of the angle."""
    far = tx.greater(m.abs_(z.re), number(20.0, z.re))
    x = tx.select(far, number(0, z.re), z.re)
    t, s = m.tan(z.im), m.sinh(x)
    beta = t * t + 1.0
    below = beta * s * s + 1.0
    near = Complex(tx.div(beta * m.sqrt(s * s + 1.0) * s, below), tx.div(t, below))
    tail = m.sin(z.im * 2.0) * m.exp(_minus(m.abs_(z.re)) * 2.0) * 2.0
    return _where(far, Complex(copysign(number(1, x), z.re), tail), near)


def _tan(z: Complex) -> Complex:
    return _tanh(z.turned()).turned().negative()


def _sin(z: Complex) -> Complex:
    return Complex(m.sin(z.re) * m.cosh(z.im), m.cos(z.re) * m.sinh(z.im))


def _cos(z: Complex) -> Complex:
    return Complex(m.cos(z.re) * m.cosh(z.im), _minus(m.sin(z.re) * m.sinh(z.im)))


def _sinh(z: Complex) -> Complex:
    return Complex(m.sinh(z.re) * m.cos(z.im), m.cosh(z.re) * m.sin(z.im))


def _cosh(z: Complex) -> Complex:
    return Complex(m.cosh(z.re) * m.cos(z.im), m.sinh(z.re) * m.sin(z.im))


def _power(a: Complex, b: Complex) -> Complex:
    """0 to the power 0 is 1, and 0 to other powers 0."""
    zero = _is_zero(a)
    base = _where(zero, _one(a.re), a)
    nothing = Complex(tx.select(_is_zero(b), number(1, a.re), number(0, a.re)), number(0, a.re))
    return _where(zero, nothing, _exp(b.times(_log(base))))


def _sign(z: Complex) -> Complex:
    size = hypot(z.re, z.im)
    zero = _is_zero(z)
    size = tx.select(zero, number(1, size), size)
    return _where(zero, Complex(number(0, size), number(0, size)), Complex(tx.div(z.re, size), tx.div(z.im, size)))


def _cbrt(z: Complex) -> Complex:
    zero = _is_zero(z)
    root = _exp(_log(_where(zero, _one(z.re), z)).scaled(number(1 / 3, z.re)))
    return _where(zero, z, root)


def _acosh(z: Complex) -> Complex:
    one = _one(z.re)
    below, above = _sqrt(z.minus(one)), _sqrt(z.plus(one))
    im = tx.call_intrin(z.im.type, "atan2", below.im, above.re) * 2.0
    return Complex(m.asinh(below.conjugate().times(above).re), im)


def _acos(z: Complex) -> Complex:
    one = _one(z.re)
    below, above = _sqrt(one.minus(z)), _sqrt(one.plus(z))
    re = tx.call_intrin(z.re.type, "atan2", below.re, above.re) * 2.0
    return Complex(re, m.asinh(above.conjugate().times(below).im))


def _asin(z: Complex) -> Complex:
    one = _one(z.re)
    below, above = _sqrt(one.minus(z)), _sqrt(one.plus(z))
    re = tx.call_intrin(z.re.type, "atan2", z.re, below.times(above).re)
    return Complex(re, m.asinh(below.conjugate().times(above).im))


def _asinh(z: Complex) -> Complex:
    return _asin(z.turned().negative()).turned()


def _atanh(z: Complex) -> Complex:
    rest = number(1, z.re) - z.re
    re = m.log1p(tx.div(z.re * 4.0, rest * rest + z.im * z.im)) * 0.25
    im = tx.call_intrin(z.im.type, "atan2", z.im * 2.0, rest * (z.re + 1.0) - z.im * z.im) * 0.5
    return Complex(re, im)


def _atan(z: Complex) -> Complex:
    return _atanh(z.turned()).turned().negative()


def _logistic(z: Complex) -> Complex:
    return divided(_one(z.re), _one(z.re).plus(_exp(z.negative())))


def _greater(a: Complex, b: Complex) -> PrimExpr:
    same = tx.equal(a.re, b.re)
    return tx.logical_or(tx.greater(a.re, b.re), tx.logical_and(same, tx.greater(a.im, b.im)))


_EXACT: dict[str, Callable[..., Complex]] = {
    "add": Complex.plus,
    "subtract": Complex.minus,
    "negate": Complex.negative,
    "conj": Complex.conjugate,
    "maximum": lambda a, b: _where(_greater(b, a), b, a),
    "minimum": lambda a, b: _where(_greater(a, b), b, a),
}
"""Formulas that need no wider numbers."""
_WIDE: dict[str, Callable[..., Complex]] = {
    "multiply": Complex.times,
    "divide": divided,
    "power": _power,
    "exponential": _exp,
    "exponential_minus_one": _expm1,
    "log": _log,
    "log_plus_one": _log1p,
    "logistic": _logistic,
    "sqrt": _sqrt,
    "rsqrt": lambda z: divided(_one(z.re), _sqrt(z)),
    "cbrt": _cbrt,
    "sign": _sign,
    "sine": _sin,
    "cosine": _cos,
    "tan": _tan,
    "tanh": _tanh,
    "sinh": _sinh,
    "cosh": _cosh,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "square": lambda z: z.times(z),
}


def _absolute(op: Operation, z: Complex) -> PrimExpr:
    kind = element_of(op.results[0])
    wide = z.cast(f64)
    return hypot(wide.re, wide.im).astype(kind)


def _compare(op: Operation, a: Complex, b: Complex) -> PrimExpr:
    same = tx.logical_and(tx.equal(a.re, b.re), tx.equal(a.im, b.im))
    return same if word(op, "comparison_direction") == "EQ" else tx.logical_not(same)


def _convert(op: Operation, x: Scalar) -> Scalar:
    kind = element_of(op.results[0])
    if not is_complex(op.results[0]):
        return converted(x.re if isinstance(x, Complex) else x, kind)
    return x.cast(kind) if isinstance(x, Complex) else Complex(x.astype(kind), number(0, kind))


def _is_finite(op: Operation, z: Complex) -> PrimExpr:
    return tx.logical_and(m.isfinite(z.re), m.isfinite(z.im))


_OWN: dict[str, Callable[..., Scalar]] = {
    "abs": _absolute,
    "compare": _compare,
    "convert": _convert,
    "is_finite": _is_finite,
    "real": lambda op, z: z.re if isinstance(z, Complex) else z,
    "imag": lambda op, z: z.im if isinstance(z, Complex) else number(0, z),
    "complex": lambda op, a, b: Complex(a, b),
    "select": lambda op, c, a, b: _where(c, a, b),
}


def complex_scalar(op: Operation, args: list[Scalar]) -> Scalar | None:
    """Return the result of an elementwise operation that takes or gives complex numbers, None if it has no formula."""
    name = op.name.partition(".")[2].removeprefix("broadcast_")
    if name in _OWN:
        return _OWN[name](op, *args)
    numbers = [a if isinstance(a, Complex) else Complex(a, number(0, a)) for a in args]
    if name in _EXACT:
        return _EXACT[name](*numbers)
    if name in _WIDE:
        return _WIDE[name](*(z.cast(f64) for z in numbers)).cast(numbers[0].re.type)
    return None
