"""`Filter`: tensor functions for which a condition holds stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...handles.tir.prim_func import PrimFunc
from ...ir.passes.transform import Pass
from .walk import erase_with_tree, functions


def _always(_func: PrimFunc) -> bool:
    return True


@dataclass(frozen=True)
class Filter(Pass):
    """Remove the tensor functions for which `fcond(func)` is false. Who calls them must go, too."""

    name = "filter"
    fcond: Callable[[PrimFunc], bool] = field(default=_always)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not self.fcond(PrimFunc.on(func)):
                erase_with_tree(func)
