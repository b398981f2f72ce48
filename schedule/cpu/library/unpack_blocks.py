"""Blocks of interleaved rows in vectors: each lane holds four consecutive elements of a row, as bytes.

    q8_0: word(j) = the bytes 4 j, …, 4 j + 3 of each row          q4_0: the lower or the upper halves of them

An element is scale * (byte - zero) + minimum, where `step` consecutive elements share the scale and the minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, f16, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.block_formats import BlockFormat
from ....dialects.dtypes import ui8
from ....dialects.sym.expr import SymExpr
from ...loop_builder import LoopBuilder

SIGN = -0x7F7F7F80
"""Four bytes of 0x80: flipping the sign bit converts between signed and unsigned bytes."""
_NIBBLES, _PAIRS = 0x0F0F0F0F, 0x03030303

Part = Callable[[int], SSAValue]


@dataclass
class Unpacked:
    """The parts of a block: `word(j)` holds the elements from 4 j; `scale(p)` and `minimum(p)` those of `step`
    elements.

    Bytes are unsigned unless `signed`, and `most` is their largest magnitude.
    """

    step: int
    word: Part
    scale: Part
    minimum: Part | None = None
    zero: int = 0
    signed: bool = False
    most: int = 15


@dataclass
class Words:
    """Reads the fields of a block of `lanes` rows, which begins at `begin` of the row `panel` of `buffer`."""

    loops: LoopBuilder
    buffer: SSAValue
    panel: SSAValue
    begin: SymExpr
    format: BlockFormat
    lanes: int

    def unpacked(self) -> Unpacked:
        """Return the parts of the block."""
        return _FORMATS[self.format.name.partition("_g")[0]](self)

    # fields

    def word(self, field: str, at: int) -> SSAValue:
        """Return four bytes of a field, as an int32 in each lane."""
        return self._reinterpreted(self._bytes(field, at), i32)

    def byte(self, field: str, at: int, dtype: Attribute = ui8) -> SSAValue:
        """Return a byte of a field with byte words, as int32."""
        return self.cast(self._reinterpreted(self._bytes(field, at), dtype), i32)

    def number(self, field: str, dtype: Attribute) -> SSAValue:
        """Return a floating-point field as float32."""
        return self.cast(self._reinterpreted(self._bytes(field, 0), dtype), f32)

    def _bytes(self, name: str, at: int) -> SSAValue:
        """Return a word of a field for all lanes."""
        field, loops = self.format.field(name), self.loops
        first = loops.value(self.begin + (field.offset + at * field.width) * self.lanes)
        return loops.load(self.buffer, [self.panel, loops.ramp(first, field.width * self.lanes)])

    def _reinterpreted(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        kind = VectorType(dtype, [self.lanes])
        return value if value.type == kind else self.loops.op(tir.ReinterpretOp(value, kind))

    # arithmetic on fields

    def cast(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """Cast each lane to another type."""
        kind = VectorType(dtype, [self.lanes])
        return value if value.type == kind else self.loops.op(tir.CastOp(value, kind))

    def spread(self, value: int, dtype: Attribute = i32) -> SSAValue:
        """Return a number in every lane."""
        return self.loops.op(tir.BroadcastOp(self.loops.const(value, dtype), self.lanes))

    def intrin(self, name: str, value: SSAValue, by: int) -> SSAValue:
        """Return a shift or bitwise operation with a constant."""
        return self.loops.op(tir.CallIntrinOp(name, [value, self.spread(by)], value.type))

    def bits(self, value: SSAValue, shift: int, mask: int) -> SSAValue:
        """Return a value shifted right and masked."""
        return self.intrin("bitwise_and", value if shift == 0 else self.intrin("shift_right", value, shift), mask)

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return the bitwise or."""
        return self.loops.op(tir.CallIntrinOp("bitwise_or", [a, b], a.type))

    def times(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return the product."""
        return self.loops.op(tir.MulOp(a, b))

    def minus(self, value: SSAValue) -> SSAValue:
        """Return the negated value."""
        return self.loops.op(tir.SubOp(self.spread(0, f32), value))


def _constant(value: SSAValue) -> Part:
    return lambda _part: value


def _nibble(words: Words, field: str, size: int, begin: int = 0) -> Part:
    """Return the parts of `size` elements stored as nibbles: the lower halves of the words from `begin` come first."""
    half = size // 8
    return lambda j: words.bits(words.word(field, begin + j % half), 4 * (j // half), _NIBBLES)


def _q4_0(words: Words) -> Unpacked:
    return Unpacked(32, _nibble(words, "q", 32), _constant(words.number("d", f16)), zero=8)


def _q4_1(words: Words) -> Unpacked:
    scale, minimum = (_constant(words.number(name, f16)) for name in "dm")
    return Unpacked(32, _nibble(words, "q", 32), scale, minimum)


def _q8_0(words: Words) -> Unpacked:
    scale = _constant(words.number("d", f16))
    return Unpacked(32, lambda j: words.word("q", j), scale, signed=True, most=128)


def _q4_k(words: Words) -> Unpacked:
    d, low = words.number("d", f16), words.minus(words.number("dmin", f16))

    def six_bits(part: int, first: int) -> SSAValue:
        """Return the scale (`first` 0) or the minimum (4) of a part."""
        if part < 4:
            return words.cast(words.bits(words.byte("scales", first + part), 0, 63), f32)
        late = words.bits(words.byte("scales", part + 4), first, 15)
        high = words.intrin("shift_left", words.bits(words.byte("scales", first + part - 4), 6, 3), 4)
        return words.cast(words.either(late, high), f32)

    def word(j: int) -> SSAValue:
        return _nibble(words, "q", 64, j // 16 * 8)(j % 16)

    return Unpacked(32, word, lambda p: words.times(d, six_bits(p, 0)), lambda p: words.times(low, six_bits(p, 4)))


def _q6_k(words: Words) -> Unpacked:
    d = words.number("d", f16)

    def word(j: int) -> SSAValue:
        half, within = divmod(j, 32)
        low = _nibble(words, "ql", 128, half * 16)(within)
        high = words.bits(words.word("qh", half * 8 + within % 8), within // 8 * 2, _PAIRS)
        return words.either(low, words.intrin("shift_left", high, 4))

    def scale(part: int) -> SSAValue:
        return words.times(d, words.cast(words.byte("scales", part, i8), f32))

    return Unpacked(16, word, scale, zero=32, most=63)


def _group(words: Words, word: Part, most: int) -> Unpacked:
    scale = words.number("scale", f32)
    zero = words.cast(words.byte("zero", 0), f32)
    minimum = words.minus(words.times(scale, zero))
    return Unpacked(words.format.rounded_together, word, _constant(scale), _constant(minimum), most=most)


def _int4(words: Words) -> Unpacked:
    return _group(words, _nibble(words, "q", words.format.size), 15)


def _int8(words: Words) -> Unpacked:
    return _group(words, lambda j: words.word("q", j), 255)


_FORMATS: dict[str, Callable[[Words], Unpacked]] = {
    "q4_0": _q4_0, "q4_1": _q4_1, "q8_0": _q8_0, "q4_k": _q4_k, "q6_k": _q6_k, "int4": _int4, "int8": _int8,
}  # fmt: skip
"""Format, without the size of groups -> the function that unpacks its blocks."""
STEPS = {"q6_k": 16}
"""Formats whose scales apply to fewer elements than are quantized together."""
