"""Sorting integers in vectors: quicksort by stores of compressed vectors, and a network for parts of some vectors.

    divide:    keys[left …] = compress(v, v <= pivot),  spare[right …] = compress(v, v > pivot)    for each vector v
               what was left free behind each side is where it puts its right side next; so nothing is moved back
    network:   bitonic, on as many vectors as registers hold; most of its steps exchange whole vectors

A pivot is the median of a sample. After an unfair division it is the middle between the least and the greatest value
that a part may have, of which there are half as many each time (once it may be the value just below the greatest one,
where many keys are equal to that): so no order of elements takes more than n log n steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from xdsl.dialects.builtin import IntegerType, VectorType, f32, f64, i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import bit_width, is_float, ui32, ui64
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.expr_kinds import CLASSES
from ..handles.tir.intrinsics import call_llvm_pure_intrin, reinterpret
from ..handles.tir.prim_expr import PrimExpr
from ..te.broadcast import Indices
from ..te.extern_body import Array, Statements
from ..te.tensor import Tensor

_VECTOR_BITS = 512
_REGISTERS = (8, 16)
"""Vectors of the networks, the last one with what its steps need besides as many as there are registers."""
_PARTS = 64
"""Parts that wait: of two the smaller one is divided first, so there are fewer than a number of keys has bits."""
_UNFAIR = 8
"""A division is unfair where one side has less than this part of the elements."""
_TYPES = (i32, i64, ui32, ui64, f32, f64)


def is_sorted_in_vectors(dtype: Attribute | None) -> bool:
    """Whether elements of the type are sorted in vectors: those of as many bits as are compressed at once."""
    return dtype in _TYPES


def room(extent: SymExpr, dtype: Attribute) -> SymExpr:
    """How many keys a third of a row has room for: vectors that begin in it, or at its end, end in it."""
    return extent + _VECTOR_BITS // bit_width(dtype)


def key_type(dtype: Attribute) -> IntegerType:
    """The type of the keys of elements."""
    return IntegerType(bit_width(dtype))


def key(x: PrimExpr, descending: bool) -> PrimExpr:
    """A signed integer for each element, which are ordered like the elements: -0 before 0, NaN behind all numbers."""
    integer = key_type(x.type)
    bits = reinterpret(integer, x)
    if is_float(x.type):
        ordered = _order_bits(bits) - _least_number(x.type)
    else:
        ordered = bits if x.type in (i32, i64) else bits ^ _sign(integer)
    return ~ordered if descending else ordered


def element(ordered: PrimExpr, dtype: Attribute, descending: bool) -> PrimExpr:
    """The element that has a key."""
    ordered = ~ordered if descending else ordered
    if is_float(dtype):
        return reinterpret(dtype, _order_bits(ordered + _least_number(dtype)))
    return ordered if dtype in (i32, i64) else reinterpret(dtype, ordered ^ _sign(key_type(dtype)))


def _sign(integer: IntegerType) -> PrimExpr:
    return tx.const(-(1 << (bit_width(integer) - 1)), integer)


def _order_bits(bits: PrimExpr) -> PrimExpr:
    """The bits of a float as an integer that grows with it, and back."""
    return bits ^ ((bits >> bit_width(bits.type) - 1) & ~_sign(key_type(bits.type)))


def _least_number(dtype: Attribute) -> PrimExpr:
    """What is subtracted of the bits so that -inf is the least integer, and NaN with a sign wraps around to the end."""
    return tx.const({f32: 0x7FFFFF, f64: 0xFFFFFFFFFFFFF}[dtype], key_type(dtype))


@dataclass(frozen=True)
class VectorSort:
    """Sorts a row of `keys`, whose thirds are of `room` each: keys, what is moved meanwhile, sorted keys."""

    statements: Statements
    keys: Tensor
    rest: Indices
    room: PrimExpr

    @property
    def dtype(self) -> IntegerType:
        return key_type(self.keys.type)

    @property
    def lanes(self) -> int:
        """Keys of a vector."""
        return _VECTOR_BITS // bit_width(self.dtype)

    def sort(self, size: PrimExpr) -> None:
        """Sort the first `size` keys of the row."""
        b = self.statements
        networks = [self.network("registers", count) for count in _REGISTERS]
        sample, parts = self.network("sample", 1), _Parts(b, self.dtype)
        parts.put(tx.const(0, i64), _Part(tx.const(0, i64), self.room, self.room * 2, size, *_range(self.dtype)))
        parts.count.set(1)
        with b.repeat_while(tx.less(0, parts.count.value)):
            parts.count.set(parts.count.value - 1)
            part, fewer = parts.take(), 0
            for network in networks:
                with b.when(tx.logical_and(tx.less(fewer, part.size), tx.less_equal(part.size, network.size))):
                    self.small(part, network)
                fewer = network.size
            with b.when(tx.logical_and(tx.less(fewer, part.size), tx.less(part.low, part.high))):
                self.large(part, sample, parts)
            with b.when(tx.logical_and(tx.less(fewer, part.size), tx.equal(part.low, part.high))):
                self.equal(part)

    def network(self, name: str, registers: int) -> _Network:
        """A network of so many vectors."""
        array = self.statements.array(name, self.dtype, self.lanes * registers)
        return _Network(self.statements, self.dtype, self.lanes, registers, array)

    def small(self, part: _Part, network: _Network) -> None:
        """Sort a part that the network's vectors hold: what they hold besides comes behind it."""
        for at in network.each():
            keys = self.vector(part.first + tx.minimum(at, part.size))
            network.set(at, tx.select(self.before(at, part.size), keys, part.highest))
        network.sort()
        network.transpose()
        for at in network.each():
            place = self.statements.let("place", tx.minimum(network.place(at), part.size))
            self.put_some(part.out + place, network.vector(at), self.before(place, part.size))

    def equal(self, part: _Part) -> None:
        """Write a part of keys that are equal."""
        with self.statements.loop("i", part.size) as i:
            self.statements.store(self.keys, (*self.rest, part.out + i), part.low)

    def large(self, part: _Part, sample: _Network, parts: _Parts) -> None:
        """Divide a part, and leave both sides to be sorted."""
        b = self.statements
        pivot = b.let("pivot", self.pivot(part, sample))
        left = self.divide(part, pivot)
        right = b.let("right_size", part.size - left)
        greater = b.let("greater", tx.less(left, right).astype(i64))
        is_unfair = tx.less(tx.minimum(left, right), tx.floordiv(part.size, _UNFAIR))
        unfair = b.let("times", tx.select(is_unfair, part.unfair + 1, 0))
        places = (part.first, part.spare + right, part.out), (part.spare, part.first + left, part.out + left)
        sides = (
            _Part(*places[0], left, part.low, pivot, unfair * (1 - greater)),
            _Part(*places[1], right, pivot + 1, part.high, unfair * greater),
        )
        for side, place in zip(sides, (greater, 1 - greater), strict=True):
            parts.put(parts.count.value + place, side)
        parts.count.set(parts.count.value + 2)

    def pivot(self, part: _Part, sample: _Network) -> PrimExpr:
        """The median of a sample, or the middle of the range, but less than the greatest key."""
        b = self.statements
        step = b.let("step", tx.floordiv(part.size, self.lanes))
        places = _ramp(tx.const(0, i64), self.lanes) * step + (part.first + tx.floordiv(step, 2))
        sample.set(tx.const(0, i64), self.keys(*self.rest, places))
        sample.sort()
        median = b.let("median", sample.array(tx.const(self.lanes // 2 - 1, i64)))
        middle = (part.low & part.high) + ((part.low ^ part.high) >> 1)
        many = tx.logical_and(tx.equal(median, part.high), tx.less_equal(part.unfair, 1))
        is_median = tx.logical_or(tx.equal(part.unfair, 0), many)
        return tx.minimum(tx.select(is_median, median, middle), part.high - 1)

    def divide(self, part: _Part, pivot: PrimExpr) -> PrimExpr:
        """Keys that are not greater than the pivot stay, the others go to the spare room; how many stay."""
        b = self.statements
        left = b.cell("left", i64, 0)
        full = b.let("whole", tx.floordiv(part.size, self.lanes))
        with b.loop("c", full) as c:
            at = b.let("at", c * self.lanes)
            v = b.let("v", self.vector(part.first + at))
            is_left = b.let("is_left", tx.less_equal(v, pivot))
            self.put(part.first + left.value, self.compress(v, is_left))
            self.put(part.spare + (at - left.value), self.compress(v, tx.logical_not(is_left)))
            left.set(left.value + _count(is_left))
        at = b.let("at", full * self.lanes)
        v = b.let("v", self.vector(part.first + at))
        inside = b.let("inside", self.before(at, part.size))
        is_left = b.let("is_left", tx.logical_and(inside, tx.less_equal(v, pivot)))
        is_right = b.let("is_right", tx.logical_and(inside, tx.less(pivot, v)))
        some = b.let("some", left.value)
        for first, side in ((part.first + some, is_left), (part.spare + (at - some), is_right)):
            self.put_some(first, self.compress(v, side), self.before(tx.const(0, i64), _count(side)))
        return b.let("left_size", some + _count(is_left))

    def of(self, dtype: Attribute) -> VectorType[Attribute]:
        """A vector of as many lanes as keys have."""
        return VectorType(dtype, [self.lanes])

    def before(self, first: PrimExpr, size: PrimExpr) -> PrimExpr:
        """For each lane, counted from `first` on, whether it is one of the first `size`."""
        lane = tx.cast(self.dtype, _ramp(tx.const(0, i64), self.lanes))
        return tx.less(lane, tx.minimum(tx.maximum(size - first, 0), self.lanes).astype(self.dtype))

    def vector(self, first: PrimExpr) -> PrimExpr:
        """The keys from `first` on."""
        return self.keys(*self.rest, _ramp(first, self.lanes))

    def put(self, first: PrimExpr, value: PrimExpr) -> None:
        """Store keys from `first` on."""
        self.statements.store(self.keys, (*self.rest, _ramp(first, self.lanes)), value)

    def put_some(self, first: PrimExpr, value: PrimExpr, lanes: PrimExpr) -> None:
        """Store some lanes; the others stay as they are."""
        self.put(first, tx.select(lanes, value, self.vector(first)))

    def compress(self, value: PrimExpr, lanes: PrimExpr) -> PrimExpr:
        """Some lanes in a row, then zeros."""
        dtype = self.of(self.dtype)
        return call_llvm_pure_intrin(dtype, "llvm.experimental.vector.compress", value, lanes, tx.const(0, dtype))


def _ramp(first: PrimExpr, lanes: int) -> PrimExpr:
    return CLASSES["Ramp"](first, tx.const(1, first.type), lanes)


def _count(lanes: PrimExpr) -> PrimExpr:
    """How many lanes hold."""
    return call_llvm_pure_intrin(i32, "llvm.vector.reduce.add", tx.cast(i32, lanes)).astype(i64)


def _range(integer: IntegerType) -> tuple[PrimExpr, PrimExpr]:
    return tx.min_value(integer), tx.max_value(integer)


@dataclass(frozen=True)
class _Part:
    """`size` keys from `first` on, none of them less than `low` or greater than `high`."""

    first: PrimExpr
    spare: PrimExpr
    """Where as many places are free."""
    out: PrimExpr
    """Where they are to be when they are sorted."""
    size: PrimExpr
    low: PrimExpr
    high: PrimExpr
    unfair: PrimExpr = field(default_factory=lambda: tx.const(0, i64))
    """How many of the last divisions left it nearly all keys."""

    @property
    def highest(self) -> PrimExpr:
        """What no key of the type is greater than."""
        return tx.max_value(self.low.type)


_NAMES = tuple(f.name for f in fields(_Part))


class _Parts:
    """Parts that wait, `count` of them: the last one is the next."""

    def __init__(self, b: Statements, dtype: IntegerType):
        self._statements = b
        kinds = dict(zip(_NAMES, (i64, i64, i64, i64, dtype, dtype, i64), strict=True))
        self._arrays = {name: b.array(f"{name}s", kind, _PARTS) for name, kind in kinds.items()}
        self.count = b.cell("parts", i64, 0)

    def put(self, place: PrimExpr, part: _Part) -> None:
        """Note a part."""
        for name, array in self._arrays.items():
            array.set(place, getattr(part, name))

    def take(self) -> _Part:
        """The part behind the last one that is counted."""
        let, place = self._statements.let, self.count.value
        return _Part(*(let(name, array(place)) for name, array in self._arrays.items()))


@dataclass(frozen=True)
class _Network:
    """Sorts the keys in vectors, in the order of lanes, then of vectors: key `lane * registers + register`.

    A step exchanges keys whose numbers differ in some bits; where that are bits of the lane, lanes are moved.
    """

    statements: Statements
    dtype: IntegerType
    lanes: int
    registers: int
    array: Array

    @property
    def size(self) -> int:
        """How many keys it sorts."""
        return self.lanes * self.registers

    def vector(self, at: PrimExpr) -> PrimExpr:
        """The keys of a register, which begins at `at` in the array."""
        return self.array(_ramp(at, self.lanes))

    def set(self, at: PrimExpr, value: PrimExpr) -> None:
        """Set the keys of a register."""
        self.array.set(_ramp(at, self.lanes), value)

    def sort(self) -> None:
        """Merge halves of 2, of 4, … keys."""
        for mask in _bitonic(self.size):
            lane, register = divmod(mask, self.registers)
            if lane == 0:
                self.exchange_registers(register)
            elif register == 0:
                self.exchange_lanes(lane)
            else:
                self.exchange_both(lane)

    def exchange_registers(self, mask: int) -> None:
        """Registers whose numbers differ in the bits of the mask: the lesser keys go into the first one."""
        for (a, x), (b, y) in self.pairs(mask):
            self.set(a, tx.minimum(x, y))
            self.set(b, tx.maximum(x, y))

    def exchange_lanes(self, mask: int) -> None:
        """Lanes of a register."""
        for at in self.each():
            x = self.statements.let("x", self.vector(at))
            self.set(at, self.lesser(x, self.moved(x, mask), mask))

    def exchange_both(self, mask: int) -> None:
        """Lanes of a register with those of the one that is as far from the end."""
        for (a, x), (b, y) in self.pairs(self.registers - 1):
            self.set(a, self.lesser(x, self.moved(y, mask), mask))
            self.set(b, self.lesser(y, self.moved(x, mask), mask))

    def transpose(self) -> None:
        """Make the keys of a lane neighbours: squares of as many registers as lanes, or the other way round."""
        bit = min(self.lanes, self.registers) // 2
        while bit:
            for (a, x), (b, y) in self.pairs(bit):
                for at, here in ((a, 0), (b, bit)):
                    lanes = [here + (i & ~bit) + (self.lanes if i & bit else 0) for i in range(self.lanes)]
                    self.set(at, CLASSES["Shuffle"]([x, y], lanes))
            bit //= 2

    def place(self, at: PrimExpr) -> PrimExpr:
        """The number of the first key of a register that is transposed."""
        if self.registers <= self.lanes:
            return at
        register, squares = tx.floordiv(at, self.lanes), self.registers // self.lanes
        return (tx.floormod(register, self.lanes) * squares + tx.floordiv(register, self.lanes)) * self.lanes

    def each(self) -> Iterator[PrimExpr]:
        """Opens a loop over the registers: where each begins."""
        with self._loop("k", self.registers) as k:
            yield self.statements.let("at", k * self.lanes)

    def pairs(self, mask: int) -> Iterator[tuple[tuple[PrimExpr, PrimExpr], ...]]:
        """Opens a loop over the pairs of registers whose numbers differ in the bits of the mask.

        Yields for both where it begins, and its keys.
        """
        let, top = self.statements.let, 1 << mask.bit_length() - 1
        with self._loop("block", self.registers // (2 * top)) as block, self._loop("k", top) as k:
            start, step = block * (2 * top * self.lanes), k * self.lanes
            distance = top * self.lanes + step if mask == top else (2 * top - 1) * self.lanes - step
            a, b = let("a", start + step), let("b", start + distance)
            yield (a, let("x", self.vector(a))), (b, let("y", self.vector(b)))

    @contextmanager
    def _loop(self, name: str, count: int) -> Iterator[PrimExpr]:
        """A loop that is written out, where there is more than one iteration."""
        if count == 1:
            yield tx.const(0, i64)
            return
        with self.statements.loop(name, Const(count, i64), written_out=True) as i:
            yield i

    def moved(self, value: PrimExpr, mask: int) -> PrimExpr:
        """Lanes exchanged with those whose numbers differ in the bits of the mask."""
        return CLASSES["Shuffle"]([value], [lane ^ self.lane(mask) for lane in range(self.lanes)])

    def lesser(self, x: PrimExpr, y: PrimExpr, mask: int) -> PrimExpr:
        """The lesser keys in lanes without the highest bit of the mask, the greater ones in the others."""
        top = self.lane(1 << mask.bit_length() - 1)
        lane = _ramp(tx.const(0, self.dtype), self.lanes)
        return tx.select(tx.equal(lane & top, 0), tx.minimum(x, y), tx.maximum(x, y))

    def lane(self, number: int) -> int:
        """The lane of a number: with more lanes than registers, the last bits of the number are the first of the lane.

        Then keys are in order where the other bits are exchanged with those of the register.
        """
        more = max(self.lanes // self.registers, 1)
        return number // more + number % more * (self.lanes // more)


def _bitonic(count: int) -> Iterator[int]:
    """The bits in which the numbers of keys differ that a step exchanges, for each step."""
    half = 1
    while half < count:
        yield 2 * half - 1
        bit = half // 2
        while bit:
            yield bit
            bit //= 2
        half *= 2
