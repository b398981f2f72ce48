"""Accesses of memory that threads share, statement by statement, as TVM summarizes them.

A statement's summary lists what it reads and writes, and where it waits. Loops and branches summarize their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....ir.rewriting.copy import is_expression

READ, WRITE, SYNC = "read", "write", "sync"


@dataclass(frozen=True)
class Access:
    """An access of memory, or a barrier. An index is None where it takes more than one value."""

    kind: str
    memory: SSAValue | None = None
    indices: tuple[SSAValue | None, ...] = ()
    thread: SSAValue | None = None
    """The index of the innermost thread around."""
    ahead: bool = False
    """True if the access fills the half of a double buffer that is read in the next iteration."""


Entry = tuple[Operation, list[Access]]
Summarize = Callable[[list[Entry], tir.ForOp | None], list[Access]]


def memory_of(buffer: SSAValue) -> SSAValue:
    """Return the address of a buffer's memory; a buffer that is an allocation stands for it."""
    owner = buffer.owner
    return owner.operands[0] if isinstance(owner, tir.DeclBufferOp) else buffer


def scope_of(memory: SSAValue) -> str:
    """Return the scope of memory, by its buffer or its address."""
    t = memory.type
    return t.scope.data if isinstance(t, tir.BufferType | tir.HandleType) else "global"


def uses_value(value: SSAValue, variable: SSAValue) -> bool:
    """Return whether an expression uses a variable."""
    if value is variable:
        return True
    owner = value.owner
    if not isinstance(owner, Operation) or not is_expression(owner):
        return False
    return any(uses_value(v, variable) for v in owner.operands)


class AccessVisitor:
    """Summarizes what runs on a device in one scope of memory; `summarize` decides where barriers go."""

    def __init__(self, scope: str, summarize: Summarize):
        self.scope, self.summarize = scope, summarize
        self.threads: list[SSAValue] = []
        self.conditions = 0
        self.on_device = False
        self.filled: SSAValue | None = None

    def block(self, block: Block) -> list[Entry]:
        """Return the summaries of a block's statements."""
        return [entry for op in block.ops if not is_expression(op) for entry in self._statement(op)]

    def _statement(self, op: Operation) -> Iterator[Entry]:
        match op:
            case tir.ForOp():
                yield from self._loop(op)
            case tir.IfOp() | tir.WhileOp():
                yield op, self._branch(op)
            case tir.LaunchThreadOp():
                yield from self._launch(op)
            case tir.AttrOp():
                yield from self._attribute(op)
            case tir.EvaluateOp():
                found = self._accesses(op)
                if found:
                    yield op, found
            case tir.StoreOp() | tir.LetOp():
                yield op, self._accesses(op)
            case _:
                for region in op.regions:
                    for block in region.blocks:
                        yield from self.block(block)

    def _loop(self, loop: tir.ForOp) -> Iterator[Entry]:
        found = self.summarize(self.block(loop.body.block), loop)
        if found:
            yield loop, [_relaxed(access, loop) for access in found]

    def _branch(self, op: tir.IfOp | tir.WhileOp) -> list[Access]:
        condition = op.cond.owner
        invariant = isinstance(condition, tir.CallIntrinOp) and condition.func.data == "tvm_thread_invariant"
        self.conditions += not invariant
        regions = [op.then_region, op.else_region] if isinstance(op, tir.IfOp) else [op.body]
        found = [a for r in regions if r.first_block is not None for a in self.summarize(self.block(r.block), None)]
        self.conditions -= not invariant
        return found

    def _launch(self, op: tir.LaunchThreadOp) -> Iterator[Entry]:
        self.threads.append(op.index)
        if op.virtual or self.on_device:
            yield from self.block(op.body.block)
        else:
            self.on_device = True
            self.summarize(self.block(op.body.block), None)
            self.on_device = False
        self.threads.pop()

    def _attribute(self, op: tir.AttrOp) -> Iterator[Entry]:
        key = op.key.data
        if key == "double_buffer_write":
            self.filled = op.on if isinstance(op.on, SSAValue) else None
            found = self.summarize(self.block(op.body.block), None)
            if found:
                yield op, [self._filling(access) for access in found]
            self.filled = None
        elif key != "hand_threaded":
            yield from self.block(op.body.block)

    def _filling(self, access: Access) -> Access:
        return replace(access, ahead=True) if access.kind == WRITE and access.memory is self.filled else access

    def _accesses(self, op: Operation) -> list[Access]:
        found: list[Access] = []
        if isinstance(op, tir.StoreOp):
            found += self._of(WRITE, memory_of(op.buffer), op.indices)
        for value in op.operands:
            found += self._expression(value)
        return found

    def _expression(self, value: SSAValue) -> Iterator[Access]:
        op = value.owner
        if not isinstance(op, Operation) or not is_expression(op):
            return
        inner: Iterable[SSAValue] = op.operands
        if isinstance(op, tir.LoadOp):
            yield from self._of(READ, memory_of(op.buffer), op.indices)
        elif isinstance(op, tir.CallIntrinOp) and op.func.data == "address_of":
            inner = inner if not isinstance(op.operands[0].owner, tir.LoadOp) else op.operands[0].owner.indices
        elif isinstance(op, tir.CallIntrinOp) and op.func.data == "tvm_access_ptr":
            yield from self._pointer(op)
        elif isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_storage_sync":
            yield from self._barrier(op)
        ends = [op for region in op.regions for op in region.block.ops if isinstance(op, tir.YieldOp)]
        for operand in (*inner, *(end.value for end in ends)):
            yield from self._expression(operand)

    def _barrier(self, op: tir.DeviceCallOp) -> Iterator[Access]:
        name = op.operands[0].owner
        if self.on_device and isinstance(name, tir.StringImmOp) and name.value.data != "warp":
            yield Access(SYNC)

    def _pointer(self, op: tir.CallIntrinOp) -> Iterator[Access]:
        address = op.operands[1]
        owner = address.owner
        memory = memory_of(owner.buffer) if isinstance(owner, tir.BufferDataOp) else address
        flag = op.operands[4].owner
        mask = int(flag.py_value) if isinstance(flag, tir.ConstOp) else 3
        one = op.operands[3].owner
        point = isinstance(one, tir.ConstOp) and one.py_value == 1
        for bit, kind in ((1, READ), (2, WRITE)):
            if mask & bit:
                yield from self._of(kind, memory, [op.operands[2]], point)

    def _of(self, kind: str, memory: SSAValue, indices: Iterable[SSAValue], point: bool = True) -> Iterator[Access]:
        if not self.on_device or scope_of(memory) != self.scope:
            return
        thread = self.threads[-1] if self.threads else None
        yield Access(kind, memory, tuple(i if point and not _is_vector(i) else None for i in indices), thread)


def _is_vector(index: SSAValue) -> bool:
    return not hasattr(index.type, "width")


def _relaxed(access: Access, loop: tir.ForOp) -> Access:
    """Return an access with the indices that depend on a loop taking more than one value."""
    indices = tuple(None if i is None or uses_value(i, loop.loop_var) else i for i in access.indices)
    return replace(access, indices=indices)
