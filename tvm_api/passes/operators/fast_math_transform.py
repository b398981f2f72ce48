"""Approximate some functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from .... import topi
from ....dialects.relax.operator import Operator
from ....dialects.relax.types import TensorType
from ....ir.passes.transform import Pass
from ....transforms.operators.te_calls import call_tensor_functions

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "relax.exp": topi.fast_exp,
    "relax.erf": topi.fast_erf,
    "relax.tanh": topi.fast_tanh,
}


@dataclass(frozen=True)
class FastMathTransform(Pass):
    """Replaces `exp`, `erf` and `tanh` of float32 by polynomial approximations (`topi.fast_exp`, …).

    y = tanh(x)  ->  y = call_tir(fast_tanh, (x,))

    `topi/fast_math.py` documents the accuracy. Operators on other dtypes and on unknown shapes remain.
    """

    name = "fast-math-transform"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        call_tensor_functions(op, dict.fromkeys(_FUNCTIONS, _fast), clean=False)


def _fast(op: Operator) -> tuple[Callable[..., Any], list[SSAValue], str] | None:
    x = op.operands[0]
    if not isinstance(x.type, TensorType) or x.type.element != f32:
        return None
    return _FUNCTIONS[op.name], [x], f"fast_{op.name.removeprefix('relax.')}"
