"""Polynomial approximations of functions on float32 tensors: faster than the exact ones, with small errors.

The greatest relative errors in float32, as measured by `tests/topi/test_fast_math.py`: `fast_exp` 5e-7 from -87 to 88,
`fast_tanh` and `fast_erf` 1e-6 everywhere. Where `exp` would overflow or underflow, the result is that at 88.37 and
-87.33. Tensors of other dtypes use the exact functions. The coefficients are weighted least-squares fits computed for
this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects.builtin import f32, i32

from ..dialects import tir
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.broadcast import over_axes
from ..te.tensor import Tensor

_EXP_LOW, _EXP_HIGH = -87.33, 88.37
_LOG2_E = 1.4426950408889634
_LN2 = (0.693359375, -2.12194440e-4)
"""ln 2 as the sum of a number with few bits, whose multiples are exact, and a remainder."""
_EXP = (0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.0083687175065279, 0.001381459878757596)
"""p in exp(r) = 1 + r + r² p(r), for |r| <= ln 2 / 2."""

_TANH_LIMIT = 8.0
_TANH = (
    (0.999999994, 0.134444969, 0.00357159678, 2.18946408e-05, 1.52303873e-08),
    (1.0, 0.467778243, 0.0261644382, 0.000341128995, 8.52243441e-07),
)
"""p and q in tanh(x) = x p(x²) / q(x²)."""

_ERF_LIMIT = 3.92
_ERF = (
    (1.12837911, 0.199925846, 0.0505735144, 0.00370166545, 0.000141851697, -1.95783808e-06, 1.99241818e-08),
    (1.0, 0.510511323, 0.114998969, 0.0143533211, 0.000956052164),
)
"""p and q in erf(x) = x p(x²) / q(x²)."""


def fast_exp(x: Tensor) -> Tensor:
    """Return e**x, by a polynomial of degree 6 and a power of 2."""
    return _elementwise("fast_exp", x, _exp, math_functions.exp)


def fast_tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent, by a rational approximation."""
    return _elementwise("fast_tanh", x, lambda v: _odd(v, _TANH_LIMIT, _TANH), math_functions.tanh)


def fast_erf(x: Tensor) -> Tensor:
    """Return the error function, by a rational approximation."""
    return _elementwise("fast_erf", x, lambda v: _odd(v, _ERF_LIMIT, _ERF), math_functions.erf)


def _elementwise(
    name: str, x: Tensor, fast: Callable[[PrimExpr], PrimExpr], exact: Callable[[PrimExpr], PrimExpr]
) -> Tensor:
    build = fast if x.type == f32 else exact
    return over_axes(x.dims, lambda i: build(x(*i)), f"T_{name}", "elemwise")


def _number(value: float) -> PrimExpr:
    return tx.const(value, f32)


def _clamped(x: PrimExpr, low: float, high: float) -> PrimExpr:
    return tx.maximum(tx.minimum(x, _number(high)), _number(low))


def _polynomial(x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
    return reduce(lambda sum_, c: sum_ * x + _number(c), coefficients[-2::-1], _number(coefficients[-1]))


def _odd(value: PrimExpr, limit: float, quotient: tuple[Sequence[float], Sequence[float]]) -> PrimExpr:
    x = _clamped(value, -limit, limit)
    square = x * x
    over, under = (_polynomial(square, coefficients) for coefficients in quotient)
    return _clamped(x * over / under, -1.0, 1.0)


def _exp(value: PrimExpr) -> PrimExpr:
    x = _clamped(value, _EXP_LOW, _EXP_HIGH)
    exponent = math_functions.floor(x * _number(_LOG2_E) + _number(0.5))
    r = x - exponent * _number(_LN2[0]) - exponent * _number(_LN2[1])
    bits = tx.cast(i32, exponent + _number(127.0)) << 23
    power = PrimExpr(tir.ReinterpretOp(bits.ssa, f32).result)
    return power * (r * r * _polynomial(r, _EXP) + r + _number(1.0))


__all__ = ["fast_erf", "fast_exp", "fast_tanh"]
