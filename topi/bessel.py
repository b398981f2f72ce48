"""Bessel and Airy functions in double precision, without tables.

Near the origin they are power series or the trapezoidal rule on an integral of exponentials or cosines, which converges
faster than any power of the step, as its integrands are periodic or fall off at both ends; far from it, asymptotic
series. Their coefficients are computed here from the formulas of Abramowitz and Stegun, chapters 9 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate

from xdsl.dialects.builtin import f64

from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Statements
from .per_element import per_element

_EULER = 0.57721566490153286061
_NODES = 60
"""Nodes of the trapezoidal rule on a period: Y needs twice as many as J."""
_FAR = 25.0
"""From here on the asymptotic series of J and Y have double precision."""
_SERIES = 14
"""Terms of power series on [0, 2]."""
_AIRY_FAR, _AIRY_TERMS = 7.0, 40

_select = tx.select


def _number(value: float) -> PrimExpr:
    return tx.const(float(value), f64)


def _polynomial(coefficients: Sequence[float], x: PrimExpr) -> PrimExpr:
    """Return the sum of coefficients[k] * x**k."""
    return reduce(lambda value, c: value * x + c, reversed(coefficients[:-1]), _number(coefficients[-1]))


# J and Y.


def _hankel(order: Fraction, count: int) -> list[float]:
    """Return the coefficients a_k of the asymptotic series in 1 / x."""
    squares = 4 * order * order
    ratios = [(squares - (2 * k - 1) ** 2) / (8 * k) for k in range(1, count)]
    return [float(a) for a in accumulate([Fraction(1), *ratios], lambda a, b: a * b)]


def _alternating(values: Sequence[float]) -> list[float]:
    return [v if k % 2 == 0 else -v for k, v in enumerate(values)]


def _far_parts(order: int, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Return the factors of the cosine and the sine of the phase, for J."""
    a = _hankel(Fraction(order), 24)
    square = 1.0 / (x * x)
    scale = m.sqrt((2 / math.pi) / x)
    return scale * _polynomial(_alternating(a[0::2]), square), scale * _polynomial(_alternating(a[1::2]), square) / x


