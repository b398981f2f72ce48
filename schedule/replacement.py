"""Replacement of a statement in a module, as in `ScheduleState.replace`.

Statements are immutable values: whoever holds one keeps it unchanged. Operations with live handles are therefore
detached, and the module continues with a copy; everything else is changed in place. TVM decides by reference
counts; here the garbage collector is queried for existing handles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..handles.base_func import BaseFunc
from ..handles.module import IRModule
from ..handles.tir.block_views import Block, BlockRealize
from ..handles.tir.buffers import Stmt
from ..handles.tir.stmt import SeqStmt, stmt_of
from ..ir.origins import note, origin
from ..ir.rewriting.copy import clone_expr, copied, is_expression
from ..transforms.tir.walk import remove_dead

Successors = dict[Operation, Operation | None]
"""The operation that replaces a block or loop that was moved or removed; None if there is none."""


def replace_statement(
    module: ModuleOp, old: Operation, new: Stmt, reused: Mapping[Operation, Operation]
) -> tuple[ModuleOp, Successors]:
    """Replace the block, loop or root block `old` by a copy of `new`; return the module and the successors of
    operations.

    `reused` maps old blocks to blocks of `new`; loops correspond if they have the same variable. Raises
    `TiraxError` if a root block would have iterators or annotations.
    """
    stmt = _realized(old, new)
    held = _referenced()
    kept = next((op for op in reversed(list(_around(old))) if op in held), None)
    now: Successors = {}
    mapping: dict[SSAValue, SSAValue] = {}
    place = old
    if kept is not None:
        copy = _detach_copy(kept, mapping)
        pairs = dict(zip(kept.walk(), copy.walk(), strict=True))
        now.update(pairs)
        place = pairs[old]
        module = cast(ModuleOp, copy) if kept is module else module
    now.update((op, None) for op in old.walk() if op is not module)
    parts = _insert_copies(place, stmt, mapping)
    now.update(_counterparts(old, new, parts, reused))
    return module, now


def _realized(old: Operation, new: Stmt) -> Stmt:
    """Return the statement to insert: a block is realized with the binding values and predicate of the one it
    replaces.
    """
    if not isinstance(new, Block):
        return new
    if isinstance(old, tir.BlockOp):
        at, count = cast(BlockRealize, stmt_of(old)), len(new.iter_vars)
        if count > len(at.iter_values):
            raise TiraxError(
                "the block has more iterators than there are values", expected=len(old.bindings), found=count
            )
        return BlockRealize(at.iter_values[:count], at.predicate, new)
    if isinstance(old, tir.FuncOp) and (new.iter_vars or new.annotations):
        raise TiraxError("a root block has neither iterators nor annotations", found=new.name_hint)
    return new


def _around(op: Operation) -> Iterator[Operation]:
    """Yield the operations around an operation, innermost first; a function contains itself, as its own root block."""
    if isinstance(op, tir.FuncOp):
        yield op
    while (parent := op.parent_op()) is not None:
        yield parent
        op = parent


def _referenced() -> set[Operation | None]:
    """Return the operations with live handles; a sequence counts as the operation that contains it."""
    handles = [h for h in gc.get_objects() if isinstance(h, Stmt | BaseFunc | IRModule)]
    return {h.op.parent_op() if isinstance(h, SeqStmt) else h.op for h in handles}


def _detach_copy(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    """Detach an operation and insert a copy in its place."""
    copy = op.clone(mapping)
    for value, same in mapping.items():
        note(same, value)
    if op.parent is not None:
        op.parent.insert_op_before(copy, op)
        _isolate(op)
    return copy


def _isolate(op: Operation) -> None:
    """Move a statement to a separate block, with copies of its expressions."""
    above = cast(Operation, op.parent_op())
    op.detach()
    if op.operands:
        home = IRBlock()
        op.operands = [clone_expr(v, home, {}) for v in op.operands]
        home.add_op(op)
        remove_dead(above)


def _insert_copies(place: Operation, new: Stmt, mapping: dict[SSAValue, SSAValue]) -> list[Operation]:
    """Replace an operation by copies of a statement's operations."""
    inside = IRBlock()
    ops = new.operations()
    is_root = isinstance(place, tir.FuncOp)
    if is_root and isinstance(new, Block):
        ops = list(new.op.regions[0].block.ops)
    copied(ops, inside, dict(mapping))
    copies = list(inside.ops)
    for op in copies:
        op.detach()
    if is_root:
        _set_body(place.regions[0].block, copies)
    else:
        cast(IRBlock, place.parent).insert_ops_before(copies, place)
        _isolate(place)
    return [op for op in copies if not is_expression(op)]


def _set_body(block: IRBlock, ops: list[Operation]) -> None:
    """Replace the operations of a function. Values of the old ones that are still used become undefined."""
    for op in reversed(list(block.ops)):
        op.detach()
    block.add_ops(ops)


def _counterparts(
    old: Operation, new: Stmt, parts: list[Operation], reused: Mapping[Operation, Operation]
) -> Iterator[tuple[Operation, Operation]]:
    """Yield pairs of old loops and blocks and the corresponding new ones."""
    before = {origin(v): op for op in old.walk() for v in _variables(op)}
    written = [op for root in new.operations() for op in root.walk() if isinstance(op, tir.BlockOp)]
    put = [op for root in parts for op in root.walk()]
    if isinstance(old, tir.FuncOp) and isinstance(new, Block):
        del written[:1]  # the root block itself
    blocks = dict[Operation, Operation](zip(written, (op for op in put if isinstance(op, tir.BlockOp)), strict=True))
    yield from ((a, blocks[b]) for a, b in reused.items() if b in blocks)
    for op in put:
        same = next((before[origin(v)] for v in _variables(op) if origin(v) in before), None)
        if same is not None and type(same) is type(op):
            yield same, op


def _variables(op: Operation) -> list[SSAValue]:
    """Return the variables of a loop or the iterators of a block."""
    if isinstance(op, tir.ForOp):
        return [op.loop_var]
    return list(op.iter_vars) if isinstance(op, tir.BlockOp) else []
