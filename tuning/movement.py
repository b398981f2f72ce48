"""How an index moves while loops run: by how much in each step, how far, and over how many values.

And what that means for the buffers that a store touches (`Access`, `Nest`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ..dialects import tir
from ..dialects.tir import ForKind
from ..schedule import state as st
from . import analysis

LINE = 64
"""Bytes that move between the levels of memory at once."""
_UNROLL = "pragma_auto_unroll_max_step"


@dataclass(frozen=True, slots=True)
class Move:
    """What a loop does to an index: the step of one iteration (0 where it is not even), the reach, the values."""

    step: int
    span: int
    values: int


Moves = Mapping[tir.ForOp, Move]
_UNKNOWN = 1 << 20


class Movement:
    """Moves of the indices of one function; nothing of the function may change meanwhile."""

    def __init__(self) -> None:
        self._memo: dict[SSAValue, Moves] = {}

    def of(self, value: SSAValue) -> Moves:
        """What the loops around do to an index; a loop that does nothing is not among them."""
        moves = self._memo.get(value)
        if moves is None:
            moves = self._memo[value] = self._moves(value)
        return moves

    def of_sum(self, values: Sequence[SSAValue]) -> Moves:
        """What the loops around do to a sum of indices."""
        return _union([self.of(v) for v in values])

    def _moves(self, value: SSAValue) -> Moves:
        if isinstance(value, OpResult):
            rule = _RULES.get(type(value.op))
            return _union([self.of(o) for o in value.op.operands]) if rule is None else rule(self, value.op)
        if not isinstance(value, BlockArgument):
            return {}
        owner = _owner(value.block)
        if isinstance(owner, tir.ForOp) and value is owner.loop_var:
            extent = st.constant_extent(owner) or 1
            return {owner: Move(1, extent - 1, extent)} if extent > 1 else {}
        if isinstance(owner, tir.BlockOp) and value.index < len(owner.bindings):
            return self.of(owner.bindings[value.index])
        return {}


def _owner(block: Block) -> Operation | None:
    region: Region | None = block.parent
    return None if region is None else region.parent


def _constant(value: SSAValue) -> int | None:
    if isinstance(value, OpResult) and isinstance(value.op, tir.ConstOp) and isinstance(value.op.value, IntegerAttr):
        return value.op.value.value.data
    return None


def _add(self: Movement, op: Operation) -> Moves:
    return _union([self.of(o) for o in op.operands])


def _subtract(self: Movement, op: Operation) -> Moves:
    return _union([self.of(op.operands[0]), _scaled(self.of(op.operands[1]), -1)])


def _multiply(self: Movement, op: Operation) -> Moves:
    for value, other in (op.operands, tuple(op.operands)[::-1]):
        factor = _constant(other)
        if factor is not None:
            return _scaled(self.of(value), factor)
    return _union([self.of(o) for o in op.operands])


def _scaled(moves: Moves, factor: int) -> Moves:
    return {loop: Move(m.step * factor, m.span * abs(factor), m.values) for loop, m in moves.items()}


def _divide(self: Movement, op: Operation) -> Moves:
    moves, divisor = self.of(op.operands[0]), _constant(op.operands[1])
    if not divisor:
        return moves
    out: dict[tir.ForOp, Move] = {}
    for loop, m in moves.items():
        span = m.span // divisor
        if span:
            step = m.step // divisor if m.step % divisor == 0 else 0
            out[loop] = Move(step, span, min(m.values, span + 1))
    return out


def _modulo(self: Movement, op: Operation) -> Moves:
    moves, divisor = self.of(op.operands[0]), _constant(op.operands[1])
    if not divisor:
        return moves
    out: dict[tir.ForOp, Move] = {}
    for loop, m in moves.items():
        if m.step == 0 or m.step % divisor:
            span = min(m.span, divisor - 1)
            out[loop] = Move(m.step % divisor, span, min(m.values, span + 1))
    return out


def _load(self: Movement, op: Operation) -> Moves:
    """An index out of memory may be anything."""
    moves = _union([self.of(o) for o in tuple(op.operands)[1:]])
    return {loop: Move(0, _UNKNOWN, m.values) for loop, m in moves.items()}


def _union(parts: list[Moves]) -> Moves:
    """A sum of indices."""
    if len(parts) == 1:
        return parts[0]
    out: dict[tir.ForOp, Move] = {}
    for part in parts:
        for loop, m in part.items():
            before = out.get(loop)
            if before is not None:
                values = min(before.values * m.values, st.constant_extent(loop) or 1)
                m = Move(before.step + m.step, before.span + m.span, values)
            out[loop] = m
    return out


_RULES: dict[type[Operation], Callable[[Movement, Operation], Moves]] = {
    tir.AddOp: _add,
    tir.BINARY["sub"]: _subtract,
    tir.MulOp: _multiply,
    tir.FloorDivOp: _divide,
    tir.DivOp: _divide,
    tir.FloorModOp: _modulo,
    tir.TruncModOp: _modulo,
    tir.LoadOp: _load,
}


@dataclass
class Access:
    """A buffer that a store touches: how its elements are reached by the loops, inside to outside."""

    buffer: SSAValue
    is_store: bool
    dims: list[tuple[int, int, list[Move | None]]]
    """Of each index: the size of its dimension, how many values it has at once, and what each loop does to it."""
    strides: list[int]
    element: int

    def elements(self, depth: int) -> list[int]:
        """How many different values each index has in the `depth` inner loops."""
        out: list[int] = []
        for size, width, moves in self.dims:
            span = values = width
            for m in moves[:depth]:
                if m is not None:
                    span += m.span
                    values *= m.values
            out.append(max(1, min(size, span, values)))
        return out

    def lines(self, depth: int) -> float:
        """How many lines of memory that is."""
        counts = self.elements(depth)
        if not counts:
            return 1.0
        last = math.ceil(counts[-1] * self.element / LINE)
        return float(math.prod(counts[:-1])) * last

    def moves(self, loop: int) -> bool:
        """Whether the loop leads to other elements."""
        return any(moves[loop] is not None for _, _, moves in self.dims)

    def step(self, loop: int) -> float:
        """By how many elements a step of a loop leads on."""
        total = 0
        for (_, _, moves), stride in zip(self.dims, self.strides, strict=True):
            m = moves[loop]
            if m is not None:
                total += (m.step or m.span) * stride
        return float(abs(total))


@dataclass
class Nest:
    """A store, the loops around it (inside to outside), their extents, and what it touches."""

    loops: list[tir.ForOp]
    extents: list[int]
    accesses: list[Access]
    arithmetic: Counter[str]

    @property
    def iterations(self) -> float:
        return float(math.prod(self.extents))

    @property
    def max_steps(self) -> int:
        """How many steps may be written out."""
        return max((int(analysis.annotation(lp, _UNROLL) or 0) for lp in self.loops), default=0)

    def written_out(self) -> float:
        """The iterations of the inner loops that are written out."""
        count, steps = 1.0, self.max_steps
        for lp, extent in zip(self.loops, self.extents, strict=True):
            if lp.kind is not ForKind.SERIAL:
                count *= extent if lp.kind is ForKind.UNROLLED else 1
            elif count * extent > steps:
                break
            else:
                count *= extent
        return count

    @property
    def work(self) -> float:
        """Arithmetic operations in all iterations."""
        return self.iterations * max(1, sum(n for kind, n in self.arithmetic.items() if kind != "load"))
