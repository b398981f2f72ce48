"""How indices move as loops run: the step, the reach, and the number of distinct values.

From these follow the memory accesses of each store (`Access`, `Nest`).
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
"""The size of a cache line, in bytes."""
_UNROLL = "pragma_auto_unroll_max_step"


@dataclass(frozen=True, slots=True)
class Move:
    """The effect of a loop on an index: the step per iteration (0 if irregular), the reach, the number of values."""

    step: int
    span: int
    values: int


Moves = Mapping[tir.ForOp, Move]
_UNKNOWN = 1 << 20


class Movement:
    """The moves of the indices of one function, memoized; the function must not change meanwhile."""

    def __init__(self) -> None:
        self._memo: dict[SSAValue, Moves] = {}

    def of(self, value: SSAValue) -> Moves:
        """Return the effect of each surrounding loop on an index, omitting loops without effect."""
        moves = self._memo.get(value)
        if moves is None:
            moves = self._memo[value] = self._moves(value)
        return moves

    def of_sum(self, values: Sequence[SSAValue]) -> Moves:
        """Return the effect of each surrounding loop on a sum of indices."""
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
    """Return the moves of an index loaded from memory: it may take any value."""
    moves = _union([self.of(o) for o in tuple(op.operands)[1:]])
    return {loop: Move(0, _UNKNOWN, m.values) for loop, m in moves.items()}


def _union(parts: list[Moves]) -> Moves:
    """Return the moves of a sum of indices."""
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
    """A buffer that a store accesses, and how each loop moves through it, from the innermost loop outwards."""

    buffer: SSAValue
    is_store: bool
    dims: list[tuple[int, int, list[Move | None]]]
    """For each index: the size of its dimension, the number of values at once, and the effect of each loop."""
    strides: list[int]
    element: int

    def elements(self, depth: int) -> list[int]:
        """Return the number of distinct values of each index within the `depth` inner loops."""
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
        """Return the number of cache lines accessed within the `depth` inner loops."""
        counts = self.elements(depth)
        if not counts:
            return 1.0
        last = math.ceil(counts[-1] * self.element / LINE)
        return float(math.prod(counts[:-1])) * last

    def moves(self, loop: int) -> bool:
        """Return whether the loop moves the access to other elements."""
        return any(moves[loop] is not None for _, _, moves in self.dims)

    def step(self, loop: int) -> float:
        """Return the number of elements by which one step of a loop moves the access."""
        total = 0
        for (_, _, moves), stride in zip(self.dims, self.strides, strict=True):
            m = moves[loop]
            if m is not None:
                total += (m.step or m.span) * stride
        return float(abs(total))


@dataclass
class Nest:
    """A store with its loops (innermost first), their extents, and its accesses."""

    loops: list[tir.ForOp]
    extents: list[int]
    accesses: list[Access]
    arithmetic: Counter[str]

    @property
    def iterations(self) -> float:
        return float(math.prod(self.extents))

    @property
    def max_steps(self) -> int:
        """The maximal number of unrolled steps."""
        return max((int(analysis.annotation(lp, _UNROLL) or 0) for lp in self.loops), default=0)

    def written_out(self) -> float:
        """Return the iterations of the inner loops that are unrolled."""
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
        """The arithmetic operations in all iterations."""
        return self.iterations * max(1, sum(n for kind, n in self.arithmetic.items() if kind != "load"))
