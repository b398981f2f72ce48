"""Vectorized sorting of integers: quicksort with compressing stores, and a sorting network for parts of a few vectors.

    divide:    keys[left …] = compress(v, v <= pivot),  spare[right …] = compress(v, v > pivot)    for each vector v
               the space freed on each side receives the right side of its next division; nothing is moved back
    network:   bitonic, on as many vectors as registers hold; most of its steps exchange full vectors

A pivot is the median of a sample. After an unbalanced division it is the middle of the range of values that a part may
have, which halves each time (once it may be the value just below the greatest one, if many keys are equal to that):
so no order of elements takes more than n log n steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from xdsl.dialects.builtin import IntegerType, VectorType, f32, f64, i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import bit_width, is_float, ui32, ui64
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import limits
from ..handles.tir import prim_expr as tx
from ..handles.tir.expr_kinds import CLASSES
from ..handles.tir.intrinsics import call_llvm_pure_intrin, reinterpret
from ..handles.tir.prim_expr import PrimExpr
from ..te.broadcast import Indices
from ..te.extern_body import Array, Statements
from ..te.tensor import Tensor

_VECTOR_BITS = 512
_REGISTERS = (8, 16)
"""Vectors of the networks; the larger one, with the temporaries of its steps, uses all registers."""
_PARTS = 64
"""Maximum number of pending parts: the smaller of two is divided first, so there are fewer than a key has bits."""
_UNFAIR = 8
"""A division is unbalanced if one side has less than 1 / `_UNFAIR` of the elements."""
_TYPES = (i32, i64, ui32, ui64, f32, f64)


def is_sorted_in_vectors(dtype: Attribute | None) -> bool:
    """Return whether elements of the type are sorted in vectors: the CPU can compress elements of this width."""
    return dtype in _TYPES


def room(extent: SymExpr, dtype: Attribute) -> SymExpr:
    """Return the capacity in keys of a third of a row, so that vectors that begin in it also end in it."""
    return extent + _VECTOR_BITS // bit_width(dtype)


def key_type(dtype: Attribute) -> IntegerType:
    """Return the type of the sort keys of elements."""
    return IntegerType(bit_width(dtype))


def key(x: PrimExpr, descending: bool) -> PrimExpr:
    """Map an element to a signed integer that sorts like it: -0 before 0, NaN after all numbers."""
    integer = key_type(x.type)
    bits = reinterpret(integer, x)
    if is_float(x.type):
        ordered = _order_bits(bits) - _least_number(x.type)
    else:
        ordered = bits if x.type in (i32, i64) else bits ^ _sign(integer)
    return ~ordered if descending else ordered


def element(ordered: PrimExpr, dtype: Attribute, descending: bool) -> PrimExpr:
    """Map a sort key back to the element."""
    ordered = ~ordered if descending else ordered
    if is_float(dtype):
        return reinterpret(dtype, _order_bits(ordered + _least_number(dtype)))
    return ordered if dtype in (i32, i64) else reinterpret(dtype, ordered ^ _sign(key_type(dtype)))


def _sign(integer: IntegerType) -> PrimExpr:
    return tx.const(-(1 << (bit_width(integer) - 1)), integer)


def _order_bits(bits: PrimExpr) -> PrimExpr:
    """Map the bits of a float to an integer that sorts like it, and back."""
    return bits ^ ((bits >> bit_width(bits.type) - 1) & ~_sign(key_type(bits.type)))


def _least_number(dtype: Attribute) -> PrimExpr:
    """Return the offset that makes -inf the least integer, so that NaN with a sign bit wraps around to the end."""
    return tx.const({f32: 0x7FFFFF, f64: 0xFFFFFFFFFFFFF}[dtype], key_type(dtype))


@dataclass(frozen=True)
class VectorSort:
    """Sort of a row of `keys` in thirds of size `room`: keys, spare space, sorted keys."""

    statements: Statements
    keys: Tensor
    rest: Indices
    room: PrimExpr

    @property
    def dtype(self) -> IntegerType:
        return key_type(self.keys.type)

    @property
    def lanes(self) -> int:
        """The number of keys in a vector."""
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
        """Return a network of this many vectors."""
        array = self.statements.array(name, self.dtype, self.lanes * registers)
        return _Network(self.statements, self.dtype, self.lanes, registers, array)

    def small(self, part: _Part, network: _Network) -> None:
        """Sort a part that fits the vectors of the network; the unused places sort to the end."""
        for at in network.each():
            keys = self.vector(part.first + tx.minimum(at, part.size))
            network.set(at, tx.select(self.before(at, part.size), keys, part.highest))
        network.sort()
        network.transpose()
        for at in network.each():
            place = self.statements.let("place", tx.minimum(network.place(at), part.size))
            self.put_some(part.out + place, network.vector(at), self.before(place, part.size))

    def equal(self, part: _Part) -> None:
        """Write a part whose keys are all equal."""
        with self.statements.loop("i", part.size) as i:
            self.statements.store(self.keys, (*self.rest, part.out + i), part.low)

    def large(self, part: _Part, sample: _Network, parts: _Parts) -> None:
        """Divide a part, and push both sides to be sorted."""
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
        """Return the median of a sample, or the middle of the range, but less than the greatest key."""
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
        """Keep keys that are not greater than the pivot, move the others to the spare space; return the number kept."""
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
        """Return the vector type with as many lanes as vectors of keys."""
        return VectorType(dtype, [self.lanes])

    def before(self, first: PrimExpr, size: PrimExpr) -> PrimExpr:
        """Return a mask of the lanes, numbered from `first`, that are below `size`."""
        lane = tx.cast(self.dtype, _ramp(tx.const(0, i64), self.lanes))
        return tx.less(lane, tx.minimum(tx.maximum(size - first, 0), self.lanes).astype(self.dtype))

    def vector(self, first: PrimExpr) -> PrimExpr:
        """Load the keys from `first` on."""
        return self.keys(*self.rest, _ramp(first, self.lanes))

    def put(self, first: PrimExpr, value: PrimExpr) -> None:
        """Store keys from `first` on."""
        self.statements.store(self.keys, (*self.rest, _ramp(first, self.lanes)), value)

    def put_some(self, first: PrimExpr, value: PrimExpr, lanes: PrimExpr) -> None:
        """Store some lanes; the others keep their values."""
        self.put(first, tx.select(lanes, value, self.vector(first)))

    def compress(self, value: PrimExpr, lanes: PrimExpr) -> PrimExpr:
        """Return the selected lanes packed at the front, followed by zeros."""
        dtype = self.of(self.dtype)
        return call_llvm_pure_intrin(dtype, "llvm.experimental.vector.compress", value, lanes, tx.const(0, dtype))


def _ramp(first: PrimExpr, lanes: int) -> PrimExpr:
    return CLASSES["Ramp"](first, tx.const(1, first.type), lanes)


def _count(lanes: PrimExpr) -> PrimExpr:
    """Return the number of true lanes."""
    return call_llvm_pure_intrin(i32, "llvm.vector.reduce.add", tx.cast(i32, lanes)).astype(i64)


def _range(integer: IntegerType) -> tuple[PrimExpr, PrimExpr]:
    return limits.min_value(integer), limits.max_value(integer)


@dataclass(frozen=True)
class _Part:
    """`size` keys from `first` on, all between `low` and `high`."""

    first: PrimExpr
    spare: PrimExpr
    """The start of a free region of the same size."""
    out: PrimExpr
    """The destination of the sorted keys."""
    size: PrimExpr
    low: PrimExpr
    high: PrimExpr
    unfair: PrimExpr = field(default_factory=lambda: tx.const(0, i64))
    """The number of consecutive unbalanced divisions that led to this part."""

    @property
    def highest(self) -> PrimExpr:
        """The greatest value of the key type."""
        return limits.max_value(self.low.type)


_NAMES = tuple(f.name for f in fields(_Part))


class _Parts:
    """A stack of `count` pending parts; the last one is next."""

    def __init__(self, b: Statements, dtype: IntegerType):
        self._statements = b
        kinds = dict(zip(_NAMES, (i64, i64, i64, i64, dtype, dtype, i64), strict=True))
        self._arrays = {name: b.array(f"{name}s", kind, _PARTS) for name, kind in kinds.items()}
        self.count = b.cell("parts", i64, 0)

    def put(self, place: PrimExpr, part: _Part) -> None:
        """Store a part."""
        for name, array in self._arrays.items():
            array.set(place, getattr(part, name))

    def take(self) -> _Part:
        """Return the part just past `count`, which was popped."""
        let, place = self._statements.let, self.count.value
        return _Part(*(let(name, array(place)) for name, array in self._arrays.items()))


@dataclass(frozen=True)
class _Network:
    """A sorting network on vectors. Keys are ordered by lane, then by vector: key `lane * registers + register`.

    A step exchanges keys whose indices differ in some bits; for bits of the lane, lanes are shuffled.
    """

    statements: Statements
    dtype: IntegerType
    lanes: int
    registers: int
    array: Array

    @property
    def size(self) -> int:
        """The number of keys it sorts."""
        return self.lanes * self.registers

    def vector(self, at: PrimExpr) -> PrimExpr:
        """Load the keys of the register at `at` in the array."""
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
        """Compare and exchange registers whose indices differ in the bits of the mask: the lesser keys go first."""
        for (a, x), (b, y) in self.pairs(mask):
            self.set(a, tx.minimum(x, y))
            self.set(b, tx.maximum(x, y))

    def exchange_lanes(self, mask: int) -> None:
        """Compare and exchange lanes within a register."""
        for at in self.each():
            x = self.statements.let("x", self.vector(at))
            self.set(at, self.lesser(x, self.moved(x, mask), mask))

    def exchange_both(self, mask: int) -> None:
        """Compare and exchange lanes of a register with those of its mirror register."""
        for (a, x), (b, y) in self.pairs(self.registers - 1):
            self.set(a, self.lesser(x, self.moved(y, mask), mask))
            self.set(b, self.lesser(y, self.moved(x, mask), mask))

    def transpose(self) -> None:
        """Make the keys of a lane adjacent: square transposes of registers and lanes."""
        bit = min(self.lanes, self.registers) // 2
        while bit:
            for (a, x), (b, y) in self.pairs(bit):
                for at, here in ((a, 0), (b, bit)):
                    lanes = [here + (i & ~bit) + (self.lanes if i & bit else 0) for i in range(self.lanes)]
                    self.set(at, CLASSES["Shuffle"]([x, y], lanes))
            bit //= 2

    def place(self, at: PrimExpr) -> PrimExpr:
        """Return the index of the first key of a transposed register."""
        if self.registers <= self.lanes:
            return at
        register, squares = tx.floordiv(at, self.lanes), self.registers // self.lanes
        return (tx.floormod(register, self.lanes) * squares + tx.floordiv(register, self.lanes)) * self.lanes

    def each(self) -> Iterator[PrimExpr]:
        """Open a loop over the registers, and yield the start of each."""
        with self._loop("k", self.registers) as k:
            yield self.statements.let("at", k * self.lanes)

    def pairs(self, mask: int) -> Iterator[tuple[tuple[PrimExpr, PrimExpr], ...]]:
        """Open a loop over the pairs of registers whose indices differ in the bits of the mask.

        Yields the start and the keys of both.
        """
        let, top = self.statements.let, 1 << mask.bit_length() - 1
        with self._loop("block", self.registers // (2 * top)) as block, self._loop("k", top) as k:
            start, step = block * (2 * top * self.lanes), k * self.lanes
            distance = top * self.lanes + step if mask == top else (2 * top - 1) * self.lanes - step
            a, b = let("a", start + step), let("b", start + distance)
            yield (a, let("x", self.vector(a))), (b, let("y", self.vector(b)))

    @contextmanager
    def _loop(self, name: str, count: int) -> Iterator[PrimExpr]:
        """Open an unrolled loop, or none for a single iteration."""
        if count == 1:
            yield tx.const(0, i64)
            return
        with self.statements.loop(name, Const(count, i64), written_out=True) as i:
            yield i

    def moved(self, value: PrimExpr, mask: int) -> PrimExpr:
        """Exchange lanes whose indices differ in the bits of the mask."""
        return CLASSES["Shuffle"]([value], [lane ^ self.lane(mask) for lane in range(self.lanes)])

    def lesser(self, x: PrimExpr, y: PrimExpr, mask: int) -> PrimExpr:
        """Return the lesser keys in lanes without the highest bit of the mask, the greater ones in the others."""
        top = self.lane(1 << mask.bit_length() - 1)
        lane = _ramp(tx.const(0, self.dtype), self.lanes)
        return tx.select(tx.equal(lane & top, 0), tx.minimum(x, y), tx.maximum(x, y))

    def lane(self, number: int) -> int:
        """Map a lane number to a lane.

        With more lanes than registers, the last bits of the number are the first of the lane. The keys are then in
        order once the other bits are exchanged with those of the register.
        """
        more = max(self.lanes // self.registers, 1)
        return number // more + number % more * (self.lanes // more)


def _bitonic(count: int) -> Iterator[int]:
    """Yield for each step the mask of key-index bits in which exchanged keys differ."""
    half = 1
    while half < count:
        yield 2 * half - 1
        bit = half // 2
        while bit:
            yield bit
            bit //= 2
        half *= 2
