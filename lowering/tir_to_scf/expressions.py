"""Lowering of tir's expressions to arith: a table from expression classes to builders.

A builder takes the emitter, the expression and its operands, already lowered and of one shape: all scalars, or all
vectors. Integers wrap; comparisons of floats are ordered except `ne`; `min` and `max` of floats are NaN if an operand
is, and return the first of equal operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import VectorType, f32, f64, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_float, is_unsigned, scalar_of
from ...dialects.xdsl_extras.arith_extras import element_type
from . import remainders
from .casts import convert
from .emitter import Emitter

Builder = Callable[[Emitter, Any, Sequence[SSAValue]], SSAValue]
_Cls = type[Operation]


def _kind(op: Operation) -> str:
    """Return `float`, `unsigned` or `signed`: the interpretation of the operands of an expression."""
    dtype = op.operands[0].type
    return "float" if is_float(dtype) else "unsigned" if is_unsigned(dtype) else "signed"


def _by_kind(float_cls: _Cls, signed: _Cls, unsigned: _Cls) -> Builder:
    classes = {"float": float_cls, "signed": signed, "unsigned": unsigned}

    def build(emit: Emitter, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
        if _kind(op) != "float" and not isinstance(args[0].type, VectorType):
            folded = _fold(emit, classes["signed"], args)
            if folded is not None:
                return folded
        return emit.binary(classes[_kind(op)], args[0], args[1])

    return build


_FOLDS: dict[_Cls, Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
}


def _fold(emit: Emitter, cls: _Cls, args: Sequence[SSAValue]) -> SSAValue | None:
    a, b = emit.known.get(args[0]), emit.known.get(args[1])
    rule = _FOLDS.get(cls)
    if a is None or b is None or rule is None:
        return None
    half = 1 << (bit_width(args[0].type) - 1)
    return emit.constant((rule(a, b) + half) % (2 * half) - half, args[0].type)


def _compare(float_predicate: str, signed: str, unsigned: str) -> Builder:
    predicates = {"float": float_predicate, "signed": signed, "unsigned": unsigned}

    def build(emit: Emitter, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
        return emit.compare(predicates[_kind(op)], args[0], args[1])

    return build


def _extremum(float_predicate: str, signed: _Cls, unsigned: _Cls) -> Builder:
    def build(emit: Emitter, op: tir.ExtremumExpr, args: Sequence[SSAValue]) -> SSAValue:
        kind, (a, b) = _kind(op), args
        if kind != "float":
            return emit.binary(signed if kind == "signed" else unsigned, a, b)
        if op.nnan is not None or _is_nonzero_number(op.lhs):
            return emit.select(emit.compare(float_predicate, a, b), a, b)
        better = emit.select(emit.compare(float_predicate, b, a), b, a)  # of NaN the last operand, as x86 has it
        return better if _is_number(op.rhs) else emit.select(emit.compare("uno", b, b), b, better)

    return build


def _is_number(value: SSAValue) -> bool:
    """Return whether a float is known not to be NaN."""
    constant = constant_of(value)
    if constant is not None:
        return constant == constant
    return isinstance(value.owner, tir.CastOp) and not is_float(value.owner.value.type)


def _is_nonzero_number(value: SSAValue) -> bool:
    return constant_of(value) != 0 and _is_number(value)


def _truncmod(emit: Emitter, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    kind = _kind(op)
    if kind == "float":
        return remainders.truncmod(emit, args[0], args[1])
    return emit.binary(arith.RemUIOp if kind == "unsigned" else arith.RemSIOp, args[0], args[1])


def _floordiv(emit: Emitter, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    kind = _kind(op)
    if kind == "float":
        return remainders.floordiv(emit, args[0], args[1])
    return emit.binary(arith.DivUIOp if kind == "unsigned" else arith.FloorDivSIOp, args[0], args[1])


def _floormod(emit: Emitter, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Return the remainder; for integers it is corrected by the divisor if it is nonzero and has the other sign.

    For a power of two it is a mask of the lowest bits.
    """
    a, b = args
    kind = _kind(op)
    if kind == "float":
        return remainders.floormod(emit, a, b)
    if kind == "unsigned":
        return emit.binary(arith.RemUIOp, a, b)
    divisor = emit.known.get(b, 0)
    if divisor > 0 and divisor & (divisor - 1) == 0:
        return emit.binary(arith.AndIOp, a, emit.constant(divisor - 1, a.type))
    rest = emit.binary(arith.RemSIOp, a, b)
    return emit.select(_has_wrong_sign(emit, rest, b), emit.binary(arith.AddiOp, rest, b), rest)


