"""Bring Relax functions to normal form: every binding named, every struct info as precise as inference makes it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.infer import refine_struct_info


@dataclass(frozen=True)
class Normalize(Pass):
    """Names bindings that have no name (`lv`, `lv1`, …; `gv` outside of dataflow blocks) and refines struct info."""

    name = "normalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            refine_struct_info(func)
            name_bindings(func)


def name_bindings(func: relax.FuncOp) -> None:
    """Give a fresh name to every binding without one."""
    names = NameSupply(variable_names(func))
    for block in binding_blocks(func):
        inside = isinstance(block.parent_op(), relax.DataflowOp)
        for op in block.ops:
            if isinstance(op, relax.INLINE_OPS):
                continue
            for result in op.results:
                if name_of(result) is None:
                    set_name(result, names.fresh("lv" if inside else "gv"))
