"""The incomplete gamma functions, Hurwitz' zeta function and polygamma functions in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from xdsl.dialects.builtin import f64, i64

from ..dialects.sym.expr import Const
from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Cell, Statements
from ..te.tensor import Tensor
from .per_element import per_element
from .special import lgamma_of

_EPSILON = 2.0**-53
_MOST = 2000
"""Terms after which a series or a continued fraction ends: for arguments up to `_LARGE` fewer are needed."""
_LARGE = 200.0
"""Above this the incomplete gamma function is an integral over the peak of its integrand."""
_GAUSS, _PANELS = 10, 8
"""Nodes of Gauss' and Legendre's rule for that integral, on each of so many parts."""
_SHIFTED = 10
"""Euler's and Maclaurin's formula begins at the first argument above this, after as many terms at least."""
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)

_select, _both, _either = tx.select, tx.logical_and, tx.logical_or


def _number(value: float) -> PrimExpr:
    return tx.const(float(value), f64)


# The incomplete gamma functions.


def _series(b: Statements, a: PrimExpr, x: PrimExpr) -> PrimExpr:
    """Return the sum of x**n / (a (a + 1) ... (a + n)): the lower function, over exp(-x) x**a / gamma(a)."""
    term, total, n = b.cell("term", f64, 1.0 / a), b.cell("total", f64, 1.0 / a), b.cell("n", i64, 0)
    with b.repeat_while(_both(term.value > total.value * _EPSILON, n.value < _MOST)):
        n.set(n.value + 1)
        term.set(term.value * x / (a + n.value.astype(f64)))
        total.set(total.value + term.value)
    return total.value


def _fraction(b: Statements, a: PrimExpr, x: PrimExpr) -> PrimExpr:
    """Return the continued fraction of the upper function, over the same factor, by Lentz' method."""
    tiny = 1e-300
    first = b.let("first", x + 1.0 - a)
    c, d = b.cell("c", f64, 1 / tiny), b.cell("d", f64, 1.0 / first)
    value, step, n = b.cell("value", f64, d.value), b.cell("step", f64, 0.0), b.cell("n", i64, 0)
    with b.repeat_while(_both(m.abs_(step.value - 1.0) > _EPSILON, n.value < _MOST)):
        n.set(n.value + 1)
        k = b.let("k", n.value.astype(f64))
        factor, term = b.let("factor", k * (a - k)), b.let("addend", first + 2.0 * k)
        d.set(_away(factor * d.value + term, tiny))
        c.set(_away(term + factor / c.value, tiny))
        d.set(1.0 / d.value)
        step.set(c.value * d.value)
        value.set(value.value * step.value)
    return value.value


def _away(x: PrimExpr, tiny: float) -> PrimExpr:
    return _select(m.abs_(x) < tiny, _number(tiny), x)


def _log_ratio(b: Statements, mu: PrimExpr) -> PrimExpr:
    """Return log(1 + mu) - mu, without cancellation near 0."""
    small = b.let("small", tx.maximum(tx.minimum(mu, _number(0.1)), _number(-0.1)))
    total = _number(0)
    for k in range(18, 1, -1):
        total = (total + (-1.0) ** (k + 1) / k) * small
    return _select(m.abs_(mu) < 0.1, total * small, m.log1p(mu) - mu)


def _peak(upper: bool, b: Statements, a: PrimExpr, x: PrimExpr) -> PrimExpr:
    """Return either function for a large a: the integral from x to an end of the peak at a - 1, over gamma(a)."""
    nodes, weights = np.polynomial.legendre.leggauss(_GAUSS)
    top, width = b.let("top", a - 1.0), b.let("width", m.sqrt(a))
    above = b.let("above", x > top)
    begin = b.let("begin", tx.maximum(tx.minimum(x, a + 13.0 * width), tx.maximum(a - 11.0 * width, _number(0))))
    end = b.let("end", _select(above, a + 14.0 * width, tx.maximum(a - 12.0 * width, _number(0))))
    half = b.let("half", (end - begin) * (0.5 / _PANELS))
    scale = b.let("scale", 1.0 / (12.0 * top) - 1.0 / (360.0 * top * top * top))  # of Stirling's series
    total = b.cell("total", f64, 0.0)
    with b.loop("panel", Const(_PANELS)) as panel:
        middle = b.let("middle", begin + half * (2.0 * panel.astype(f64) + 1.0))
        for node, weight in zip(nodes, weights, strict=True):
            mu = b.let("mu", (middle + half * float(node) - top) / top)
            total.set(total.value + float(weight) * m.exp(top * _log_ratio(b, mu) - scale))
    part = b.let("part", m.abs_(half) * total.value / m.sqrt(2 * math.pi * top))
    return _select(above, part, 1.0 - part) if upper else _select(above, 1.0 - part, part)


