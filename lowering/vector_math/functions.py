"""The table of expanded functions: formulas, and error bounds that the tests check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import llvm, math
from xdsl.ir import Operation

from . import circular, exponentials, logarithms, powers, remainders
from .lanes import Float


@dataclass(frozen=True)
class Function:
    """The expansion of an operation, and its error in ulps for f32 and f64."""

    formula: Callable[..., Float]
    ulp_f32: float
    ulp_f64: float
    uses_library: bool = False
    """True if the formula takes a call of the C library as its last argument."""


FUNCTIONS: dict[type[Operation], Function] = {
    math.ExpOp: Function(exponentials.exp, 1.25, 1.25),
    math.Exp2Op: Function(exponentials.exp2, 1.25, 1.25),
    math.ExpM1Op: Function(exponentials.expm1, 1.75, 2.25),
    math.SinhOp: Function(exponentials.sinh, 2, 2),
    math.CoshOp: Function(exponentials.cosh, 2, 2),
    math.TanhOp: Function(exponentials.tanh, 2.75, 3),
    math.LogOp: Function(logarithms.log, 1, 1),
    math.Log2Op: Function(logarithms.log2, 1, 1),
    math.Log10Op: Function(logarithms.log10, 1, 1),
    math.Log1pOp: Function(logarithms.log1p, 1, 1),
    math.AsinhOp: Function(logarithms.asinh, 1.5, 2),
    math.AcoshOp: Function(logarithms.acosh, 1.75, 2.25),
    math.AtanhOp: Function(logarithms.atanh, 1.5, 2),
    math.ErfOp: Function(exponentials.erf, 1.75, 1.75),
    math.SinOp: Function(circular.sin, 2.5, 2, uses_library=True),
    math.CosOp: Function(circular.cos, 2.5, 2, uses_library=True),
    math.TanOp: Function(circular.tan, 4, 3.5, uses_library=True),
    math.AtanOp: Function(circular.atan, 2.25, 2.25),
    math.Atan2Op: Function(circular.atan2, 2.25, 2.25),
    math.AsinOp: Function(circular.asin, 2.75, 2.5),
    math.AcosOp: Function(circular.acos, 1.5, 1.5),
    math.PowFOp: Function(powers.pow, 0.8, 1.5),
    llvm.FRemOp: Function(remainders.fmod, 0, 0, uses_library=True),
}
"""Operation -> its expansion. The errors are empirical bounds (docs/vector_math.md), not proofs; they hold with
and without fma.
"""
