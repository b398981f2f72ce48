"""`bind-target`: every tensor function says for which target it is."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from .walk import functions, with_attr


@dataclass(frozen=True)
class BindTarget(Pass):
    """Give the attribute `target`, the text of a target, to the tensor functions that have none."""

    name = "bind-target"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if func.func_attrs is None or "target" not in func.func_attrs.data:
                with_attr(func, "target", str(self.target))
