"""Orthogonal polynomials whose degrees are elements of a tensor, by their recurrences in double precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import f64, i64

from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Statements
from .per_element import per_element

Step = Callable[[PrimExpr, PrimExpr, PrimExpr, PrimExpr], PrimExpr]
"""`step(x, k, p, q)` returns the polynomial of degree k + 1 from those of degree k and k - 1."""
First = Callable[[PrimExpr], PrimExpr]


@dataclass(frozen=True)
class _Family:
    first: First
    """The polynomial of degree 1."""
    step: Step
    shifted: bool = False
    """Whether its domain is [0, 1], shifted by 2 x - 1."""


def _chebyshev(first: First, shifted: bool = False) -> _Family:
    return _Family(first, lambda x, k, p, q: 2.0 * x * p - q, shifted)


_FIRSTS: dict[str, First] = {
    "t": lambda x: x,
    "u": lambda x: 2.0 * x,
    "v": lambda x: 2.0 * x - 1.0,
    "w": lambda x: 2.0 * x + 1.0,
}
FAMILIES = {
    **{f"chebyshev_polynomial_{kind}": _chebyshev(first) for kind, first in _FIRSTS.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _chebyshev(first, True) for kind, first in _FIRSTS.items()},
    "hermite_polynomial_h": _Family(lambda x: 2.0 * x, lambda x, k, p, q: 2.0 * x * p - 2.0 * k * q),
    "hermite_polynomial_he": _Family(lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": _Family(
        lambda x: 1.0 - x, lambda x, k, p, q: ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0)
    ),
    "legendre_polynomial_p": _Family(lambda x: x, lambda x, k, p, q: ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0)),
}  # fmt: skip
"""The families by their names in PyTorch."""


def _value(family: _Family, b: Statements, x: PrimExpr, degree: PrimExpr) -> PrimExpr:
    at = b.let("at", 2.0 * x - 1.0 if family.shifted else x)
    n = b.let("n", m.trunc(degree).astype(i64))
    before, value = b.cell("before", f64, 1.0), b.cell("value", f64, family.first(at))
    k = b.cell("k", i64, 1)
    with b.repeat_while(tx.logical_and(k.value < n, tx.logical_not(m.isnan(value.value)))):
        after = b.let("after", family.step(at, k.value.astype(f64), value.value, before.value))
        before.set(value.value)
        value.set(after)
        k.set(k.value + 1)
    return tx.select(n < 0, tx.const(0.0, f64), tx.select(tx.equal(n, 0), tx.const(1.0, f64), value.value))


POLYNOMIALS = {name: per_element(name, partial(_value, family)) for name, family in FAMILIES.items()}
"""The functions of x and the degree, a number of any dtype that is rounded towards zero; 0 for negative degrees."""
