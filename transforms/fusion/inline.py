"""Fusion of a primitive Relax function into one tensor function: the bodies of its calls in turn, on shared buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, StringAttr, TupleType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import ShapeError
from ...dialects import relax, tir
from ...dialects.attributes import PyValue
from ...dialects.names import name_of, set_name
from ...dialects.quick import clone, operations
from ...dialects.relax import PrimType, ShapeType, TensorType
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import BufferType
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.names import NameSupply, fresh_suffix
from ...ir.rewriting.edit import erase
from ...ir.rewriting.substitute import SymbolSubstitution
from .outline import PRIMITIVE

FunctionLookup = Callable[[str], Operation | None]


_SCALAR_TYPES: dict[Attribute, IntegerType] = {i32: i32, i64: i64}


class NotFusable(Exception):
    """The reason why a primitive function cannot become one tensor function."""


@dataclass(frozen=True)
class FusedFunction:
    """A tensor function and its calling convention: fields of tuples and shapes are passed one by one.

    `inplace` gives for each result the position of the input buffer that holds it, or -1 for a separate buffer. `kept`
    tells for each passed tensor whether it is an input: unused fields of tuples are dropped.
    """

    func: tir.FuncOp
    inplace: tuple[int, ...]
    kept: tuple[bool, ...]


def fuse_function(func: relax.FuncOp, functions: FunctionLookup) -> FusedFunction:
    """Return the tensor function equivalent to the primitive function `func`.

    Its parameters are the buffers of the inputs, those of the results, then scalars. Intermediate values are buffers
    that it allocates. Raises `NotFusable` if it contains anything but calls of tensor functions, or if these do not
    match.
    """
    fuser = _Fuser(functions)
    for param in func.params:
        fuser.parameter(param)
    for op in func.body.block.ops:
        fuser.binding(op)
    return fuser.build(func, fuser.buffers_of(func.return_op.value))


@dataclass(eq=False)
class _Buffer:
    """A buffer of the fused function; its origin determines where it is declared."""

    name: str
    type: BufferType
    constant: relax.ConstantOp | None = None
    value: SSAValue | None = None
    param: SSAValue | None = None

    def stand_for(self, param: SSAValue) -> None:
        """Take over the axis separators of a parameter that it is passed for. Raises `ShapeError` on a conflict."""
        t = cast(BufferType, param.type)
        if self.param is None and self.constant is None:
            self.type = self.type.with_separators(s.data for s in t.separators)
        elif self.type.separators != t.separators:
            before, now = (name_of(p) if p is not None else self.name for p in (self.param, param))
            raise ShapeError(
                f"Inconsistent buffers {before} and {now} mapped to the same relax var: {self.name}",
                expected=f"axis separators {[s.data for s in self.type.separators]}",
                found=[s.data for s in t.separators],
                hint="functions that share a buffer must have the same axis separators for it",
            )
        self.param = param


@dataclass(eq=False)
class _Call:
    """A call of a tensor function, with its parameters and symbolic variables mapped to the fused function."""

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
        self._fields: set[_Buffer] = set()
        self._scalars: list[Var] = []
        self._local: list[_Buffer] = []
        self._calls: list[_Call] = []
        self._values: dict[SSAValue, list[_Buffer]] = {}
        self._overwritten: set[_Buffer] = set()

    def buffers_of(self, value: SSAValue) -> list[_Buffer]:
        """Return the buffers of a value: one for a tensor, those of the fields for a tuple."""
        buffers = self._values.get(value)
        if buffers is None:
            raise NotFusable(f"it uses a value of {value.type}")
        return buffers

    def parameter(self, param: SSAValue) -> None:
        """Add a parameter of the Relax function: buffers, or symbolic variables."""
        name = name_of(param) or f"param_{len(self._inputs)}"
        if isinstance(param.type, ShapeType) and param.type.dims is not None:
            self._add_scalars(param.type.dims)
        elif isinstance(param.type, PrimType) and param.type.expr is not None:
            self._add_scalars([param.type.expr])
        else:
            self._values[param] = self._input_buffers(name, param.type)

    def _input_buffers(self, name: str, t: Attribute) -> list[_Buffer]:
        if isinstance(t, TupleType):
            fields = [b for i, f in enumerate(t.types) for b in self._input_buffers(f"{name}_{i}", f)]
            self._fields.update(fields)
            return fields
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
        """Process one op of the Relax function."""
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
        """Ignore terminators, and shapes, whose dimensions are in types."""

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
        if callee.ret_type is not None or any(isinstance(o, tir.ReturnOp) for o in callee.body.walk()):
            raise NotFusable(f"@{op.callee_name} returns a value")
        args = [self._single(a) for a in op.call_args]
        inplace = op.indices if isinstance(op, relax.CallTIRInplaceOp) else [-1] * len(op.output_types)
        params = list(callee.params)
        new = sum(i < 0 for i in inplace)
        inputs, outputs, rest = params[: len(args)], params[len(args) : len(args) + new], params[len(args) + new :]
        scalars = [d.data for d in op.tir_vars] if op.tir_vars is not None else []
        matcher = _Matcher(callee)
        for param, arg in zip(inputs, args, strict=True):
            matcher.extents(param, arg.type)
            arg.stand_for(param)
        new_types = [t for t, i in zip(op.output_types, inplace, strict=True) if i < 0]
        for param, t in zip(outputs, new_types, strict=True):
            matcher.extents(param, _buffer_type(t))
        for param, size in zip(rest, scalars, strict=True):
            matcher.scalar(param, size)
        matcher.check(callee)
        call = _Call(callee, list(args), scalars, matcher.symbols)
        self._allocate(call)
        self._values[op.result] = self._results(call, op.output_types, inplace, outputs)
        self._calls.append(call)

    def _single(self, value: SSAValue) -> _Buffer:
        buffers = self.buffers_of(value)
        if len(buffers) != 1:
            raise NotFusable("it passes a tuple to a tensor function")
        return buffers[0]

    def _allocate(self, call: _Call) -> None:
        """Allocate the function-level buffers of the callee in the fused function."""
        substitution = SymbolSubstitution(call.symbols)
        for op in call.callee.body.block.ops:
            if isinstance(op, tir.AllocBufferOp):
                t = cast(BufferType, substitution.attribute(op.result.type))
                buffer = _Buffer(name_of(op.result) or "buffer", t)
                call.allocated.append((op, buffer))
                self._local.append(buffer)

    def _results(
        self, call: _Call, types: Sequence[Attribute], inplace: Sequence[int], params: Sequence[SSAValue]
    ) -> list[_Buffer]:
        """Return the buffers of a call's results, creating those that are not inputs, one for each of `params`."""
        results: list[_Buffer] = []
        rest = iter(params)
        for t, i in zip(types, inplace, strict=True):
            if i >= 0:
                self._overwritten.add(call.buffers[i])
                results.append(call.buffers[i])
                continue
            param = next(rest)
            shape = _buffer_type(t).dims
            buffer = _Buffer(
                f"{name_of(param) or 'output'}_intermediate", cast(BufferType, param.type).with_shape(shape)
            )
            buffer.stand_for(param)
            self._local.append(buffer)
            call.buffers.append(buffer)
            results.append(buffer)
        return results

    def build(self, func: relax.FuncOp, results: Sequence[_Buffer]) -> FusedFunction:
        """Return the tensor function with these results."""
        kept = self._drop_unused_fields(results)
        position = {b: i for i, b in enumerate(self._inputs)}
        inplace = tuple(position.get(r, -1) for r in results)
        outputs = [r for r in results if r not in position]
        self._check_results(func, results)
        block = Block(arg_types=[*(b.type for b in (*self._inputs, *outputs)), *(v.dtype for v in self._scalars)])
        self._declare(block, outputs)
        blocks = NameSupply()
        args = list(block.args)[len(self._inputs) + len(outputs) :]
        scalars = {v: Var(arg, v.dtype) for v, arg in zip(self._scalars, args, strict=True)}
        for call in self._calls:
            _inline(call, block, blocks, scalars)
        handles = [f"p_{b.name}" for b in self._inputs] + [f"p_output{i}" for i in range(len(outputs))]
        handles += [str(v.name) for v in self._scalars]
        name = func.sym_name.data
        attrs = function_attrs(func)
        fused = tir.FuncOp(name, Region(block), private=True, attrs=attrs, handle_names=handles)
        return FusedFunction(fused, inplace, kept)

    def _drop_unused_fields(self, results: Sequence[_Buffer]) -> tuple[bool, ...]:
        """Remove inputs that are unused fields of tuples; return which inputs stay."""
        used = {*results, *(b for call in self._calls for b in call.buffers)}
        kept = tuple(b in used or b not in self._fields for b in self._inputs)
        self._inputs = [b for b, stays in zip(self._inputs, kept, strict=True) if stays]
        return kept

    def _check_results(self, func: relax.FuncOp, results: Sequence[_Buffer]) -> None:
        types = func.ret_type.types.data if isinstance(func.ret_type, TupleType) else (func.ret_type,)
        if not all(isinstance(t, TensorType) for t in types):
            raise NotFusable(f"it returns {func.ret_type}")
        if len(set(results)) != len(results):
            raise NotFusable("it returns one value twice")
        if any(r.constant is not None for r in results):
            raise NotFusable("it returns a constant")
        if any(r in self._inputs and r not in self._overwritten for r in results):
            raise NotFusable("it returns a parameter")

    def _declare(self, block: Block, outputs: Sequence[_Buffer]) -> None:
        """Name the parameters, and allocate buffers that are neither parameters nor results; named as TVM prints."""
        taken: set[str] = set()
        params = [*self._inputs, *outputs]
        for buffer, arg in zip(params, block.args, strict=False):
            buffer.value = arg
            set_name(arg, fresh_suffix(buffer.name, taken))
        for scalar, arg in zip(self._scalars, block.args[len(params) :], strict=True):
            set_name(arg, fresh_suffix(str(scalar.name), taken))
        for buffer in self._local:
            if buffer.value is not None:
                continue
            constant = buffer.constant
            alloc = tir.AllocBufferOp(buffer.type) if constant is None else tir.AllocConstOp(constant.value)
            block.add_op(alloc)
            buffer.value = alloc.results[0]
            set_name(buffer.value, fresh_suffix(buffer.name, taken))


