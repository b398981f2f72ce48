"""Remove dead code: unused pure bindings and outputs of dataflow blocks, and unreachable functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import unknown_name
from ...dialects import relax
from ...dialects.quick import operations
from ...ir.functions.lookup import callee_names, functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase


@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """`entry_functions`: entry points besides the public functions; all functions are kept if there are neither."""

    name = "dead-code-elimination"
    entry_functions: tuple[str, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, relax.FuncOp):
                remove_dead_bindings(func)
        self._remove_unreachable(op)

    def _remove_unreachable(self, module: ModuleOp) -> None:
        table = functions(module)
        entries = self.entry_functions or ()
        for entry in entries:
            if entry not in table:
                raise unknown_name("entry function", entry, table)
        reached = set[str]()
        stack = [*entries, *(n for n, f in table.items() if not f.private)]
        if not stack:
            return
        while stack:
            name = stack.pop()
            if name in reached or name not in table:
                continue
            reached.add(name)
            stack.extend(n for op in operations(table[name]) for n in callee_names(op))
        for name, func in table.items():
            if name not in reached:
                erase(func)
