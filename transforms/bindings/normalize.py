"""Bring Relax functions to normal form: every binding named, every struct info as precise as inference makes it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.functions.lookup import relax_functions
from ...ir.names import name_bindings
from ...ir.passes.transform import Pass
from ...ir.rewriting.infer import refine_struct_info


@dataclass(frozen=True)
class Normalize(Pass):
    """Names bindings that have no name (`lv`, `lv1`, …; `gv` outside of dataflow blocks) and refines struct info."""

    name = "normalize"
    takes_ill_formed = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            refine_struct_info(func)
            name_bindings(func)
