"""Special functions and number theory, by the functions of `topi` that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ....handles.relax.expr import Expr, const
from ....te.tensor import Tensor
from ....topi import bessel, gamma, normal, number_parts
from ....topi.orthogonal import POLYNOMIALS
from ...importing.relax_operators import R
from ..emitter import Emitter, dtype_of
from ..promotion import floating, operands
from ..table import add_rows, row

_OF_ONE = {
    "i0": bessel.bessel_i0, "special_i0e": bessel.bessel_i0e, "special_i1": bessel.bessel_i1,
    "special_i1e": bessel.bessel_i1e, "special_modified_bessel_i0": bessel.bessel_i0,
    "special_modified_bessel_i1": bessel.bessel_i1, "special_modified_bessel_k0": bessel.bessel_k0,
    "special_modified_bessel_k1": bessel.bessel_k1, "special_scaled_modified_bessel_k0": bessel.bessel_k0e,
    "special_scaled_modified_bessel_k1": bessel.bessel_k1e, "special_bessel_j0": bessel.bessel_j0,
    "special_bessel_j1": bessel.bessel_j1, "special_bessel_y0": bessel.bessel_y0,
    "special_bessel_y1": bessel.bessel_y1, "special_spherical_bessel_j0": bessel.spherical_bessel_j0,
    "special_airy_ai": bessel.airy_ai, "special_erfcx": normal.erfcx, "special_ndtri": normal.ndtri,
}  # fmt: skip
_OF_TWO = {"igamma": gamma.igamma, "igammac": gamma.igammac, "special_zeta": gamma.zeta}
_OF_SAME = {"gcd": number_parts.gcd, "nextafter": number_parts.nextafter}
"""Functions of two tensors whose dtype they keep."""

Function = Callable[..., Tensor]


def _of_one(function: Function, e: Emitter, x: Expr) -> Expr:
    (a,) = floating(e, x)
    return e.builder.call_te(function, e.bound(a))


def _of_two(function: Function, e: Emitter, x: Any, other: Any) -> Expr:
    return e.builder.call_te(function, *(e.bound(v) for v in floating(e, x, other)))


def _of_same(function: Function, e: Emitter, x: Expr, other: Expr) -> Expr:
    return e.builder.call_te(function, *(e.bound(v) for v in operands(e, x, other)))


add_rows((name, partial(_of_one, function)) for name, function in _OF_ONE.items())
add_rows((name, partial(_of_two, function)) for name, function in _OF_TWO.items())
add_rows((name, partial(_of_same, function)) for name, function in _OF_SAME.items())
add_rows((f"special_{name}", partial(_of_two, function)) for name, function in POLYNOMIALS.items())


@row("polygamma")
def polygamma(e: Emitter, n: int, x: Expr) -> Expr:
    """Return the n-th derivative of digamma."""
    (a,) = floating(e, x)
    return R.digamma(a) if n == 0 else e.builder.call_te(gamma.polygamma(n), e.bound(a))


@row("lcm")
def lcm(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the least common multiple; 0 if one is 0."""
    a, b = (e.bound(v) for v in operands(e, x, other))
    divisor = e.emit(e.builder.call_te(number_parts.gcd, a, b))
    one = const(1, dtype_of(a))
    return R.abs(R.multiply(R.floor_divide(a, R.maximum(divisor, one)), b))


@row("frexp.Tensor", "prims::frexp")
def frexp(e: Emitter, x: Expr) -> list[Expr]:
    """Return significands from 0.5 to 1, with a sign, and exponents of two."""
    parts = (number_parts.frexp_significand, number_parts.frexp_exponent)
    return [e.emit(e.builder.call_te(part, x)) for part in parts]


@row("angle")
def angle(e: Emitter, x: Expr) -> Expr:
    """Return pi for negative numbers and 0 for others; NaN is preserved."""
    (a,) = floating(e, x)
    a = e.bound(a)
    zero, half_turn = const(0, dtype_of(a)), const(math.pi, dtype_of(a))
    value = R.where(R.less(a, zero), half_turn, zero)
    return R.where(R.isnan(a), a, value)
