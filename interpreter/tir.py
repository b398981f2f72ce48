"""Reference semantics of tir: loops and blocks over numpy arrays.

A buffer is a numpy array of its shape. A function's symbolic variables are bound at the call from the shapes of its
buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, VectorType
from xdsl.interpreter import Interpreter, PythonValues, ReturnedValues
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from ..diagnostics import UnsupportedError
from ..dialects import tir
from ..dialects.dtypes import lanes_of, numpy_dtype, scalar_of
from ..dialects.sym import ValueOp
from ..dialects.sym.expr import SymExpr, Var
from ..ir.accumulators import has_half_sums, widen_accumulators
from ..ir.affine.init_nest import InitNest, init_nests
from ..ir.functions.tir_calls import extents_of_call
from ..ir.locations import location_of
from . import scalars
from .empty_reductions import InitRun, has_nothing
from .environment import Environment, Implementation
from .foreign import ADDRESSES, call_extern, call_llvm
from .machine import Machine, Steps
from .nests import Nest, plan_nest
from .scalars import AssertionFailedError, InterpreterError
from .vectorized import run_at_once


class TirSemantics:
    """The implementations of tir's operations; `env` holds the symbolic variables of the running function.

    If `vectorize` is set, independent iterations of a nest run at once.
    """

    def __init__(self, env: Environment, *, vectorize: bool = True):
        self.env = env
        self.vectorize = vectorize
        self._nests: dict[tir.ForOp, Nest | None] = {}
        self._init_nests: dict[tir.ForOp, list[InitNest]] = {}
        self._known: dict[tir.FuncOp, tir.FuncOp] = {}
        self._implementations = self.table()

    def table(self) -> dict[type[Operation], Implementation]:
        return {
            **{cls: _binary(scalars.BINARY[name]) for name, cls in tir.BINARY.items()},
            ValueOp: self.sym_value,
            tir.ConstOp: _const,
            tir.NotOp: lambda _i, _op, args: (np.logical_not(args[0]),),
            tir.CastOp: lambda _i, op, args: (scalars.cast(args[0], op.result.type),),
            tir.ReinterpretOp: _reinterpret,
            tir.SelectOp: lambda _i, _op, args: (scalars.select(*args),),
            tir.IfThenElseOp: _if_then_else,
            tir.YieldOp: lambda _i, _op, args: ReturnedValues(args),
            tir.LoadOp: _load,
            tir.MaskedLoadOp: _masked_load,
            tir.MaskedStoreOp: _masked_store,
            tir.RampOp: _ramp,
            tir.BroadcastOp: lambda _i, op, args: (np.full(op.result.type.get_shape(), args[0]),),
            tir.CallIntrinOp: _intrinsic,
            tir.LetInOp: lambda i, op, args: i.region(op.body, args),
            tir.ReduceOp: self.reduce,
            tir.ShuffleOp: _shuffle,
            tir.CallExternOp: call_extern,
            tir.CallPureExternOp: call_extern,
            tir.CallOp: self.call_function,
            tir.CallPackedOp: self.call_packed,
            tir.CallLLVMIntrinOp: call_llvm,
            tir.CallLLVMEffectOp: call_llvm,
            tir.StringImmOp: lambda _i, op, _args: (op.value.data,),
            tir.BufferDataOp: self.buffer_data,
            tir.ForOp: self.loop,
            tir.LaunchThreadOp: _launch,
            tir.BlockOp: self.block,
            tir.ReadsOp: _nothing,
            tir.WritesOp: _nothing,
            tir.InitOp: self.init,
            tir.StoreOp: _store,
            tir.EvaluateOp: _nothing,
            tir.LetOp: lambda _i, _op, args: args,
            tir.IfOp: _if,
            tir.WhileOp: _while,
            tir.AssertOp: _assert,
            tir.AttrOp: lambda i, op, _args: i.region(op.body),
            tir.AllocBufferOp: self.alloc_buffer,
            tir.AllocateOp: self.allocate,
            tir.AllocConstOp: lambda _i, op, _args: (op.value.numpy().copy(),),
            tir.DeclBufferOp: self.decl_buffer,
            tir.MatchBufferOp: self.match_buffer,
            tir.ReturnOp: _return,
            tir.FuncOp: _nothing,
        }

    def call(self, interpreter: Machine, func: tir.FuncOp, args: PythonValues) -> Steps:
        """Run a function on buffers (arrays, written in place) and scalars, and return its scalar results."""
        func = self._known.get(func) or self._prepare(func)
        with self.env.function(func.sym_name.data):
            self.env.bind_tir(func, args)
            return (yield interpreter.region(func.body, tuple(args), func.sym_name.data))

    def _prepare(self, func: Operation) -> tir.FuncOp:
        """Return the function to run: the function itself, or a copy whose 16-bit sums accumulate in float32.

        Raises `UnsupportedError` for a function that a pass has lowered.
        """
        if not isinstance(func, tir.FuncOp):
            raise UnsupportedError(f"'{func.name}' is not interpreted: the tensor function was lowered")
        run = func
        if has_half_sums(func):
            run = func.clone()
            widen_accumulators(run)
        self._known[func] = run
        for nest in init_nests(run):
            self._init_nests.setdefault(nest.path[0], []).append(nest)
        return run

    def sym_value(self, _i: Interpreter, op: ValueOp, _args: PythonValues) -> PythonValues:
        return (scalars.of_type(self.env.evaluate(op.expr.data), op.result.type),)

    def bound(self, interpreter: Interpreter, bound: SymExpr | SSAValue) -> int:
        if isinstance(bound, SSAValue):
            return int(interpreter.get_values((bound,))[0])
        return self.env.evaluate(bound)

    def loop(self, interpreter: Machine, op: tir.ForOp, _args: PythonValues) -> Steps:
        for nest in self._init_nests.get(op, ()):
            if has_nothing(interpreter, nest, self.env):
                InitRun(interpreter, nest, self.env, self.values_of).run()
        if self.vectorize and self.loop_at_once(interpreter, op):
            return ()
        for i in self.values_of(interpreter, op):
            yield interpreter.region(op.body, (scalars.of_type(i, op.loop_var.type),), "for")
        return ()

    def loop_at_once(self, interpreter: Machine, op: tir.ForOp) -> bool:
        """Run a loop and its body at once if the result is the same; otherwise do nothing and return False."""
        if op not in self._nests:
            self._nests[op] = plan_nest(op)
        nest = self._nests[op]
        if nest is None:
            return False
        ranges = [self.values_of(interpreter, loop) for loop in nest.loops]
        return run_at_once(nest, ranges, interpreter, self._implementations, self.env)

    def values_of(self, interpreter: Interpreter, loop: tir.ForOp) -> range:
        """Return the values of a loop's variable."""
        first = self.bound(interpreter, loop.min)
        return range(first, first + self.bound(interpreter, loop.extent))

    def block(self, interpreter: Machine, op: tir.BlockOp, args: PythonValues) -> Steps:
        if op.predicate is not None and not args[-1]:
            return ()
        values = args[: len(op.bindings)]
        for value, low, extent in zip(values, op.mins, op.extents, strict=True):
            first = self.env.evaluate(low)
            if not first <= int(value) < first + self.env.evaluate(extent):
                raise InterpreterError(
                    f'an iterator of block "{op.block_name.data}" leaves its domain',
                    location=location_of(op),
                    expected=f"{first} <= value < {first + self.env.evaluate(extent)}",
                    found=int(value),
                )
        first_step = all(
            int(v) == self.env.evaluate(low)
            for v, low, kind in zip(values, op.mins, op.kinds, strict=True)
            if kind is tir.IterKind.REDUCE
        )
        self.env.first_steps.append(first_step)
        yield interpreter.region(op.body, values, op.block_name.data)
        self.env.first_steps.pop()
        return ()

    def init(self, interpreter: Machine, op: tir.InitOp, _args: PythonValues) -> Steps:
        if self.env.first_steps[-1]:
            yield interpreter.region(op.body, (), "init")
        return ()

    def reduce(self, interpreter: Machine, op: tir.ReduceOp, args: PythonValues) -> Steps:
        """Reduce the points in order; where the condition does not hold, nothing else is evaluated."""
        count = len(op.identity)
        results = list(args[count:] or args[:count])
        firsts, extents = self.env.shape(op.mins), self.env.shape(op.extents)
        for point in product(*(range(low, low + n) for low, n in zip(firsts, extents, strict=True))):
            at = tuple(scalars.of_type(v, e.dtype) for v, e in zip(point, op.extents, strict=True))
            if (yield interpreter.region(op.condition, at))[0]:
                new = []
                for source in op.sources:
                    new += yield interpreter.region(source, at)
                combined = []
                for source in op.combine:
                    combined += yield interpreter.region(source, (*results, *new))
                results = combined
        return (results[op.value_index.data],)

    def alloc_buffer(self, _i: Interpreter, op: tir.AllocBufferOp, _args: PythonValues) -> PythonValues:
        return (self.env.new_array(op.result.type),)

    def allocate(self, _i: Interpreter, op: tir.AllocateOp, _args: PythonValues) -> PythonValues:
        return (self.env.new_array(tir.BufferType.of(op.extents, op.dtype)).reshape(-1),)

    def call_function(self, interpreter: Machine, op: tir.CallOp, args: PythonValues) -> Steps:
        """Call another function of the module on the memory at these addresses."""
        callee = SymbolTable.lookup_symbol(interpreter.module, op.func.data)
        if not isinstance(callee, tir.FuncOp):
            raise InterpreterError(f"the module has no prim_func '{op.func.data}'", location=location_of(op))
        sizes = extents_of_call(op, callee)
        extents = {name: self.env.evaluate(expr) for name, expr in sizes.items() if not isinstance(expr, SSAValue)}
        extents |= {n: int(interpreter.get_values((v,))[0]) for n, v in sizes.items() if isinstance(v, SSAValue)}
        with self.env.function(op.func.data):
            self.env.variables.update(extents)
            buffers = [self._as_buffer(a, p.type) for a, p in zip(args, callee.params, strict=True)]
        results = yield self.call(interpreter, callee, tuple(buffers))
        return tuple(results) or (None,)

    def _as_buffer(self, value: Any, t: Attribute) -> Any:
        if not isinstance(t, tir.BufferType):
            return value
        shape = self.env.array_shape(t)
        return value.view(numpy_dtype(scalar_of(t.dtype)))[: int(np.prod(shape))].reshape(shape)

    def decl_buffer(self, _i: Interpreter, op: tir.DeclBufferOp, args: PythonValues) -> PythonValues:
        return (self._as_buffer(args[0], op.result.type),)

    def match_buffer(self, i: Interpreter, op: tir.MatchBufferOp, args: PythonValues) -> PythonValues:
        source, *starts = args
        extents = self.env.shape(op.extents)
        window = source[tuple(slice(int(s), int(s) + e) for s, e in zip(starts, extents, strict=True))]
        t = op.result.type
        self._define(t.dims, window.shape)
        self._define(t.explicit_strides or (), [s // window.itemsize for s in window.strides])
        if t.elem_offset is not None:
            offset = (scalars.address(window) - scalars.address(i.get_values((_root(op),))[0])) // window.itemsize
            self._define([t.elem_offset], [offset])
        rank = min(len(t.dims), window.ndim)
        self.env.bind_dims(t.dims[len(t.dims) - rank :], window.shape[window.ndim - rank :])
        return (window.reshape(self.env.shape(t.dims)),)

    def _define(self, declared: Sequence[SymExpr], actual: Sequence[int]) -> None:
        """Define the variables of a matched buffer, the last dimensions first; they get new values at each match."""
        for expr, value in zip(reversed(declared), reversed(actual), strict=False):
            if isinstance(expr, Var) and isinstance(expr.name, str):
                self.env.variables[expr.name] = value

    def buffer_data(self, i: Interpreter, op: tir.BufferDataOp, args: PythonValues) -> PythonValues:
        """Return the memory from the first element on; for a matched buffer with an offset, that of its root buffer."""
        match = op.buffer.owner
        if not isinstance(match, tir.MatchBufferOp):
            return (args[0].reshape(-1),)
        root = i.get_values((_root(match),))[0]
        offset = 0 if match.result.type.elem_offset is not None else scalars.address(args[0]) - scalars.address(root)
        return (root.reshape(-1)[offset // root.itemsize :],)

    def call_packed(self, _i: Interpreter, op: tir.CallPackedOp, args: PythonValues) -> PythonValues:
        result = self.env.packed(op.func.data)(*args)
        return (np.int32(0) if result is None else result,)


def _root(match: tir.MatchBufferOp) -> SSAValue:
    """Return the buffer at the root of a chain of matched buffers."""
    source = match.source
    return _root(source.owner) if isinstance(source.owner, tir.MatchBufferOp) else source


def _launch(interpreter: Machine, op: tir.LaunchThreadOp, args: PythonValues) -> Steps:
    """Run the threads one after the other."""
    for i in range(int(args[0])):
        yield interpreter.region(op.body, (scalars.of_type(i, op.index.type),), "launch")
    return ()


def _nothing(_i: Interpreter, _op: Operation, _args: PythonValues) -> PythonValues:
    return ()


def _binary(function: Any) -> Implementation:
    def run(_i: Interpreter, _op: Operation, args: PythonValues) -> PythonValues:
        return (function(*args),)

    return run


def _const(_i: Interpreter, op: tir.ConstOp, _args: PythonValues) -> PythonValues:
    number = op.value.value.data
    return (scalars.of_type(float(number) if isinstance(op.value, FloatAttr) else int(number), op.result.type),)


def _reinterpret(_i: Interpreter, op: tir.ReinterpretOp, args: PythonValues) -> PythonValues:
    dtype = numpy_dtype(scalar_of(op.result.type))
    if lanes_of(op.value.type) == lanes_of(op.result.type):
        return (np.asarray(args[0]).view(dtype)[()],)
    lanes = np.ascontiguousarray(np.atleast_1d(args[0])).view(dtype)
    return (lanes if lanes_of(op.result.type) > 1 else lanes[0],)


def _if_then_else(interpreter: Machine, op: tir.IfThenElseOp, args: PythonValues) -> Steps:
    return interpreter.region(op.then_region if args[0] else op.else_region)


def _is_outside(index: Any, extent: int) -> bool:
    if isinstance(index, np.integer):  # fast path for the common case: numpy's array functions take ten times as long
        return not 0 <= index < extent
    return bool(np.any(np.asarray(index) < 0) or np.any(np.asarray(index) >= extent))


def _index(op: Operation, buffer: Any, indices: PythonValues) -> tuple[Any, ...]:
    for axis, (i, extent) in enumerate(zip(indices, buffer.shape, strict=False)):
        if _is_outside(i, extent):
            lanes = _lanes_beyond_rows(buffer, indices, axis)
            if lanes is not None:
                return lanes
            raise InterpreterError(
                f"{op.name}: index out of bounds in dimension {axis}",
                location=location_of(op),
                expected=f"0 <= index < {extent}",
                found=i,
            )
    return tuple(indices)


def _lanes_beyond_rows(buffer: Any, indices: PythonValues, axis: int) -> tuple[Any, ...] | None:
    """Return the elements of a vector that leaves its row, or None for other indices.

    A vector is a part of memory, which goes on in the next rows: the default schedule stores several rows at once.
    """
    lanes = indices[axis]
    is_vector = isinstance(lanes, np.ndarray) and lanes.ndim == 1 and axis == buffer.ndim - 1 > 0
    if not is_vector or len(indices) != buffer.ndim or any(np.ndim(i) for i in indices[:axis]):
        return None
    row = 0
    for i, extent in zip(indices[:axis], buffer.shape, strict=False):
        row = row * extent + int(i)
    places = row * buffer.shape[axis] + lanes
    return None if _is_outside(places, buffer.size) else tuple(np.unravel_index(places, buffer.shape))


def _load(_i: Interpreter, op: tir.LoadOp, args: PythonValues) -> PythonValues:
    buffer, *indices = args
    return (buffer[_index(op, buffer, tuple(indices))],)


def _masked_load(_i: Interpreter, op: tir.MaskedLoadOp, args: PythonValues) -> PythonValues:
    buffer, index, mask = args
    lanes = np.zeros(len(mask), buffer.dtype)
    lanes[mask] = buffer[_index(op, buffer, (np.asarray(index)[mask],))]
    return (lanes,)


def _masked_store(_i: Interpreter, op: tir.MaskedStoreOp, args: PythonValues) -> PythonValues:
    value, buffer, index, mask = args
    buffer[_index(op, buffer, (np.asarray(index)[mask],))] = value[mask]
    return ()


def _store(_i: Interpreter, op: tir.StoreOp, args: PythonValues) -> PythonValues:
    value, buffer, *indices = args
    buffer[_index(op, buffer, tuple(indices))] = value
    return ()


def _ramp(_i: Interpreter, op: tir.RampOp, args: PythonValues) -> PythonValues:
    base, stride = args
    lanes = np.arange(op.result.type.get_shape()[0]).astype(scalars.as_array(base).dtype)
    return (base + lanes * stride,)


def _lane_mask(op: tir.CallIntrinOp, args: PythonValues) -> np.ndarray:
    """Return which of the numbers from a base on are below a limit, as if no sum overflowed."""
    base, limit = (int(a) for a in args)
    return np.array([base + lane < limit for lane in range(lanes_of(op.result.type))])


def _shuffle(_i: Interpreter, op: tir.ShuffleOp, args: PythonValues) -> PythonValues:
    lanes = np.concatenate([np.atleast_1d(a) for a in args])[[i.data for i in op.lanes]]
    return (lanes if isinstance(op.result.type, VectorType) else lanes[0],)


def _intrinsic(i: Interpreter, op: tir.CallIntrinOp, args: PythonValues) -> PythonValues:
    address = ADDRESSES.get(op.func.data)
    if address is not None:
        return (address(i, op, args),)
    if op.func.data == "get_active_lane_mask":
        return (_lane_mask(op, args),)
    function = scalars.INTRINSICS.get(op.func.data)
    if function is None:
        raise InterpreterError(f"the intrinsic '{op.func.data}' has no reference semantics", location=location_of(op))
    result = function(*args)
    return (result.astype(numpy_dtype(scalar_of(op.result.type))) if op.func.data in scalars.COUNTS else result,)


def _if(interpreter: Machine, op: tir.IfOp, args: PythonValues) -> Steps:
    region = op.then_region if args[0] else op.else_region
    if region.first_block is not None:
        yield interpreter.region(region)
    return ()


def _while(interpreter: Machine, op: tir.WhileOp, _args: PythonValues) -> Steps:
    while (yield interpreter.region(op.cond_region))[0]:
        yield interpreter.region(op.body)
    return ()


def _return(_i: Interpreter, op: tir.ReturnOp, args: PythonValues) -> ReturnedValues:
    if not op.is_last:
        raise UnsupportedError("a function that ends inside of a statement", location=location_of(op))
    return ReturnedValues(args)


def _assert(_i: Interpreter, op: tir.AssertOp, args: PythonValues) -> PythonValues:
    if not args[0]:
        raise AssertionFailedError(f"assertion failed: {op.message.data}", location=location_of(op))
    return ()
