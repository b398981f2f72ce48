"""`remove-no-op`: what has no effect goes: empty loops and branches, unused names and buffers, evaluated constants."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from ...dialects import tir
from ...handles.tir.prim_expr import same_tree
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter
from .asserts import is_assume
from .walk import bound_expr, erase_with_tree, functions, is_empty, is_pure, remove_dead


@dataclass(frozen=True)
class RemoveNoOp(Pass):
    """Remove statements without effect, inner ones first.

    A store of what stands there already is one, and so are the stores into a buffer that nothing reads.
    """

    name = "remove-no-op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            remove_dead(func)
            for inner in reversed(list(func.walk())[1:]):
                if inner.parent is None:
                    continue
                if _is_no_op(inner):
                    erase_with_tree(inner)
                elif isinstance(inner, tir.IfOp) and is_empty(inner.then_region):
                    _turn_around(inner)
            remove_dead(func)


def _is_no_op(op: Operation) -> bool:
    if isinstance(op, tir.ForOp):
        return bound_expr(op.extent).constant == 0 or is_empty(op.body)
    if isinstance(op, tir.IfOp):
        return is_empty(op.then_region) and is_empty(op.else_region)
    if isinstance(op, tir.AttrOp):
        return is_empty(op.body)
    if isinstance(op, tir.EvaluateOp):
        return is_pure(op.value.owner) and not is_assume(op.value.owner)
    if isinstance(op, tir.LetOp):
        return op.result.first_use is None and is_pure(op.value.owner)
    if isinstance(op, tir.StoreOp):
        return _keeps_what_is_there(op) or _is_never_read(op)
    return isinstance(op, tir.AllocBufferOp) and op.result.first_use is None


def _turn_around(branch: tir.IfOp) -> None:
    """`if c {} else {S}` -> `if not c {S}`"""
    insert = inserter(branch)
    opposite = tir.NotOp(branch.cond)
    insert(opposite)
    side = branch.else_region.detach_block(branch.else_region.block)
    insert(tir.IfOp(opposite.result, Region(side)))
    erase_with_tree(branch)


def _keeps_what_is_there(op: tir.StoreOp) -> bool:
    """`A[i] = A[i]`, where nothing is stored between the two."""
    source = op.value.owner
    if not isinstance(source, tir.LoadOp) or source.buffer is not op.buffer or source.parent is not op.parent:
        return False
    between = source.next_op
    while between is not None and between is not op:
        if not is_pure(between):
            return False
        between = between.next_op
    return all(same_tree(a, b) for a, b in zip(source.indices, op.indices, strict=True))


def _is_never_read(op: tir.StoreOp) -> bool:
    """Whether a buffer of the function itself is only stored into."""
    if not isinstance(op.buffer.owner, tir.AllocBufferOp):
        return False
    return all(isinstance(use.operation, tir.StoreOp) for use in op.buffer.uses)
