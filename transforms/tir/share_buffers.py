"""`share-buffers`: share memory between buffers with disjoint live ranges.

    %B = alloc_buffer; S(%B); %C = alloc_buffer; T(%B, %C); %D = alloc_buffer; U(%C, %D)
      ->  %B = alloc_buffer; %C = alloc_buffer; S(%B); T(%B, %C); U(%C, %B)

A buffer may reuse one that is last read in the statement where it is first written, if that statement reads each
element right before it writes the same one. Allocations are hoisted out of serial loops, not out of parallel ones.
Memory (`tir.allocate`) is shared between bodies, too: two loops that each allocate use the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.relax.types import dims_attr
from ...dialects.sym.expr import Const, SymExpr, Var, terms_of
from ...dialects.tir import BufferType, ForKind
from ...handles.tir.expr_trees import same_tree
from ...ir.affine.values import sym_expr_of
from ...ir.passes.transform import Pass
from .walk import bound_expr, erase_with_tree, functions, integer_type, memory_bits

_CONCURRENT = (ForKind.PARALLEL, ForKind.THREAD_BINDING)


def _is_concurrent(op: Operation | None) -> bool:
    """Return whether a body runs several times at once: each run has its own memory, or each block of threads."""
    if isinstance(op, tir.LaunchThreadOp):
        return not op.virtual and not _is_launched(op.parent_op())
    return isinstance(op, tir.ForOp) and op.kind in _CONCURRENT


def _is_launched(op: Operation | None) -> bool:
    """Return whether an operation is a statement that launches threads, or inside of one."""
    while op is not None:
        if isinstance(op, tir.LaunchThreadOp) and not op.virtual:
            return True
        op = op.parent_op()
    return False


@dataclass(frozen=True)
class ShareBuffers(Pass):
    """Share allocations of constant size, drop unused memory, and hoist all. Run it after `flatten-buffer`.

    A buffer that reuses another one is replaced by it.
    """

    name = "share-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            share_memory(func)


def share_memory(func: tir.FuncOp, stay: Sequence[tir.DeclBufferOp] = ()) -> None:
    """Share the allocations of a function, drop unused ones, and hoist all but the buffers in `stay`."""
    _drop_unused(func)
    _share_buffers(func)
    _share_below(func.body.block)
    _hoist_memory(func, stay)


def _share_buffers(func: tir.FuncOp) -> None:
    allocs = [a for a in operations(func) if isinstance(a, tir.AllocBufferOp)]
    allocs = [a for a in allocs if not isinstance(a.parent_op(), tir.BlockOp)]
    for block in dict.fromkeys(cast(Block, a.parent) for a in allocs):
        _share(_lives([a for a in allocs if a.parent is block], block), list(block.ops))
    _hoist([a for a in allocs if a.parent is not None])


@dataclass
class _Life:
    """The live range of memory: its buffers, and the first and the last statement of a body that access them."""

    alloc: tir.AllocBufferOp | tir.AllocateOp
    buffers: list[SSAValue]
    first: int
    last: int

    @property
    def dtype(self) -> Attribute:
        return self.alloc.result.type.dtype

    @property
    def scope(self) -> StringAttr:
        return self.alloc.result.type.scope

    @property
    def dims(self) -> list[SymExpr]:
        return self.alloc.extents if isinstance(self.alloc, tir.AllocateOp) else list(self.alloc.result.type.dims)

    @property
    def bits(self) -> int:
        return prod(d.constant or 0 for d in self.dims) * memory_bits(self.dtype)

    def grow(self, bits: int) -> None:
        """Enlarge memory of one extent to at least this many bits."""
        if isinstance(self.alloc, tir.AllocateOp) and bits > self.bits:
            self.alloc.properties["extents_attr"] = dims_attr(
                [Const(-(-bits // memory_bits(self.dtype)), self.dims[0].dtype)]
            )


def _drop_unused(func: tir.FuncOp) -> None:
    """Remove allocations that are never accessed."""
    for op in [op for op in operations(func) if isinstance(op, tir.AllocateOp)]:
        declared = [use.operation for use in op.result.uses]
        if all(isinstance(d, tir.DeclBufferOp) and not d.result.uses for d in declared):
            for unused in (*declared, op):
                unused.detach()
                unused.erase()


def _lives(allocs: Sequence[tir.AllocBufferOp | tir.AllocateOp], block: Block) -> list[_Life]:
    """Return memory that may be shared: of constant size, and without addresses that outlive a statement."""
    position = {op: i for i, op in enumerate(block.ops)}
    lives: list[_Life] = []
    for alloc in allocs:
        buffers = _buffers(alloc)
        accesses = [use.operation for b in buffers or () for use in b.uses]
        if accesses and all(isinstance(op, tir.LoadOp | tir.StoreOp) and not _escapes(op) for op in accesses):
            used = [position[_statement(op, block)] for op in accesses]
            life = _Life(alloc, buffers or [], min(used), max(used))
            if all(d.constant is not None for d in life.dims):
                lives.append(life)
    return lives


def _buffers(alloc: tir.AllocBufferOp | tir.AllocateOp) -> list[SSAValue] | None:
    """Return the buffers in memory, or None if it has other uses."""
    if isinstance(alloc, tir.AllocBufferOp):
        return [alloc.result]
    declared = [use.operation for use in alloc.result.uses]
    return (
        [d.result for d in declared if isinstance(d, tir.DeclBufferOp)] if len(declared) == len(_decls(alloc)) else None
    )


def _decls(alloc: tir.AllocateOp) -> list[tir.DeclBufferOp]:
    return [use.operation for use in alloc.result.uses if isinstance(use.operation, tir.DeclBufferOp)]


def _takes_address(op: Operation) -> bool:
    """Return whether an access of an element is used only for its address."""
    uses = op.results[0].uses if isinstance(op, tir.LoadOp) else ()
    return any(isinstance(use.operation, tir.CallIntrinOp) and use.operation.address() is not None for use in uses)


def _escapes(op: Operation) -> bool:
    """Return whether the address of an element is bound to a name, so that later statements may use it."""
    if not _takes_address(op):
        return False
    above: list[Operation] = [use.operation for result in op.results for use in result.uses]
    while above:
        user = above.pop()
        if isinstance(user, tir.LetOp | tir.DeclBufferOp):
            return True
        above += [use.operation for result in user.results for use in result.uses]
    return False


def _share_below(block: Block) -> list[_Life]:
    """Share memory allocated in a body or nested ones; return the rest, with live ranges in the body.

    Iterations of a serial loop do not see each other's memory, which can be hoisted out of the loop.
    """
    statements = list(block.ops)
    lives = _lives([op for op in statements if isinstance(op, tir.AllocateOp)], block)
    for place, op in enumerate(statements):
        inner = [life for region in op.regions for b in region.blocks for life in _share_below(b)]
        if not _is_concurrent(op):
            lives += [_Life(life.alloc, life.buffers, place, place) for life in inner]
    return _share(lives, statements)


def _share(lives: list[_Life], statements: list[Operation]) -> list[_Life]:
    """Let memory reuse memory that is no longer live; return the rest."""
    kept: list[_Life] = []
    for life in sorted(lives, key=lambda x: x.first):
        fitting = [old for old in kept if _fits(old, life) and _is_free(old, life, statements)]
        if not fitting:
            kept.append(life)
            continue
        old = min(fitting, key=lambda x: (x.bits < life.bits, abs(x.bits - life.bits)))
        old.grow(life.bits)
        life.alloc.result.replace_all_uses_with(old.alloc.result)
        erase_with_tree(life.alloc)
        old.last = life.last
        old.buffers = [old.alloc.result] if isinstance(old.alloc, tir.AllocBufferOp) else old.buffers + life.buffers
    return kept


def _statement(op: Operation, block: Block) -> Operation:
    """Return the operation of `block` that contains `op`."""
    while op.parent is not block:
        op = cast(Operation, op.parent_op())
    return op


_RATIO = 16
"""Memory is not shared if the sizes differ by more than this factor."""


def _fits(old: _Life, new: _Life) -> bool:
    """Return whether memory can replace older one: a buffer with the same element type that is not larger.

    Memory without its own buffer may have another element type, and may enlarge the older one.
    """
    if old.scope != new.scope:
        return False
    same = old.dtype == new.dtype
    if isinstance(old.alloc, tir.AllocBufferOp):
        if old.alloc.result.type == new.alloc.result.type:
            return True
        return same and len(old.dims) == len(new.dims) == 1 and old.bits >= new.bits
    if same and old.dims == new.dims:
        return True
    return len(old.dims) == len(new.dims) == 1 and new.bits <= _RATIO * old.bits and old.bits <= _RATIO * new.bits


def _is_free(old: _Life, new: _Life, statements: list[Operation]) -> bool:
    if old.last != new.first:
        return old.last < new.first
    if len(new.buffers) > 1:
        return False
    return _in_place(statements[new.first], set(old.buffers), new.buffers[0])


def _in_place(statement: Operation, old: set[SSAValue], new: SSAValue) -> bool:
    """Return whether a statement reads each element of `old` right before it writes the same one of `new`, once."""
    accesses = [
        op
        for op in operations(statement)
        if isinstance(op, tir.LoadOp | tir.StoreOp) and (op.buffer is new or op.buffer in old)
    ]
    *loads, store = accesses
    if not isinstance(store, tir.StoreOp) or store.buffer is not new:
        return False
    if not all(isinstance(op, tir.LoadOp) and op.buffer in old and op.parent is store.parent for op in loads):
        return False
    if any(_takes_address(op) or not _lie_alike(op.buffer, new) for op in loads):
        return False
    same = (same_tree(a, b) for op in loads for a, b in zip(op.indices, store.indices, strict=True))
    return all(same) and _is_injective(store, statement)


def _lie_alike(a: SSAValue, b: SSAValue) -> bool:
    """Return whether elements with the same indices have the same offset in memory."""
    x, y = cast(BufferType, a.type), cast(BufferType, b.type)
    return x == y or (x.dtype == y.dtype and x.rank == y.rank == 1 and x.strides == y.strides)


def _is_injective(store: tir.StoreOp, statement: Operation) -> bool:
    """Return whether all iterations of the loops between a statement and its store write different elements."""
    if any(integer_type(index) is None for index in store.indices):
        return False
    steps = _coefficients(_place(store))
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


def _place(store: tir.StoreOp) -> SymExpr:
    """Return the linear index of a store into a buffer of constant size, which is injective within bounds."""
    place: SymExpr = Const(0)
    for index, dim in zip(store.indices, cast(BufferType, store.buffer.type).dims, strict=True):
        place = place * (dim.constant or 0) + sym_expr_of(index)
    return place


def _coefficients(e: SymExpr) -> dict[SSAValue, int] | None:
    """Return the coefficients of the variables in a linear expression, or None for other expressions."""
    terms = terms_of(e)
    if not all(isinstance(t, Var) for t, _ in terms):
        return None
    return {t.value: c for t, c in terms if isinstance(t, Var) and t.value is not None}


def _hoist(allocs: Sequence[Operation]) -> None:
    """Move allocations to the start of the function, or of the concurrent loop around them, in order."""
    for alloc in reversed(allocs):
        target = cast(Block, alloc.parent)
        parent = target.parent_op()
        while not isinstance(parent, tir.FuncOp | None):
            if _is_concurrent(parent):
                break
            target = cast(Block, parent.parent)
            parent = target.parent_op()
        alloc.detach()
        if target.first_op is None:
            target.add_op(alloc)
        else:
            target.insert_op_before(alloc, target.first_op)


def _hoist_memory(func: tir.FuncOp, stay: Sequence[tir.DeclBufferOp]) -> None:
    """Hoist memory that is not in a block, with its declared buffers except those in `stay`."""
    memory = [a for a in operations(func) if isinstance(a, tir.AllocateOp)]
    outside = [a for a in memory if not isinstance(a.parent_op(), tir.BlockOp)]
    declared = {d for a in outside for d in _decls(a) if d not in stay}
    _hoist([op for op in operations(func) if op in declared or op in outside])
