"""Record which buffer elements a tensor function reads and writes, in order, on the interpreter.

`record` runs a function, `Cache.misses` simulates a cache of a given size, and `tools/access_pictures.py`
draws the accesses.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation, SSAValue

from ..diagnostics import TiraxError, UnsupportedError, unknown_name
from ..dialects import tir
from ..dialects.names import name_of
from ..interpreter import interpret, random_inputs
from ..interpreter.compare import symbolic_vars
from ..interpreter.environment import Environment, Implementation
from ..interpreter.machine import Machine, Steps
from ..interpreter.tir import TirSemantics
from ..ir.passes.transform import module_op

MOST_ACCESSES = 1 << 20
"""Limit on recorded accesses."""


class Access(NamedTuple):
    """A read or write of an element; `element` is its row-major index, `step` its step in the `AccessPattern`."""

    step: int
    buffer: str
    element: int
    write: bool


class Memory(NamedTuple):
    """A buffer: its extents and scope (`global`, or `local` for registers)."""

    shape: tuple[int, ...]
    scope: str


@dataclass(frozen=True)
class AccessPattern:
    """The accesses of a run. A statement that stores is one step together with its reads; so is a vectorized loop."""

    buffers: Mapping[str, Memory]
    accesses: Sequence[Access]

    @property
    def steps(self) -> int:
        return self.accesses[-1].step + 1 if self.accesses else 0

    def indices(self, buffer: str, *, write: bool) -> list[tuple[int, ...]]:
        """Return the indices at which a buffer is read or written, in order. Raises `NameLookupError`."""
        if buffer not in self.buffers:
            raise unknown_name("buffer", buffer, self.buffers)
        shape = self.buffers[buffer].shape
        elements = [a.element for a in self.accesses if a.buffer == buffer and a.write == write]
        return [tuple(map(int, np.unravel_index(e, shape))) for e in elements]

    def count(self) -> Counter[str]:
        """Return the number of accesses of each buffer."""
        return Counter(a.buffer for a in self.accesses)


@dataclass(frozen=True)
class Cache:
    """A fully associative LRU cache: `lines` lines of `line` elements each.

    Buffers in the scopes `registers` bypass it.
    """

    lines: int = 512
    line: int = 16
    registers: tuple[str, ...] = ("local",)

    def misses(self, pattern: AccessPattern) -> Counter[str]:
        """Return the number of lines loaded for each buffer, counting reloads of evicted lines."""
        return Counter(buffer for (buffer, _), missed in self.run(pattern) if missed)

    def run(self, pattern: AccessPattern) -> Iterator[tuple[tuple[str, int], bool]]:
        """Yield for each access to memory its line, as (buffer, number of the line in it), and whether it missed."""
        resident = Residents(self)
        for access in pattern.accesses:
            if pattern.buffers[access.buffer].scope not in self.registers:
                yield (access.buffer, access.element // self.line), resident.touch(access)


class Residents:
    """The lines that a cache holds, updated by accesses."""

    def __init__(self, cache: Cache):
        self.cache = cache
        self.lines: OrderedDict[tuple[str, int], None] = OrderedDict()

    def touch(self, access: Access) -> bool:
        """Access an element; return whether its line had to be loaded."""
        line = (access.buffer, access.element // self.cache.line)
        missed = line not in self.lines
        self.lines[line] = None
        self.lines.move_to_end(line)
        if len(self.lines) > self.cache.lines:
            self.lines.popitem(last=False)
        return missed


def record(
    module: Any, name: str = "main", sizes: Mapping[str, int] | None = None, args: Sequence[Any] | None = None
) -> AccessPattern:
    """Run the tensor function `name` of a module and return its accesses.

    `sizes` are the values of its symbolic variables. `args` are its arguments, which matter if indices depend
    on data; they are copied, and random by default. Raises `NameLookupError` for an unknown function,
    `TiraxError` for a missing size, `UnsupportedError` for more than `MOST_ACCESSES` accesses, and what the
    interpreter raises.
    """
    functions = {f.sym_name.data: f for f in module_op(module).ops if isinstance(f, tir.FuncOp)}
    if name not in functions:
        raise unknown_name("tensor function", name, functions)
    func = functions[name]
    values = _arguments(func, sizes or {}) if args is None else list(args)
    recorder = _Recorder()
    for i, param in enumerate(func.params[: len(values)]):
        if isinstance(param.type, tir.BufferType):
            values[i] = np.array(values[i])  # memory of its own
            recorder.declare(param, values[i])
    interpret(module, name, values, vectorize=False, semantics=lambda env: _RecordingSemantics(env, recorder))
    return AccessPattern(recorder.buffers, recorder.accesses)


def _arguments(func: tir.FuncOp, sizes: Mapping[str, int]) -> list[Any]:
    missing = [str(v.name) for v in symbolic_vars(func) if v.name not in sizes]
    if missing:
        raise TiraxError("sizes of symbolic variables are missing", expected=", ".join(missing), hint="sizes={…}")
    return random_inputs(func, sizes)


@dataclass
class _Recorder:
    """Identifies arrays by the memory that they view, so that a view of a buffer maps to the buffer's elements."""

    buffers: dict[str, Memory] = field(default_factory=dict[str, Memory])
    accesses: list[Access] = field(default_factory=list[Access])
    step: int = 0
    _names: dict[int, tuple[str, Any]] = field(default_factory=dict[int, tuple[str, Any]])
    """Buffer name and memory by id; the memory is kept alive so that its id is not reused."""
    _of_value: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def declare(self, value: SSAValue, array: Any) -> str:
        """Name the memory of an array after the SSA value that represents it."""
        memory = _memory(array)
        if value not in self._of_value:
            name = name_of(value) or "buffer"
            while name in self.buffers:
                name += "'"
            self._of_value[value] = name
            scope = value.type.scope.data if isinstance(value.type, tir.BufferType) else "global"
            self.buffers[name] = Memory(tuple(map(int, memory.shape)), scope)
        self._names[id(memory)] = (self._of_value[value], memory)
        return self._of_value[value]

    def access(self, value: SSAValue, array: Any, indices: Sequence[Any], write: bool) -> None:
        memory = _memory(array)
        name = self._names[id(memory)][0] if id(memory) in self._names else self.declare(value, array)
        first = (_address(array) - _address(memory)) // array.itemsize
        strides = [s // array.itemsize for s in array.strides]
        if all(isinstance(i, np.integer) for i in indices):
            places = [first + sum(int(i) * s for i, s in zip(indices, strides, strict=False))]
        else:
            lanes = sum(np.asarray(i, np.int64) * s for i, s in zip(indices, strides, strict=False))
            places = (first + lanes).reshape(-1).tolist()
        self.accesses += [Access(self.step, name, place, write) for place in places]
        if len(self.accesses) > MOST_ACCESSES:
            raise UnsupportedError(f"recording more than {MOST_ACCESSES} accesses", hint="take smaller sizes")


def _memory(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


class _RecordingSemantics(TirSemantics):
    """The semantics of tensor functions, extended to record each access."""

    def __init__(self, env: Environment, recorder: _Recorder):
        self.recorder = recorder
        self.vector_depth = 0
        super().__init__(env, vectorize=False)

    def table(self) -> dict[type[Operation], Implementation]:
        table = super().table()
        for kind, write in ((tir.LoadOp, False), (tir.StoreOp, True)):
            table[kind] = self._noted(table[kind], write)
        for kind, write in ((tir.MaskedLoadOp, False), (tir.MaskedStoreOp, True)):
            table[kind] = self._noted_lanes(table[kind], write)
        return table

    def _noted(self, implementation: Implementation, write: bool) -> Implementation:
        def run(interpreter: Machine, op: Any, args: PythonValues) -> Any:
            result = implementation(interpreter, op, args)  # first: it refuses what is out of bounds
            array, *indices = args[1:] if write else args
            self.recorder.access(op.buffer, array, indices, write)
            self._after_statement(write)
            return result

        return run

    def _noted_lanes(self, implementation: Implementation, write: bool) -> Implementation:
        def run(interpreter: Machine, op: Any, args: PythonValues) -> Any:
            result = implementation(interpreter, op, args)
            array, index, mask = args[1:] if write else args
            self.recorder.access(op.buffer, array, [np.asarray(index)[mask]], write)
            self._after_statement(write)
            return result

        return run

    def _after_statement(self, write: bool) -> None:
        if write and not self.vector_depth:
            self.recorder.step += 1

    def loop(self, interpreter: Machine, op: tir.ForOp, _args: PythonValues) -> Steps:
        vectorized = op.kind is tir.ForKind.VECTORIZED
        self.vector_depth += vectorized
        before = len(self.recorder.accesses)
        results = yield super().loop(interpreter, op, _args)
        self.vector_depth -= vectorized
        if vectorized and not self.vector_depth and len(self.recorder.accesses) > before:
            self.recorder.step += 1
        return results

    def alloc_buffer(self, _i: Interpreter, op: tir.AllocBufferOp, _args: PythonValues) -> PythonValues:
        (array,) = super().alloc_buffer(_i, op, _args)
        self.recorder.declare(op.result, array)
        return (array,)

    def allocate(self, _i: Interpreter, op: tir.AllocateOp, _args: PythonValues) -> PythonValues:
        (array,) = super().allocate(_i, op, _args)
        self.recorder.declare(op.result, array)
        return (array,)
