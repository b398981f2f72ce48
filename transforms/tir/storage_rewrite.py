"""`storage-rewrite`: buffers that are not needed at the same time share memory, and are allocated once.

    %B = alloc_buffer; S(%B); %C = alloc_buffer; T(%B, %C); %D = alloc_buffer; U(%C, %D)
      ->  %B = alloc_buffer; %C = alloc_buffer; S(%B); T(%B, %C); U(%C, %B)

A buffer may take the place of one that is last read in the statement where it is first written, if that statement reads
each element right before it writes the same one. Allocations move out of serial loops, not out of parallel ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import SymExpr, Var, terms_of
from ...dialects.tir import BufferType, ForKind
from ...handles.tir.prim_expr import same_tree
from ...ir.affine.values import sym_expr_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.walk import operations
from .walk import bound_expr, erase_with_tree, functions, integer_type

_CONCURRENT = (ForKind.PARALLEL, ForKind.THREAD_BINDING)


@dataclass(frozen=True)
class StorageRewrite(Pass):
    """Share allocations of constant size whose address is not taken, and hoist all. Run it after `flatten-buffer`."""

    name = "storage-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            allocs = [a for a in operations(func) if isinstance(a, tir.AllocBufferOp)]
            allocs = [a for a in allocs if not isinstance(a.parent_op(), tir.BlockOp)]
            groups: dict[Block, list[tir.AllocBufferOp]] = {}
            for alloc in allocs:
                if _may_share(alloc):
                    groups.setdefault(cast(Block, alloc.parent), []).append(alloc)
            for block, group in groups.items():
                _share(block, group)
            _hoist([a for a in allocs if a.parent is not None])


def _may_share(alloc: tir.AllocBufferOp) -> bool:
    """Whether a buffer has a constant size, and its address is not taken."""
    if any(d.constant is None for d in alloc.result.type.dims):
        return False
    return all(isinstance(use.operation, tir.LoadOp | tir.StoreOp) for use in alloc.result.uses)


@dataclass
class _Life:
    """A buffer with the statements of its body from the first to the last that access it."""

    alloc: tir.AllocBufferOp
    first: int
    last: int

    @property
    def type(self) -> BufferType:
        return self.alloc.result.type


def _share(block: Block, allocs: list[tir.AllocBufferOp]) -> None:
    statements = list(block.ops)
    position = {op: i for i, op in enumerate(statements)}
    lives: list[_Life] = []
    for alloc in allocs:
        used = [position[_statement(use.operation, block)] for use in alloc.result.uses]
        if used:
            lives.append(_Life(alloc, min(used), max(used)))
    kept: list[_Life] = []
    for life in sorted(lives, key=lambda x: x.first):
        fitting = [old for old in kept if _fits(old.type, life.type) and _is_free(old, life, statements)]
        if not fitting:
            kept.append(life)
            continue
        old = min(fitting, key=lambda x: _size(x.type))
        life.alloc.result.replace_all_uses_with(old.alloc.result)
        erase_with_tree(life.alloc)
        old.last = life.last


def _statement(op: Operation, block: Block) -> Operation:
    """The operation of `block` that `op` is in."""
    while op.parent is not block:
        op = cast(Operation, op.parent_op())
    return op


def _size(t: BufferType) -> int:
    total = 1
    for d in t.dims:
        total *= d.constant or 0
    return total


def _fits(old: BufferType, new: BufferType) -> bool:
    """Whether a buffer can take the place of an older one: same elements, and no larger."""
    if (old.dtype, old.scope) != (new.dtype, new.scope):
        return False
    return old == new or (old.rank == new.rank == 1 and _size(old) >= _size(new))


def _is_free(old: _Life, new: _Life, statements: list[Operation]) -> bool:
    if old.last != new.first:
        return old.last < new.first
    return _in_place(statements[new.first], old.alloc.result, new.alloc.result)


def _in_place(statement: Operation, old: SSAValue, new: SSAValue) -> bool:
    """Whether a statement reads each element of `old` right before it writes the same one of `new`, once."""
    accesses = [
        op for op in operations(statement) if isinstance(op, tir.LoadOp | tir.StoreOp) and op.buffer in (old, new)
    ]
    *loads, store = accesses
    if not isinstance(store, tir.StoreOp) or store.buffer is not new:
        return False
    if not all(isinstance(op, tir.LoadOp) and op.buffer is old and op.parent is store.parent for op in loads):
        return False
    same = (same_tree(a, b) for op in loads for a, b in zip(op.indices, store.indices, strict=True))
    return all(same) and len(store.indices) == 1 and _is_injective(store, statement)


def _is_injective(store: tir.StoreOp, statement: Operation) -> bool:
    """Whether all iterations of the loops from a statement to a store in it write different elements."""
    index = store.indices[0]
    if integer_type(index) is None:
        return False
    steps = _coefficients(sym_expr_of(index))
    if steps is None:
        return False
    digits: list[tuple[int, int]] = []
    op = store.parent_op()
    while op is not None and statement.is_ancestor(op):
        if isinstance(op, tir.WhileOp):
            return False
        if isinstance(op, tir.ForOp):
            extent = bound_expr(op.extent).constant
            if extent is None:
                return False
            if extent > 1:
                digits.append((abs(steps.get(op.loop_var, 0)), extent))
        op = op.parent_op()
    reach = 0
    for step, extent in sorted(digits):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


def _coefficients(e: SymExpr) -> dict[SSAValue, int] | None:
    """The factors of the variables of a linear expression; None for any other."""
    terms = terms_of(e)
    if not all(isinstance(t, Var) for t, _ in terms):
        return None
    return {t.value: c for t, c in terms if isinstance(t, Var) and t.value is not None}


def _hoist(allocs: list[tir.AllocBufferOp]) -> None:
    """Move allocations to the start of the function, or of the concurrent loop around them, in their order."""
    for alloc in reversed(allocs):
        target = cast(Block, alloc.parent)
        parent = target.parent_op()
        while not isinstance(parent, tir.FuncOp | None):
            if isinstance(parent, tir.ForOp) and parent.kind in _CONCURRENT:
                break
            target = cast(Block, parent.parent)
            parent = target.parent_op()
        alloc.detach()
        if target.first_op is None:
            target.add_op(alloc)
        else:
            target.insert_op_before(alloc, target.first_op)
