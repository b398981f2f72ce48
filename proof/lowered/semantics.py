"""Symbolic semantics of memory, vectors, control and calls below tir, by the names of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, ModuleOp, SymbolRefAttr
from xdsl.interpreter import PythonValues, ReturnedValues
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from ...interpreter.environment import TableFunctions
from ...interpreter.machine import Machine, Steps
from ..algebra import Algebra, Level
from ..functions import FUNCTIONS, load
from ..history import History
from ..semantics import SymbolicEnvironment
from ..terms import NotCoveredError, Terms, is_unknown
from .arithmetic import ARITHMETIC, constant, dense
from .values import Address, Slots, Value, dtype_of, evaluated, number, place, stored

Implementation = Callable[..., Any]
PARALLEL_FOR = "tirax_parallel_for"
"""Runs a function on ranges of iterations, by the threads of the pool (`lowering/tir_to_scf/outline.py`)."""


class Lowered:
    """The implementations on terms of one module."""

    def __init__(self, algebra: Algebra, side: str):
        self.env = SymbolicEnvironment(algebra, side)
        self.algebra = algebra

    def machine(self, module: ModuleOp, roots: Sequence[Operation]) -> Machine:
        """Return an interpreter of the operations of a module; those without semantics raise when they run."""
        table = {type(op): self._implementation(op) for op in module.walk()}
        machine = Machine(module)
        history = self.algebra.history
        functions = table if history is None else {c: _placed(f, history) for c, f in table.items()}
        machine.register_implementations(TableFunctions(functions))
        return machine

    def _implementation(self, op: Operation) -> Implementation:
        if op.name in ARITHMETIC:
            function = ARITHMETIC[op.name]
            return lambda _i, each, args: (function(each, *args),)
        own = self.table().get(op.name)
        return own if own is not None else _refuse

    def table(self) -> dict[str, Implementation]:
        return {
            "arith.constant": lambda _i, op, _args: (constant(op),),
            "memref.alloca": self._allocate,
            "memref.alloc": self._allocate,
            "memref.dealloc": _nothing,
            "memref.cast": lambda _i, _op, args: (args[0],),
            "memref.get_global": self._global,
            "memref.load": self._load,
            "memref.store": self._store,
            "memref.extract_aligned_pointer_as_index": lambda _i, _op, args: (Address(args[0]),),
            "llvm.inttoptr": lambda _i, _op, args: (args[0],),
            "builtin.unrealized_conversion_cast": _memory_at,
            "vector.load": self._vector_load,
            "vector.store": self._vector_store,
            "vector.maskedload": self._masked_load,
            "vector.maskedstore": self._masked_store,
            "vector.create_mask": _create_mask,
            "vector.broadcast": self._broadcast,
            "vector.extract": _extract,
            "vector.insert": self._insert,
            "vector.shuffle": self._shuffle,
            "vector.reduction": self._reduction,
            "scf.for": _for,
            "scf.if": self._if,
            "scf.while": _while,
            "scf.condition": lambda _i, _op, args: ReturnedValues(args),
            "scf.yield": lambda _i, _op, args: ReturnedValues(args),
            "scf.reduce": lambda _i, _op, _args: ReturnedValues(()),
            "scf.parallel": _parallel,
            "func.return": lambda _i, _op, args: ReturnedValues(args),
            "func.constant": lambda _i, op, _args: (op.properties["value"],),
            "func.call": _call,
        }

    def _allocate(self, _i: Machine, op: memref.AllocaOp, args: PythonValues) -> PythonValues:
        rest = iter(args)
        shape = [int(next(rest)) if d == DYNAMIC_INDEX else d for d in op.memref.type.get_shape()]  # pyright: ignore[reportAttributeAccessIssue]
        dtype = dtype_of(op.memref.type)
        if dtype == np.int64 and len(shape) == 1:
            return (Slots(shape[0]),)
        return (self.env.unwritten(dtype, shape),)

    def _global(self, i: Machine, op: Any, _args: PythonValues) -> PythonValues:
        name = op.name_.root_reference.data
        found: Any = SymbolTable.lookup_symbol(i.module, name)
        value = getattr(found, "initial_value", None)
        if not isinstance(value, DenseIntOrFPElementsAttr):
            raise NotCoveredError(f"the memory of @{name}")
        return (Terms.lift(self.algebra, dense(value, dtype_of(found.type))),)

    def _load(self, _i: Machine, _op: Any, args: PythonValues) -> PythonValues:
        memory, *indices = args
        if any(map(is_unknown, indices)):
            return (load(_terms(memory), indices),)
        at = place(memory, indices)
        if isinstance(memory, Slots):
            if memory.values[at[0]] is None:
                raise NotCoveredError("a slot that nothing wrote is read")
            return (memory.values[at[0]],)
        return (_plain(memory[at]),)

    def _store(self, _i: Machine, _op: Any, args: PythonValues) -> PythonValues:
        value, memory, *indices = args
        at = place(memory, indices)
        if isinstance(memory, Slots):
            memory.values[at[0]] = value
        elif isinstance(value, Address):
            raise NotCoveredError("an address is stored as a number")
        else:
            memory[at] = stored(value, memory.dtype)
        return ()

    def _vector_load(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        memory, *indices = args
        lanes = op.result.type.get_shape()[-1]
        if any(map(is_unknown, indices)):
            own = [*indices[:-1], indices[-1] + np.arange(lanes)]
            return (load(_terms(memory), own).reshape(op.result.type.get_shape()),)
        return (_plain(_terms(memory)[place(memory, indices, lanes)].reshape(op.result.type.get_shape())),)

    def _vector_store(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        value, memory, *indices = args
        lanes = op.vector.type.get_shape()[-1]
        at = place(memory, indices, lanes)
        kept = stored(value, memory.dtype)
        _terms(memory)[at] = kept if lanes > 1 else kept[0]
        return ()

    def _masked_load(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        memory, *indices, mask, rest = args
        active = np.flatnonzero(number(mask))
        lanes = Terms.lift(self.algebra, rest).copy() if not isinstance(rest, Terms) else rest.copy()
        for lane in active.tolist():
            at = [*indices[:-1], indices[-1] + lane]
            by_data = any(map(is_unknown, indices))
            element = load(_terms(memory), at) if by_data else _terms(memory)[place(memory, at)]
            lanes[lane] = stored(element, lanes.dtype)
        return (_plain(lanes),)

    def _masked_store(self, _i: Machine, _op: Any, args: PythonValues) -> PythonValues:
        memory, *indices, mask, value = args
        for lane in np.flatnonzero(number(mask)).tolist():
            at = [*indices[:-1], int(number(indices[-1])) + lane]
            _terms(memory)[place(memory, at)] = stored(value[lane], memory.dtype)
        return ()

    def _broadcast(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        (value,) = args
        shape = op.vector.type.get_shape()
        return (
            FUNCTIONS[np.broadcast_to](self.algebra, value, shape)
            if isinstance(value, Terms)
            else np.full(shape, value),
        )

    def _insert(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        source, into, *dynamic = args
        result = Terms.lift(self.algebra, into).copy()
        result[_position(op, dynamic)] = stored(source, result.dtype)
        return (_plain(result),)

    def _shuffle(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        lanes = np.asarray(op.mask.get_values())
        a, b = args
        if not (isinstance(a, Terms) or isinstance(b, Terms)):
            return (np.concatenate([a, b])[lanes],)
        joined = FUNCTIONS[np.concatenate](self.algebra, [Terms.lift(self.algebra, v) for v in (a, b)])
        return (_plain(joined[lanes]),)

    def _reduction(self, _i: Machine, op: Any, args: PythonValues) -> PythonValues:
        """Reduce lanes: of floats in an order that LLVM chooses, which is no function bit by bit."""
        kind = op.kind.data.value
        name = _REDUCTIONS.get(kind)
        if name is None:
            raise NotCoveredError(f"the reduction '{kind}'")
        vector, *start = args
        if not isinstance(vector, Terms) or not is_unknown(vector):
            total = getattr(np, name).reduce(np.asarray(number(vector)))
        elif vector.algebra.level is Level.BITS and vector.dtype.kind not in "iub":
            total = vector[0].call(f"tree of {name}", *(vector[i] for i in range(1, len(vector))))
        else:
            total = getattr(np, name).reduce(vector)
        for value in start:
            total = evaluated(name, value, total)
        return (total,)

    def _if(self, interpreter: Machine, op: Any, args: PythonValues) -> Steps:
        """Run a branch; where data choose it, run both, and select between what they wrote and returned."""
        if not is_unknown(args[0]):
            return (yield from _branch(interpreter, op.true_region if number(args[0]) else op.false_region))
        memories = [interpreter.get_values((m,))[0] for m in _written(op)]
        if any(isinstance(m, Slots) for m in memories):
            raise NotCoveredError("data decide which number is stored")
        before = [m.copy() for m in memories]
        chosen = yield from _branch(interpreter, op.true_region)
        written = [m.copy() for m in memories]
        for memory, old in zip(memories, before, strict=True):
            memory[...] = old
        other = yield from _branch(interpreter, op.false_region)
        for memory, value in zip(memories, written, strict=True):
            memory[...] = FUNCTIONS[np.where](self.algebra, args[0], value, memory)
        return tuple(ARITHMETIC["arith.select"](op, args[0], a, b) for a, b in zip(chosen, other, strict=True))


_REDUCTIONS = {
    "add": "add", "mul": "multiply", "maxsi": "maximum", "minsi": "minimum", "maximumf": "maximum",
    "minimumf": "minimum", "maxnumf": "maximum", "minnumf": "minimum",
}  # fmt: skip


def _placed(function: Implementation, history: History) -> Implementation:
    def run(i: Machine, op: Operation, args: PythonValues) -> Any:
        history.place = op
        return function(i, op, args)

    return run


def _refuse(_i: Machine, op: Operation, _args: PythonValues) -> PythonValues:
    raise NotCoveredError(f"{op.name} has no symbolic semantics")


def _nothing(_i: Machine, _op: Operation, _args: PythonValues) -> PythonValues:
    return ()


def _plain(value: Terms) -> Value:
    """Return numbers for terms that are all known, in memory of their own."""
    if is_unknown(value) or value.data["unwritten"].any():
        return value.copy()
    return number(value)


def _terms(memory: Any) -> Terms:
    if not isinstance(memory, Terms):
        raise NotCoveredError("a vector of addresses")
    return memory


def _memory_at(_i: Machine, _op: Operation, args: PythonValues) -> PythonValues:
    if not isinstance(args[0], Address):
        raise NotCoveredError("an address that is computed")
    return (args[0].memory,)


def _create_mask(_i: Machine, op: Any, args: PythonValues) -> PythonValues:
    shape = op.mask_vector.type.get_shape()
    if len(shape) != 1:
        raise NotCoveredError("a mask of several dimensions")
    return (np.arange(shape[0]) < int(number(args[0])),)


def _position(op: Any, dynamic: Sequence[Any]) -> tuple[int, ...]:
    rest = iter(dynamic)
    places = op.static_position.get_values()
    return tuple(int(number(next(rest))) if p == DYNAMIC_INDEX else p for p in places)


def _extract(_i: Machine, op: Any, args: PythonValues) -> PythonValues:
    vector, *dynamic = args
    part = vector[_position(op, dynamic)]
    return (_plain(part) if isinstance(part, Terms) else part,)


def _branch(interpreter: Machine, region: Region) -> Steps:
    return (yield interpreter.region(region)) if region.blocks else ()


def _for(interpreter: Machine, op: Any, args: PythonValues) -> Steps:
    low, high, step = (int(number(a)) for a in args[:3])
    if step <= 0:
        raise NotCoveredError("a loop without steps")
    kept = tuple(args[3:])
    for i in range(low, high, step):
        kept = yield interpreter.region(op.body, (np.int64(i), *kept), "for")
    return tuple(kept)


def _while(interpreter: Machine, op: Any, args: PythonValues) -> Steps:
    values = tuple(args)
    while True:
        condition, *values = yield interpreter.region(op.before_region, tuple(values))
        if not bool(number(condition)):
            return tuple(values)
        values = yield interpreter.region(op.after_region, tuple(values))


def _parallel(interpreter: Machine, op: Any, args: PythonValues) -> Steps:
    """Run the iterations of a parallel loop, the last first: an order that none may need."""
    rank = len(op.lowerBound)
    if op.initVals or rank != 1:
        raise NotCoveredError("a parallel loop with results, or of several dimensions")
    low, high, step = (int(number(a)) for a in args)
    for i in reversed(range(low, high, step)):
        yield interpreter.region(op.body, (np.int64(i),), "parallel")
    return ()


def _call(interpreter: Machine, op: Any, args: PythonValues) -> Steps:
    name = op.callee.string_value()
    if name == PARALLEL_FOR:
        function, context, low, high = args[:4]
        low, high = int(number(low)), int(number(high))
        middle = low + (high - low) // 2
        for first, last in ((middle, high), (low, middle)):  # threads run ranges in any order
            if first < last:
                yield from _run(interpreter, function, (context, np.int64(first), np.int64(last)))
        return ()
    return (yield from _run(interpreter, op.callee, args))


def _run(interpreter: Machine, callee: SymbolRefAttr, args: PythonValues) -> Steps:
    found = SymbolTable.lookup_symbol(interpreter.module, callee)
    region = getattr(found, "body", None)
    if not isinstance(region, Region) or len(region.blocks) != 1:
        raise NotCoveredError(f"the function @{callee.string_value()} is not in the program, or jumps")
    return (yield interpreter.region(region, tuple(args), callee.string_value()))


def _written(op: Any) -> list[SSAValue]:
    """Return the memory from outside that the branches write. Raises `NotCoveredError` for other effects."""
    written = dict[SSAValue, None]()
    for inner in op.walk():
        if inner.name in ("memref.store", "vector.store", "vector.maskedstore"):
            written[inner.operands[inner.name != "vector.maskedstore"]] = None
        elif inner.name in ("func.call", "scf.while", "scf.parallel"):
            raise NotCoveredError(f"data decide whether {inner.name} runs")
    return [m for m in written if not op.is_ancestor(m.owner)]


def named_function(module: ModuleOp, name: str) -> Operation | None:
    """Return the lowered function of a name, with a body of one block, or None."""
    found = SymbolTable.lookup_symbol(module, name)
    region = getattr(found, "body", None)
    return found if isinstance(region, Region) and len(region.blocks) == 1 and found.name == "func.func" else None  # pyright: ignore[reportOptionalMemberAccess]
