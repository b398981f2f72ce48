"""`convert-tir-to-linalg`: structured blocks become operations of linalg on memrefs, other statements loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Var
from ...dialects.xdsl_extras.arith_extras import RemFOp
from ...ir.accumulators import widen_accumulators
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...transforms.tir.lower_init_block import LowerInitBlock
from ..tir_to_scf.emitter import NO_FLAGS, Emitter, element_of
from ..tir_to_scf.memory import Memory
from ..tir_to_scf.signature import scalar_type
from ..tir_to_scf.statements import RULES, KernelLowerer
from ..tir_to_scf.values import Values
from .generics import append_nest, types_of
from .nests import Nest, NotStructuredError, nest_of

REASON = "tirax.unstructured"
"""The attribute of a function with the blocks that are no structured operations, and the reason of each."""


@dataclass(frozen=True)
class ConvertTirToLinalg(Pass):
    """Convert each `tir.func` to a `func.func` on memrefs, in which structured blocks are operations of linalg.

    A block that is none becomes loops on elements; `tirax.unstructured`, an attribute of the function, has the reason.
    With `strict` it raises `UnsupportedError` instead. Raises `UnsupportedError` for functions that have no form on
    memrefs: with pointers, strided buffers, results, or calls, or if a function of Relax calls them.
    """

    name = "convert-tir-to-linalg"
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, tir.FuncOp)]
        nests = {f: _nests(f, self.strict) for f in functions}
        LowerInitBlock().apply(ctx, op)
        for function in functions:
            for result in _converted(function, *nests[function]):
                op.body.block.insert_op_before(result, function)
            function.detach()


def _nests(function: tir.FuncOp, strict: bool) -> tuple[dict[Operation, Nest], dict[str, str]]:
    """Return the structured nests by their outermost operation, whose inits are taken out, and other blocks with the
    reason.
    """
    widen_accumulators(function)
    nests: dict[Operation, Nest] = {}
    reasons: dict[str, str] = {}
    for block in [op for op in function.walk() if isinstance(op, tir.BlockOp)]:
        try:
            nest = nest_of(block)
        except NotStructuredError as error:
            if not _computes(block):
                continue
            name = block.block_name.data
            reasons[name] = str(error)
            if strict:
                message = f'block "{name}" is no structured operation: {error}'
                raise UnsupportedError(message, location=location_of(block)) from None
        else:
            nests[nest.root] = nest
            if block.init is not None:
                block.init.detach()
    return nests, reasons


def _computes(block: tir.BlockOp) -> bool:
    """Return whether a block writes elements itself, not only by blocks inside it."""
    own = (op for op in block.body.walk() if isinstance(op, tir.StoreOp))
    return any(_block_of(op) is block for op in own)


def _block_of(op: Operation) -> Operation | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, tir.BlockOp):
        around = around.parent_op()
    return around


def _converted(function: tir.FuncOp, nests: dict[Operation, Nest], reasons: dict[str, str]) -> list[Operation]:
    """Return the globals that a function uses, and the function on memrefs."""
    _check(function)
    types = [types_of(p.type) if isinstance(p.type, tir.BufferType) else scalar_type(p.type) for p in function.params]
    entry = Block(arg_types=types)
    emit = Emitter(entry)
    symbols: dict[str, SSAValue] = {}
    values = _Values(emit, symbols)
    at = _Lowerer(
        function.sym_name.data,
        emit,
        values,
        _Elements(emit, values, True),
        {},
        {},
        _RULES,
        nests=nests,
    )
    for param, arg in zip(function.params, entry.args, strict=True):
        set_name(arg, name_of(param))
        values.bind(param, arg)
    _bind_symbols(function, entry, emit, symbols)
    _assert_sizes(function, entry, emit, values)
    at.block(function.body.block)
    entry.add_op(func.ReturnOp())
    for op in reversed(list(entry.ops)):
        if isinstance(op, memref.DimOp | arith.ConstantOp | arith.IndexCastOp) and op.results[0].first_use is None:
            entry.erase_op(op)
    _without_llvm(entry)
    type = FunctionType.from_lists(types, [])
    visibility = StringAttr("private") if function.private else None
    result = func.FuncOp(function.sym_name.data, type, Region(entry), visibility)
    if reasons:
        result.attributes[REASON] = DictionaryAttr({name: StringAttr(reason) for name, reason in reasons.items()})
    return [*at.constants, result]


def _without_llvm(entry: Block) -> None:
    """Replace operations of the llvm dialect by those of arith. Raises `UnsupportedError` for one without a row."""
    for op in [op for op in entry.walk() if op.name.startswith("llvm.")]:
        if not isinstance(op, llvm.FRemOp):
            raise UnsupportedError(f"'{op.name}' is below linalg", location=location_of(op))
        result = RemFOp(op.lhs, op.rhs)
        Rewriter.replace_op(op, result)


def _check(function: tir.FuncOp) -> None:
    """Raise `UnsupportedError` for a function that has no form on memrefs."""
    name, location = function.sym_name.data, location_of(function)
    if function.ret_type is not None:
        raise UnsupportedError(f"@{name} returns a value", location=location, expected="results in buffers")
    for value in (*function.params, *(r for op in function.walk() for r in op.results)):
        type = value.type
        if isinstance(type, tir.HandleType):
            raise UnsupportedError(f"@{name} has a pointer, %{name_of(value)}", location=location, expected="buffers")
        if isinstance(type, tir.BufferType) and not _is_plain(type):
            raise UnsupportedError(
                f"the buffer %{name_of(value)} of @{name} has strides or an offset",
                location=location,
                expected="compact buffers",
            )


def _is_plain(type: tir.BufferType) -> bool:
    plain = tir.BufferType.of(type.dims, type.dtype)
    return type.strides == plain.strides and type.offset == plain.offset and type.broadcast == plain.broadcast


def _bind_symbols(function: tir.FuncOp, entry: Block, emit: Emitter, symbols: dict[str, SSAValue]) -> None:
    """Let symbolic variables be the scalar parameters of their names, or dimensions of the parameters."""
    for param, arg in zip(function.params, entry.args, strict=True):
        if not isinstance(param.type, tir.BufferType) and not is_float(param.type):
            symbols[name_of(param) or ""] = emit.to_index(arg)
    for param, arg in zip(function.params, entry.args, strict=True):
        for axis, size in enumerate(param.type.dims if isinstance(param.type, tir.BufferType) else ()):
            if isinstance(size, Var) and isinstance(size.name, str) and size.name not in symbols:
                dim = emit.append(memref.DimOp(arg, emit.index(axis)))
                set_name(dim.results[0], size.name)
                symbols[size.name] = dim.results[0]


def _assert_sizes(function: tir.FuncOp, entry: Block, emit: Emitter, values: Values) -> None:
    """Assert what types of buffers say and those of memrefs cannot: sizes that are equal, or computed of others."""
    for param, arg in zip(function.params, entry.args, strict=True):
        for axis, size in enumerate(param.type.dims if isinstance(param.type, tir.BufferType) else ()):
            if size.constant is not None:
                continue
            expected = values.symbolic(size)
            owner = expected.owner
            if isinstance(owner, memref.DimOp) and (owner.source, owner.index) == (arg, emit.index(axis)):
                continue
            dim = emit.append(memref.DimOp(arg, emit.index(axis))).results[0]
            message = f"%{name_of(param)} has another size than {size} in dimension {axis}"
            emit.append(cf.AssertOp(emit.compare("eq", dim, expected), message))


class _Values(Values):
    """Extrema of floats are MLIR's: NaN if an operand is."""

    def expression(self, op: Operation) -> SSAValue:
        cls = _EXTREMA.get(type(op))
        if cls is None or not is_float(op.results[0].type) or isinstance(op.results[0].type, VectorType):
            return super().expression(op)
        args = [self.value(v) for v in op.operands]
        return self.emit.pure(cls, args, args[0].type, {"fastmath": NO_FLAGS})


