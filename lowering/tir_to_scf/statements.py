"""Lowering of tir's statements to scf, memref and vector: a table from statement classes to rules.

A rule takes an operation and a `KernelLowerer`, as in convert-to-llvm. Loops become `scf.for` on index, parallel ones
`scf.parallel`, which `outline-parallel` turns into functions; a loop that is still `vectorized` or `unrolled` runs
sequentially. Calls are in `calls.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import lanes_of, scalar_of
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import is_nonnegative
from ...dialects.sym.expr import SymExpr, as_expr, product
from ...dialects.tir import ForKind
from ...dialects.xdsl_extras.loop_annotation import LoopAnnotationAttr
from ...ir.locations import location_of
from ...transforms.tir.promote_buffers_to_stack import ON_STACK
from .casts import as_memref
from .emitter import Emitter, element_of
from .expressions import BUILDERS
from .intrinsics import scalar_or_vector
from .memory import Memory
from .signature import KernelSignature, memref_of, scalar_type
from .values import Values

LOOP_ANNOTATION = "loop_annotation"
_AS_IT_IS = LoopAnnotationAttr.of(vectorize={"disable": True}, unroll={"disable": True})
"""Loop metadata of loops over vectors: LLVM must neither unroll nor vectorize them again."""
_WRITTEN_OUT = LoopAnnotationAttr.of(unroll={"full": True})
EXPRESSIONS = frozenset[type[Operation]]((
    *BUILDERS, tir.CallIntrinOp, tir.CallLLVMIntrinOp, tir.ConstOp, tir.ReinterpretOp, tir.BroadcastOp, tir.RampOp,
    tir.ShuffleOp, tir.StringImmOp, tir.YieldOp, tir.ReturnOp, tir.EvaluateOp, ValueOp,
))  # fmt: skip
"""Expressions that are lowered at their uses; an evaluated expression has no effect, and calls with effects are
statements.
"""


@dataclass
class KernelLowerer:
    """The state that the rules share for the body of one function.

    `signatures` are those of the kernels of the module, `rules` those of statements and calls; `externs` collects the
    C functions that it calls, `constants` its constants.
    """

    name: str
    emit: Emitter
    values: Values
    memory: Memory
    signatures: dict[str, KernelSignature]
    externs: dict[str, func.FuncOp]
    rules: Mapping[type[Operation], StatementRule]
    constants: list[memref.GlobalOp] = field(default_factory=list[memref.GlobalOp])
    heap: list[SSAValue] = field(default_factory=list[SSAValue])
    """The heap buffers that the current block has allocated."""
    may_fail: bool = False
    """True if something can end the kernel early: an allocation, or a kernel that it calls."""
    separate_lanes: bool = False
    """True if there is a loop with `tir.SEPARATE_LANES`."""

    def block(self, block: Block) -> None:
        """Lower all operations of a block; heap buffers that it allocates are freed at its end."""
        outer, self.heap = self.heap, []
        for op in block.ops:
            if type(op) not in EXPRESSIONS:
                self.statement(op)
        for buffer in reversed(self.heap):
            self.emit.append(memref.DeallocOp.create(operands=(buffer,)))
        self.heap = outer

    def statement(self, op: Operation) -> None:
        """Lower an operation by its rule. Raises `UnsupportedError` if it has none."""
        rule = self.rules.get(type(op))
        if rule is None:
            where = location_of(op)
            raise UnsupportedError(f"'{op.name}' cannot be lowered to loops", location=where, hint=_HINTS.get(type(op)))
        emit = self.emit
        outer, emit.place = emit.place, op.location
        rule(op, self)
        emit.place = outer

    def region(self, build: Callable[[], object], arg_types: Sequence[Attribute] = ()) -> Block:
        """Return a block with the operations that `build` emits."""
        block = Block(arg_types=arg_types)
        with self.emit.inside(block), self.values.scope():
            build()
        return block

    def yielded(self, region: Region) -> SSAValue:
        """Return the value yielded by a region of expressions."""
        self.block(region.block)
        return self.values.value(cast(tir.YieldOp, region.block.last_op).value)

    def structured(self, op: Operation) -> Operation:
        """Append an operation with regions; earlier loads are invalid after it."""
        self.emit.append(op)
        self.emit.forget_loads(None)
        return op

    def bound(self, bound: SymExpr | SSAValue) -> SSAValue:
        """Return a loop bound as an index."""
        return self.values.symbolic(bound) if isinstance(bound, SymExpr) else self.values.index(bound)

    def bind_counter(self, variable: SSAValue, counter: SSAValue, first: SymExpr | SSAValue) -> None:
        """Bind a loop variable to `counter`, which counts from `first`."""
        nonnegative = is_nonnegative(first) if isinstance(first, SymExpr) else self.values.nonnegative(first)
        self.values.bind_index(variable, counter, nonnegative=nonnegative)


StatementRule = Callable[[Any, KernelLowerer], object]


# loops and branches


def _for(op: tir.ForOp, at: KernelLowerer) -> None:
    first, extent = at.bound(op.min), at.bound(op.extent)
    block = Block(arg_types=[first.type])
    set_name(block.args[0], name_of(op.loop_var))
    (_parallel if op.kind is ForKind.PARALLEL else _serial)(op, at, first, extent, block)
    at.emit.forget_loads(None)


def _launch(op: tir.LaunchThreadOp, at: KernelLowerer) -> None:
    """Run threads one after the other, as for loops that are bound to threads."""
    extent = at.bound(op.extent)
    block = Block(arg_types=[extent.type])
    set_name(block.args[0], name_of(op.index))
    with at.emit.inside(block), at.values.scope():
        at.bind_counter(op.index, block.args[0], _ZERO)
        at.block(op.body.block)
    block.add_op(scf.YieldOp())
    at.emit.append(scf.ForOp(at.emit.index(0), extent, at.emit.index(1), [], Region(block)))
    at.emit.forget_loads(None)


_ZERO = as_expr(0)


def _serial(op: tir.ForOp, at: KernelLowerer, first: SSAValue, extent: SSAValue, block: Block) -> None:
    end, vectors = at.emit.add(first, extent), at.memory.vector_accesses
    _loop_body(op, at, block)
    block.add_op(scf.YieldOp())
    loop = at.emit.append(scf.ForOp(first, end, at.emit.index(1), [], Region(block)))
    if op.annotations is not None and tir.WRITTEN_OUT_LATE in op.annotations.data:
        loop.attributes[LOOP_ANNOTATION] = _WRITTEN_OUT
        at.separate_lanes = at.separate_lanes or tir.SEPARATE_LANES in op.annotations.data
    elif at.memory.vector_accesses > vectors:
        loop.attributes[LOOP_ANNOTATION] = _AS_IT_IS


def _parallel(op: tir.ForOp, at: KernelLowerer, first: SSAValue, extent: SSAValue, block: Block) -> None:
    outer, at.emit.parallel_body = at.emit.parallel_body, block
    _loop_body(op, at, block)
    at.emit.parallel_body = outer
    block.add_op(scf.ReduceOp())
    end = at.emit.add(first, extent)
    at.emit.append(scf.ParallelOp([first], [end], [at.emit.index(1)], Region(block)))


def _loop_body(op: tir.ForOp, at: KernelLowerer, block: Block) -> None:
    with at.emit.inside(block), at.values.scope():
        at.bind_counter(op.loop_var, block.args[0], op.min)
        at.block(op.body.block)


def _if(op: tir.IfOp, at: KernelLowerer) -> None:
    cond = at.values.value(op.cond)
    then, other = (_side(region, at) for region in op.regions)
    at.structured(scf.IfOp(cond, [], then, other))


def _side(region: Region, at: KernelLowerer) -> Region:
    if region.first_block is None:
        return Region()
    block = at.region(lambda: at.block(region.block))
    block.add_op(scf.YieldOp())
    return Region(block)


def _if_then_else(op: tir.IfThenElseOp, at: KernelLowerer) -> None:
    cond = at.values.value(op.cond)
    then, other = (
        Region(at.region(lambda body=region: at.emit.append(scf.YieldOp(at.yielded(body))))) for region in op.regions
    )
    branch = scf.IfOp(cond, [scalar_or_vector(op.result.type)], then, other)
    at.values.bind(op.result, at.emit.append(branch).results[0])


def _while(op: tir.WhileOp, at: KernelLowerer) -> None:
    before = at.region(lambda: at.emit.append(scf.ConditionOp(at.yielded(op.cond_region))))
    after = at.region(lambda: at.block(op.body.block))
    after.add_op(scf.YieldOp())
    at.structured(scf.WhileOp([], [], Region(before), Region(after)))


def _reduce(op: tir.ReduceOp, at: KernelLowerer) -> None:
    """Emit a loop for each axis, with the results as loop-carried values."""
    results = _reduced(op, at, 0, [at.values.value(v) for v in op.start])
    at.values.bind(op.result, results[op.value_index.data])


def _reduced(op: tir.ReduceOp, at: KernelLowerer, axis: int, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Return the values of `results` after the loops from `axis` on."""
    if axis == len(op.extents):
        return _reduced_point(op, at, results)
    emit = at.emit
    first, extent = at.bound(op.mins[axis]), at.bound(op.extents[axis])
    block = Block(arg_types=[first.type, *(r.type for r in results)])
    with emit.inside(block), at.values.scope():
        for value in op.axis_values(axis):
            at.bind_counter(value, block.args[0], op.mins[axis])
        block.add_op(scf.YieldOp(*_reduced(op, at, axis + 1, block.args[1:])))
    end = emit.add(first, extent)
    return emit.append(scf.ForOp(first, end, emit.index(1), results, Region(block))).results


