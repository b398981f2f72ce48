"""`lower-cross-thread-reduction`: reductions over loops that threads run become reductions among the threads.

    for k in thread 32 "threadIdx.x": block "s" (init: B[i] = 0; B[i] += A[i, k])
      ->  for k in thread 32: {block "s_cross_thread" (allreduce of A[i, k]); block "s_write_back" where k == 0}

Loops of the reduction that no thread runs come first, into memory of each thread: "s_in_thread_init", "s_in_thread".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import dtype_of
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....dialects.sym.expr import Const, SymExpr
from ....dialects.tir import ForKind, IterKind
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import Copier, copied, is_expression
from ....ir.rewriting.edit import insert_before
from ....schedule import checks
from ....schedule import state as st
from ....schedule.primitives.reduction import Reduction, reduction_of
from ....transforms.tir.walk import erase_with_tree, functions, remove_dead


@dataclass(frozen=True)
class LowerCrossThreadReduction(Pass):
    """Lower reduction blocks under loops that are bound to `threadIdx`.

    Blocks that read the result in other memory than a thread's own run in the first thread only. Raises
    `UnsupportedError` if the loops of the reduction are not the innermost ones, are bound to other threads, or contain
    other blocks after it.
    """

    name = "lower-cross-thread-reduction"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            results: dict[SSAValue, _Result] = {}
            for block in [inner for inner in operations(func) if isinstance(inner, tir.BlockOp)]:
                if block.parent is None:
                    continue
                loops = _reduction_loops(block)
                if loops:
                    results |= _Lowering(block, loops).run()
                elif results:
                    _broadcast(block, results)
            remove_dead(func)


class _Threads(NamedTuple):
    """The range of threads, and the type of their index."""

    min: SymExpr | SSAValue
    extent: SymExpr | SSAValue
    dtype: IntegerType


@dataclass
class _Result:
    """Memory that holds the result of a reduction among threads: the kernel, and the threads by their tags."""

    kernel: Operation | None
    threads: dict[str, _Threads]


def _reduction_loops(block: tir.BlockOp) -> list[tir.ForOp]:
    """Return the loops of a reduction, outermost first, if threads run one of them; else nothing."""
    if block.init is None or not set(block.kinds) <= {IterKind.SPATIAL, IterKind.REDUCE}:
        return []
    driving = [lp for lp in st.loops_above(block) if IterKind.REDUCE in checks.kinds_driven(block, lp)]
    if not any(lp.thread is not None for lp in driving):
        return []
    written = {w.buffer for w in block.writes}
    others = [b for b in st.blocks_below(st.scope_of(block)) if b is not block]
    if any(written & {w.buffer for w in other.writes} for other in others):
        return []
    return driving


def _refuse(block: tir.BlockOp, why: str) -> UnsupportedError:
    return UnsupportedError(
        f'ValueError: Cross-thread reduction of block "{block.block_name.data}" {why}', location=location_of(block)
    )


def _check(block: tir.BlockOp, loops: Sequence[tir.ForOp], stores: Sequence[tir.StoreOp]) -> None:
    around = block.parent_op()
    for loop in reversed(loops):
        if around is not loop:
            raise _refuse(block, "requires all the reduction-related loops to be the deepest among all statements")
        around = loop.parent_op()
    for loop in loops:
        if loop.thread is not None and not loop.thread.data.startswith("threadIdx."):
            raise _refuse(block, "requires all the reduction-related loops to be bound to `threadIdx.x/y/z`")
    if len({cast(tir.BufferType, s.buffer.type).scope.data == "local" for s in stores}) > 1:
        raise _refuse(block, "requires all reduction buffers to be all local or all non-local")
    if st.blocks_below(loops[0])[-1] is not block:
        raise _refuse(block, "cannot be applied when the block isn't the last block under its first loop")


class _InThread(Copier):
    """Copies the loops of a reduction without those that threads run, and the block with memory of the thread."""

    def __init__(self, block: tir.BlockOp, emit: Callable[[Block, dict[SSAValue, SSAValue]], None] | None):
        self.block, self.emit = block, emit

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if op is self.block:
            if self.emit is not None:
                self.emit(block, mapping)
            return
        if isinstance(op, tir.ForOp):
            body, inner = self._open(op.body, mapping)
            if op.thread is not None and op.loop_var in mapping:
                self.statements(op.body.block.ops, block, mapping)
                return
            self.statements(op.body.block.ops, body, inner)
            if all(is_expression(o) for o in body.ops):
                return
            operands = [self.value(v, block, mapping) for v in op.operands]
            block.add_op(tir.ForOp.create(operands=operands, properties=op.properties, regions=[Region(body)]))
            return
        super().statement(op, block, mapping)


class _InOwnMemory(Copier):
    """Copies the body of a reduction block with other memory for the results."""

    def __init__(self, memory: dict[SSAValue, SSAValue]):
        self.memory = memory

    def value(self, value: SSAValue, block: Block | None, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        op = value.owner
        if value not in mapping and isinstance(op, tir.LoadOp) and op.buffer in self.memory and block is not None:
            mapping[value] = _load(self.memory[op.buffer], block)
        return super().value(value, block, mapping)

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, tir.InitOp | tir.WritesOp):
            return
        if isinstance(op, tir.StoreOp) and op.buffer in self.memory:
            _store(self.value(op.value, block, mapping), self.memory[op.buffer], block)
            return
        super().statement(op, block, mapping)


def _zero(block: Block) -> SSAValue:
    block.add_op(zero := tir.ConstOp(0, i32))
    return zero.result


def _load(buffer: SSAValue, block: Block) -> SSAValue:
    block.add_op(load := tir.LoadOp(buffer, [_zero(block)]))
    return load.result


def _store(value: SSAValue, buffer: SSAValue, block: Block) -> None:
    block.add_op(tir.StoreOp(value, buffer, [_zero(block)]))


def _region(cls: type[tir.RegionOp], buffer: SSAValue, block: Block) -> None:
    block.add_op(cls(buffer, [_zero(block)], [Const(1, i32)]))


class _Lowering:
    """The lowering of one reduction block."""

    def __init__(self, block: tir.BlockOp, loops: list[tir.ForOp]):
        self.block, self.loops = block, loops
        self.reduction: Reduction = reduction_of(block)
        _check(block, loops, self.reduction.stores)
        self.threads = [lp for lp in loops if lp.thread is not None]
        self.buffers = [s.buffer for s in self.reduction.stores]

    def run(self) -> dict[SSAValue, _Result]:
        """Replace the loops of the reduction, and return its results."""
        threads = {_tag(lp): _Threads(lp.min, lp.extent, cast(IntegerType, lp.loop_var.type)) for lp in self.threads}
        result = _Result(_kernel(self.block), threads)
        across = self._memory("cross_thread_")
        own = self._memory("in_thread_") if len(self.threads) < len(self.loops) or self.block.predicate else []
        place, mapping = Block(), dict[SSAValue, SSAValue]()
        bodies: list[tuple[tir.ForOp, Block]] = []
        for loop in self.threads:
            body = Block(arg_types=[loop.loop_var.type])
            set_name(body.args[0], name_of(loop.loop_var))
            mapping[loop.loop_var] = body.args[0]
            bodies.append((loop, body))
        inside = bodies[-1][1]
        if own:
            self._initial(own, inside)
        emit = (lambda to, known: self._in_thread(own, to, known)) if own else None
        _InThread(self.block, emit).statement(self.loops[0], inside, dict(mapping))
        self._cross_thread(own, across, inside, mapping)
        self._write_back(across, inside, mapping)
        for k, (loop, body) in reversed(list(enumerate(bodies))):
            outer = bodies[k - 1][1] if k else place
            new = tir.ForOp(loop.min, loop.extent, Region(body), ForKind.THREAD_BINDING, thread=_tag(loop))
            new.annotations = loop.annotations
            outer.add_op(new)
        for op in list(place.ops):
            op.detach()
            insert_before(self.loops[0], op)
        erase_with_tree(self.loops[0])
        return dict.fromkeys(self.buffers, result)

    def _memory(self, prefix: str) -> list[SSAValue]:
        scope = st.body_of(st.scope_of(self.block))
        out: list[SSAValue] = []
        for buffer in self.buffers:
            dtype = cast(tir.BufferType, buffer.type).dtype
            alloc = tir.AllocBufferOp(tir.BufferType.of([Const(1, i32)], dtype, strides=[Const(1, i32)], scope="local"))
            set_name(alloc.result, f"{prefix}{name_of(buffer)}")
            _allocate(alloc, scope)
            out.append(alloc.result)
        return out

    def _named(self, suffix: str, iters: Sequence[tuple[IterKind, SSAValue, Any]], body: Block) -> tir.BlockOp:
        return tir.BlockOp(f"{self.block.block_name.data}_{suffix}", list(iters), Region(body))

    def _neutral(self, block: Block, mapping: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        init = self.block.init
        assert init is not None
        begun = {op.buffer: op.value for op in init.body.block.ops if isinstance(op, tir.StoreOp)}
        return [Copier().value(begun[b], block, dict(mapping)) for b in self.buffers]

    def _initial(self, own: Sequence[SSAValue], to: Block) -> None:
        body = Block()
        for memory in own:
            _region(tir.WritesOp, memory, body)
        for memory, value in zip(own, self._neutral(body, {}), strict=True):
            _store(value, memory, body)
        to.add_op(self._named("in_thread_init", [], body))

    def _in_thread(self, own: Sequence[SSAValue], to: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        old = self.block
        bindings = [Copier().value(v, to, mapping) for v in old.bindings]
        predicate = None if old.predicate is None else Copier().value(old.predicate, to, mapping)
        body, inner = Copier._open(old.body, mapping)  # pyright: ignore[reportPrivateUsage]
        copier = _InOwnMemory(dict(zip(self.buffers, own, strict=True)))
        ops = list(old.body.block.ops)
        heads = [op for op in ops if isinstance(op, tir.ReadsOp)]
        copier.statements(heads, body, inner)
        for memory in own:
            _region(tir.WritesOp, memory, body)
        copier.statements([op for op in ops if op not in heads], body, inner)
        iters = list(zip(old.kinds, bindings, zip(old.mins, old.extents, strict=True), strict=True))
        name = f"{old.block_name.data}_in_thread"
        to.add_op(tir.BlockOp(name, iters, Region(body), predicate=predicate, annotations=old.annotations))

    def _cross_thread(
        self, own: Sequence[SSAValue], across: Sequence[SSAValue], to: Block, mapping: dict[SSAValue, SSAValue]
    ) -> None:
        old = self.block
        body, iters, inner = Block(), [], dict(mapping)
        if own:
            for memory in own:
                _region(tir.ReadsOp, memory, body)
        else:
            bindings = [Copier().value(v, to, dict(mapping)) for v in old.bindings]
            body, inner = Copier._open(old.body, mapping)  # pyright: ignore[reportPrivateUsage]
            copied([op for op in old.body.block.ops if isinstance(op, tir.ReadsOp)], body, inner)
            iters = list(zip(old.kinds, bindings, zip(old.mins, old.extents, strict=True), strict=True))
        for memory in across:
            _region(tir.WritesOp, memory, body)
        reducer = self._reducer(body)
        inside = Block()
        inside.add_op(count := tir.ConstOp(len(across), dtype_of("uint32")))
        if own:
            sources = [_load(memory, inside) for memory in own]
        else:
            sources = [Copier().value(term, inside, dict(inner)) for term in self.reduction.terms]
        inside.add_op(true := tir.ConstOp(1, i1))
        targets = [_load(memory, inside) for memory in across]
        indices = [mapping[lp.loop_var] for lp in self.threads]
        arguments = [count.result, *sources, true.result, *targets, *indices]
        inside.add_op(call := tir.intrinsic("tvm_thread_allreduce", arguments, tir.HANDLE))
        inside.add_op(tir.EvaluateOp(call.result))
        body.add_op(zero := tir.ConstOp(0, dtype_of("uint64")))
        body.add_op(nothing := tir.ReinterpretOp(zero.result, tir.HANDLE))
        body.add_op(tir.AttrOp("reduce_scope", nothing.result, Region(inside), reducer))
        to.add_op(self._named("cross_thread", iters, body))

    def _reducer(self, block: Block) -> SSAValue:
        """Return the combiner of the reduction, with its neutral elements."""
        neutral = self._neutral(block, {})
        types = [v.type for v in neutral]
        regions: list[Region] = []
        for k in range(len(types)):
            inside = Block(arg_types=[*types, *types])
            for j, arg in enumerate(inside.args):
                set_name(arg, f"{'xy'[j >= len(types)]}{j % len(types)}")
            combined = self.reduction.combine(inside.add_op, inside.args[: len(types)], inside.args[len(types) :])
            inside.add_op(tir.YieldOp(combined[k]))
            regions.append(Region(inside))
        block.add_op(reducer := tir.CommReducerOp(neutral, regions))
        return reducer.result

    def _write_back(self, across: Sequence[SSAValue], to: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        old = self.block
        rows = zip(old.iter_vars, old.kinds, old.bindings, old.mins, old.extents, strict=True)
        kept = [row for row in rows if row[1] is not IterKind.REDUCE]
        body, inner = Block(arg_types=[row[0].type for row in kept]), dict(mapping)
        iters: list[tuple[IterKind, SSAValue, Any]] = []
        for (variable, kind, binding, low, extent), arg in zip(kept, body.args, strict=True):
            set_name(arg, name_of(variable))
            inner[variable] = arg
            iters.append((kind, Copier().value(binding, to, dict(mapping)), (low, extent)))
        predicate = self._predicate(to, mapping)
        for memory in across:
            _region(tir.ReadsOp, memory, body)
        first = old.writes[0]
        for buffer in self.buffers:
            starts = [Copier().value(s, body, dict(inner)) for s in first.starts]
            body.add_op(tir.WritesOp(buffer, starts, first.extents))
        for buffer, memory in zip(self.buffers, across, strict=True):
            indices = [Copier().value(i, body, dict(inner)) for i in self.reduction.stores[0].indices]
            body.add_op(tir.StoreOp(_load(memory, body), buffer, indices))
        name = f"{old.block_name.data}_write_back"
        to.add_op(tir.BlockOp(name, iters, Region(body), predicate=predicate))

    def _predicate(self, to: Block, mapping: dict[SSAValue, SSAValue]) -> SSAValue | None:
        """Return the clauses of the predicate on spatial loops, and `k == 0` of each thread."""
        reduced = {lp.loop_var for lp in self.loops}
        clauses = [] if self.block.predicate is None else _clauses(self.block.predicate)
        values = [Copier().value(c, to, dict(mapping)) for c in clauses if not _uses(c, reduced)]
        if cast(tir.BufferType, self.buffers[0].type).scope.data != "local":
            for loop in self.threads:
                index = mapping[loop.loop_var]
                to.add_op(zero := tir.ConstOp(0, index.type))
                to.add_op(is_first := tir.EqOp(index, zero.result))
                values.append(is_first.result)
        return _all(values, to)


def _tag(loop: tir.ForOp) -> str:
    assert loop.thread is not None
    return loop.thread.data


def _allocate(alloc: tir.AllocBufferOp, body: Block) -> None:
    """Insert an allocation after the other ones of a block."""
    before = [op for op in body.ops if isinstance(op, tir.AllocBufferOp | tir.RegionOp | tir.MatchBufferOp)]
    if before:
        body.insert_op_after(alloc, before[-1])
    elif body.first_op is not None:
        body.insert_op_before(alloc, body.first_op)


def _clauses(predicate: SSAValue) -> list[SSAValue]:
    """Return the operands of conjunctions; a condition alone is none, as in TVM."""
    op = predicate.owner
    if not isinstance(op, tir.AndOp):
        return []
    sides = [v for v in op.operands if not isinstance(v.owner, tir.AndOp)]
    return [c for v in op.operands for c in _clauses(v)] + sides


def _uses(value: SSAValue, variables: set[SSAValue]) -> bool:
    if value in variables:
        return True
    return isinstance(value.owner, Operation) and any(_uses(v, variables) for v in value.owner.operands)


def _all(values: Sequence[SSAValue], to: Block) -> SSAValue | None:
    total: SSAValue | None = None
    for value in values:
        if total is None:
            total = value
        else:
            to.add_op(both := tir.AndOp(total, value))
            total = both.result
    return total


def _kernel(op: Operation) -> Operation | None:
    """Return the outermost loop over threads around an operation."""
    loops = [around for around in st.ancestors(op) if isinstance(around, tir.ForOp) and around.thread is not None]
    blocks = [lp for lp in loops if _tag(lp).startswith("blockIdx")]
    chosen = blocks or loops
    return chosen[-1] if chosen else None


def _broadcast(block: tir.BlockOp, results: dict[SSAValue, _Result]) -> None:
    """Let one thread run a block that reads a result and writes memory that threads share."""
    if any(cast(tir.BufferType, w.buffer.type).scope.data == "local" for w in block.writes):
        return
    kernel = _kernel(block)
    threads: dict[str, _Threads] = {}
    for read in block.reads:
        result = results.get(read.buffer)
        if result is not None and result.kernel is kernel:
            threads |= result.threads
    bound = [_tag(lp) for lp in st.ancestors(block) if isinstance(lp, tir.ForOp) and lp.thread is not None]
    anchor: Operation = block
    for tag, (low, extent, dtype) in ((tag, each) for tag, each in threads.items() if tag not in bound):
        body = Block(arg_types=[dtype])
        index = body.args[0]
        set_name(index, f"t{tag[-1]}")
        loop = tir.ForOp(low, extent, Region(body), ForKind.THREAD_BINDING, thread=tag)
        insert_before(anchor, loop)
        anchor.detach()
        body.add_op(anchor)
        zero = tir.ConstOp(0, dtype)
        is_first = tir.EqOp(index, zero.result)
        insert_before(anchor, zero, is_first)
        _restrict(block, is_first.result)
        anchor = loop


def _restrict(block: tir.BlockOp, condition: SSAValue) -> None:
    """Add a condition to the predicate of a block, in front."""
    if block.predicate is not None:
        insert_before(block, both := tir.AndOp(condition, block.predicate))
        condition = both.result
    iters = list(zip(block.kinds, block.bindings, zip(block.mins, block.extents, strict=True), strict=True))
    new = tir.BlockOp(block.block_name.data, iters, Region(), predicate=condition, annotations=block.annotations)
    block.operands = new.operands
    block.properties["operandSegmentSizes"] = new.properties["operandSegmentSizes"]
