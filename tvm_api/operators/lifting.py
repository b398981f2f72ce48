"""`relax.builtin.stop_lift_params`: a value that is not computed from parameters ahead of time."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from ...dialects.relax.operator import Operator, operator
from ...dialects.relax.registered import LEGALIZE
from ...handles.relax.call import Call
from ...handles.relax.expr import Expr
from ...handles.relax.registered import register_op_attr


@operator("relax.builtin.stop_lift_params", "x")
class StopLiftParams(Operator):
    """x itself, at which the lifting of what depends on parameters alone ends."""

    def infer(self) -> Attribute:
        return self.tensor("x")


def _legalized(_bb: Any, call: Call) -> Expr:
    return call.args[0]


register_op_attr(StopLiftParams.name, LEGALIZE, _legalized)

__all__ = ["StopLiftParams"]
