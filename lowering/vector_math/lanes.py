"""The operations that formulas use: constants, floats, their bits and masks, scalars or vectors alike, with operators.

LLVM must not rearrange any of this: no operation has fast-math flags, so that a value is the same wherever its
expression occurs, in a vector, in a scalar loop that LLVM vectorizes, or in the tail of one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import Float64Type, VectorType, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.dtypes import lanes_of
from ...dialects.xdsl_extras.arith_extras import element_type
from ...target import Target
from ..tir_to_scf.emitter import NO_FLAGS, Emitter, is_vector, like
from ..tir_to_scf.intrinsics import call_llvm_intrinsic
from . import coefficients

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
LN2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
LN10 = Fraction("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599720508959830")
HALF_PI = PI / 2
LOG2_E = 1 / LN2
LOG10_E = 1 / LN10
LOG10_2 = LN2 / LN10
"""Constants as exact fractions."""


def rounded(value: Fraction, bits: int) -> Fraction:
    """Return the nearest fraction with a significand of `bits` bits."""
    if value == 0:
        return value
    exponent = 0
    while abs(value) >= 2**bits:
        value, exponent = value / 2, exponent + 1
    while abs(value) < 2 ** (bits - 1):
        value, exponent = value * 2, exponent - 1
    return Fraction(round(value)) * Fraction(2) ** exponent


def parts(value: Fraction, bits: int, count: int) -> tuple[float, ...]:
    """Return `count` floats of `bits` bits each, the largest first, whose sum approximates `value`."""
    parts: list[float] = []
    for _ in range(count):
        part = rounded(value, bits)
        parts.append(float(part))
        value -= part
    return tuple(parts)


def head_and_rest(value: Fraction, head_bits: int, rest_bits: int) -> tuple[float, float]:
    """Return a float of few bits, so that its product with a small integer is exact, and the remainder."""
    head = rounded(value, head_bits)
    return float(head), float(rounded(value - head, rest_bits))


@dataclass(frozen=True)
class Format:
    """A binary float format."""

    element: Attribute
    integer: Attribute
    precision: int
    """Bits of the significand, including the hidden one."""
    bias: int
    table: dict[str, tuple[float, ...]]
    """Name -> coefficients of a polynomial."""
    codes: str
    """The `struct` codes of the float and of its bits."""

    @property
    def mantissa(self) -> int:
        """Stored bits of the significand."""
        return self.precision - 1

    @property
    def integer_bits(self) -> int:
        """Total number of bits."""
        return 32 if self.precision == 24 else 64

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.mantissa

    @property
    def shifter(self) -> float:
        """A number that, added to a float, leaves the nearest integer in the lowest bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    def bits(self, value: float) -> int:
        """Return the bits of a float as an integer."""
        return struct.unpack(self.codes[1], struct.pack(self.codes[0], value))[0]

    def float_of(self, bits: int) -> float:
        """Return the float with these bits."""
        return struct.unpack(self.codes[0], struct.pack(self.codes[1], bits))[0]

    def nearest(self, value: float) -> float:
        """Return the nearest float of this format."""
        return self.float_of(self.bits(value))


F32 = Format(f32, i32, 24, 127, coefficients.F32, "fi")
F64 = Format(f64, i64, 53, 1023, coefficients.F64, "dq")


_NAN_BELOW_ZERO = 8
"""Immediate of `vgetmant`."""
_LEAST_MAGNITUDE = 0b1010
"""Immediate of `vrange`: of two numbers the one of smaller magnitude, without its sign."""
_OF_POSITIVE = 0x03530422
"""Table of `vfixupimm`: four bits for each class of numbers, from the lowest: NaN (quiet, signaling) 2, NaN;
zero 4, minus infinity; one 0, unchanged; minus infinity 3, NaN; infinity 5, infinity; negative 3; positive 0.
"""


