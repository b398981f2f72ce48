"""`inject-ptx-async-copy` and `inject-ptxldg32`: copies from global memory by CUDA's instructions.

with async_scope: S[i] = A[j]              ->   ptx_cp_async(S.data, i, A.data, j, bytes)
S[i] = if_then_else(p, A[j], 0)            ->   …; S[i] = 0; ptx_ldg32(S.data, p, A[j], i)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1, i32
from xdsl.ir import Block, Operation, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import byte_size, is_float, lanes_of, scalar_of, ui8
from ....dialects.names import set_name
from ....dialects.sym.expr import Const
from ....handles.tir.prim_expr import const
from ....handles.tir.stmt import planted_in
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import inline_before, insert_before
from ....transforms.tir.walk import erase_with_tree, functions

_SIZES = (4, 8, 16)
"""The bytes that one asynchronous copy moves."""


@dataclass(frozen=True)
class InjectPTXAsyncCopy(Pass):
    """Copy from global to shared memory asynchronously inside of the attribute `async_scope`, which is removed.

    Copies of 4, 8 or 16 bytes with flat indices are replaced, also those that are 0 under a condition. Raises
    `UnsupportedError` for one scope in another.
    """

    name = "inject-ptx-async-copy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for scope in [o for o in func.walk() if isinstance(o, tir.AttrOp) and o.key.data == "async_scope"]:
                inner = [o for o in scope.body.walk() if isinstance(o, tir.AttrOp) and o.key.data == "async_scope"]
                if inner:
                    raise UnsupportedError("Nested async scopes not supported", location=location_of(inner[0]))
                for store in [o for o in scope.body.walk() if isinstance(o, tir.StoreOp)]:
                    _copy_async(store)
                _unwrap(scope)


def _unwrap(op: tir.AttrOp) -> None:
    inline_before(op.body.block, op)
    erase_with_tree(op)


def _copy_async(store: tir.StoreOp) -> None:
    to = store.buffer.type
    source = store.value.owner
    condition: SSAValue | None = None
    if isinstance(source, tir.IfThenElseOp):
        if not _is_zero(_yielded(source.else_region.block)):
            return
        condition, source = source.cond, _yielded(source.then_region.block).owner
    if not isinstance(source, tir.LoadOp) or not isinstance(to, tir.BufferType):
        return
    read = source.buffer.type
    if not isinstance(read, tir.BufferType) or (to.scope.data not in ("shared", "shared.dyn")):
        return
    if read.scope.data != "global" or len(source.indices) != 1 or len(store.indices) != 1:
        return
    lanes = lanes_of(source.indices[0].type)
    size = lanes * byte_size(read.dtype)
    block = Block()
    first, place = _first(source.indices[0], block), _first(store.indices[0], block)
    if size not in _SIZES or first is None or place is None:
        return
    factor = byte_size(read.dtype) if _bytes_of(store.buffer) != read.dtype else 1
    if factor > 1:
        place = _planted(tir.BINARY["mul"](place, planted_in(const(factor, "int32"), block)), block)
    addresses = [_address(store.buffer, block), _address(source.buffer, block)]
    args = [addresses[0], place, addresses[1], first, planted_in(const(size, "int32"), block)]
    args += [] if condition is None else [clone_expr(condition, block, {})]
    call = tir.DeviceCallOp("ptx_cp_async", args, to.dtype)
    block.add_ops([call, tir.EvaluateOp(call.result)])
    for new in list(block.ops):
        new.detach()
        insert_before(store, new)
    erase_with_tree(store)


def _planted(op: Operation, block: Block) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def _yielded(block: Block) -> SSAValue:
    last = block.last_op
    assert isinstance(last, tir.YieldOp)
    return last.value


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, tir.BroadcastOp):
        owner = owner.value.owner
    return isinstance(owner, tir.ConstOp) and is_float(owner.result.type) and owner.py_value == 0


def _first(index: SSAValue, block: Block) -> SSAValue | None:
    """Return the first element of consecutive ones, or the index itself; None for other vectors."""
    owner = index.owner
    if lanes_of(index.type) == 1:
        return clone_expr(index, block, {})
    if isinstance(owner, tir.RampOp):
        return clone_expr(owner.base, block, {})
    if isinstance(owner, tir.AddOp) and isinstance(owner.lhs.owner, tir.RampOp):
        other = owner.rhs.owner
        if isinstance(other, tir.BroadcastOp):
            sides = [clone_expr(v, block, {}) for v in (owner.lhs.owner.base, other.value)]
            return _planted(tir.AddOp(*sides), block)
    return None


def _address(buffer: SSAValue, block: Block) -> SSAValue:
    owner = buffer.owner
    return owner.data if isinstance(owner, tir.DeclBufferOp) else _planted(tir.BufferDataOp(buffer), block)


def _bytes_of(buffer: SSAValue) -> object:
    """Return the element type of a buffer's memory."""
    owner = buffer.owner
    data = owner.data if isinstance(owner, tir.DeclBufferOp) else None
    allocated = None if data is None else data.owner
    if isinstance(allocated, tir.AllocateOp):
        return allocated.dtype
    return buffer.type.dtype if isinstance(buffer.type, tir.BufferType) else ui8


