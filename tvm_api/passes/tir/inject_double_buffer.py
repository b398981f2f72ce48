"""`inject-double-buffer`: an iteration copies what the next one reads.

for i in range(100) {double_buffer_scope B: {B = A[i]}; C = f(B)}
  ->  B[0] = A[0]
      for i in range(99) {B[(i + 1) % 2] = A[i + 1]; C = f(B[i % 2])}
      C = f(B[99 % 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....dialects.relax.types import dims_attr
from ....dialects.sym.expr import Const, SymExpr, mul
from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import dim_node, expr_node
from ....handles.tir.prim_expr import PrimExpr
from ....handles.tir.stmt import planted_in
from ....ir.locations import location_of
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.copy import Copier
from ....transforms.tir.walk import functions
from .pipeline_phases import loop_bound
from .rebuilt import rebuild
from .storage_access import memory_of

SCOPE, WRITE = "double_buffer_scope", "double_buffer_write"
Mapping = dict[SSAValue, SSAValue]
Allocation = tir.AllocateOp | tir.AllocBufferOp


def extents_of(allocation: Allocation) -> Sequence[SymExpr]:
    """Return the extents of memory, or of a buffer with memory of its own."""
    return allocation.extents if isinstance(allocation, tir.AllocateOp) else allocation.result.type.dims


@dataclass(frozen=True)
class InjectDoubleBuffer(Pass):
    """Give memory in a statement with the attribute `double_buffer_scope` a second half, which is written one
    iteration ahead.

    `split_loop` is the number of iterations of the new loop in one (a multiple of 2, or 1), 0 to leave out the last
    iteration's test alone. Raises `UnsupportedError` for memory of several dimensions.
    """

    name = "inject-double-buffer"
    split_loop: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split = configured(self, "tir.InjectDoubleBuffer").split_loop
        if split not in (0, 1) and split % 2:
            raise UnsupportedError(
                "It is better to split with multiple of 2", expected="0, 1 or a multiple of 2", found=str(split)
            )
        for func in functions(op):
            found = _doubled(func)
            if found:
                rebuild(func, _Injector(split, found))


@dataclass
class _Doubled:
    """Memory with two halves: the loop that fills it, and the halves that are written and read."""

    allocation: Allocation
    loop: tir.ForOp
    memory: SSAValue | None = None
    write: SSAValue | None = None
    read: SSAValue | None = None
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @property
    def stride(self) -> SymExpr:
        return extents_of(self.allocation)[0]


def _doubled(func: tir.FuncOp) -> dict[SSAValue, _Doubled]:
    """Return the memory with a second half, by its address."""
    found: dict[SSAValue, _Doubled] = {}
    for op in operations(func):
        if not isinstance(op, tir.AttrOp) or op.key.data != SCOPE or not isinstance(op.on, SSAValue):
            continue
        allocation, loop = _memory(op.on), op.parent_op()
        while loop is not None and not isinstance(loop, tir.ForOp):
            loop = loop.parent_op()
        if loop is None:
            raise UnsupportedError("Double buffer scope must be inside a loop", location=location_of(op))
        if allocation is not None:
            if len(extents_of(allocation)) != 1:
                raise UnsupportedError(
                    "InjectDoubleBuffer expects flat 1-d buffers",
                    location=location_of(allocation),
                    hint="run FlattenBuffer before",
                )
            found[allocation.result] = _Doubled(allocation, loop)
    return found


def _memory(subject: SSAValue) -> Allocation | None:
    owner = subject.owner
    if isinstance(owner, tir.BufferDataOp):
        owner = memory_of(owner.buffer).owner
    return owner if isinstance(owner, Allocation) else None


class _Injector(Copier):
    def __init__(self, split: int, doubled: dict[SSAValue, _Doubled]):
        self.split, self.doubled = split, doubled
        self.before: dict[tir.ForOp, list[tir.AttrOp]] = {}
        self.tail = False

    def statement(self, op: Operation, block: Block, mapping: Mapping) -> None:
        if isinstance(op, Allocation) and op.result in self.doubled:
            return  # it is allocated before the loop
        if isinstance(op, tir.DeclBufferOp) and op.data in self.doubled:
            return
        if isinstance(op, tir.ForOp) and any(d.loop is op for d in self.doubled.values()):
            self._loop(op, block, mapping)
        elif isinstance(op, tir.AttrOp) and op.key.data == SCOPE:
            self._producer(op, block, mapping)
        elif isinstance(op, tir.StoreOp) and memory_of(op.buffer) in self.doubled:
            entry = self.doubled[memory_of(op.buffer)]
            value = self.value(op.value, block, mapping)
            index = self._index(entry, entry.write, op.indices[0], block, mapping)
            block.add_op(tir.StoreOp(value, self._buffer(op.buffer, entry, mapping), [index]))
        else:
            super().statement(op, block, mapping)

    def value(self, value: SSAValue, block: Block | None, mapping: Mapping) -> SSAValue:
        op = value.owner
        if isinstance(op, tir.LoadOp) and value not in mapping and memory_of(op.buffer) in self.doubled:
            entry, to = self.doubled[memory_of(op.buffer)], block or Block()
            index = self._index(entry, entry.read, op.indices[0], to, mapping)
            to.add_op(load := tir.LoadOp(self._buffer(op.buffer, entry, mapping), [index]))
            return load.result
        return super().value(value, block, mapping)

    def _buffer(self, buffer: SSAValue, entry: _Doubled, mapping: Mapping) -> SSAValue:
        return entry.buffers[buffer]

    def _index(
        self, entry: _Doubled, half: SSAValue | None, index: SSAValue, block: Block, mapping: Mapping
    ) -> SSAValue:
        if half is None:
            raise UnsupportedError(
                "an access of double buffered memory outside of the loop that fills it",
                location=location_of(entry.allocation),
            )
        start = tx.multiply(expr_node(half), dim_node(entry.stride))
        return planted_in(start + expr_node(self.value(index, block, mapping)), block)

    def _loop(self, loop: tir.ForOp, block: Block, mapping: Mapping) -> None:
        mapping = dict(mapping)
        entries = [d for d in self.doubled.values() if d.loop is loop]
        for entry in entries:
            self._allocate(entry, block, mapping)
        first, extent = dim_node(loop.min), self._extent(loop, block, mapping)
        for entry in entries:
            self._first_copy(entry, block, mapping)
        if not self.split:
            self._iterations(loop, block, mapping, first, extent)
            return
        if first.constant != 0:
            raise UnsupportedError(
                "InjectDoubleBuffer: loop must start at 0", location=location_of(loop), found=str(first)
            )
        outer = tx.div(extent - 1, self.split) if self.split > 1 else extent - 1
        base = outer * self.split
        body = Block(arg_types=[loop.loop_var.type])
        set_name(body.args[0], f"{name_of(loop.loop_var)}.outer")
        at = expr_node(body.args[0])
        for k in range(self.split):
            self._body(loop, body, mapping, at * self.split + k)
        low, size = loop_bound(first, block), loop_bound(outer, block)
        block.add_op(tir.ForOp(low, size, Region(body), loop.kind))
        self.tail = True
        for k in range(self.split):
            index = base + k
            self._guarded(index < extent, loop, block, mapping, index)
        self.tail = False

    def _guarded(self, condition: PrimExpr, loop: tir.ForOp, block: Block, mapping: Mapping, at: PrimExpr) -> None:
        inside = Block()
        self._body(loop, inside, mapping, at)
        block.add_op(tir.IfOp(planted_in(condition, block), Region(inside)))

    def _iterations(self, loop: tir.ForOp, block: Block, mapping: Mapping, first: PrimExpr, extent: PrimExpr) -> None:
        body = Block(arg_types=[loop.loop_var.type])
        set_name(body.args[0], name_of(loop.loop_var))
        self._body(loop, body, mapping, expr_node(body.args[0]))
        low, size = loop_bound(first, block), loop_bound(extent, block)
        notes = loop.annotations
        block.add_op(tir.ForOp(low, size, Region(body), loop.kind, annotations=notes))

    def _extent(self, loop: tir.ForOp, block: Block, mapping: Mapping) -> PrimExpr:
        extent = loop.extent
        return dim_node(extent if isinstance(extent, SymExpr) else self.value(extent, block, mapping))

    def _allocate(self, entry: _Doubled, block: Block, mapping: Mapping) -> None:
        old = entry.allocation
        twice = mul(entry.stride, Const(2, entry.stride.dtype))
        if isinstance(old, tir.AllocBufferOp):
            t = old.result.type
            buffer = tir.AllocBufferOp(t.replaced(shape=dims_attr([twice])), declared=old.declared)
            set_name(buffer.result, name_of(old.result))
            block.add_op(buffer)
            block.add_op(data := tir.BufferDataOp(buffer.result))
            entry.memory = data.result
            entry.buffers[old.result] = mapping[old.result] = buffer.result
            return
        new = tir.AllocateOp([twice], old.dtype, old.scope.data, annotations=old.annotations)
        set_name(new.result, name_of(old.result))
        block.add_op(new)
        entry.memory = mapping[old.result] = new.result
        for use in list(old.result.uses):
            declared = use.operation
            if isinstance(declared, tir.DeclBufferOp):
                t = declared.result.type
                shape = dims_attr([t.dims[0] + entry.stride])
                buffer = tir.DeclBufferOp(new.result, t.replaced(shape=shape))
                buffer.attributes = declared.attributes
                set_name(buffer.result, name_of(declared.result))
                block.add_op(buffer)
                entry.buffers[declared.result] = mapping[declared.result] = buffer.result

    def _scopes(self, loop: tir.ForOp) -> list[tir.AttrOp]:
        return [op for op in operations(loop) if isinstance(op, tir.AttrOp) and op.key.data == SCOPE]

    def _first_copy(self, entry: _Doubled, block: Block, mapping: Mapping) -> None:
        """Fill the first half before the loop."""
        for op in self._scopes(entry.loop):
            if _memory(cast(SSAValue, op.on)) is entry.allocation:
                dtype = cast(IntegerType, entry.loop.loop_var.type)
                block.add_op(zero := tir.ConstOp(0, dtype))
                entry.write = zero.result
                self.statements(op.body.block.ops, block, {**mapping, entry.loop.loop_var: zero.result})

    def _body(self, loop: tir.ForOp, block: Block, mapping: Mapping, at: PrimExpr) -> None:
        value = planted_in(at, block)
        for entry in self.doubled.values():
            if entry.loop is loop:
                entry.read = planted_in(tx.floormod(at, 2), block)
        self.statements(loop.body.block.ops, block, {**mapping, loop.loop_var: value})

    def _producer(self, op: tir.AttrOp, block: Block, mapping: Mapping) -> None:
        """Fill the half for the next iteration, if there is one."""
        memory = _memory(cast(SSAValue, op.on))
        if memory is None:
            self.statements(op.body.block.ops, block, mapping)
            return
        entry = self.doubled[memory.result]
        loop = entry.loop
        following = expr_node(mapping[loop.loop_var]) + 1
        inside = Block()
        value = planted_in(following, inside)
        entry.write = planted_in(tx.floormod(following, 2), inside)
        self.statements(op.body.block.ops, inside, {**mapping, loop.loop_var: value})
        if not self.tail:
            around = Block([one := tir.ConstOp(1, i32)])
            around.add_op(tir.AttrOp(WRITE, one.result, Region(inside), entry.memory))
            inside = around
        condition = planted_in(following < self._extent(loop, block, mapping), block)
        block.add_op(tir.IfOp(condition, Region(inside)))