@dataclass(frozen=True, eq=False)
class Mask:
    """A truth value for each lane."""

    at: Lanes
    value: SSAValue

    def pick(self, yes: Float | float, no: Float | float) -> Float:
        """Select `yes` where the mask is true, else `no`."""
        return Float(self.at, self.at.emit.select(self.value, self.at.value(yes), self.at.value(no)))

    def pick_bits(self, yes: int, no: int) -> Int:
        """Select the integer `yes` where the mask is true, else `no`."""
        constant = self.at.integer
        return Int(self.at, self.at.emit.select(self.value, constant(yes).value, constant(no).value))

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.at, self.at.emit.binary(arith.AndIOp, self.value, other.value))

    def complement(self) -> Mask:
        """Return the lanes where the mask is false."""
        return Mask(self.at, self.at.emit.binary(arith.XOrIOp, self.value, self.at.emit.constant(-1, self.value.type)))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.at, self.at.emit.binary(arith.OrIOp, self.value, other.value))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.at, self.at.emit.binary(arith.XOrIOp, self.value, other.value))


@dataclass(frozen=True, eq=False)
class Int:
    """An integer as wide as the float, for each lane; it wraps."""

    at: Lanes
    value: SSAValue

    def _with(self, cls: type[Operation], other: Int | int) -> Int:
        right = self.at.integer(other) if isinstance(other, int) else other
        return Int(self.at, self.at.emit.binary(cls, self.value, right.value))

    def __add__(self, other: Int | int) -> Int:
        return self._with(arith.AddiOp, other)

    def __sub__(self, other: Int | int) -> Int:
        return self._with(arith.SubiOp, other)

    def __and__(self, other: Int | int) -> Int:
        return self._with(arith.AndIOp, other)

    def __xor__(self, other: Int | int) -> Int:
        return self._with(arith.XOrIOp, other)

    def __lshift__(self, count: int) -> Int:
        return self._with(arith.ShLIOp, count)

    def __rshift__(self, count: int) -> Int:
        """Logical shift: zeros are shifted in."""
        return self._with(arith.ShRUIOp, count)

    def compare(self, predicate: str, other: int) -> Mask:
        """Compare by a predicate of arith: `slt`, `eq`, …"""
        return Mask(self.at, self.at.emit.compare(predicate, self.value, self.at.integer(other).value))

    def as_float(self) -> Float:
        """Return the float with these bits."""
        return Float(self.at, self.at.emit.pure(arith.BitcastOp, (self.value,), self.at.type))


@dataclass(frozen=True, eq=False)
class Float:
    """A float for each lane."""

    at: Lanes
    value: SSAValue

    def _with(self, cls: type[Operation], other: Float | float) -> Float:
        return Float(self.at, self.at.emit.binary(cls, self.value, self.at.value(other), NO_FLAGS))

    def __add__(self, other: Float | float) -> Float:
        return self._with(arith.AddfOp, other)

    def __sub__(self, other: Float | float) -> Float:
        return self._with(arith.SubfOp, other)

    def __mul__(self, other: Float | float) -> Float:
        return self._with(arith.MulfOp, other)

    def __truediv__(self, other: Float | float) -> Float:
        return self._with(arith.DivfOp, other)

    def __radd__(self, other: float) -> Float:
        return self.at.constant(other) + self

    def __rsub__(self, other: float) -> Float:
        return self.at.constant(other) - self

    def __rmul__(self, other: float) -> Float:
        return self * other

    def __rtruediv__(self, other: float) -> Float:
        return self.at.constant(other) / self

    def __neg__(self) -> Float:
        return self.at.unary(arith.NegfOp, self)

    def __abs__(self) -> Float:
        return self.at.unary(math.AbsFOp, self)

    def __lt__(self, other: Float | float) -> Mask:
        return self.compare("olt", other)

    def __gt__(self, other: Float | float) -> Mask:
        return self.compare("ogt", other)

    def compare(self, predicate: str, other: Float | float) -> Mask:
        """Compare by a predicate of arith: `olt`, `oeq`, `uno`, …"""
        return Mask(self.at, self.at.emit.compare(predicate, self.value, self.at.value(other)))

    def at_most(self, limit: float) -> Float:
        """Return the smaller of the two; NaN is kept."""
        return (self > limit).pick(limit, self)

    def at_least(self, limit: float) -> Float:
        """Return the greater of the two; NaN is kept."""
        return (self < limit).pick(limit, self)

    def sqrt(self) -> Float:
        return self.at.unary(math.SqrtOp, self)

    def floor(self) -> Float:
        return self.at.unary(math.FloorOp, self)

    def with_sign_of(self, other: Float) -> Float:
        emit = self.at.emit
        return Float(
            self.at, emit.pure(math.CopySignOp, (self.value, other.value), self.at.type, {"fastmath": NO_FLAGS})
        )

    def bits(self) -> Int:
        """Return the float's bits."""
        return Int(self.at, self.at.emit.pure(arith.BitcastOp, (self.value,), self.at.integer_type))


