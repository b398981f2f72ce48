"""`convert-ssa`: each variable is defined once, which is so in this IR."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....ir.passes.transform import Pass


@dataclass(frozen=True)
class ConvertSSA(Pass):
    """Change nothing: variables and buffers that a program defines several times are others here from the start."""

    name = "convert-ssa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Keep the module."""
