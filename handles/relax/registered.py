"""User-defined operators and operator attributes: `register_op_attr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.relax.registered import RegisteredOperator
from ..struct_info import type_of
from .builder import Builder
from .call import Call
from .calls import to_expr
from .op import Op


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator, TVM's way to extend it at run time; a decorator without `value`.

    `FLegalize(builder, call)` returns the legalized call for `LegalizeOps`, `FPrimalGradient(var, call, gradient,
    builder)` its gradients, `FInferStructInfo(call, builder)` its struct info, `FPurity` is true if it has no effects;
    `FNormalize(builder, call)` returns the normal form for builders and `Normalize`, or the call itself. An unknown
    name becomes a new operator with any number of arguments. Of several values, the one with the highest level is used.
    Raises `TiraxError` for a second value of the same level.
    """

    def define(attr_value: Any) -> Any:
        Op(op_name).set_attr(attr_key, attr_value, level)
        return attr_value

    return define if value is None else define(value)


def _infer(op: relax.Operator, function: Callable[[Call, Builder], Any]) -> Attribute:
    return type_of(function(Call.on(op.results[0]), Builder()))


def _normalize(op: relax.Operator, function: Callable[[Builder, Call], Any]) -> SSAValue:
    return to_expr(function(Builder(), Call.on(op.results[0]))).ssa


RegisteredOperator.INFER_CALL = staticmethod(_infer)
RegisteredOperator.NORMALIZE_CALL = staticmethod(_normalize)

__all__ = ["register_op_attr"]