_BINDINGS: dict[type[Operation], Callable[[_Fuser, Any], None]] = {
    relax.DataflowOp: _Fuser.dataflow,
    relax.OutputOp: _Fuser.skip,
    relax.ReturnOp: _Fuser.skip,
    relax.ShapeOp: _Fuser.skip,
    relax.ConstantOp: _Fuser.constant,
    relax.BindOp: _Fuser.alias,
    relax.TupleOp: _Fuser.tuple_,
    relax.TupleGetItemOp: _Fuser.tuple_get_item,
    relax.CallTIROp: _Fuser.call,
    relax.CallTIRInplaceOp: _Fuser.call,
}


def function_attrs(func: relax.FuncOp) -> dict[str, PyValue]:
    """Return the attributes of the tensor function: those of the Relax one except `Primitive`, and `tir.noalias`."""
    attrs = func.func_attrs.data.items() if func.func_attrs is not None else ()
    kept: dict[str, PyValue] = {k: v for k, v in attrs if k not in (PRIMITIVE, "tir.noalias")}
    return {**kept, "tir.noalias": True}


def _buffer_type(t: Attribute) -> BufferType:
    if not isinstance(t, TensorType) or t.dims is None or t.element is None:
        raise NotFusable(f"it has a value of {t}, which is no tensor of known shape and dtype")
    return BufferType.of(t.dims, t.element)