def _has_wrong_sign(emit: Emitter, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Return an i1: the remainder is nonzero and its sign differs from the divisor's, which a floored division rules
    out.
    """
    zero = emit.constant(0, rest.type)
    signs_differ = emit.compare("slt", emit.binary(arith.XOrIOp, rest, divisor), zero)
    return emit.binary(arith.AndIOp, emit.compare("ne", rest, zero), signs_differ)


def _not(emit: Emitter, op: tir.NotOp, args: Sequence[SSAValue]) -> SSAValue:
    """Return logical `not` of bools, and bitwise `not` of other integers: TVM has `Not` for bools only."""
    return emit.binary(arith.XOrIOp, args[0], emit.constant(-1, args[0].type))


def _cast(emit: Emitter, op: tir.CastOp, args: Sequence[SSAValue]) -> SSAValue:
    return convert(emit, args[0], op.value.type, op.result.type)


def _select(emit: Emitter, op: tir.SelectOp, args: Sequence[SSAValue]) -> SSAValue:
    return emit.select(args[0], args[1], args[2])


BUILDERS: dict[type[Operation], Builder] = {
    tir.AddOp: _by_kind(arith.AddfOp, arith.AddiOp, arith.AddiOp),
    tir.SubOp: _by_kind(arith.SubfOp, arith.SubiOp, arith.SubiOp),
    tir.MulOp: _by_kind(arith.MulfOp, arith.MuliOp, arith.MuliOp),
    tir.DivOp: _by_kind(arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    tir.TruncModOp: _truncmod,
    tir.FloorDivOp: _floordiv,
    tir.FloorModOp: _floormod,
    tir.MinOp: _extremum("olt", arith.MinSIOp, arith.MinUIOp),
    tir.MaxOp: _extremum("ogt", arith.MaxSIOp, arith.MaxUIOp),
    tir.AndOp: lambda emit, op, args: emit.binary(arith.AndIOp, args[0], args[1]),
    tir.OrOp: lambda emit, op, args: emit.binary(arith.OrIOp, args[0], args[1]),
    tir.EqOp: _compare("oeq", "eq", "eq"),
    tir.NeOp: _compare("une", "ne", "ne"),
    tir.LtOp: _compare("olt", "slt", "ult"),
    tir.LeOp: _compare("ole", "sle", "ule"),
    tir.GtOp: _compare("ogt", "sgt", "ugt"),
    tir.GeOp: _compare("oge", "sge", "uge"),
    tir.NotOp: _not,
    tir.CastOp: _cast,
    tir.SelectOp: _select,
}
"""Expression class -> builder."""

DIVISIONS = (tir.DivOp, tir.TruncModOp, tir.FloorDivOp, tir.FloorModOp)
"""Integer operations that must not see a zero divisor in a masked-off lane."""


def divide(emit: Emitter, op: tir.BinaryExpr, args: Sequence[SSAValue]) -> SSAValue:
    """Divide integers, or compute their remainder, without trapping.

    Division by zero returns 0, and the smallest integer divided by -1 wraps, as in numpy: machines trap in both cases.
    """
    build, (a, b) = BUILDERS[type(op)], args
    if constant_of(op.rhs) not in (None, 0, -1):
        return build(emit, op, args)
    if isinstance(a.type, VectorType):
        build = _divide_lanes if bit_width(scalar_of(op.lhs.type)) <= _EXACT_BITS else _divide_long_lanes
    zero, one = emit.constant(0, b.type), emit.constant(1, b.type)
    by_zero = emit.compare("eq", b, zero)
    if _kind(op) == "unsigned":
        result = build(emit, op, (a, emit.select(by_zero, one, b)))
        return emit.select(by_zero, zero, result) if isinstance(op, _QUOTIENTS) else result
    by_minus_one = emit.compare("eq", b, emit.constant(-1, b.type))
    odd = emit.binary(arith.OrIOp, by_zero, by_minus_one)
    result = build(emit, op, (a, emit.select(odd, one, b)))
    if not isinstance(op, _QUOTIENTS):
        return result  # a remainder of a division by one: 0
    negated = emit.binary(arith.SubiOp, zero, a)
    return emit.select(by_zero, zero, emit.select(by_minus_one, negated, result))


_EXACT_BITS = 32
_FLOAT_BITS = 53
"""Integers of up to this many bits are exact in f64, and f64 rounding never turns their inexact quotients into
integers.
"""


def _divide_long_lanes(emit: Emitter, op: tir.BinaryExpr, args: Sequence[SSAValue]) -> SSAValue:
    """Divide vectors of 64-bit integers in floating point, unless a lane has a value that f64 cannot represent."""
    a, b = args
    if not is_unsigned(op.lhs.type):
        half = emit.constant(1 << (_FLOAT_BITS - 1), a.type)
        a, b = (emit.binary(arith.AddiOp, value, half) for value in (a, b))
    limit = emit.constant(1 << _FLOAT_BITS, a.type)
    too_long = emit.compare("uge", emit.binary(arith.OrIOp, a, b), limit)
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag("or"))
    some = emit.pure(vector.ReductionOp, (too_long,), i1, {"kind": kind})
    exact, by_floats = Block(), Block()
    for block, build in ((exact, BUILDERS[type(op)]), (by_floats, _divide_lanes)):
        with emit.inside(block):
            emit.append(scf.YieldOp(build(emit, op, args)))
    return emit.append(scf.IfOp(some, [args[0].type], Region(exact), Region(by_floats))).results[0]


def _divide_lanes(emit: Emitter, op: tir.BinaryExpr, args: Sequence[SSAValue]) -> SSAValue:
    """Divide vectors in floating point, because machines have no vector instruction for integer division.

    An inexact quotient of 32-bit integers differs from any integer by more than the rounding error of f64, and the
    same holds for 16 bits in f32. The divisor must not be 0, nor -1 if the dividend is the smallest integer.
    """
    dtype = op.lhs.type
    wide = f64 if bit_width(scalar_of(dtype)) > _EXACT_BITS // 2 else f32
    a, b = (convert(emit, value, dtype, wide) for value in args)
    quotient = convert(emit, emit.binary(arith.DivfOp, a, b), wide, dtype)
    if isinstance(op, tir.DivOp):
        return quotient
    rest = emit.binary(arith.SubiOp, args[0], emit.binary(arith.MuliOp, quotient, args[1]))
    if isinstance(op, tir.TruncModOp) or is_unsigned(dtype):
        return quotient if isinstance(op, tir.FloorDivOp) else rest
    wrong = _has_wrong_sign(emit, rest, args[1])
    if isinstance(op, tir.FloorModOp):
        return emit.select(wrong, emit.binary(arith.AddiOp, rest, args[1]), rest)
    return emit.select(wrong, emit.binary(arith.AddiOp, quotient, emit.constant(-1, quotient.type)), quotient)


def constant_of(value: SSAValue) -> int | float | None:
    """Return the number that all lanes of a tir value have, or None if it is unknown."""
    owner = value.owner
    if isinstance(owner, tir.BroadcastOp):
        return constant_of(owner.value)
    return owner.py_value if isinstance(owner, tir.ConstOp) else None


_QUOTIENTS = (tir.DivOp, tir.FloorDivOp)


def is_bool(value: SSAValue) -> bool:
    """Return whether a value is a bool or a vector of bools."""
    return element_type(value.type) == i1
