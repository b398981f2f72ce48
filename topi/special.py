"""Element-wise special functions. Those without an intrinsic are computed in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects.builtin import f64

from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr
from ..te.tensor import Tensor, compute

_Formula = Callable[[PrimExpr], PrimExpr]

_LANCZOS = (
    *(0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059),
    *(12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7),
)
"""Lanczos coefficients for g = 7 (Lanczos, 1964; values by Godfrey)."""
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
"""Coefficients of the powers of 1 / x**2 in Stirling's series."""
_SHIFTS = 10
"""The argument from which Stirling's series has double precision."""
_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503),
    *(-0.00417768164, 0.246640727, 1.50140941),
)
_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613),
    *(0.00943887047, 1.00167406, 2.83297682),
)
"""Coefficients from Giles, Approximating the erfinv function (2010), for single precision."""


def _number(value: float) -> PrimExpr:
    return tx.const(value, f64)


def _polynomial(coefficients: Sequence[float], x: PrimExpr) -> PrimExpr:
    return reduce(lambda value, c: value * x + c, coefficients[1:], _number(coefficients[0]))


def _where(condition: ExprLike, a: ExprLike, b: ExprLike) -> PrimExpr:
    return tx.select(condition, a, b)


def _off_integer(x: PrimExpr) -> PrimExpr:
    """Return the signed distance of x from the nearest integer: sin and tan of pi * x depend on it alone."""
    return _where(tx.equal(x, _number(0)), x, x - math_functions.nearbyint(x))


def erfinv_of(x: PrimExpr) -> PrimExpr:
    """Compute erfinv by Giles' approximation and a Newton step."""
    w = _number(0) - math_functions.log1p(_number(0) - x * x)
    far = math_functions.sqrt(tx.maximum(w, _number(0))) - 3.0
    guess = _where(tx.less(w, _number(5)), _polynomial(_NEAR, w - 2.5), _polynomial(_FAR, far)) * x
    slope = math_functions.exp(_number(0) - guess * guess) * (2 / math.sqrt(math.pi))
    better = guess - tx.div(math_functions.erf(guess) - x, slope)
    edge = tx.equal(math_functions.abs_(x), _number(1))
    close = _where(tx.less(math_functions.abs_(x), _number(1 - 1e-9)), better, guess)
    return _where(edge, x * math.inf, _where(tx.greater(math_functions.abs_(x), _number(1)), _number(math.nan), close))


def _lgamma_above(x: PrimExpr) -> PrimExpr:
    """Compute lgamma for x >= 1/2."""
    z = x - 1.0
    total = _number(_LANCZOS[0])
    for i, coefficient in enumerate(_LANCZOS[1:], 1):
        total = total + tx.div(_number(coefficient), z + float(i))
    t = z + 7.5
    return (z + 0.5) * (math_functions.log(t) - 1.0) - 7.0 + 0.5 * math.log(2 * math.pi) + math_functions.log(total)


def lgamma_of(x: PrimExpr) -> PrimExpr:
    """Compute lgamma; below 1/2 by reflection: gamma(x) * gamma(1 - x) = pi / sin(pi * x)."""
    low = tx.less(x, _number(0.5))
    above = _lgamma_above(_where(low, _number(1) - x, x))
    sine = math_functions.sin(_off_integer(x) * math.pi)
    tiny = tx.less(
        math_functions.abs_(x), _number(1e-300)
    )  # here pi * x has few significant digits, and sin(pi x) / pi is x
    factor = _where(tiny, _number(0), _number(math.log(math.pi)))
    value = _where(low, factor - math_functions.log(math_functions.abs_(_where(tiny, x, sine))) - above, above)
    zero = tx.logical_or(tx.equal(x, _number(1)), tx.equal(x, _number(2)))
    value = _where(zero, _number(0), value)
    is_pole = tx.less_equal(x, _number(-(2.0**52)))
    return _where(tx.logical_or(is_pole, tx.equal(x, _number(math.inf))), _number(math.inf), value)


def _digamma_above(x: PrimExpr) -> PrimExpr:
    """Compute digamma for x >= 1/2: digamma(x) = digamma(x + 1) - 1 / x, until Stirling's series holds."""
    steps = _number(0)
    for k in range(_SHIFTS):
        small = tx.less(x, _number(_SHIFTS - k))
        steps = steps + _where(small, tx.div(_number(1), x + float(k)), _number(0))
    raised = x + tx.maximum(_number(0), math_functions.ceil(_number(_SHIFTS) - x))
    inverse = tx.div(_number(1), raised)
    square = inverse * inverse
    series = _polynomial((*reversed(_DIGAMMA), 0.0), square)
    return math_functions.log(raised) - 0.5 * inverse - series - steps


def digamma_of(x: PrimExpr) -> PrimExpr:
    """Compute digamma; below 1/2 by reflection: digamma(1 - x) - digamma(x) = pi / tan(pi * x)."""
    low = tx.less(x, _number(0.5))
    above = _digamma_above(_where(low, _number(1) - x, x))
    off = _off_integer(x)
    reflected = above - tx.div(_number(math.pi), math_functions.tan(off * math.pi))
    pole = tx.logical_and(tx.equal(off, _number(0)), tx.less(x, _number(0)))
    infinite = tx.equal(x, _number(math.inf))
    return _where(infinite, x, _where(pole, _number(math.nan), _where(low, reflected, above)))


def _elementwise(name: str, formula: _Formula) -> Callable[[Tensor], Tensor]:
    def apply(x: Tensor) -> Tensor:
        return compute(x.dims, lambda *i: formula(x(*i).astype(f64)).astype(x.type), "compute", "elemwise")

    apply.__name__, apply.__doc__ = name, f"{name}, element by element."
    return apply


def _intrinsic(name: str, function: Callable[[ExprLike], PrimExpr]) -> Callable[[Tensor], Tensor]:
    def apply(x: Tensor) -> Tensor:
        return compute(x.dims, lambda *i: function(x(*i)), "compute", "elemwise")

    apply.__name__, apply.__doc__ = name, f"{name}, element by element."
    return apply


expm1, log1p = _intrinsic("expm1", math_functions.expm1), _intrinsic("log1p", math_functions.log1p)
erfinv = _elementwise("erfinv", erfinv_of)
lgamma = _elementwise("lgamma", lgamma_of)
digamma = _elementwise("digamma", digamma_of)
