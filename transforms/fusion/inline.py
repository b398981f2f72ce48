"""One tensor function made of a primitive Relax function: its calls' bodies one after the other, on common buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerType, StringAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.relax import PrimType, ShapeType, TensorType
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import BufferType
from ...ir.substitute import SymbolSubstitution
from .naming import NameSupply, fresh_suffix

FunctionLookup = Callable[[str], Operation | None]


class NotFusable(Exception):
    """Why a primitive function cannot become one tensor function."""


@dataclass(frozen=True)
class FusedFunction:
    """A tensor function, and how it is called: fields of tuples and shapes passed one by one.

    `inplace` has for each result the position of the input buffer that holds it, -1 for a buffer of its own.
    """

    func: tir.FuncOp
    inplace: tuple[int, ...]


def fuse_function(func: relax.FuncOp, functions: FunctionLookup) -> FusedFunction:
    """The tensor function that does what the primitive function `func` does.

    Its parameters are the buffers of the inputs, those of the results, then scalars. Values between the calls are
    buffers that it allocates. Raises `NotFusable` where it holds more than calls of tensor functions, or where these
    do not fit together.
    """
    fuser = _Fuser(functions)
    for param in func.params:
        fuser.parameter(param)
    for op in func.body.block.ops:
        fuser.binding(op)
    return fuser.build(func, fuser.buffers_of(func.return_op.value))


@dataclass(eq=False)
class _Buffer:
    """A buffer of the fused function: where it comes from says where it is declared."""

    name: str
    type: BufferType
    constant: relax.ConstantOp | None = None
    value: SSAValue | None = None


@dataclass(eq=False)
class _Call:
    """A call of a tensor function: what its parameters and symbolic variables are in the fused function."""

    callee: tir.FuncOp
    buffers: list[_Buffer]
    scalars: list[SymExpr]
    symbols: Mapping[Var, SymExpr]
    allocated: list[tuple[tir.AllocBufferOp, _Buffer]] = field(
        default_factory=lambda: list[tuple[tir.AllocBufferOp, _Buffer]]()
    )


class _Fuser:
    def __init__(self, functions: FunctionLookup):
        self._functions = functions
        self._inputs: list[_Buffer] = []
        self._scalars: list[Var] = []
        self._local: list[_Buffer] = []
        self._calls: list[_Call] = []
        self._values: dict[SSAValue, list[_Buffer]] = {}

    def buffers_of(self, value: SSAValue) -> list[_Buffer]:
        """The buffers of a value: one of a tensor, those of its fields of a tuple."""
        found = self._values.get(value)
        if found is None:
            raise NotFusable(f"it uses a value of {value.type}")
        return found

    def parameter(self, param: SSAValue) -> None:
        """A parameter of the Relax function: buffers, or symbolic variables."""
        name = name_of(param) or f"param_{len(self._inputs)}"
        if isinstance(param.type, ShapeType) and param.type.dims is not None:
            self._add_scalars(param.type.dims)
        elif isinstance(param.type, PrimType) and param.type.expr is not None:
            self._add_scalars([param.type.expr])
        else:
            self._values[param] = self._input_buffers(name, param.type)

    def _input_buffers(self, name: str, t: Attribute) -> list[_Buffer]:
        if isinstance(t, TupleType):
            return [b for i, f in enumerate(t.types) for b in self._input_buffers(f"{name}_{i}", f)]
        buffer = _Buffer(name, _buffer_type(t))
        self._inputs.append(buffer)
        return [buffer]

    def _add_scalars(self, exprs: Sequence[SymExpr]) -> None:
        for e in exprs:
            if not isinstance(e, Var):
                raise NotFusable(f"a parameter is the expression {e}, not a variable")
            if e not in self._scalars:
                self._scalars.append(e)

    def binding(self, op: Operation) -> None:
        """One op of the Relax function."""
        handler = _BINDINGS.get(type(op))
        if handler is None:
            raise NotFusable(f"it holds {op.name}, which is no call of a tensor function")
        handler(self, op)

    def dataflow(self, op: relax.DataflowOp) -> None:
        for inner in op.body.block.ops:
            self.binding(inner)
        for value, result in zip(op.output_op.values_, op.outputs, strict=True):
            self._values[result] = self.buffers_of(value)

    def skip(self, op: Operation) -> None:
        """Terminators; shapes, whose dimensions stand in types."""

    def constant(self, op: relax.ConstantOp) -> None:
        buffer = _Buffer("constant", _buffer_type(op.result.type), op)
        self._local.append(buffer)
        self._values[op.result] = [buffer]

    def alias(self, op: relax.BindOp) -> None:
        self._values[op.result] = self.buffers_of(op.value)

    def tuple_(self, op: relax.TupleOp) -> None:
        self._values[op.result] = [b for f in op.fields_ for b in self.buffers_of(f)]

    def tuple_get_item(self, op: relax.TupleGetItemOp) -> None:
        types = op.tuple_.type.types.data if isinstance(op.tuple_.type, TupleType) else ()
        first = sum(_leaves(t) for t in types[: op.index.data])
        count = _leaves(types[op.index.data]) if types else 0
        self._values[op.result] = self.buffers_of(op.tuple_)[first : first + count]

    def call(self, op: relax.CallTIROp | relax.CallTIRInplaceOp) -> None:
        callee = self._functions(op.callee_name)
        if not isinstance(callee, tir.FuncOp):
            raise NotFusable(f"it calls @{op.callee_name}, which is no tensor function")
        if callee.ret_type is not None or any(isinstance(o, tir.ReturnOp) for o in callee.body.block.ops):
            raise NotFusable(f"@{op.callee_name} returns a value")
        args = [self._single(a) for a in op.call_args]
        inplace = op.indices if isinstance(op, relax.CallTIRInplaceOp) else [-1] * len(op.output_types)
        params = list(callee.params)
        new = sum(i < 0 for i in inplace)
        inputs, outputs = params[: len(args)], params[len(args) : len(args) + new]
        scalars = [d.data for d in op.tir_vars] if op.tir_vars is not None else []
        symbols = _match(op.callee_name, inputs, args, params[len(args) + new :], scalars)
        _match_outputs(outputs, [t for t, i in zip(op.output_types, inplace, strict=True) if i < 0], symbols)
        _check_determined(callee, symbols)
        call = _Call(callee, list(args), scalars, symbols)
        self._allocate(call)
        results = self._results(call, op.output_types, inplace, iter(outputs))
        self._calls.append(call)
        self._values[op.result] = results

    def _single(self, value: SSAValue) -> _Buffer:
        buffers = self.buffers_of(value)
        if len(buffers) != 1:
            raise NotFusable("it passes a tuple to a tensor function")
        return buffers[0]

    def _allocate(self, call: _Call) -> None:
        """What the called function allocates for its whole body, the fused one allocates."""
        substitution = SymbolSubstitution(call.symbols)
        for op in call.callee.body.block.ops:
            if isinstance(op, tir.AllocBufferOp):
                t = cast(BufferType, substitution.attribute(op.result.type))
                buffer = _Buffer(name_of(op.result) or "buffer", t)
                call.allocated.append((op, buffer))
                self._local.append(buffer)

    def _results(self, call: _Call, types: Sequence[Attribute], inplace: Sequence[int], outputs: Any) -> list[_Buffer]:
        """The buffers of a call's results, those that are not inputs being made here."""
        substitution = SymbolSubstitution(call.symbols)
        results: list[_Buffer] = []
        for t, i in zip(types, inplace, strict=True):
            if i >= 0:
                results.append(call.buffers[i])
                continue
            param: SSAValue = next(outputs)
            declared = cast(BufferType, substitution.attribute(param.type))
            shape = _buffer_type(t).dims
            fitted = declared if declared.dims == shape else declared.with_shape(shape)
            buffer = _Buffer(f"{name_of(param) or 'output'}_intermediate", fitted)
            self._local.append(buffer)
            call.buffers.append(buffer)
            results.append(buffer)
        return results

    def build(self, func: relax.FuncOp, results: Sequence[_Buffer]) -> FusedFunction:
        """The tensor function with these results."""
        inplace = tuple(self._inputs.index(r) if r in self._inputs else -1 for r in results)
        outputs = [r for r, i in zip(results, inplace, strict=True) if i < 0]
        written = {b for c in self._calls for b in c.buffers[_input_count(c) :]} | _overwritten(self._calls, self)
        self._check_results(results, outputs, written)
        block = Block(arg_types=[*(b.type for b in (*self._inputs, *outputs)), *(v.dtype for v in self._scalars)])
        handles = [f"p_{b.name}" for b in self._inputs] + [f"p_output{i}" for i in range(len(outputs))]
        handles += [str(v.name) for v in self._scalars]
        self._declare(block, outputs)
        blocks = NameSupply()
        for call in self._calls:
            _inline(call, block, blocks)
        fused = tir.FuncOp(
            func.sym_name.data,
            Region(block),
            private=func.private,
            attrs=_attributes(func),
            handle_names=ArrayAttr([StringAttr(h) for h in handles]),
        )
        return FusedFunction(fused, inplace)
