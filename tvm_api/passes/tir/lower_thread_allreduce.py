"""`lower-thread-allreduce`: sums among threads by shuffles within a warp, or in shared memory.

with reduce_scope: tvm_thread_allreduce(value, dest[0], threads)
   ->   red[0] = value; for offset 16, 8, …, 1: t[0] = shuffle_down(red[0], offset); red[0] = red[0] + t[0]
        red[0] = shuffle(red[0], 0), or all of it through shared memory with barriers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import Float16Type, ModuleOp, VectorType, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import bit_width, lanes_of, scalar_of, ui32
from ....dialects.names import set_name
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import Const
from ....handles.target import Target
from ....handles.tir import expr_kinds as kinds
from ....handles.tir.expr_kinds import expr_node
from ....handles.tir.prim_expr import PrimExpr, const
from ....handles.tir.stmt import planted_in
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import insert_before, set_type
from ....transforms.tir.walk import erase_with_tree, functions
from ...handles.arith.analyzer import Analyzer
from .abi_writer import device_call
from .make_packed_api import target_of

_SHUFFLING = ("cuda", "rocm", "metal")


@dataclass(frozen=True)
class LowerThreadAllreduce(Pass):
    """Lower reductions among the threads of a block.

    Raises `TiraxError` for a function without a target, `UnsupportedError` for threads whose number is no constant,
    or that are not around the reduction.
    """

    name = "lower-thread-allreduce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            target = Target(target_of(func, "LowerThreadAllreduce").config)
            shared = list[SSAValue]()
            for scope in [o for o in func.walk() if isinstance(o, tir.AttrOp) and o.key.data == "reduce_scope"]:
                for evaluate in [o for o in scope.body.walk() if isinstance(o, tir.EvaluateOp)]:
                    call = evaluate.value.owner
                    if isinstance(call, tir.DeviceCallOp) and call.func.data == "tvm_thread_allreduce":
                        shared += _Reduction(target, scope, evaluate, call).lower()
            for buffer in shared:
                _mark_volatile(buffer)


def _mark_volatile(buffer: SSAValue) -> None:
    """Put what uses a buffer of shared memory into the attribute `volatile_scope`."""
    owner = buffer.owner
    allocated = owner.data.owner if isinstance(owner, tir.DeclBufferOp) else owner
    block = allocated.parent if isinstance(allocated, Operation) else None
    if block is None or not isinstance(allocated, tir.AllocateOp):
        return
    rest = list[Operation]()
    following = allocated.next_op
    while following is not None:
        rest.append(following)
        following = following.next_op
    inside = Block()
    for op in rest:
        op.detach()
        inside.add_op(op)
    one = planted_in(const(1, "int32"), block)
    block.add_op(tir.AttrOp("volatile_scope", one, Region(inside), allocated.result))


@dataclass(frozen=True)
class _Thread:
    dimension: int
    extent: int
    index: SSAValue


def _flattened(threads: Sequence[_Thread]) -> tuple[PrimExpr, int]:
    """Return the index of a thread among those of several dimensions, and their number."""
    total, index = 1, const(0, "int32")
    for thread in threads:
        own = expr_node(thread.index)
        index = own if total == 1 and thread is threads[0] else index + own * total
        total *= thread.extent
    return index, total


def _launches_around(op: Operation) -> list[tir.LaunchThreadOp]:
    """Return the launches of threads of a block around a statement, the outermost first."""
    found: list[tir.LaunchThreadOp] = []
    around = op.parent_op()
    while around is not None:
        if isinstance(around, tir.LaunchThreadOp) and around.tag.data.startswith("threadIdx"):
            found.insert(0, around)
        around = around.parent_op()
    return found


class _Reduction:
    """One reduction: where it is, over which threads, of what."""

    def __init__(self, target: Target, scope: tir.AttrOp, evaluate: tir.EvaluateOp, call: tir.DeviceCallOp):
        self.target, self.evaluate, self.call = target, evaluate, call
        combiner = scope.on.owner if isinstance(scope.on, SSAValue) else None
        if not isinstance(combiner, tir.CommReducerOp):
            raise UnsupportedError("a reduction without a combiner", location=location_of(scope))
        self.combiner = combiner
        size = len(combiner.identity)
        self.size = size
        args = list(call.call_args)
        condition = args[size + 1]
        always = isinstance(condition.owner, tir.ConstOp) and bool(condition.owner.py_value)
        self.values = [expr_node(v) for v in args[1 : size + 1]]
        if not always:
            neutral = [expr_node(v) for v in combiner.identity]
            self.values = [kinds.Select(expr_node(condition), v, n) for v, n in zip(self.values, neutral, strict=True)]
        self.types = [v.type for v in self.values]
        self.dests = [_buffer_of(v) for v in args[size + 2 : 2 * size + 2]]
        self._threads(scope, args[2 * size + 2 :])
        self.warp = int(target.get_attr("thread_warp_size") or 1)
        self.most = int(target.get_attr("max_num_threads") or -1)
        self.mask = str(target.kind.name) != "metal"
        self.analyzer = Analyzer()

    def _threads(self, scope: tir.AttrOp, reduced: list[SSAValue]) -> None:
        own, others = list[_Thread](), list[_Thread]()
        for launch in _launches_around(scope):
            extent = launch.extent.owner
            if not isinstance(extent, tir.ConstOp):
                raise UnsupportedError("Need constant extent for reduce set", location=location_of(launch))
            thread = _Thread("xyz".index(launch.tag.data[-1]), int(extent.py_value), launch.index)
            if thread.extent > 1:
                (own if launch.index in reduced else others).append(thread)
        variables = [v for v in reduced if not isinstance(v.owner, tir.ConstOp | ValueOp)]
        if any(v not in {t.index for t in own} for v in variables):
            raise UnsupportedError("Not all reduce index are presented in the context", location=location_of(scope))
        own.sort(key=lambda t: t.dimension)
        others.sort(key=lambda t: t.dimension)
        self.index, self.extent = _flattened(own)
        self.group, self.groups = _flattened(others)
        self.contiguous = 1
        for thread in sorted([*own, *others], key=lambda t: t.dimension):
            if thread not in own:
                break
            self.contiguous *= thread.extent

    # -- which way ------------------------------------------------------------------------------------------------

    def _by_shuffles(self) -> bool:
        kind = str(self.target.kind.name)
        if kind not in _SHUFFLING or self.contiguous != self.extent:
            return False
        if kind == "rocm" and any(bit_width(scalar_of(t)) * lanes_of(t) != 32 for t in self.types):
            return False
        if not all(_is_shuffled(t) for t in self.types):
            return False
        if kind == "rocm":
            return self.extent == self.warp
        if self.extent == 1:
            return False
        several = self.most != -1 and self.most <= self.warp**2 and self.extent % self.warp == 0
        if self.warp % self.extent == 0 or several:
            return True
        return self.groups == 1 and self.extent <= self.warp

    def lower(self) -> list[SSAValue]:
        """Replace the reduction, and return the buffers of its results that are in shared memory."""
        out = Block()
        if self._by_shuffles():
            one_warp = self.extent <= self.warp
            shared, results = self._one_warp(out) if one_warp else self._warps(out)
        elif self.extent == 1:
            for dest, value in zip(self.dests, self.values, strict=True):
                _store(out, dest, value, const(0, "int32"))
            self._place(out)
            return []
        else:
            shared, results = self._in_memory(out)
        new = set(out.walk())
        self._place(out)
        for dest, index in zip(self.dests, results, strict=True):
            for use in list(dest.uses):
                load = use.operation
                if load.parent is None:
                    load.drop_all_references()  # an expression that was copied into the program
                elif isinstance(load, tir.LoadOp) and load not in new:
                    at = Block()
                    place = planted_in(index, at)
                    for op in list(at.ops):
                        op.detach()
                        insert_before(load, op)
                    load.operands = [dest, place]
        return shared

    def _place(self, out: Block) -> None:
        for op in list(out.ops):
            op.detach()
            insert_before(self.evaluate, op)
        erase_with_tree(self.evaluate)

    # -- within warps ---------------------------------------------------------------------------------------------

    def _one_warp(self, out: Block) -> tuple[list[SSAValue], list[PrimExpr]]:
        zero = const(0, "int32")
        registers = [_remapped(d, _vector(1, t, "local")) for d, t in zip(self.dests, self.types, strict=True)]
        statements = Block()
        others = self._shuffled(statements, registers, self.values, self.extent, None)
        mask = others[-1] if self.mask else None
        for register in registers:
            lane = const(self.extent, "int32") * self.group
            _store(statements, register, self._shuffle("tvm_warp_shuffle", mask, _load(register, zero), lane), zero)
        _allocated(out, others, statements)
        return [], [zero] * self.size

    def _warps(self, out: Block) -> tuple[list[SSAValue], list[PrimExpr]]:
        zero, count = const(0, "int32"), self.extent // self.warp
        memory: list[SSAValue] = []
        staging = [_new("red_buf_staging", _vector(count * self.groups, t, "shared")) for t in self.types]
        memory += staging
        first = [_new(f"red_buf{i}", _vector(1, t, "local")) for i, t in enumerate(self.types)]
        statements = Block()
        memory += self._shuffled(statements, first, self.values, self.warp, None)
        memory += first
        inside = Block()
        for buffer, register in zip(staging, first, strict=True):
            place = self.group * count + kinds.FloorDiv(self.index, const(self.warp, "int32"))
            _store(inside, buffer, _load(register, zero), place)
        is_first = kinds.EQ(kinds.FloorMod(self.index, const(self.warp, "int32")), zero)
        _if(statements, is_first, inside)
        _sync(statements, "shared")
        values = [_load(b, self.group * count + self.index) for b in staging]
        second = [_new(f"red_buf{i}", _vector(1, t, "local")) for i, t in enumerate(self.types)]
        few = kinds.LT(self.index, const(count, "int32"))
        memory += self._shuffled(statements, second, values, count, few)
        memory += second
        inside = Block()
        results = [_remapped(d, _vector(self.groups, t, "shared")) for d, t in zip(self.dests, self.types, strict=True)]
        for result, register in zip(results, second, strict=True):
            _store(inside, result, _load(register, zero), self.group)
        _if(statements, kinds.EQ(self.index, zero), inside)
        _sync(statements, "shared")
        _allocated(out, memory, statements)
        return results, [self.group] * self.size

    def _shuffled(
        self, out: Block, registers: list[SSAValue], values: list[PrimExpr], extent: int, few: PrimExpr | None
    ) -> list[SSAValue]:
        """Write a reduction within a warp, and return the memory that it needs."""
        zero = const(0, "int32")
        start = Block()
        for register, value in zip(registers, values, strict=True):
            _store(start, register, value, zero)
        if few is None:
            _moved(start, out)
        else:
            _if(out, few, start)
        others = [_new(f"t{i}", _vector(1, t, "local")) for i, t in enumerate(self.types)]
        mask = _new("mask", _vector(1, ui32, "local")) if self.mask else None
        if mask is not None:
            _store(out, mask, device_call("tvm_warp_activemask", [], ui32), zero)
        offset = 1
        while offset * 2 < extent:
            offset *= 2
        while offset > 0:
            for register, other in zip(registers, others, strict=True):
                moved = self._shuffle("tvm_warp_shuffle_down", mask, _load(register, zero), const(offset, "int32"))
                _store(out, other, moved, zero)
            stores = Block()
            self._combine(stores, registers, [zero] * self.size, others, [zero] * self.size)
            if offset * 2 > extent:
                _if(out, kinds.LT(self.index + offset, const(extent, "int32")), stores)
            else:
                _moved(stores, out)
            offset //= 2
        return others if mask is None else [*others, mask]

    def _shuffle(self, name: str, mask: SSAValue | None, value: PrimExpr, lane: PrimExpr) -> PrimExpr:
        active: Any = const(0, "int32") if mask is None else _load(mask, const(0, "int32"))
        width = const(self.warp, "int32")
        return device_call(name, [active, value, lane, width, width], value.type)

    # -- in shared memory -----------------------------------------------------------------------------------------

    def _combined(
        self, out: Block, left: list[SSAValue], at: list[PrimExpr], right: list[SSAValue], other: list[PrimExpr], i: int
    ) -> SSAValue:
        """Write the i-th result of the combiner."""
        block = self.combiner.combine[i].block
        loads = [_load(b, p) for b, p in zip((*left, *right), (*at, *other), strict=True)]
        mapping = dict[SSAValue, SSAValue](zip(block.args, [planted_in(load, out) for load in loads], strict=True))
        last = block.last_op
        assert isinstance(last, tir.YieldOp)
        return clone_expr(last.value, out, mapping)

    def _combine(
        self, out: Block, left: list[SSAValue], at: list[PrimExpr], right: list[SSAValue], other: list[PrimExpr]
    ) -> None:
        """Write left[at] = combiner(left[at], right[other])."""
        for i, (buffer, place) in enumerate(zip(left, at, strict=True)):
            value = self._combined(out, left, at, right, other, i)
            out.add_op(tir.StoreOp(value, buffer, [planted_in(place, out)]))

    def _place_of(self, index: PrimExpr) -> PrimExpr:
        group = self.group.ssa.owner
        if isinstance(group, tir.ConstOp):
            return index
        return self.analyzer.simplify(self.group * self.extent + index)

    def _in_memory(self, out: Block) -> tuple[list[SSAValue], list[PrimExpr]]:
        buffers = [
            _remapped(d, _vector(self.groups * self.extent, t, "shared"))
            for d, t in zip(self.dests, self.types, strict=True)
        ]
        _sync(out, "shared")
        for buffer, value in zip(buffers, self.values, strict=True):
            _store(out, buffer, value, self._place_of(self.index))
        _sync(out, "shared")
        self._halved(out, buffers)
        return buffers, [self._place_of(const(0, "int32"))] * self.size

    def _halved(self, out: Block, buffers: list[SSAValue]) -> None:
        """Write the sums of halves, with barriers between warps."""
        align = 1
        while self.extent > align:
            align *= 2
        if align > self.extent:
            align //= 2
            self._step(out, buffers, align, self.extent - align)
        aligned = self.groups == 1 or self.contiguous % self.warp == 0
        while (align > self.contiguous or align > self.warp or not aligned) and align > 1:
            align //= 2
            self._step(out, buffers, align, align)
        if align == 1:
            return
        inside = Block()
        limit = align // 2
        while align > 1:
            align //= 2
            here = [self._place_of(self.index)] * self.size
            there = [self._place_of(self.index + align)] * self.size
            values = [self._combined(inside, buffers, here, buffers, there, i) for i in range(self.size)]
            names = list[SSAValue]()
            for i, value in reversed(list(enumerate(values))):
                let = tir.LetOp(value)
                set_name(let.result, f"w_{align}_{i}")
                inside.add_op(let)
                names.insert(0, let.result)
            _sync(inside, "warp")
            for buffer, name, place in zip(buffers, names, here, strict=True):
                _store(inside, buffer, expr_node(name), place)
            _sync(inside, "warp")
        _if(out, kinds.LT(self.index, const(limit, "int32")), inside)
        _sync(out, "shared")

    def _step(self, out: Block, buffers: list[SSAValue], offset: int, limit: int) -> None:
        inside = Block()
        here, there = self._place_of(self.index), self._place_of(self.index + offset)
        self._combine(inside, buffers, [here] * self.size, buffers, [there] * self.size)
        _if(out, kinds.LT(self.index, const(limit, "int32")), inside)
        _sync(out, "shared")


def _is_shuffled(t: Attribute) -> bool:
    scalar = scalar_of(t)
    if isinstance(scalar, Float16Type):
        return lanes_of(t) <= 2
    return not isinstance(t, VectorType) and 32 <= bit_width(scalar) <= 64


def _buffer_of(value: SSAValue) -> SSAValue:
    owner = value.owner
    if isinstance(owner, tir.CastOp):
        owner = owner.value.owner
    assert isinstance(owner, tir.LoadOp)
    return owner.buffer


def _vector(length: int, dtype: Attribute, scope: str) -> tir.BufferType:
    return tir.BufferType.of([Const(length, i32)], dtype, scope=scope)


def _new(name: str, t: tir.BufferType) -> SSAValue:
    """Return a buffer at memory of its own, which is placed later."""
    memory = tir.AllocateOp(t.dims, t.dtype, t.scope.data)
    set_name(memory.result, name)
    buffer = tir.DeclBufferOp(memory.result, t)
    set_name(buffer.result, name)
    return buffer.result


def _allocated(out: Block, memory: Sequence[SSAValue], statements: Block) -> None:
    """Write allocations, the last one outermost, and statements."""
    for buffer in reversed(memory):
        declared = buffer.owner
        assert isinstance(declared, tir.DeclBufferOp)
        allocate = declared.data.owner
        assert isinstance(allocate, Operation)
        out.add_op(allocate)
        out.add_op(declared)
    _moved(statements, out)


def _remapped(dest: SSAValue, t: tir.BufferType) -> SSAValue:
    """Give the destination of a reduction another type, and its memory another place."""
    owner = dest.owner
    set_type(dest, t)
    if isinstance(owner, tir.DeclBufferOp) and isinstance(owner.data.owner, tir.AllocateOp):
        old = owner.data.owner
        new = tir.AllocateOp(t.dims, t.dtype, t.scope.data)
        set_name(new.result, "red_result" if t.scope.data == "shared" else "red_buf")
        insert_before(old, new)
        old.result.replace_all_uses_with(new.result)
        old.detach()
        old.erase()
    return dest


def _load(buffer: SSAValue, index: PrimExpr) -> PrimExpr:
    return expr_node(tir.LoadOp(buffer, [index.ssa]).result)


def _store(out: Block, buffer: SSAValue, value: PrimExpr, index: PrimExpr) -> None:
    stored = planted_in(value, out)
    out.add_op(tir.StoreOp(stored, buffer, [planted_in(index, out)]))


def _if(out: Block, condition: PrimExpr, inside: Block) -> None:
    out.add_op(tir.IfOp(planted_in(condition, out), Region(inside)))


def _sync(out: Block, scope: str) -> None:
    out.add_op(tir.EvaluateOp(planted_in(device_call("tvm_storage_sync", [scope], i32), out)))


def _moved(source: Block, out: Block) -> None:
    for op in list(source.ops):
        op.detach()
        out.add_op(op)


__all__ = ["LowerThreadAllreduce"]
