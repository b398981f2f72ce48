"""The normal distribution in double precision, also where it is tiny."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64

from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Statements
from .per_element import per_element

_STEP, _NODES = 0.5, 13
"""The trapezoidal rule of erfcx: exp(-k**2 / 4) has no digit left after so many nodes."""
_NEWTON = 4
_GUESS = ((2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308))
"""Abramowitz and Stegun, 26.2.23: a quantile to 4.5e-4."""

_select = tx.select


def _number(value: float) -> PrimExpr:
    return tx.const(float(value), f64)


def _erfcx_above(b: Statements, x: PrimExpr) -> PrimExpr:
    """Return erfcx from 1 on: a trapezoidal rule that knows the pole of its integrand (Matta and Reichel, 1971)."""
    square = b.let("square", x * x)
    total = 0.5 / square
    for k in range(1, _NODES + 1):
        total = total + math.exp(-((k * _STEP) ** 2)) / (square + (k * _STEP) ** 2)
    near = tx.minimum(x, _number(math.pi / _STEP))
    pole = 2.0 * m.exp(near * near) / (1.0 - m.exp(near * (2 * math.pi / _STEP)))
    value = (2 * _STEP / math.pi) * x * total + _select(x < math.pi / _STEP, pole, _number(0))
    return _select(x > 1e8, (1 / math.sqrt(math.pi)) / x, value)


def _erfcx(b: Statements, x: PrimExpr) -> PrimExpr:
    """Return exp(x**2) * (1 - erf(x))."""
    size = b.let("size", m.abs_(x))
    low = b.let("low", tx.minimum(size, _number(1)))
    above = b.let("above", _erfcx_above(b, b.let("high", tx.maximum(size, _number(1)))))
    positive = b.let("positive", _select(size < 1.0, m.exp(low * low) * (1.0 - m.erf(low)), above))
    value = _select(x < 0.0, 2.0 * m.exp(x * x) - positive, positive)
    return _select(m.isnan(x), x, value)


def _ndtri(b: Statements, p: PrimExpr) -> PrimExpr:
    """Return the quantile: Newton's method on the logarithm of the probability of the nearer tail."""
    lower = b.let("lower", p < 0.5)
    tail = b.let("tail", tx.maximum(_select(lower, p, 1.0 - p), _number(5e-324)))
    target = b.let("target", m.log(tail))
    t = b.let("t", m.sqrt(target * -2.0))
    above, below = (_polynomial(c, t) for c in _GUESS)
    z = b.cell("z", f64, t - above / below)  # the quantile is -z
    for _ in range(_NEWTON):
        scaled = b.let("scaled", _erfcx(b, b.let("at", z.value * math.sqrt(0.5))))
        value = b.let("value", m.log(scaled * 0.5) - z.value * z.value * 0.5)
        z.set(z.value + (value - target) * scaled * math.sqrt(math.pi / 2))
    value = _select(lower, z.value * -1.0, z.value)
    value = _select(tx.equal(p, 0.5), _number(0), value)
    value = _select(tx.equal(p, 0.0), _number(-math.inf), _select(tx.equal(p, 1.0), _number(math.inf), value))
    return _select(tx.logical_and(p >= 0.0, p <= 1.0), value, _number(math.nan))


def _polynomial(coefficients: tuple[float, ...], x: PrimExpr) -> PrimExpr:
    value = _number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


erfcx = per_element("erfcx", _erfcx)
ndtri = per_element("ndtri", _ndtri)