def _leaves(t: Attribute) -> int:
    return sum(_leaves(f) for f in t.types) if isinstance(t, TupleType) else 1


class _Matcher:
    """Bindings of a callee's symbolic variables at a call."""

    def __init__(self, callee: tir.FuncOp):
        self._name = callee.sym_name.data
        self.symbols: dict[Var, SymExpr] = {}
        self._expected: list[tuple[SymExpr, SymExpr]] = []

    def extents(self, param: SSAValue, actual: BufferType) -> None:
        """Match a buffer parameter with a buffer of type `actual`."""
        t = param.type
        if not isinstance(t, BufferType):
            raise NotFusable(f"@{self._name} takes {t} where it is given a tensor")
        if t.explicit_strides is not None or t.elem_offset is not None:
            raise NotFusable(f"@{self._name} gives {name_of(param)} a layout of its own")
        if t.rank != actual.rank or t.dtype != actual.dtype:
            raise NotFusable(f"@{self._name} takes {t} and is given {actual}")
        for declared, size in zip(t.dims, actual.dims, strict=True):
            self.extent(declared, size)

    def extent(self, declared: SymExpr, actual: SymExpr) -> None:
        if isinstance(declared, Var) and declared not in self.symbols:
            if declared.dtype != actual.dtype:
                raise NotFusable(f"the variable {declared} of @{self._name} is of {declared.dtype}, not {actual.dtype}")
            self.symbols[declared] = actual
        else:
            self._expected.append((declared, actual))

    def scalar(self, param: SSAValue, actual: SymExpr) -> None:
        """Bind a scalar parameter, and the symbolic variable of its name, to `actual`."""
        dtype = _SCALAR_TYPES.get(param.type)
        if dtype is None:
            raise NotFusable(f"@{self._name} takes a scalar of {param.type}")
        self.extent(Var(name_of(param) or "", dtype), actual)

    def check(self, callee: tir.FuncOp) -> None:
        """Check that every variable in a buffer of the callee is bound, and that constant extents agree."""
        for declared, actual in self._expected:
            here = declared.substitute(self.symbols).constant
            if here is not None and actual.constant is not None and here != actual.constant:
                raise NotFusable(f"@{self._name} takes an extent of {here} and is given {actual}")
        params = set(callee.params)
        buffers = [v.type for v in (*params, *(r for op in operations(callee) for r in op.results))]
        for t in buffers:
            for v in (v for e in t.exprs() for v in e.free_vars()) if isinstance(t, BufferType) else ():
                if v not in self.symbols:
                    raise NotFusable(f"nothing determines the variable {v} of @{self._name}")