def _phase(order: int, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Return the cosine and the sine of x - order * pi / 2 - pi / 4."""
    sine, cosine, half = m.sin(x), m.cos(x), math.sqrt(0.5)
    both = (cosine + sine) * half, (sine - cosine) * half
    return both if order == 0 else (both[1], both[0] * -1.0)


def _periodic(order: int, x: PrimExpr, weight: Callable[[float], float] = lambda angle: 1.0) -> PrimExpr:
    """Return the trapezoidal rule for the integral of J: cos(x sin t) or sin t sin(x sin t), times a weight."""
    total = _number(0)
    for j in range(_NODES // 2 + 1):
        angle = math.pi * j / _NODES
        factor = weight(angle) * (1 if j in (0, _NODES // 2) else 2) / _NODES
        wave = m.cos(x * math.sin(angle)) if order == 0 else m.sin(x * math.sin(angle)) * math.sin(angle)
        total = total + wave * factor
    return total


def _logarithmic(angle: float) -> float:
    """Return the Fourier series of -log(2 cos t), without the terms that are zero for arguments below `_FAR`."""
    return sum((-1) ** k * math.cos(2 * k * angle) / k for k in range(1, _NODES // 2 + 1))


def _j(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    size = b.let("size", m.abs_(x))
    near = _periodic(order, tx.minimum(size, _number(_FAR)))
    far = b.let("far", tx.maximum(size, _number(_FAR)))
    even, odd = _far_parts(order, far)
    cosine, sine = _phase(order, far)
    value = b.let("value", _select(size < _FAR, near, even * cosine - odd * sine))
    value = _select(m.isinf(x), _number(0), value)
    signed = value if order == 0 else _select(x < 0.0, value * -1.0, value)
    return _select(m.isnan(x), x, signed)


def _y(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    near = b.let("near", tx.minimum(x, _number(_FAR)))
    j = [b.let(f"j{n}", _periodic(n, near)) for n in range(order + 1)]
    logarithm = (m.log(near * 0.5) + _EULER) * j[order]
    small = (2 / math.pi) * (logarithm if order == 0 else logarithm - j[0] / near)
    value = b.let("small", small - (4 / math.pi) * _periodic(order, near, _logarithmic))
    far = b.let("far", tx.maximum(x, _number(_FAR)))
    even, odd = _far_parts(order, far)
    cosine, sine = _phase(order, far)
    value = _select(x < _FAR, value, even * sine + odd * cosine)
    value = _select(tx.equal(x, 0.0), _number(-math.inf), _select(x < 0.0, _number(math.nan), value))
    return _select(m.isinf(x), _select(x < 0.0, _number(math.nan), _number(0)), _select(m.isnan(x), x, value))


def _spherical(b: Statements, x: PrimExpr) -> PrimExpr:
    value = _select(tx.equal(x, 0.0), _number(1), m.sin(x) / x)
    return _select(m.isinf(x), _number(0), value)


# I and K.


def _series(order: int) -> list[float]:
    return [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_SERIES)]


def _scaled_i(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    """Return I(|x|) / exp(|x|), which is odd for order 1."""
    size = b.let("size", m.abs_(x))
    step = b.let("step", tx.minimum(_number(math.pi / 20), 0.7 / m.sqrt(tx.maximum(size, _number(1)))))
    total = _number(0.5)
    for k in range(1, 21):
        sine = m.sin(step * (k / 2))
        term = m.exp(size * -2.0 * sine * sine) * (0.5 if k == 20 else 1.0)
        total = total + (term if order == 0 else term * m.cos(step * float(k)))
    value = total * step * (1 / math.pi)
    if order == 1:
        low = tx.minimum(size, _number(1))
        series = m.exp(low * -1.0) * low * 0.5 * _polynomial(_series(1), low * low * 0.25)
        value = _select(size < 1.0, series, value)
        value = _select(x < 0.0, value * -1.0, value)
    value = _select(m.isinf(x), _number(0), value)
    return _select(m.isnan(x), x, value)


def _i(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    scaled = b.let("scaled", _scaled_i(order, b, x))
    size = m.abs_(x)
    return _select(m.isinf(x), x if order else size, m.exp(size) * scaled)


def _far_k(order: float, b: Statements, x: PrimExpr, count: int = 20) -> PrimExpr:
    """Return K(x) * exp(x), not near 0."""
    step = b.let("step", tx.minimum(_number(0.2), 0.6 / m.sqrt(x)))
    total = _number(0.5)
    for k in range(1, count + 1):
        sine = m.sinh(step * (k / 2))
        term = m.exp(x * -2.0 * sine * sine)
        total = total + (term if order == 0 else term * m.cosh(step * (k * order)))
    return total * step


def _near_k(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    """Return K(x) up to 2."""
    harmonic = list(accumulate((1 / k for k in range(1, _SERIES + 1)), initial=0.0))
    square = b.let("square", x * x * 0.25)
    logarithm = b.let("logarithm", m.log(x * 0.5))
    plain = _series(order)
    if order == 0:
        rest = [c * h for c, h in zip(plain, harmonic, strict=False)]
        return _polynomial(rest, square) - (logarithm + _EULER) * _polynomial(plain, square)
    rest = [c * (harmonic[k] + harmonic[k + 1] - 2 * _EULER) for k, c in enumerate(plain)]
    return 1.0 / x + x * 0.5 * (logarithm * _polynomial(plain, square) - 0.5 * _polynomial(rest, square))


def _k(order: int, scaled: bool, b: Statements, x: PrimExpr) -> PrimExpr:
    near = b.let("near", tx.minimum(x, _number(2)))
    far = b.let("far", tx.maximum(x, _number(2)))
    below, above = _near_k(order, b, near), _far_k(order, b, far)
    value = b.let(
        "value",
        _select(x < 2.0, below * m.exp(near), above) if scaled else _select(x < 2.0, below, above * m.exp(far * -1.0)),
    )
    value = _select(m.isinf(x), _number(0), value)
    value = _select(tx.equal(x, 0.0), _number(math.inf), _select(x < 0.0, _number(math.nan), value))
    return _select(m.isnan(x), x, value)


# Airy's function.


def _airy_series(first: int) -> list[float]:
    """Return the coefficients in x**3 of the solution of y'' = x y that begins with x**first."""
    ratios = (Fraction(1, (3 * k + first) * (3 * k + first - 1)) for k in range(1, _AIRY_TERMS))
    return [float(c) for c in accumulate([Fraction(1), *ratios], lambda a, b: a * b)]


def _airy(b: Statements, x: PrimExpr) -> PrimExpr:
    value, slope = 3 ** (-2 / 3) / math.gamma(2 / 3), 3 ** (-1 / 3) / math.gamma(1 / 3)
    near = b.let("near", tx.maximum(tx.minimum(x, _number(1)), _number(-_AIRY_FAR)))
    cube = b.let("cube", near * near * near)
    middle = value * _polynomial(_airy_series(0), cube) - slope * near * _polynomial(_airy_series(1), cube)
    positive = b.let("positive", tx.maximum(x, _number(1)))
    zeta = b.let("zeta", positive * m.sqrt(positive) * (2 / 3))
    decaying = m.sqrt(positive * (1 / 3)) * (1 / math.pi) * m.exp(zeta * -1.0) * _far_k(1 / 3, b, zeta, 25)
    size = b.let("size", tx.maximum(x * -1.0, _number(_AIRY_FAR)))
    phase = b.let("phase", size * m.sqrt(size) * (2 / 3))
    a = _hankel(Fraction(1, 3), 24)
    square = b.let("square", 1.0 / (phase * phase))
    even, odd = _polynomial(_alternating(a[0::2]), square), _polynomial(_alternating(a[1::2]), square) / phase
    angle = phase - math.pi / 4
    waves = (m.cos(angle) * even - m.sin(angle) * odd) / m.sqrt(m.sqrt(size) * math.pi)
    result = _select(x > 1.0, decaying, _select(x < -_AIRY_FAR, waves, middle))
    return _select(m.isnan(x), x, _select(m.isinf(x), _number(0), result))


bessel_j0, bessel_j1 = (per_element(f"bessel_j{n}", partial(_j, n)) for n in (0, 1))
bessel_y0, bessel_y1 = (per_element(f"bessel_y{n}", partial(_y, n)) for n in (0, 1))
bessel_i0, bessel_i1 = (per_element(f"bessel_i{n}", partial(_i, n)) for n in (0, 1))
bessel_i0e, bessel_i1e = (per_element(f"bessel_i{n}e", partial(_scaled_i, n)) for n in (0, 1))
bessel_k0, bessel_k1 = (per_element(f"bessel_k{n}", partial(_k, n, False)) for n in (0, 1))
bessel_k0e, bessel_k1e = (per_element(f"bessel_k{n}e", partial(_k, n, True)) for n in (0, 1))
spherical_bessel_j0 = per_element("spherical_bessel_j0", _spherical)
airy_ai = per_element("airy_ai", _airy)