_EXTREMA: dict[type[Operation], type[Operation]] = {tir.MaxOp: arith.MaximumfOp, tir.MinOp: arith.MinimumfOp}


class _Elements(Memory):
    """Accesses of elements of memrefs, with an index for each dimension."""

    def load(self, op: tir.LoadOp) -> SSAValue:
        buffer = self.values.value(op.buffer)
        return self.emit.load(memref.LoadOp, (buffer, *self._places(op)), element_of(buffer))

    def store(self, op: tir.StoreOp) -> None:
        buffer = self.values.value(op.buffer)
        self.emit.append(memref.StoreOp.get(self.values.value(op.value), buffer, self._places(op)))
        self.emit.forget_loads(None)

    def _places(self, op: tir.LoadOp | tir.StoreOp) -> list[SSAValue]:
        if any(isinstance(i.type, VectorType) for i in op.indices):
            raise UnsupportedError("an access to a vector of elements", location=location_of(op), expected="elements")
        return [self.values.index(i) for i in op.indices]


@dataclass
class _Lowerer(KernelLowerer):
    """Lowers statements; those that are nests become operations of linalg."""

    nests: dict[Operation, Nest] = field(default_factory=dict[Operation, Nest])

    def statement(self, op: Operation) -> None:
        nest = self.nests.get(op)
        if nest is None:
            super().statement(op)
        else:
            append_nest(nest, self)