@dataclass(frozen=True)
class InjectPTXLDG32(Pass):
    """Load from global memory under a condition by an instruction that has one.

    The addresses and the condition are in local memory first, allocated around the outermost allocation. A function
    without allocations remains, as does everything without `enable_inject_ptx_intrin`.
    """

    name = "inject-ptxldg32"
    enable_inject_ptx_intrin: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            first = next((o for o in func.walk() if isinstance(o, tir.AllocateOp)), None)
            if self.enable_inject_ptx_intrin and first is not None:
                inside = first.parent
                stores = [] if inside is None else [o for o in inside.walk() if isinstance(o, tir.StoreOp)]
                places = _local_memory(first)
                for store in stores:
                    _load_by_instruction(store, *places)


def _local_memory(first: tir.AllocateOp) -> tuple[SSAValue, SSAValue]:
    """Allocate a condition and two addresses before the first allocation."""
    found: list[SSAValue] = []
    for name, count, dtype in (("predicate", 1, i1), ("addr", 2, i32)):
        shape = [Const(count, i32)]
        memory = tir.AllocateOp(shape, dtype, "local")
        set_name(memory.result, name)
        buffer = tir.DeclBufferOp(memory.result, tir.BufferType.of(shape, dtype, scope="local"), alias=True)
        set_name(buffer.result, name)
        insert_before(first, memory)
        insert_before(first, buffer)
        found.append(buffer.result)
    return found[0], found[1]


def _load_by_instruction(store: tir.StoreOp, predicate: SSAValue, addresses: SSAValue) -> None:
    choice = store.value.owner
    if not isinstance(choice, tir.IfThenElseOp):
        return
    sides = [_yielded(choice.then_region.block), _yielded(choice.else_region.block)]
    load = next((s.owner for s in sides if isinstance(s.owner, tir.LoadOp)), None)
    if not isinstance(load, tir.LoadOp) or isinstance(load.indices[0].owner, tir.RampOp):
        return
    other = sides[1] if load is sides[0].owner else sides[0]
    block = Block()

    def place(number: int) -> SSAValue:
        return planted_in(const(number, "int32"), block)

    def known(buffer: SSAValue, number: int) -> SSAValue:
        return _planted(tir.LoadOp(buffer, [place(number)]), block)

    rows = ((load.indices[0], addresses, 0), (store.indices[0], addresses, 1), (choice.cond, predicate, 0))
    for value, buffer, number in rows:
        block.add_op(tir.StoreOp(clone_expr(value, block, {}), buffer, [place(number)]))
    block.add_op(tir.StoreOp(clone_expr(other, block, {}), store.buffer, [known(addresses, 1)]))
    read = _planted(tir.LoadOp(load.buffer, [known(addresses, 0)]), block)
    args = [_address(store.buffer, block), known(predicate, 0), read, known(addresses, 1)]
    element = store.buffer.type.dtype if isinstance(store.buffer.type, tir.BufferType) else scalar_of(read.type)
    call = tir.DeviceCallOp("ptx_ldg32", args, element)
    block.add_ops([call, tir.EvaluateOp(call.result)])
    for new in list(block.ops):
        new.detach()
        insert_before(store, new)
    erase_with_tree(store)


__all__ = ["InjectPTXAsyncCopy", "InjectPTXLDG32"]
