"""Blocks of interleaved rows, processed piece by piece as float32. A piece is a run of elements with the same scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr, Var
from ..policy.limits import LONG_BLOCK
from .unpack_blocks import Part, Unpacked, Words


@dataclass(frozen=True)
class Piece:
    """`step` elements from `first` of the block: scale * (byte - zero) + minimum. `word(j)` returns four bytes."""

    words: Words
    first: SymExpr
    step: int
    word: Part
    scale: SSAValue
    minimum: SSAValue | None
    zero: int
    signed: bool

    def byte(self, n: int) -> SSAValue:
        """Return byte n as float32."""
        words, word, at = self.words, self.word(n // 4), n % 4
        if not self.signed:
            return words.cast(words.bits(word, 8 * at, 255), f32)
        upper = word if at == 3 else words.intrin("shift_left", word, 24 - 8 * at)
        return words.cast(words.intrin("shift_right", upper, 24), f32)

    def number(self, n: int) -> SSAValue:
        """Return element n."""
        words, byte = self.words, self.byte(n)
        if self.zero:
            byte = words.loops.op(tir.SubOp(byte, words.spread(self.zero, f32)))
        value = words.times(byte, self.scale)
        return value if self.minimum is None else words.loops.op(tir.AddOp(value, self.minimum))

    def least(self) -> SSAValue | None:
        """Return the value of a byte of 0, which is minimum - zero * scale; None if that is 0."""
        if not self.zero:
            return self.minimum
        words = self.words
        below = words.times(self.scale, words.spread(-self.zero, f32))
        return below if self.minimum is None else words.loops.op(tir.AddOp(self.minimum, below))


def each_piece(words: Words, body: Callable[[Piece], object]) -> None:
    """Emit `body` for all pieces of a block in order: unrolled, or in a loop if the block is long."""
    parts = words.unpacked()
    count, each = words.format.size // parts.step, parts.step // 4
    dtype, loops = words.begin.dtype, words.loops
    constant = parts.step, parts.zero, parts.signed
    if words.format.size <= LONG_BLOCK:
        for p in range(count):
            minimum = None if parts.minimum is None else parts.minimum(p)
            first = Const(p * parts.step, dtype)
            body(_piece(words, first, lambda j, p=p: parts.word(p * each + j), parts.scale(p), minimum, constant))
        return
    table = _Table.of(words, parts)

    def piece(v: SSAValue) -> None:
        p = Var(v, dtype)
        minimum = None if table.minima is None else table.row(table.minima, p)
        scale = table.row(table.scales, p)
        body(_piece(words, p * parts.step, lambda j: table.row(table.words, p * each + j), scale, minimum, constant))

    loops.loop(count, piece, dtype=dtype)


def _piece(
    words: Words,
    first: SymExpr,
    word: Part,
    scale: SSAValue,
    minimum: SSAValue | None,
    constant: tuple[int, int, bool],
) -> Piece:
    step, zero, signed = constant
    return Piece(words, first, step, word, scale, minimum, zero, signed)


@dataclass(frozen=True)
class _Table:
    """The words, scales and minima of a long block, one row each."""

    block: Words
    words: SSAValue
    scales: SSAValue
    minima: SSAValue | None

    @classmethod
    def of(cls, block: Words, parts: Unpacked) -> _Table:
        """Unpack a block into a table."""
        count = block.format.size // parts.step

        def filled(rows: int, part: Part, dtype: Attribute) -> SSAValue:
            buffer = block.loops.scratch([rows, block.lanes], dtype, "local")
            for n in range(rows):
                block.loops.store(part(n), buffer, cls._place(block, Const(n, block.begin.dtype)))
            return buffer

        minima = None if parts.minimum is None else filled(count, parts.minimum, f32)
        words = filled(block.format.size // 4, parts.word, i32)
        return cls(block, words, filled(count, parts.scale, f32), minima)

    @staticmethod
    def _place(block: Words, n: SymExpr) -> list[SSAValue]:
        loops = block.loops
        return [loops.value(n), loops.ramp(loops.value(Const(0, n.dtype)), block.lanes)]

    def row(self, buffer: SSAValue, n: SymExpr) -> SSAValue:
        """Return row n of one of the buffers."""
        return self.block.loops.load(buffer, self._place(self.block, n))