class Lanes:
    """The context of a formula: its float type, and the instructions of the target for it."""

    def __init__(self, emit: Emitter, type: Attribute, target: Target):
        self.emit = emit
        self.type = type
        self.target = target
        self.has_fma = target.has_fma
        self.format = F64 if isinstance(element_type(type), Float64Type) else F32
        self.integer_type = like(type, self.format.integer)

    def wrap(self, value: SSAValue) -> Float:
        """Return a value of this type."""
        return Float(self, value)

    def constant(self, value: float) -> Float:
        return Float(self, self.emit.constant(float(value), self.type))

    def integer(self, value: int) -> Int:
        return Int(self, self.emit.constant(value, self.integer_type))

    def value(self, number: Float | float) -> SSAValue:
        """Return the SSA value of a float or of a constant."""
        return number.value if isinstance(number, Float) else self.constant(number).value

    def unary(self, cls: type[Operation], x: Float) -> Float:
        """Emit an operation of arith or math on one float."""
        return Float(self, self.emit.pure(cls, (x.value,), self.type, {"fastmath": NO_FLAGS}))

    def fma(self, a: Float, b: Float | float, c: Float | float) -> Float:
        """Return a * b + c, rounded once if the target has fma."""
        if not self.has_fma:
            return a * b + c
        operands = (a.value, self.value(b), self.value(c))
        return Float(self, self.emit.pure(math.FmaOp, operands, self.type, {"fastmath": NO_FLAGS}))

    def product(self, a: Float, b: Float | float) -> tuple[Float, Float]:
        """Return a * b and its rounding error, exactly; without fma by Dekker's method."""
        p = a * b
        if self.has_fma:
            return p, self.fma(a, b, -p)
        right = b if isinstance(b, Float) else self.constant(b)
        (ah, al), (bh, bl) = self.halves(a), self.halves(right)
        return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl

    def halves(self, x: Float) -> tuple[Float, Float]:
        """Return the upper half of the bits and the remainder: products of halves are exact."""
        head = (x.bits() & -(1 << (self.format.precision + 1) // 2)).as_float()
        return head, x - head

    def sum(self, a: Float | float, b: Float) -> tuple[Float, Float]:
        """Return a + b and its rounding error, whichever is larger."""
        total = a + b
        part = total - b
        return total, (b - (total - part)) + (a - part)

    def polynomial(self, x: Float, *names_or_values: str | float) -> Float:
        """Evaluate a polynomial by Horner's scheme, coefficients lowest degree first; a name stands for
        coefficients of the table.
        """
        values: list[float] = []
        for item in names_or_values:
            values += self.format.table[item] if isinstance(item, str) else (item,)
        total: Float | float = values[-1]
        for value in reversed(values[:-1]):
            total = self.fma(x, total, value)
        return total if isinstance(total, Float) else self.constant(total)

    @property
    def is_avx512(self) -> bool:
        """True if `scale`, `parts` and `where_positive` are available: instructions for 512-bit vectors."""
        wide = lanes_of(self.type) * self.format.integer_bits == 512
        return wide and "avx512f" in self.target.features

    def scale(self, x: Float, n: Float) -> Float:
        """Return x 2^n, rounded once, for any n."""
        return self._avx512("scalef", x.value, n.value, self.constant(0.0).value)

    def parts(self, x: Float) -> tuple[Float, Float]:
        """Return (e, m) with x = 2^e m and 1 <= m < 2, for finite x > 0; for 0 and infinity e is infinite, for x
        < 0 m is NaN.
        """
        zero = self.constant(0.0).value
        to_two = self.emit.constant(_NAN_BELOW_ZERO, i32)
        return self._avx512("getexp", x.value, zero), self._avx512("getmant", x.value, to_two, zero)

    def magnitude(self, x: Float, limit: float) -> Float:
        """Return |x|, clamped to `limit`; NaN may give either."""
        if not self.is_avx512 or "avx512dq" not in self.target.features:
            return abs(x).at_most(limit)
        how = self.emit.constant(_LEAST_MAGNITUDE, i32)
        return self._avx512("range", x.value, self.constant(limit).value, how, self.constant(0.0).value)

    def lookup(self, index: Int, values: Sequence[float]) -> Float:
        """Return the entry selected by the lowest bits of `index`, of 16 or 32 entries in registers; f32 only."""
        lanes = lanes_of(self.type)
        tables = [values[i : i + lanes] for i in range(0, len(values), lanes)]
        first, *second = (self.floats(table) for table in tables)
        if second:
            name, operands = "vpermi2var.ps.512", (first, index.value, second[0])
        else:
            name, operands = "permvar.sf.512", (first, index.value)
        return Float(self, call_llvm_intrinsic(self.emit, f"llvm.x86.avx512.{name}", operands, self.type))

    def floats(self, values: Sequence[float]) -> SSAValue:
        """Return a constant vector."""
        bits = self.emit.dense([self.format.bits(v) for v in values], cast("VectorType[Any]", self.integer_type))
        return self.emit.pure(arith.BitcastOp, (bits,), self.type)

    def where_positive(self, result: Float, x: Float) -> Float:
        """Return `result`, but minus infinity for x = 0, infinity for infinity, NaN for negative x and NaN."""
        table = self.integer(_OF_POSITIVE)
        return self._avx512("fixupimm", result.value, x.value, table.value, self.emit.constant(0, i32))

    def _avx512(self, name: str, *operands: SSAValue) -> Float:
        """Emit an AVX-512 instruction on all lanes, with the default rounding mode."""
        suffix, mask = ("ps", i16) if self.format is F32 else ("pd", i8)
        rest = (self.emit.constant(-1, mask), self.emit.constant(4, i32))
        name = f"llvm.x86.avx512.mask.{name}.{suffix}.512"
        return Float(self, call_llvm_intrinsic(self.emit, name, (*operands, *rest), self.type))

    def convert(self, cls: type[Operation], x: Float, other: Lanes) -> Float:
        """Convert `x` to another format by `arith.extf` or `arith.truncf`."""
        return Float(other, self.emit.pure(cls, (x.value,), other.type))

    def unless(self, rare: Mask, usual: Float, other: Callable[[], Float]) -> Float:
        """Return `usual`, but `other()` in lanes where `rare` holds; `other()` is only computed if there is such
        a lane.
        """
        emit = self.emit
        then, otherwise = Block(), Block()
        with emit.inside(then):
            chosen = rare.pick(other(), usual)
            emit.append(scf.YieldOp(chosen.value))
        with emit.inside(otherwise):
            emit.append(scf.YieldOp(usual.value))
        either = emit.append(scf.IfOp(self._any(rare), [self.type], Region(then), Region(otherwise)))
        return Float(self, either.results[0])

    def _any(self, mask: Mask) -> SSAValue:
        if not is_vector(mask.value):
            return mask.value
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag("or"))
        return self.emit.pure(vector.ReductionOp, (mask.value,), element_type(mask.value.type), {"kind": kind})
