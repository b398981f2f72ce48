"""Make every function callable from outside."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.functions.lookup import functions
from ...ir.passes.transform import Pass
from .normalize_global_var import drop_symbol


@dataclass(frozen=True)
class AttachGlobalSymbol(Pass):
    """Every function becomes public, under the name that it has in the module.

    private f(), g() {global_symbol = "h"}  ->  f(), g()
    """

    name = "attach-global-symbol"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op).values():
            func.sym_visibility = None
            drop_symbol(func)
