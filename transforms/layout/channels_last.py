"""Chains of convolutions in the layout that tiles of registers read and write as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.functions import relax_functions
from ...ir.transform import Pass
from .convert_layout import convert_function

_LAYOUTS = {"relax.nn.conv2d": ["NHWC", "HWIO"]}


@dataclass(frozen=True)
class ChannelsLast(Pass):
    """Brings functions of several convolutions with constant kernels into the layout NHWC.

    What comes before, between and after them follows as in `convert-layout`. A function stays as it was where it has
    fewer than `least` such convolutions in the layout NCHW, or where more than one tensor for every `least` of them
    were to be transposed at run time.
    """

    name: ClassVar[str] = "channels-last"
    least: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            count = sum(map(_is_wanted, func.walk()))
            if count < self.least:
                continue
            new = func.clone()
            convert_function(new, _LAYOUTS)
            if _moves(new) - _moves(func) <= count // self.least:
                cast(Block, func.parent).insert_op_before(new, func)
                func.detach()
                func.erase()


def _is_wanted(op: object) -> bool:
    """Whether an operation is a convolution, in the layout NCHW, with a constant kernel."""
    if not isinstance(op, Operator) or op.name not in _LAYOUTS:
        return False
    return op.attr("data_layout") == "NCHW" and _is_constant(op.operands[1])


def _moves(func: relax.FuncOp) -> int:
    """How many tensors are transposed when the function runs."""
    moves = [op for op in func.walk() if isinstance(op, Operator) and op.name == "relax.permute_dims"]
    return sum(not _is_constant(op.operands[0]) for op in moves)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp)


__all__ = ["ChannelsLast"]
