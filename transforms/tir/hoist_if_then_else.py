"""`hoist-if-then-else`: a branch that is the same in all iterations stands around the loop.

for %i {if %c {S(%i)} else {T(%i)}}     ->     if %c {for %i {S(%i)}} else {for %i {T(%i)}}
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...ir.transform import Pass
from .walk import erase_with_tree, functions, inserter


@dataclass(frozen=True)
class HoistIfThenElse(Pass):
    """Move branches that are all there is in a loop out of it, as far as their conditions allow.

    The condition may read nothing: what it reads may change in the loop.
    """

    name = "hoist-if-then-else"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in reversed(list(func.walk())):
                if isinstance(inner, tir.ForOp):
                    _hoist(inner)


def _hoist(loop: tir.ForOp) -> None:
    body = loop.body.block
    branch = body.last_op
    if not isinstance(branch, tir.IfOp):
        return
    before = [op for op in body.ops if op is not branch]
    if not all(is_side_effect_free(op) for op in before) or not _is_invariant(branch.cond, loop):
        return
    insert = inserter(loop)
    for op in before:
        if not any(_varies(o, loop) for o in op.operands):
            op.detach()
            insert(op)
    sides = [_loop_of(loop, region, [op for op in before if op.parent is body]) for region in branch.regions]
    insert(tir.IfOp(branch.cond, sides[0] or Region(Block()), sides[1]))
    erase_with_tree(loop)


def _loop_of(loop: tir.ForOp, side: Region, before: list[Operation]) -> Region | None:
    """A loop like the given one over one side of the branch in it; None for a side that is not there."""
    if side.first_block is None:
        return None
    body = Block(arg_types=[loop.loop_var.type])
    set_name(body.args[0], name_of(loop.loop_var))
    values: dict[SSAValue, SSAValue] = {loop.loop_var: body.args[0]}
    for op in [*before, *side.block.ops]:
        body.add_op(op.clone(values))
    thread = None if loop.thread is None else loop.thread.data
    new = tir.ForOp(loop.min, loop.extent, Region(body), loop.kind, thread=thread, annotations=loop.annotations)
    return Region(Block([new]))


def _is_invariant(value: SSAValue, loop: tir.ForOp) -> bool:
    """Whether a value is the same in all iterations, and computed from nothing that a loop may change."""
    todo = [value]
    while todo:
        current = todo.pop()
        if current is loop.loop_var:
            return False
        owner = current.owner
        if isinstance(owner, Operation) and loop.is_ancestor(owner):
            if not is_side_effect_free(owner):
                return False
            todo.extend(owner.operands)
    return True


def _varies(value: SSAValue, loop: tir.ForOp) -> bool:
    """Whether a value is one of the loop's body."""
    owner = value.owner
    inside = owner if isinstance(owner, Operation) else owner.parent_op()
    return inside is loop or (inside is not None and loop.is_ancestor(inside))
