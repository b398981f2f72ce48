"""tir's statements as scf, memref and vector.

Loops are `scf.for` on index, parallel ones `scf.parallel`, which `outline-parallel` makes functions of; one that is
still `vectorized` or `unrolled` runs in order. After an assertion that did not hold nothing more runs; so a parallel
loop with an assertion or a call of a packed function in it runs in order: the first iteration that fails is the one
that is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError, unknown_name
from ...dialects import tir
from ...dialects.dtypes import is_float, lanes_of, scalar_of
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import Dims
from ...dialects.sym import SymAttr, ValueOp
from ...dialects.sym.expr import SymExpr, product
from ...dialects.tir import ForKind
from ...ir.locations import location_of
from ...ir.rewriting.walk import operations
from ...transforms.tir.promote_buffers_to_stack import ON_STACK
from ..convert_to_llvm.core import make_call
from .addresses import pointer_to
from .casts import convert
from .emitter import Emitter, element_of
from .expressions import BUILDERS
from .intrinsics import LLVM_INTRINSICS, call_llvm_intrinsic, is_llvm_intrinsic, scalar_or_vector
from .memory import Memory
from .signature import PACKED_DIMS, PACKED_ENTRY, POINTER, KernelSignature, memref_of, scalar_type
from .values import Values

LOOP_ANNOTATION = "loop_annotation"
_AS_IT_IS = DictionaryAttr({"unroll.disable": UnitAttr(), "vectorize.enable": IntegerAttr(0, i1)})
"""Loops of vectors are what they should be: LLVM shall neither unroll nor vectorize them."""
_LAZY = frozenset[type[Operation]]((
    *BUILDERS, tir.CallIntrinOp, tir.CallLLVMIntrinOp, tir.ConstOp, tir.ReinterpretOp, tir.BroadcastOp, tir.RampOp,
    tir.ShuffleOp, tir.StringImmOp, ValueOp,
))  # fmt: skip


class Statements:
    """Lowers the body of one function. `externs` collects the C functions that it calls, `globals` its constants."""

    def __init__(self, emit: Emitter, values: Values, memory: Memory):
        self.emit = emit
        self.values = values
        self.memory = memory
        self.externs: dict[str, func.FuncOp] = {}
        self.globals: list[memref.GlobalOp] = []
        self.signatures: dict[str, KernelSignature] = {}
        self.status: SSAValue | None = None
        self._failures: dict[Operation, int] = {}
        self._heap: list[list[SSAValue]] = [[]]
        self.function_name = ""

    def number_failures(self, func: tir.FuncOp, signatures: dict[str, KernelSignature]) -> None:
        """Give each operation that may fail the number of its first message in the kernel's signature, from 1."""
        number = 1
        for op in operations(func):
            if type(op) in (tir.AssertOp, tir.CallPackedOp):
                self._failures[op] = number
                number += 1
            elif isinstance(op, tir.CallOp) and op.func.data in signatures and signatures[op.func.data].assertions:
                self._failures[op] = number
                number += len(signatures[op.func.data].assertions)

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
                if self.status is not None and following is not None and self._may_fail(op):
                    self._guarded(following)
                    return
            op = following

    def _statement(self, op: Operation) -> None:
        rule = _RULES.get(type(op))
        if rule is None:
            where = location_of(op)
            raise UnsupportedError(f"'{op.name}' cannot be lowered to loops", location=where, hint=_HINTS.get(type(op)))
        rule(self, op)

    def _may_fail(self, op: Operation) -> bool:
        return bool(self._failures) and any(inner in self._failures for inner in operations(op))

    def _guarded(self, following: Operation | None) -> None:
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
        if op.kind is ForKind.PARALLEL and not self._may_fail(op):
            self._parallel(op, first, extent)
        else:
            self._serial(op, first, extent)

    def _iteration(self, op: tir.ForOp, at: SSAValue, first: SSAValue) -> None:
        known = self.emit.known.get(first)
        self.values.bind_index(op.loop_var, at, nonnegative=known is not None and known >= 0)
        if self.status is not None and self._may_fail(op):
            self._guarded(op.body.block.first_op)
        else:
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

    # branches

    def if_op(self, op: tir.IfOp) -> None:
        other = (lambda: self.block(op.else_region.block)) if op.has_else else None
        self._scf_if(self.values.value(op.cond), lambda: self.block(op.then_region.block), other)

    def if_then_else(self, op: tir.IfThenElseOp) -> None:
        cond = self.values.value(op.cond)
        regions = [self._yielding(region) for region in (op.then_region, op.else_region)]
        branch = scf.IfOp(cond, [scalar_or_vector(op.result.type)], regions[0], regions[1])
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
            if self.status is not None and self._may_fail(op):
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

    def masked_load(self, op: tir.MaskedLoadOp) -> None:
        self.values.bind(op.result, self.memory.masked_load(op))

    def store(self, op: tir.StoreOp) -> None:
        self.memory.store(op)

    def masked_store(self, op: tir.MaskedStoreOp) -> None:
        self.memory.masked_store(op)

    def alloc(self, op: tir.AllocBufferOp) -> None:
        self._allocated(op, product(op.result.type.dims), op.result.type.dtype)

    def allocate(self, op: tir.AllocateOp) -> None:
        self._allocated(op, product(op.extents), op.dtype)

    def _allocated(self, op: tir.AllocBufferOp | tir.AllocateOp, extent: SymExpr, dtype: Attribute) -> None:
        """On the stack where `promote-buffers-to-stack` says so, else from the heap until the end of the block."""
        size, element, lanes = extent.constant, scalar_type(scalar_of(dtype)), lanes_of(dtype)
        if size is not None and ON_STACK in op.attributes:
            alloca = memref.AllocaOp.get(element, 64, [max(size * lanes, 1)])
            self.emit.local(alloca)
            buffer = alloca.memref
        else:
            count = self.emit.mul(self.values.symbolic(extent), self.emit.index(lanes))
            buffer = self.emit.append(memref.AllocOp([count], [], MemRefType(element, [DYNAMIC_INDEX]))).results[0]
            self._heap[-1].append(buffer)
        set_name(buffer, name_of(op.result))
        self.memory.private.add(buffer)
        self.values.bind(op.result, buffer)

    def alloc_const(self, op: tir.AllocConstOp) -> None:
        """A constant of the module; bools, a byte each, are read as what their bytes are."""
        t, array = op.result.type, op.value.data
        bools = scalar_type(t.dtype) == i1
        element = i8 if bools else scalar_type(t.dtype)
        type = MemRefType(element, [array.numpy().size])
        name = f"{self.function_name}_constant_{len(self.globals)}"
        value = DenseIntOrFPElementsAttr(TensorType(cast(Any, element), type.get_shape()), BytesAttr(bytes(array.raw)))
        self.globals.append(
            memref.GlobalOp.get(
                StringAttr(name), type, value, sym_visibility=StringAttr("private"), constant=UnitAttr(),
                alignment=IntegerAttr(64, i64),
            )
        )  # fmt: skip
        found = self.emit.append(memref.GetGlobalOp(name, type)).results[0]
        if bools:
            found = self.emit.append(UnrealizedConversionCastOp.get([self._pointer(found)], [memref_of(i1)])).results[0]
        self.values.bind(op.result, found)

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
        return pointer_to(self.emit, value)

    # the rest

    def let(self, op: tir.LetOp) -> None:
        self.values.bind(op.result, self.values.value(op.value))

    def evaluate(self, op: tir.EvaluateOp) -> None:
        """The calls in the expression have been made where they stand; other expressions have no effect."""

    def attr(self, op: tir.AttrOp) -> None:
        self.block(op.body.block)

    def assertion(self, op: tir.AssertOp) -> None:
        number = self._failures[op]
        bad = self.emit.binary(arith.XOrIOp, self.values.value(op.cond), self.emit.constant(1, i1))
        self._fail_if(bad, self.emit.constant(number, i32))

    def _fail_if(self, bad: SSAValue, number: SSAValue) -> None:
        status = self.status
        assert status is not None
        self._scf_if(
            bad, lambda: self.emit.append(memref.StoreOp.create(operands=(number, status, self.emit.index(0))))
        )

    def call_extern(self, op: tir.CallExternOp) -> None:
        args = [self._pointer(self.values.value(a)) for a in op.call_args]
        results = _results(op.result.type)
        name = op.func.data
        types = [a.type for a in args]
        known = self.externs.setdefault(name, func.FuncOp.external(name, types, results))
        wanted = FunctionType.from_lists(types, results)
        if known.function_type != wanted:
            raise UnsupportedError(
                f"C function '{name}' is called with arguments or results of two kinds",
                location=location_of(op),
                expected=str(known.function_type),
                found=str(wanted),
            )
        self._called(op, func.CallOp(name, args, results))

    def _called(self, op: tir.CallExpr, call: func.CallOp) -> None:
        made = self.emit.append(call)
        if made.results:
            self.values.bind(op.result, made.results[0])
        self.emit.forget_loads(None)

    def call(self, op: tir.CallOp) -> None:
        """Another kernel of the module; where it fails so does this one."""
        signature = self.signatures[op.func.data]
        args = [self._given(t, v) for t, v in zip(signature.params, op.call_args, strict=True)]
        for name in signature.symbolic_vars:
            size = cast(SymAttr, cast(DictionaryAttr, op.attributes[tir.CallOp.SIZES]).data[name])
            args.append(self.emit.from_index(self.values.symbolic(size.data), i64))
        if not signature.assertions:
            self._called(op, func.CallOp(signature.name, args, _results(op.result.type)))
            return
        failed = self.emit.append(func.CallOp(signature.name, args, [i32])).results[0]
        self.emit.forget_loads(None)
        number = self.emit.binary(arith.AddiOp, failed, self.emit.constant(self._failures[op] - 1, i32))
        self._fail_if(self.emit.compare("ne", failed, self.emit.constant(0, i32)), number)

    def call_packed(self, op: tir.CallPackedOp) -> None:
        """The function that the host made for the call, with arguments as words; a null from it ends the kernel."""
        entry, dims = op.attributes.get(PACKED_ENTRY), op.attributes.get(PACKED_DIMS)
        if entry is None:
            raise UnsupportedError(
                f"the packed function '{op.func.data}' is called from a kernel that is built by itself",
                location=location_of(op),
                hint="build the module: relax.build(mod)",
            )
        words = [
            word
            for value, extents in zip(op.call_args, cast("ArrayAttr[Dims]", dims), strict=True)
            for word in self._words(value, extents)
        ]
        place = memref.AllocaOp.get(i64, 8, [max(1, len(words))])
        self.emit.local(place)
        for i, word in enumerate(words):
            self.emit.append(memref.StoreOp.create(operands=(word, place.memref, self.emit.index(i))))
        null = self.emit.append(llvm.ZeroOp.create(result_types=(POINTER,))).results[0]
        args = [null, pointer_to(self.emit, place.memref), self.emit.constant(len(words), i64)]
        made = self.emit.append(make_call(args, POINTER, SymbolRefAttr(cast(StringAttr, entry))))
        address = self.emit.append(llvm.PtrToIntOp(made.results[0])).results[0]
        failed = self.emit.compare("eq", address, self.emit.constant(0, i64))
        self._fail_if(failed, self.emit.constant(self._failures[op], i32))
        number = self.emit.append(memref.LoadOp.get(place.memref, [self.emit.index(0)])).results[0]
        self.values.bind(op.result, self.emit.convert(arith.TruncIOp, arith.TruncIOp, number, i32))
        self.emit.forget_loads(None)

    def _words(self, value: SSAValue, dims: Dims) -> list[SSAValue]:
        """An argument of a packed function: a number as 64 bits, a buffer as its address and extents, no string."""
        if isinstance(value.owner, tir.StringImmOp):
            return []
        lowered = self.values.value(value)
        if isinstance(lowered.type, MemRefType):
            extents = [self.emit.from_index(self.values.symbolic(d.data), i64) for d in dims]
            return [self.emit.append(llvm.PtrToIntOp(pointer_to(self.emit, lowered))).results[0], *extents]
        if is_float(value.type):
            wide = convert(self.emit, lowered, value.type, f64)
            return [self.emit.pure(arith.BitcastOp, (wide,), i64)]
        return [convert(self.emit, lowered, value.type, i64)]

    def _given(self, t: Attribute, value: SSAValue) -> SSAValue:
        """An argument of a kernel: a buffer as a bare pointer to its elements."""
        lowered = self.values.value(value)
        if not isinstance(t, tir.BufferType):
            return self._pointer(lowered) if isinstance(t, tir.HandleType) else lowered
        wanted = memref_of(t.dtype)
        if lowered.type == wanted:
            return lowered
        return self.emit.append(UnrealizedConversionCastOp.get([self._pointer(lowered)], [wanted])).results[0]

    def let_in(self, op: tir.LetInOp) -> None:
        self.values.bind(op.var, self.values.value(op.value))
        with self.values.scope():
            self.block(op.body.block)
            result = self.values.value(cast(tir.YieldOp, op.body.block.last_op).value)
        self.values.bind(op.result, result)

    def reduce(self, op: tir.ReduceOp) -> None:
        """A loop for each axis, through which the results go."""
        start = [self.values.value(v) for v in op.start]
        self.values.bind(op.result, self._reduced(op, 0, start)[op.value_index.data])

    def _reduced(self, op: tir.ReduceOp, axis: int, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """What `results` become in the loops from `axis` on."""
        if axis == len(op.extents):
            return self._reduced_point(op, results)
        first, extent = self.bound(op.mins[axis]), self.bound(op.extents[axis])
        known = self.emit.known.get(first)
        block = Block(arg_types=[first.type, *(r.type for r in results)])
        with self.emit.inside(block), self.values.scope():
            for value in op.axis_values(axis):
                self.values.bind_index(value, block.args[0], nonnegative=known is not None and known >= 0)
            after = self._reduced(op, axis + 1, block.args[1:])
            block.add_op(scf.YieldOp(*after))
        end = self.emit.add(first, extent)
        loop = scf.ForOp(first, end, self.emit.index(1), results, Region(block))
        return self.emit.append(loop).results

    def _reduced_point(self, op: tir.ReduceOp, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        block = Block()
        with self.emit.inside(block), self.values.scope():
            new = [self._region_value(region) for region in op.sources]
            for region in op.combine:
                for value, lowered in zip(region.block.args, (*results, *new), strict=True):
                    self.values.bind(value, lowered)
            block.add_op(scf.YieldOp(*[self._region_value(region) for region in op.combine]))
        otherwise = Block([scf.YieldOp(*results)])
        cond = self._region_value(op.condition)
        branch = scf.IfOp(cond, [r.type for r in results], Region(block), Region(otherwise))
        return self.emit.append(branch).results

    def _region_value(self, region: Region) -> SSAValue:
        """The value of a region of expressions, each of which is read once."""
        self.block(region.block)
        return self.values.value(cast(tir.YieldOp, region.block.last_op).value)

    def call_llvm(self, op: tir.CallLLVMEffectOp) -> None:
        """An intrinsic of LLVM for its effect; what it gives is 0 where LLVM's gives nothing."""
        name = op.func.data
        if not is_llvm_intrinsic(name):
            raise unknown_name("LLVM intrinsic", name, LLVM_INTRINSICS, location_of(op))
        args = [self._pointer(self.values.value(a)) for a in op.call_args]
        gives = op.result.type != tir.VOID and not name.startswith(_WITHOUT_RESULT)
        result = call_llvm_intrinsic(self.emit, name, args, scalar_or_vector(op.result.type) if gives else None)
        if op.result.type != tir.VOID:
            zero = None if gives else self.emit.constant(0, scalar_or_vector(op.result.type))
            self.values.bind(op.result, zero or result)
        self.emit.forget_loads(None)


_WITHOUT_RESULT = ("llvm.prefetch", "llvm.assume", "llvm.trap", "llvm.debugtrap", "llvm.memcpy", "llvm.memmove",
                   "llvm.memset", "llvm.masked.store", "llvm.masked.scatter", "llvm.donothing")  # fmt: skip
"""Intrinsics that give nothing, whatever a script says: TVM's ways to write them name a type."""


def _results(dtype: Attribute) -> list[Attribute]:
    """The types of what a call of this type gives."""
    if dtype == tir.VOID:
        return []
    return [POINTER if isinstance(dtype, tir.HandleType) else scalar_or_vector(dtype)]


_HINTS: dict[type[Operation], str] = {
    tir.BlockOp: "run lower-init-block, convert-blocks-to-opaque and lower-opaque-block before",
    tir.MatchBufferOp: "run lower-match-buffer before",
}
_RULES: dict[type[Operation], Callable[[Statements, Any], None]] = {
    tir.ForOp: Statements.for_loop,
    tir.IfOp: Statements.if_op,
    tir.IfThenElseOp: Statements.if_then_else,
    tir.WhileOp: Statements.while_op,
    tir.LoadOp: Statements.load,
    tir.MaskedLoadOp: Statements.masked_load,
    tir.StoreOp: Statements.store,
    tir.MaskedStoreOp: Statements.masked_store,
    tir.AllocBufferOp: Statements.alloc,
    tir.AllocConstOp: Statements.alloc_const,
    tir.BufferDataOp: Statements.buffer_data,
    tir.DeclBufferOp: Statements.decl_buffer,
    tir.LetOp: Statements.let,
    tir.EvaluateOp: Statements.evaluate,
    tir.AttrOp: Statements.attr,
    tir.AssertOp: Statements.assertion,
    tir.AllocateOp: Statements.allocate,
    tir.CallExternOp: Statements.call_extern,
    tir.CallPureExternOp: Statements.call_extern,
    tir.CallOp: Statements.call,
    tir.CallPackedOp: Statements.call_packed,
    tir.CallLLVMEffectOp: Statements.call_llvm,
    tir.LetInOp: Statements.let_in,
    tir.ReduceOp: Statements.reduce,
    tir.YieldOp: lambda statements, op: None,
    tir.ReturnOp: lambda statements, op: None,
}
