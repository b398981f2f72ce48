"""`skip-assert`: assertions go."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import tir
from ...ir.passes.transform import Pass
from .walk import erase_with_tree, functions, remove_dead


@dataclass(frozen=True)
class SkipAssert(Pass):
    """Remove `tir.assert`, and what only its condition needs."""

    name = "skip-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            found = [inner for inner in func.walk() if isinstance(inner, tir.AssertOp)]
            for inner in found:
                erase_with_tree(inner)
            if found:
                remove_dead(func)
