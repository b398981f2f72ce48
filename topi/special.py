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
    *(-3.5932028927020693e-22, 3.194015548136271e-21, 1.999259988861535e-20, -3.4734793888538036e-19),
    *(6.075050702072414e-19, 1.5510787009902526e-17, -1.2215637192404172e-16, -3.94018812230432e-17),
    *(6.521333511502239e-15, -4.0020031087558496e-14, -8.07192593899004e-14, 2.6305268312595183e-12),
    *(-1.2978805369932565e-11, -5.414303283919504e-11, 1.051223377050429e-09, -4.1126604371632185e-09),
    *(-2.907039127564132e-08, 4.23478816822246e-07, -1.3654691758785656e-06, -1.3882523393957483e-05),
    *(0.00018673420801981186, -0.0007407025341546431, -0.006033670871426851, 0.24015818242558834),
    *(1.6536545626831027,),
)
_MIDDLE = (
    *(7.680200479077053e-09, -1.5305397964152548e-08, -2.091453334773126e-08, 1.3158663683192966e-07),
    *(-2.4549818963339823e-07, -2.761716223816241e-08, 1.4815977874022539e-06, -3.985705945648173e-06),
    *(2.93257845538535e-06, 1.2465028224217455e-05, -4.732068066544697e-05, 6.828711739251955e-05),
    *(2.4031512865758357e-05, -0.0003550378137852452, 0.0009532893415794137, -0.0016882755354488555),
    *(0.00249144209795696, -0.0037512085082247342, 0.005370914553555033, 1.0052589676941655),
    *(3.0838856104922208,),
)
_FAR = (
    *(-1.4386446242363291e-11, 2.6048228659691358e-11, 7.826551524548171e-11, -3.7346007841372697e-10),
    *(9.87011400656914e-10, -2.449011385263865e-09, 5.382653799987644e-09, -1.0372598334526127e-08),
    *(2.0345516823606276e-08, -5.2295574459178795e-08, 1.955868508334529e-07, -8.872288603049178e-07),
    *(4.11535735939531e-06, -1.8062951474179973e-05, 7.010167454796058e-05, -0.00019677853808005522),
    *(-0.0001773033612940883, 1.0102806778035616, 4.913049587233785),
)
"""Coefficients of erfinv(x) / x, from the highest, in w = -log(1 - x**2) below 6.25, and in sqrt(w) below 4 and above,
each less the middle of its interval. The variable is Giles' (2010); the coefficients interpolate at Chebyshev's points,
in 60 digits, with a relative error below a unit in the last place of float64.
"""


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
    """Compute erfinv by polynomials in the logarithm of 1 - x**2, as Giles does."""
    size = math_functions.abs_(x)
    one = _number(1)
    inside = tx.less(size, one)
    small = math_functions.log1p(_number(0) - x * x)
    product = (one - size) * (one + size)
    large = math_functions.log(_where(inside, product, one))
    w = _number(0) - _where(tx.less(size, _number(0.5)), small, large)
    root = math_functions.sqrt(tx.maximum(w, _number(0)))
    far = _where(tx.less(root, _number(4)), _polynomial(_MIDDLE, root - 3.25), _polynomial(_FAR, root - 5.0625))
    result = _where(tx.less(w, _number(6.25)), _polynomial(_NEAR, w - 3.125), far) * x
    edge = _where(tx.equal(size, one), x * math.inf, _number(math.nan))
    return _where(inside, result, edge)


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
