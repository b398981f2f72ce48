"""Remove what cannot matter: unused pure bindings and outputs of dataflow blocks, functions that nothing reaches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from ...diagnostics import unknown_name
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import binding_blocks, callee_names, functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, erase_unused


@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """`entry_functions`: where execution may begin; the public functions where none is named, all if none is public."""

    name = "dead-code-elimination"
    entry_functions: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, relax.FuncOp):
                remove_dead_bindings(func)
        self._remove_unreachable(op)

    def _remove_unreachable(self, module: ModuleOp) -> None:
        table = functions(module)
        for entry in self.entry_functions:
            if entry not in table:
                raise unknown_name("entry function", entry, table)
        roots = self.entry_functions or tuple(n for n, f in table.items() if not f.private)
        if not roots:
            return
        reached = set[str]()
        stack = list(roots)
        while stack:
            name = stack.pop()
            if name in reached or name not in table:
                continue
            reached.add(name)
            stack.extend(n for op in table[name].walk() for n in callee_names(op))
        for name, func in table.items():
            if name not in reached:
                erase(func)


def remove_dead_bindings(func: Operation) -> None:
    """Remove unused bindings of a function, in place: linear, since uses come after definitions."""
    for block in reversed(list(binding_blocks(func))):
        for op in reversed(list(block.ops)):
            if isinstance(op, relax.DataflowOp):
                _shrink_outputs(op)
            else:
                erase_unused([op])


def _shrink_outputs(op: relax.DataflowOp) -> None:
    """Drop results that nothing uses, then what only they needed."""
    used = [r.first_use is not None for r in op.outputs]
    if not all(used):
        op = _with_outputs(op, used)
    erase_unused(op.body.block.ops)
    # A match_cast binds symbolic variables: it stays, and the block with it.
    if not op.outputs and op.body.block.first_op is op.output_op:
        erase(op)


def _with_outputs(op: relax.DataflowOp, keep: list[bool]) -> relax.DataflowOp:
    output = op.output_op
    kept = [v for v, k in zip(output.values_, keep, strict=True) if k]
    erase(output)
    block = op.body.block
    block.add_op(relax.OutputOp(kept))
    op.body.detach_block(block)
    new = relax.DataflowOp(Region(block))
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(new, op)
    old_results = [r for r, k in zip(op.outputs, keep, strict=True) if k]
    for old, result in zip(old_results, new.outputs, strict=True):
        set_name(result, name_of(old))
        old.replace_all_uses_with(result)
    erase(op)
    return new