def _block(op: tir.BlockOp, at: _Lowerer) -> None:
    """Run a block that is not structured for its iterators."""
    if op.predicate is None:
        _run(op, at)
        return
    cond = at.values.value(op.predicate)
    then = at.region(lambda: _run(op, at))
    then.add_op(scf.YieldOp())
    at.structured(scf.IfOp(cond, [], Region(then), Region()))


def _run(op: tir.BlockOp, at: _Lowerer) -> None:
    for variable, binding in zip(op.iter_vars, op.bindings, strict=True):
        at.values.bind_index(variable, at.values.index(binding), nonnegative=at.values.nonnegative(binding))
    at.block(op.body.block)


def _allocate(op: tir.AllocBufferOp, at: _Lowerer) -> None:
    type = types_of(op.result.type)
    sizes = [at.values.symbolic(d) for d in op.result.type.dims if d.constant is None]
    buffer = at.emit.append(memref.AllocOp(sizes, [], type)).results[0]
    set_name(buffer, name_of(op.result))
    at.heap.append(buffer)
    at.values.bind(op.result, buffer)


def _constant(op: tir.AllocConstOp, at: _Lowerer) -> None:
    array = op.value.data
    type = MemRefType(scalar_type(op.result.type.dtype), array.numpy().shape)
    name = f"{at.name}_constant_{len(at.constants)}"
    kind = TensorType(cast(Any, type.element_type), type.get_shape())
    value = DenseIntOrFPElementsAttr(kind, BytesAttr(bytes(array.raw)))
    at.constants.append(
        memref.GlobalOp.get(
            StringAttr(name), type, value, sym_visibility=StringAttr("private"), constant=UnitAttr(),
            alignment=IntegerAttr(64, i64),
        )
    )  # fmt: skip
    at.values.bind(op.result, at.emit.append(memref.GetGlobalOp(name, type)).results[0])


def _nothing(op: Operation, at: KernelLowerer) -> None:
    """Regions of blocks only repeat what the accesses are."""


_KEPT = (tir.ForOp, tir.IfOp, tir.IfThenElseOp, tir.WhileOp, tir.ReduceOp, tir.LetOp, tir.LetInOp, tir.AttrOp,
         tir.LoadOp, tir.StoreOp)  # fmt: skip
_RULES: dict[type[Operation], Any] = {
    **{kind: RULES[kind] for kind in _KEPT},
    tir.BlockOp: _block,
    tir.ReadsOp: _nothing,
    tir.WritesOp: _nothing,
    tir.AllocBufferOp: _allocate,
    tir.AllocConstOp: _constant,
}