def _reduced_point(op: tir.ReduceOp, at: KernelLowerer, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
    def combine() -> None:
        sources = [at.yielded(region) for region in op.sources]
        for region in op.combine:
            for value, lowered in zip(region.block.args, (*results, *sources), strict=True):
                at.values.bind(value, lowered)
        at.emit.append(scf.YieldOp(*[at.yielded(region) for region in op.combine]))

    taken, otherwise = at.region(combine), Block([scf.YieldOp(*results)])
    cond = at.yielded(op.condition)
    return at.emit.append(scf.IfOp(cond, [r.type for r in results], Region(taken), Region(otherwise))).results


# values


def _let(op: tir.LetOp | tir.BufferDataOp, at: KernelLowerer) -> None:
    """Bind another name of a value; a pointer stays the memref that it points into until a call needs a pointer."""
    at.values.bind(op.results[0], at.values.value(op.operands[0]))


def _let_in(op: tir.LetInOp, at: KernelLowerer) -> None:
    at.values.bind(op.var, at.values.value(op.value))
    with at.values.scope():
        result = at.yielded(op.body)
    at.values.bind(op.result, result)


# memory


def _load(op: tir.LoadOp, at: KernelLowerer) -> None:
    """Lower a load; nothing is read if only its address is used."""
    if op.result.first_use is None or not all(_asks_where(use.operation) for use in op.result.uses):
        at.values.bind(op.result, at.memory.load(op))


def _asks_where(user: Operation) -> bool:
    return isinstance(user, tir.CallIntrinOp) and user.func.data == "address_of"


def _masked_load(op: tir.MaskedLoadOp, at: KernelLowerer) -> None:
    at.values.bind(op.result, at.memory.masked_load(op))


def _allocate(op: tir.AllocBufferOp | tir.AllocateOp, at: KernelLowerer) -> None:
    """Allocate on the stack if `promote-buffers-to-stack` marked the buffer, else on the heap until the end of the
    block.
    """
    buffered = isinstance(op, tir.AllocBufferOp)
    extent = product(op.result.type.dims if buffered else op.extents)
    dtype = op.result.type.dtype if buffered else op.dtype
    size, element, lanes = extent.constant, scalar_type(scalar_of(dtype)), lanes_of(dtype)
    if size is not None and ON_STACK in op.attributes:
        alloca = memref.AllocaOp.get(element, 64, [max(size * lanes, 1)])
        at.emit.local(alloca)
        buffer = alloca.memref
    else:
        count = at.emit.mul(at.values.count(extent), at.emit.index(lanes))
        buffer = at.emit.append(memref.AllocOp([count], [], MemRefType(element, [DYNAMIC_INDEX]))).results[0]
        at.heap.append(buffer)
        at.may_fail = True
    set_name(buffer, name_of(op.result))
    at.memory.private.add(buffer)
    at.values.bind(op.result, buffer)


def _constant(op: tir.AllocConstOp, at: KernelLowerer) -> None:
    """Lower a constant of the module; a bool is a byte and is read as one."""
    dtype, array = scalar_type(op.result.type.dtype), op.value.data
    element = i8 if dtype == i1 else dtype
    type = MemRefType(element, [array.numpy().size])
    name = f"{at.name}_constant_{len(at.constants)}"
    value = DenseIntOrFPElementsAttr(TensorType(cast(Any, element), type.get_shape()), BytesAttr(bytes(array.raw)))
    at.constants.append(
        memref.GlobalOp.get(
            StringAttr(name), type, value, sym_visibility=StringAttr("private"), constant=UnitAttr(),
            alignment=IntegerAttr(64, i64),
        )
    )  # fmt: skip
    place = at.emit.append(memref.GetGlobalOp(name, type)).results[0]
    at.values.bind(op.result, as_memref(at.emit, place, memref_of(i1)) if dtype == i1 else place)


def _declare_buffer(op: tir.DeclBufferOp, at: KernelLowerer) -> None:
    data, type = at.values.value(op.data), memref_of(op.result.type.dtype)
    if not isinstance(data.type, MemRefType) or element_of(data) != type.element_type:
        at.memory.noalias = False  # one memory is seen as elements of two types from here on
        data = as_memref(at.emit, data, type)
    at.values.bind(op.result, data)


_HINTS: dict[type[Operation], str] = {
    tir.BlockOp: "run lower-init-block, convert-blocks-to-opaque and lower-opaque-block before",
    tir.MatchBufferOp: "run lower-match-buffer before",
    tir.AssertOp: "run lower-asserts before",
}
RULES: dict[type[Operation], StatementRule] = {
    tir.ForOp: _for,
    tir.IfOp: _if,
    tir.IfThenElseOp: _if_then_else,
    tir.WhileOp: _while,
    tir.ReduceOp: _reduce,
    tir.LetOp: _let,
    tir.BufferDataOp: _let,
    tir.LetInOp: _let_in,
    tir.AttrOp: lambda op, at: at.block(op.body.block),
    tir.LaunchThreadOp: _launch,
    tir.LoadOp: _load,
    tir.MaskedLoadOp: _masked_load,
    tir.StoreOp: lambda op, at: at.memory.store(op),
    tir.MaskedStoreOp: lambda op, at: at.memory.masked_store(op),
    tir.AllocBufferOp: _allocate,
    tir.AllocateOp: _allocate,
    tir.AllocConstOp: _constant,
    tir.DeclBufferOp: _declare_buffer,
}
"""Statement class -> rule."""
