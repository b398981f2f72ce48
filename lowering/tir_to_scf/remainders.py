"""Remainders, and quotients rounded to integers, of floats: exact remainders, quotients as in numpy and torch.

All of them start from the remainder of the truncated quotient (`llvm.frem`, C's `fmod`), which is always exact.
Floats of fewer than 32 bits are computed in f32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from ...dialects.dtypes import bit_width
from ...dialects.xdsl_extras.arith_extras import element_type
from .casts import convert
from .emitter import NO_FLAGS, Emitter

_Build = Callable[[Emitter, SSAValue, SSAValue], SSAValue]


def _in_f32(build: _Build) -> _Build:
    def narrow(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        dtype = element_type(a.type)
        if bit_width(dtype) >= 32:
            return build(emit, a, b)
        wide = build(emit, convert(emit, a, dtype, f32), convert(emit, b, dtype, f32))
        return convert(emit, wide, f32, dtype)

    return narrow


def _binary(emit: Emitter, cls: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
    """Emit an operation that is never contracted with the producers of its operands, of which the remainder
    was taken.
    """
    return emit.binary(cls, a, b, NO_FLAGS)


def _remainder(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.pure(llvm.FRemOp, (a, b), a.type, {"fastmathFlags": llvm.FastMathAttr(None)})


def _is_above_floor(emit: Emitter, rest: SSAValue, b: SSAValue) -> SSAValue:
    """Return an i1: the truncated quotient is above the floored one, which means it is negative and inexact."""
    zero = emit.constant(0.0, rest.type)
    signs = emit.binary(arith.XOrIOp, emit.compare("olt", rest, zero), emit.compare("olt", b, zero))
    return emit.binary(arith.AndIOp, emit.compare("one", rest, zero), signs)


@_in_f32
def truncmod(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the remainder with the sign of `a`."""
    return _remainder(emit, a, b)


@_in_f32
def floormod(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the remainder with the sign of `b`, but 0 with that of `a`."""
    rest = _remainder(emit, a, b)
    return emit.select(_is_above_floor(emit, rest, b), _binary(emit, arith.AddfOp, rest, b), rest)


@_in_f32
def floordiv(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the floored quotient: (a - remainder) / b, which is close to an integer, rounded to it.

    Division by zero returns a / b, and a zero quotient has the sign of a / b.
    """
    rest = _remainder(emit, a, b)
    zero, one = emit.constant(0.0, a.type), emit.constant(1.0, a.type)
    near_integer = _binary(emit, arith.DivfOp, _binary(emit, arith.SubfOp, a, rest), b)
    lower = _binary(emit, arith.SubfOp, near_integer, one)
    near_integer = emit.select(_is_above_floor(emit, rest, b), lower, near_integer)
    floor = _unary(emit, math.FloorOp, near_integer)
    is_below = emit.compare("ogt", _binary(emit, arith.SubfOp, near_integer, floor), emit.constant(0.5, a.type))
    floor = emit.select(is_below, _binary(emit, arith.AddfOp, floor, one), floor)
    quotient = _binary(emit, arith.DivfOp, a, b)
    signed_zero = emit.pure(math.CopySignOp, (zero, quotient), a.type, {"fastmath": NO_FLAGS})
    floor = emit.select(emit.compare("oeq", near_integer, zero), signed_zero, floor)
    return emit.select(emit.compare("oeq", b, zero), quotient, floor)


def _unary(emit: Emitter, cls: type[Operation], value: SSAValue) -> SSAValue:
    return emit.pure(cls, (value,), value.type, {"fastmath": NO_FLAGS})