def _inline(call: _Call, block: Block, names: NameSupply, scalars: Mapping[Var, SymExpr]) -> None:
    """Copy the body of a callee to the end of `block`, with scalar parameters as values."""
    values: dict[SSAValue, SSAValue] = {}
    params = call.callee.params
    for param, buffer in zip(params, call.buffers, strict=False):
        values[param] = cast(SSAValue, buffer.value)
    for param, expr in zip(params[len(call.buffers) :], call.scalars, strict=True):
        if param.first_use is not None:
            values[param] = Materializer(block.add_op)(expr.substitute(scalars))
    for op, buffer in call.allocated:
        values[op.result] = cast(SSAValue, buffer.value)
    substitution = SymbolSubstitution(call.symbols) if _renames(call.symbols) else None
    for op in call.callee.body.block.ops:
        if isinstance(op, tir.AllocBufferOp):
            continue
        copy = clone(op, values)
        block.add_op(copy)
        if substitution is not None:
            substitution.operation(copy)
        for inner in operations(copy):
            if isinstance(inner, tir.BlockOp):
                inner.block_name = StringAttr(names.fresh(inner.block_name.data))
                _drop_repeated_regions(inner)


def _drop_repeated_regions(block: tir.BlockOp) -> None:
    """Merge equal read regions of two parameters that are now the same buffer."""
    seen: set[tuple[type[Operation], SSAValue, tuple[SymExpr, ...], tuple[SymExpr, ...]]] = set()
    for op in [*block.reads, *block.writes]:
        key = (type(op), op.buffer, tuple(map(sym_expr_of, op.starts)), tuple(op.extents))
        if key in seen:
            erase(op)
        seen.add(key)


def _renames(symbols: Mapping[Var, SymExpr]) -> bool:
    return any(v != e for v, e in symbols.items())
