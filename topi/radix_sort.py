"""Stable LSD radix sort on the bits of the elements."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import bit_width, is_float, ui8, ui16, ui32, ui64
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.intrinsics import reinterpret
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.broadcast import Indices
from ..te.extern_body import Array, Cell, Statements
from ..te.tensor import Tensor

_DIGIT = 8
"""Bits of a digit: a pass writes to one place for each digit value, and these stay in the L1 cache."""
_VALUES = 1 << _DIGIT
_POSITION = 32
"""Bits of an entry that hold the position of its element; the others hold one word of the element's key."""
_POSITIONS = (1 << _POSITION) - 1
_FEW = 64
"""Rows with fewer elements are sorted faster by merging, which needs no counting."""
_SORTED_BY_BITS = frozenset({i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, f16, bf16, f32, f64})


def has_ordered_bits(dtype: Attribute) -> bool:
    """Return whether radix sort supports the element type."""
    return dtype in _SORTED_BY_BITS


def by_bits(extent: SymExpr) -> bool | PrimExpr:
    """Return whether to radix sort rows of this extent: long enough to pay off, with positions that fit an entry."""
    if extent.constant is not None:
        return _FEW <= extent.constant <= _POSITIONS
    size = from_sym(extent).astype(i64)
    return tx.logical_and(tx.less_equal(_FEW, size), tx.less_equal(size, _POSITIONS))


def ordered_bits(x: PrimExpr, descending: bool) -> PrimExpr:
    """Return an int64 whose lowest bits, as many as `x` has, sort as an unsigned number in the order of the elements.

    NaN is greater than all numbers; the two zeros are equal.
    """
    x = x.astype(i8) if x.type == i1 else x
    bits = bit_width(x.type)
    sign = tx.const(-(1 << (bits - 1)), i64)
    if is_float(x.type):
        stored = reinterpret(IntegerType(bits), x).astype(i64)
        magnitude = stored & ~sign
        signed = tx.select(tx.less(stored, 0), tx.const(0, i64) - magnitude, magnitude)
        key = tx.select(math_functions.isnan(x), ~sign, signed) ^ sign
    elif x.type in (ui8, ui16, ui32, ui64):
        key = reinterpret(i64, x) if bits == 64 else x.astype(i64)
    else:
        key = x.astype(i64) ^ sign
    return ~key if descending else key


@dataclass(frozen=True)
class RadixSort:
    """Radix sort of the rows of `x` along `axis`.

    An entry is an int64: a word of 32 bits (or fewer) of the element's key in the upper half, and the element's
    position in the lower half. Keys of two words are sorted by the lower one first.
    """

    x: Tensor
    axis: int
    descending: bool

    @property
    def extent(self) -> SymExpr:
        return self.x.dims[self.axis]

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return -(-bit_width(self.x.type) // _POSITION)

    @property
    def digits(self) -> int:
        """The number of digits of a word."""
        return max(_DIGIT, min(bit_width(self.x.type), _POSITION)) // _DIGIT

    def row(self, b: Statements, rest: Indices, order: Tensor, entries: Tensor) -> None:
        """Fill one nonempty row of `order`; `entries` has space for two rows."""
        row = _Row(b, rest, entries, b.cell("side", i64, 0), b.array("counts", i64, _VALUES * self.digits))
        for word in range(self.words):
            self.count(row, word)
            with b.loop("digit", Const(self.digits)) as digit:
                self.by_digit(row, digit)
        with b.loop("i", self.extent) as i:
            b.store(order, self.at(rest, i), row.entry(i) & _POSITIONS)

    def at(self, rest: Indices, i: PrimExpr) -> Indices:
        """Return the indices of an element of a row."""
        return (*rest[: self.axis], i, *rest[self.axis :])

    def count(self, row: _Row, word: int) -> None:
        """Write entries with one word of the keys, and build a histogram of each digit."""
        b, counts = row.statements, row.counts
        with b.loop("c", Const(_VALUES * self.digits)) as c:
            counts.set(c, 0)
        with b.loop("i", self.extent) as i:
            position = b.cell("position", i64, row.entry(i) & _POSITIONS if word else i)
            key = ordered_bits(self.x(*self.at(row.rest, position.value)), self.descending)
            entry = b.cell("entry", i64, (key >> word * _POSITION) << _POSITION | position.value)
            b.store(row.entries, row.place(row.side.value, i), entry.value)
            for digit in range(self.digits):
                slot = _slot(entry.value, tx.const(digit, i64))
                counts.set(slot, counts(slot) + 1)

    def by_digit(self, row: _Row, digit: PrimExpr) -> None:
        """Sort the entries by one digit, unless all entries have the same value of it."""
        b, counts, first = row.statements, row.counts, digit * _VALUES
        with b.when(tx.not_equal(counts(_slot(row.entry(tx.const(0, i64)), digit)), from_sym(self.extent))):
            total = b.cell("total", i64, 0)
            with b.loop("c", Const(_VALUES)) as c:
                count = b.cell("count", i64, counts(first + c))
                counts.set(first + c, total.value)
                total.set(total.value + count.value)
            with b.loop("i", self.extent) as i:
                entry = b.cell("entry", i64, row.entry(i))
                slot = b.cell("slot", i64, _slot(entry.value, digit))
                b.store(row.entries, row.place(1 - row.side.value, counts(slot.value)), entry.value)
                counts.set(slot.value, counts(slot.value) + 1)
            row.side.set(1 - row.side.value)


@dataclass(frozen=True)
class _Row:
    """State for sorting one row: half `side` of `entries` holds the entries; the other half is the destination."""

    statements: Statements
    rest: Indices
    entries: Tensor
    side: Cell
    counts: Array

    def place(self, side: PrimExpr, i: PrimExpr) -> Indices:
        """Return the indices of an entry."""
        return (*self.rest, side, i)

    def entry(self, i: PrimExpr) -> PrimExpr:
        """Return the entry at a position of the row."""
        return self.entries(*self.place(self.side.value, i))


def _slot(entry: PrimExpr, digit: PrimExpr) -> PrimExpr:
    """Return the histogram index for the value of a digit of the entry."""
    return digit * _VALUES + ((entry >> digit * _DIGIT + _POSITION) & _VALUES - 1)
