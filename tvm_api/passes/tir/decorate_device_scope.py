"""`decorate-device-scope`: the body of each function runs on a device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Region

from ....dialects import tir
from ....ir.passes.transform import Pass
from ....transforms.tir.walk import functions


@dataclass(frozen=True)
class DecorateDeviceScope(Pass):
    """Put the body of each tensor function into a statement with the attribute `device_scope`."""

    name = "decorate-device-scope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            inside = Block()
            for statement in list(func.body.block.ops):
                statement.detach()
                inside.add_op(statement)
            func.body.block.add_op(value := tir.ConstOp(0, i32))
            func.body.block.add_op(tir.AttrOp("device_scope", value.result, Region(inside)))
