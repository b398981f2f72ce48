"""tir's statements as scf, memref and vector.

Loops are `scf.for` on index; unrolled ones are written out; vectorized ones become vectors by the plan of `plan.py`,
with a mask for the lanes of the last vector that do not run; parallel ones `scf.parallel`, which `outline-parallel`
makes functions of. After an assertion that did not hold nothing more runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import byte_size
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr
from ...dialects.tir import ForKind
from ...ir.verify import location_of
from .emitter import Emitter, element_of
from .expressions import BUILDERS
from .memory import Memory, both, neither, static_size
from .plan import VectorPlan, vector_plan
from .signature import POINTER, memref_of, scalar_type
from .values import Lanes, Values, lane_mask

STACK_BYTES = 16384
"""Buffers of constant size up to this are on the stack."""
_UNROLL_LIMIT = 256
_WRITTEN_OUT = 8
"""A vectorized loop of up to so many vectors is written out."""
LOOP_ANNOTATION = "loop_annotation"
_AS_IT_IS = DictionaryAttr({"unroll.disable": UnitAttr(), "vectorize.enable": IntegerAttr(0, i1)})
"""Loops of vectors are what they should be: LLVM shall neither unroll nor vectorize them."""
_LAZY = frozenset[type[Operation]]((
    *BUILDERS, tir.CallIntrinOp, tir.CallLLVMIntrinOp, tir.ConstOp, tir.ReinterpretOp, tir.BroadcastOp, tir.RampOp,
    tir.StringImmOp, ValueOp,
))  # fmt: skip


class Statements:
    """Lowers the body of one function. `externs` collects the C functions that it calls, `globals` its constants."""

    def __init__(self, emit: Emitter, values: Values, memory: Memory, vector_bits: int):
        self.emit = emit
        self.values = values
        self.memory = memory
        self.vector_bits = vector_bits
        self.externs: dict[str, func.FuncOp] = {}
        self.globals: list[memref.GlobalOp] = []
        self.status: SSAValue | None = None
        self.assertions = 0
        self._heap: list[list[SSAValue]] = [[]]
        self._stack_left = 8 * STACK_BYTES
        self.function_name = ""
        self._plans: dict[tir.ForOp, VectorPlan | None] = {}

    # blocks

    def block(self, block: Block) -> None:
        """All operations of a block; heap buffers that it allocates are freed at its end."""
        self._all_from(block.first_op)

    def _all_from(self, first: Operation | None) -> None:
        self._heap.append([])
        self._sequence(first)
        for buffer in reversed(self._heap.pop()):
            self.emit.append(memref.DeallocOp.create(operands=(buffer,)))

    def _sequence(self, op: Operation | None) -> None:
        while op is not None:
            following = op.next_op
            if type(op) not in _LAZY:
                self._statement(op)
                if self.status is not None and following is not None and _may_fail(op):
                    self._guarded(following)
                    return
            op = following

    def _statement(self, op: Operation) -> None:
        rule = _RULES.get(type(op))
        if rule is None:
            where = location_of(op)
            raise UnsupportedError(f"'{op.name}' cannot be lowered to loops", location=where, hint=_HINTS.get(type(op)))
        rule(self, op)

    def _guarded(self, following: Operation) -> None:
        """Go on only where no assertion has failed."""
        assert self.status is not None
        state = self.emit.append(memref.LoadOp.get(self.status, [self.emit.index(0)])).results[0]
        ok = self.emit.compare("eq", state, self.emit.constant(0, i32))
        self._scf_if(ok, lambda: self._all_from(following))

    def _region(self, build: Callable[[], object], arg_types: tuple[Attribute, ...] = ()) -> Block:
        """A block of what `build` emits."""
        block = Block(arg_types=arg_types)
        with self.emit.inside(block), self.values.scope():
            build()
        return block

    def _scf_if(self, cond: SSAValue, then: Callable[[], object], other: Callable[[], object] | None = None) -> None:
        regions: list[Region] = []
        for build in (then, other):
            if build is None:
                regions.append(Region())
                continue
            block = self._region(build)
            block.add_op(scf.YieldOp())
            regions.append(Region(block))
        self.emit.append(scf.IfOp(cond, [], regions[0], regions[1]))
        self.emit.forget_loads(None)

    # loops

    def bound(self, bound: SymExpr | SSAValue) -> SSAValue:
        return self.values.symbolic(bound) if isinstance(bound, SymExpr) else self.values.index(bound)

    def for_loop(self, op: tir.ForOp) -> None:
        first, extent = self.bound(op.min), self.bound(op.extent)
        if op.kind is ForKind.VECTORIZED and self.values.lanes is None:
            plan = self._plan(op)
            if plan is not None:
                self._vectorized(op, plan, first, extent)
                return
        count = self.emit.known.get(extent)
        if op.kind is ForKind.UNROLLED and count is not None and count <= _UNROLL_LIMIT:
            self._unrolled(op, first, count)
        elif op.kind is ForKind.PARALLEL and self.values.lanes is None and self.status is None:
            self._parallel(op, first, extent)
        else:
            self._serial(op, first, extent)

    def _plan(self, op: tir.ForOp) -> VectorPlan | None:
        """The plan for a loop, made once for all copies that unrolling makes."""
        if op not in self._plans:
            self._plans[op] = vector_plan(op)
        return self._plans[op]

    def _iteration(self, op: tir.ForOp, at: SSAValue, first: SSAValue) -> None:
        known = self.emit.known.get(first)
        self.values.bind_index(op.loop_var, at, nonnegative=known is not None and known >= 0)
        self.block(op.body.block)

    def _loop(
        self, first: SSAValue, end: SSAValue, step: int, name: str | None, body: Callable[[SSAValue], None]
    ) -> None:
        block = Block(arg_types=[first.type])
        set_name(block.args[0], name)
        before = self.memory.vector_accesses
        with self.emit.inside(block), self.values.scope():
            body(block.args[0])
        block.add_op(scf.YieldOp())
        loop = scf.ForOp(first, end, self.emit.index(step), [], Region(block))
        if self.memory.vector_accesses > before:
            loop.attributes[LOOP_ANNOTATION] = _AS_IT_IS
        self.emit.append(loop)
        self.emit.forget_loads(None)

    def _serial(self, op: tir.ForOp, first: SSAValue, extent: SSAValue) -> None:
        end = self.emit.add(first, extent)
        self._loop(first, end, 1, name_of(op.loop_var), lambda at: self._iteration(op, at, first))

    def _parallel(self, op: tir.ForOp, first: SSAValue, extent: SSAValue) -> None:
        block = Block(arg_types=[first.type])
        set_name(block.args[0], name_of(op.loop_var))
        outer, self.emit.parallel_body = self.emit.parallel_body, block
        with self.emit.inside(block), self.values.scope():
            self._iteration(op, block.args[0], first)
        self.emit.parallel_body = outer
        block.add_op(scf.ReduceOp())
        end = self.emit.add(first, extent)
        self.emit.append(scf.ParallelOp([first], [end], [self.emit.index(1)], Region(block)))
        self.emit.forget_loads(None)

    def _unrolled(self, op: tir.ForOp, first: SSAValue, count: int) -> None:
        for i in range(count):
            with self.values.scope():
                self._iteration(op, self.emit.add(first, self.emit.index(i)), first)

    # vectors

    def _vectorized(self, op: tir.ForOp, plan: VectorPlan, first: SSAValue, extent: SSAValue) -> None:
        width = max(1, self.vector_bits // plan.widest)
        count = self.emit.known.get(extent)
        if count is None:
            self._vectors_of_unknown_count(op, plan, first, extent, width)
            return
        full = count // width
        if full <= _WRITTEN_OUT:
            for i in range(full):
                self._vector(op, plan, self.emit.add(first, self.emit.index(i * width)), width)
        else:
            end = self.emit.add(first, self.emit.index(full * width))
            name = name_of(op.loop_var)
            self._loop(first, end, width, name, lambda at: self._vector(op, plan, at, width))
        rest = count - full * width
        if rest:
            self._rest(op, plan, self.emit.add(first, self.emit.index(full * width)), rest)

    def _rest(self, op: tir.ForOp, plan: VectorPlan, at: SSAValue, rest: int) -> None:
        """The last `rest` lanes: a shorter vector, masked where that is no power of two."""
        lanes = 1 << (rest - 1).bit_length()
        self._vector(op, plan, at, lanes, self.emit.index(rest) if rest < lanes else None)

    def _vectors_of_unknown_count(
        self, op: tir.ForOp, plan: VectorPlan, first: SSAValue, extent: SSAValue, width: int
    ) -> None:
        emit = self.emit
        rest = emit.binary(arith.RemUIOp, extent, emit.index(width))
        middle = emit.add(first, emit.sub(extent, rest))
        self._loop(first, middle, width, name_of(op.loop_var), lambda at: self._vector(op, plan, at, width))
        some = emit.compare("sgt", rest, emit.index(0))
        self._scf_if(some, lambda: self._vector(op, plan, middle, width, rest))

    def _vector(self, op: tir.ForOp, plan: VectorPlan, at: SSAValue, lanes: int, room: SSAValue | None = None) -> None:
        """The body once for `lanes` values of the loop variable from `at`, of which the first `room` run."""
        mask = None if room is None else lane_mask(self.emit, room, lanes)
        outer = self.values.lanes
        self.values.lanes = Lanes(plan, lanes, at, mask)
        with self.values.scope():
            self.block(op.body.block)
        self.values.lanes = outer

    # branches

    def if_op(self, op: tir.IfOp) -> None:
        cond = self.values.value(op.cond)
        other = (lambda: self.block(op.else_region.block)) if op.has_else else None
        if not isinstance(cond.type, VectorType):
            self._scf_if(cond, lambda: self.block(op.then_region.block), other)
            return
        lanes = self.values.lanes
        assert lanes is not None
        outer = lanes.mask
        self._masked(both(self.emit, outer, cond), op.then_region)
        if op.has_else:
            self._masked(neither(self.emit, outer, cond), op.else_region)

    def _masked(self, mask: SSAValue, region: Region) -> None:
        """A region for the lanes of `mask` only."""
        lanes = self.values.lanes
        assert lanes is not None
        self.values.lanes = Lanes(lanes.plan, lanes.count, lanes.base, mask)
        with self.values.scope():
            self.block(region.block)
        self.values.lanes = lanes

    def _masked_value(self, mask: SSAValue, region: Region) -> SSAValue:
        lanes = self.values.lanes
        assert lanes is not None
        self.values.lanes = Lanes(lanes.plan, lanes.count, lanes.base, mask)
        with self.values.scope():
            self.block(region.block)
            value = self.values.vector(cast(tir.YieldOp, region.block.last_op).value)
        self.values.lanes = lanes
        return value

    def if_then_else(self, op: tir.IfThenElseOp) -> None:
        lanes = self.values.lanes
        if lanes is not None and op.result in lanes.plan.varying:
            cond, outer = self.values.vector(op.cond), lanes.mask
            then = self._masked_value(both(self.emit, outer, cond), op.then_region)
            other = self._masked_value(neither(self.emit, outer, cond), op.else_region)
            self.values.bind(op.result, self.emit.select(cond, then, other))
            return
        cond = self.values.value(op.cond)
        regions = [self._yielding(region) for region in (op.then_region, op.else_region)]
        branch = scf.IfOp(cond, [scalar_type(op.result.type)], regions[0], regions[1])
        self.values.bind(op.result, self.emit.append(branch).results[0])

    def _yielding(self, region: Region) -> Region:
        block = Block()
        with self.emit.inside(block), self.values.scope():
            self.block(region.block)
            value = self.values.value(cast(tir.YieldOp, region.block.last_op).value)
            block.add_op(scf.YieldOp(value))
        return Region(block)

    def while_op(self, op: tir.WhileOp) -> None:
        before = Block()
        with self.emit.inside(before), self.values.scope():
            self.block(op.cond_region.block)
            cond = self.values.value(op.cond)
            if self.status is not None:
                state = self.emit.append(memref.LoadOp.get(self.status, [self.emit.index(0)])).results[0]
                cond = self.emit.binary(arith.AndIOp, cond, self.emit.compare("eq", state, self.emit.constant(0, i32)))
            before.add_op(scf.ConditionOp(cond))
        after = self._region(lambda: self.block(op.body.block))
        after.add_op(scf.YieldOp())
        self.emit.append(scf.WhileOp([], [], Region(before), Region(after)))
        self.emit.forget_loads(None)

    # memory

    def load(self, op: tir.LoadOp) -> None:
        self.values.bind(op.result, self.memory.load(op))

    def store(self, op: tir.StoreOp) -> None:
        self.memory.store(op)

    def alloc(self, op: tir.AllocBufferOp) -> None:
        """On the stack where the size is a small constant, else from the heap until the end of the block."""
        t = op.result.type
        size = static_size(t)
        element = scalar_type(t.dtype)
        small = size is not None and size * byte_size(t.dtype) <= min(STACK_BYTES, self._stack_left)
        if size is not None and small:
            self._stack_left -= size * byte_size(t.dtype)
            alloca = memref.AllocaOp.get(element, 64, [max(size, 1)])
            self.emit.local(alloca)
            buffer = alloca.memref
        else:
            count = self.values.symbolic(t.dims[0])
            buffer = self.emit.append(memref.AllocOp([count], [], MemRefType(element, [DYNAMIC_INDEX]))).results[0]
            self._heap[-1].append(buffer)
        set_name(buffer, name_of(op.result))
        self.memory.private.add(buffer)
        self.values.bind(op.result, buffer)

    def alloc_const(self, op: tir.AllocConstOp) -> None:
        t = op.result.type
        element, array = scalar_type(t.dtype), op.value.data
        if element == i1:
            raise UnsupportedError("a constant buffer of bools in a kernel")
        type = MemRefType(element, [array.numpy().size])
        name = f"{self.function_name}_constant_{len(self.globals)}"
        value = DenseIntOrFPElementsAttr(TensorType(cast(Any, element), type.get_shape()), BytesAttr(array.raw))
        self.globals.append(
            memref.GlobalOp.get(
                StringAttr(name), type, value, sym_visibility=StringAttr("private"), constant=UnitAttr(),
                alignment=IntegerAttr(64, i64),
            )
        )  # fmt: skip
        self.values.bind(op.result, self.emit.append(memref.GetGlobalOp(name, type)).results[0])

    def buffer_data(self, op: tir.BufferDataOp) -> None:
        """A pointer is kept as the memref that it points into, until a call needs a pointer."""
        self.values.bind(op.result, self.values.value(op.buffer))

    def decl_buffer(self, op: tir.DeclBufferOp) -> None:
        source = self.values.value(op.data)
        wanted = memref_of(op.result.type.dtype)
        if isinstance(source.type, MemRefType) and element_of(source) == wanted.element_type:
            self.values.bind(op.result, source)
            return
        self.memory.noalias = False  # one memory is seen as elements of two types from here on
        pointer = self._pointer(source)
        self.values.bind(op.result, self.emit.append(UnrealizedConversionCastOp.get([pointer], [wanted])).results[0])

    def _pointer(self, value: SSAValue) -> SSAValue:
        if not isinstance(value.type, MemRefType):
            return value
        return self.emit.append(UnrealizedConversionCastOp.get([value], [POINTER])).results[0]

    # the rest

    def let(self, op: tir.LetOp) -> None:
        self.values.bind(op.result, self.values.value(op.value))

    def evaluate(self, op: tir.EvaluateOp) -> None:
        """The calls in the expression have been made where they stand; other expressions have no effect."""

    def attr(self, op: tir.AttrOp) -> None:
        self.block(op.body.block)

    def assertion(self, op: tir.AssertOp) -> None:
        self.assertions += 1
        number = self.assertions
        assert self.status is not None
        status = self.status

        def fail() -> None:
            failed = self.emit.constant(number, i32)
            self.emit.append(memref.StoreOp.create(operands=(failed, status, self.emit.index(0))))

        bad = self.emit.binary(arith.XOrIOp, self.values.value(op.cond), self.emit.constant(1, i1))
        self._scf_if(bad, fail)

    def call_extern(self, op: tir.CallExternOp) -> None:
        args = [self._pointer(self.values.value(a)) for a in op.call_args]
        result = POINTER if isinstance(op.result.type, tir.HandleType) else scalar_type(op.result.type)
        name = op.func.data
        types = [a.type for a in args]
        known = self.externs.setdefault(name, func.FuncOp.external(name, types, [result]))
        if list(known.function_type.inputs.data) != types:
            raise UnsupportedError(
                f"C function '{name}' is called with arguments of two kinds",
                expected=", ".join(str(t) for t in known.function_type.inputs.data),
                found=", ".join(map(str, types)),
            )
        self.values.bind(op.result, self.emit.append(func.CallOp(name, args, [result])).results[0])
        self.emit.forget_loads(None)


def _may_fail(op: Operation) -> bool:
    return any(isinstance(inner, tir.AssertOp) for inner in op.walk())


_HINTS: dict[type[Operation], str] = {
    tir.BlockOp: "run lower-init-block and lower-blocks before",
    tir.MatchBufferOp: "run lower-blocks before",
    tir.CallPackedOp: "packed functions can be called from relax functions only",
}
_RULES: dict[type[Operation], Callable[[Statements, Any], None]] = {
    tir.ForOp: Statements.for_loop,
    tir.IfOp: Statements.if_op,
    tir.IfThenElseOp: Statements.if_then_else,
    tir.WhileOp: Statements.while_op,
    tir.LoadOp: Statements.load,
    tir.StoreOp: Statements.store,
    tir.AllocBufferOp: Statements.alloc,
    tir.AllocConstOp: Statements.alloc_const,
    tir.BufferDataOp: Statements.buffer_data,
    tir.DeclBufferOp: Statements.decl_buffer,
    tir.LetOp: Statements.let,
    tir.EvaluateOp: Statements.evaluate,
    tir.AttrOp: Statements.attr,
    tir.AssertOp: Statements.assertion,
    tir.CallExternOp: Statements.call_extern,
    tir.YieldOp: lambda statements, op: None,
    tir.ReturnOp: lambda statements, op: None,
}