def _incomplete(upper: bool, b: Statements, a: PrimExpr, x: PrimExpr) -> PrimExpr:
    result = b.cell("result", f64, math.nan)
    regular = b.let("regular", _both(_both(a > 0.0, x > 0.0), _both(m.abs_(a) < math.inf, m.abs_(x) < math.inf)))
    with b.when(_both(regular, a <= _LARGE)):
        factor = b.let("factor", m.exp(a * m.log(x) - x - lgamma_of(a)))
        below = b.let("below", _either(x <= 1.0, x <= a))
        with b.when(below):
            _store(result, factor * _series(b, a, x), upper)
        with b.when(tx.logical_not(below)):
            _store(result, factor * _fraction(b, a, x), not upper)
    with b.when(_both(regular, a > _LARGE)):
        result.set(_peak(upper, b, a, x))
    least, most = (1.0, 0.0) if upper else (0.0, 1.0)
    ordered = b.let("ordered", _both(a >= 0.0, x >= 0.0))
    zero_a, zero_x = tx.equal(a, 0.0), tx.equal(x, 0.0)
    with b.when(_both(ordered, _either(zero_x, tx.equal(a, math.inf)))):
        result.set(_number(least))
    with b.when(_both(ordered, _both(tx.logical_not(_both(zero_x, zero_a)), _either(zero_a, tx.equal(x, math.inf))))):
        result.set(_number(most))
    undefined = _either(_both(zero_a, zero_x), _both(tx.equal(a, math.inf), tx.equal(x, math.inf)))
    return _select(undefined, _number(math.nan), result.value)


def _store(result: Cell, value: PrimExpr, complement: bool) -> None:
    result.set(1.0 - value if complement else value)


# Zeta and polygamma.


def _zeta(b: Statements, x: PrimExpr, q: PrimExpr) -> PrimExpr:
    """Return the sum of (q + k)**-x over all k >= 0, by Euler's and Maclaurin's formula."""
    regular = _both(x > 1.0, _either(q > 0.0, _both(tx.equal(x, m.floor(x)), tx.not_equal(q, m.floor(q)))))
    total, at = b.cell("total", f64, 0.0), b.cell("at", f64, q)
    k = b.cell("k", i64, 0)
    with b.when(_both(regular, q > -1e6)):
        with b.repeat_while(_either(k.value < _SHIFTED, at.value < float(_SHIFTED))):
            total.set(total.value + m.power(at.value, x * -1.0))
            at.set(at.value + 1.0)
            k.set(k.value + 1)
        w = b.let("w", at.value)
        power = b.let("power", m.power(w, x * -1.0))
        total.set(total.value + power * w / (x - 1.0) + 0.5 * power)
        factor = b.cell("factor", f64, x * power / w)
        for n, number in enumerate(_BERNOULLI, 1):
            total.set(total.value + factor.value * (number / math.factorial(2 * n)))
            factor.set(factor.value * (x + (2.0 * n - 1.0)) * (x + 2.0 * n) / (w * w))
    pole = _either(tx.equal(x, 1.0), _both(x > 1.0, _both(q <= 0.0, tx.equal(q, m.floor(q)))))
    value = _select(regular, total.value, _select(pole, _number(math.inf), _number(math.nan)))
    return _select(_both(tx.equal(q, math.inf), x > 1.0), _number(0), value)


def _polygamma(order: int, b: Statements, x: PrimExpr) -> PrimExpr:
    """Return the derivative of that order of digamma, not 0."""
    factor = math.exp(math.lgamma(order + 1)) if order <= 170 else math.inf
    if order != 1:
        return (factor if order % 2 else -factor) * _zeta(b, _number(order + 1), x)
    low = b.let("low", x < 0.5)
    sine = b.let("sine", m.sin((x - m.nearbyint(x)) * math.pi) * (1 / math.pi))
    value = b.let("value", _zeta(b, _number(2), _select(low, 1.0 - x, x)))
    return _select(low, 1.0 / (sine * sine) - value, value)


igamma, igammac = (per_element(n, partial(_incomplete, upper)) for n, upper in (("igamma", False), ("igammac", True)))
zeta = per_element("zeta", _zeta)


def polygamma(order: int) -> Callable[..., Tensor]:
    """Return the polygamma function of an order from 1 on."""
    return per_element(f"polygamma_{order}", partial(_polygamma, order))
