"""Narrow floats: bf16 arithmetic is done in f32, and conversions to bf16 and from f64 to f16 round once.

LLVM would call a runtime library (`__truncsfbf2`, …) that is not linked into every process, and the AVX-512
instruction for bf16 flushes denormals. A few integer operations are exact everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    f32,
    i1,
    i16,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects.quick import make
from ...dialects.xdsl_extras import llvm_extras
from ...dialects.xdsl_extras.type_guards import element_type, with_element
from .core import NO_FASTMATH, Lowerer

_WIDTHS = {BFloat16Type: 16, Float16Type: 16, Float32Type: 32, Float64Type: 64}


def is_narrow(type: Attribute, kinds: tuple[type, ...] = (BFloat16Type,)) -> bool:
    """Return whether the element type of `type` is one of the float `kinds`."""
    return isinstance(element_type(type), kinds)


def select(at: Lowerer, cond: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Insert `cond ? lhs : rhs`, with an i1 or one i1 per lane."""
    op = llvm.SelectOp if cond.type == i1 else llvm_extras.SelectOp
    bits = narrow_bits(at, lhs), narrow_bits(at, rhs)
    properties: dict[str, Attribute] = {"fastmathFlags": NO_FASTMATH}
    chosen = at.value(make(op, (cond, *bits), result_types=(bits[0].type,), properties=properties))
    return from_narrow_bits(at, chosen, lhs.type)


def narrow_bits(at: Lowerer, value: SSAValue) -> SSAValue:
    """Insert a bitcast of bfloat16 to integers: without AVX-512, LLVM scalarizes vectors of it and calls a library to
    convert the lanes.
    """
    if is_narrow(value.type):
        return at.cast(llvm.BitcastOp, value, with_element(value.type, i16))
    return value


def from_narrow_bits(at: Lowerer, value: SSAValue, type: Attribute) -> SSAValue:
    """Insert the inverse of `narrow_bits`: a value of `type`."""
    return value if value.type == type else at.cast(llvm.BitcastOp, value, type)


def extend(at: Lowerer, value: SSAValue, element: Attribute) -> SSAValue:
    """Insert the extension of `value` to the wider float `element`."""
    if not is_narrow(value.type):
        return at.cast(llvm.FPExtOp, value, with_element(value.type, element))
    wide = _from_bf16(at, value)
    return wide if isinstance(element, Float32Type) else extend(at, wide, element)


def _from_bf16(at: Lowerer, value: SSAValue) -> SSAValue:
    """Extend bf16 to f32 by shifting its bits to the upper half. LLVM may call a library even to extend lanes."""
    integer = with_element(value.type, i32)
    upper = at.cast(llvm.ZExtOp, narrow_bits(at, value), integer)
    bits = at.integer_binary(llvm.ShlOp, upper, at.integer(16, integer))
    return at.cast(llvm.BitcastOp, bits, with_element(value.type, f32))


def truncate(at: Lowerer, value: SSAValue, type: Attribute) -> SSAValue:
    """Insert `value` rounded once to the narrower float `type` (to nearest, ties to even)."""
    target = element_type(type)
    if isinstance(element_type(value.type), Float64Type) and not isinstance(target, Float32Type):
        value = _round_to_odd(at, value)
    if isinstance(target, BFloat16Type):
        return _to_bf16(at, value, type)
    return at.cast(llvm.FPTruncOp, value, type)


def _round_to_odd(at: Lowerer, value: SSAValue) -> SSAValue:
    """Round f64 to f32 such that rounding the result once more gives the correctly rounded value."""
    narrow = at.cast(llvm.FPTruncOp, value, with_element(value.type, f32))
    back = extend(at, narrow, element_type(value.type))
    integer = with_element(value.type, i32)
    bits = at.cast(llvm.BitcastOp, narrow, integer)
    flag = with_element(value.type, i1)
    inexact = fcmp(at, "one", back, value, flag)
    even = at.icmp("eq", at.integer_binary(llvm.AndOp, bits, at.integer(1, integer)), at.integer(0, integer), flag)
    magnitudes = [at.intrinsic("llvm.fabs", (v,), v.type)[0] for v in (back, value)]
    below = fcmp(at, "olt", magnitudes[0], magnitudes[1], flag)
    step = select(at, below, at.integer(1, integer), at.integer(-1, integer))
    adjust = at.integer_binary(llvm.AndOp, inexact, even)
    odd = at.integer_binary(llvm.AddOp, bits, step)
    return at.cast(llvm.BitcastOp, select(at, adjust, odd, bits), narrow.type)


def _to_bf16(at: Lowerer, value: SSAValue, type: Attribute) -> SSAValue:
    """Round f32 to bf16: add half a unit (less one if the result would be odd) and keep the upper half; NaN
    stays NaN.
    """
    integer, flag = with_element(type, i32), with_element(type, i1)
    bits = at.cast(llvm.BitcastOp, value, integer)
    upper = at.integer_binary(llvm.LShrOp, bits, at.integer(16, integer))
    odd = at.integer_binary(llvm.AndOp, upper, at.integer(1, integer))
    bias = at.integer_binary(llvm.AddOp, odd, at.integer(0x7FFF, integer))
    rounded = at.integer_binary(llvm.LShrOp, at.integer_binary(llvm.AddOp, bits, bias), at.integer(16, integer))
    quiet = at.integer_binary(llvm.OrOp, upper, at.integer(0x40, integer))
    chosen = select(at, fcmp(at, "uno", value, value, flag), quiet, rounded)
    return at.cast(llvm.BitcastOp, at.cast(llvm.TruncOp, chosen, with_element(type, i16)), type)


def fcmp(
    at: Lowerer,
    predicate: str,
    lhs: SSAValue,
    rhs: SSAValue,
    type: Attribute,
    fastmath: Attribute = NO_FASTMATH,
) -> SSAValue:
    """Insert a float comparison with a result of `type` (i1, or one i1 per lane)."""
    flag = f"_{predicate}" if predicate in ("true", "false") else predicate
    index = IntegerAttr(llvm.FCmpPredicateFlag(flag).to_int(), 64)
    properties = {"predicate": index, "fastmathFlags": fastmath}
    op = llvm.FCmpOp if type == i1 else llvm_extras.FCmpOp
    return at.value(make(op, (lhs, rhs), result_types=(type,), properties=properties))


def through_f32(
    at: Lowerer,
    operands: Sequence[SSAValue],
    build: Callable[[Sequence[SSAValue], Attribute], SSAValue],
    kinds: tuple[type, ...] = (BFloat16Type,),
) -> SSAValue:
    """Call `build(operands, type)`; operands of one of `kinds` are extended to f32 and the result is rounded back."""
    narrow = operands[0].type
    if not is_narrow(narrow, kinds):
        return build(operands, narrow)
    wide = build([extend(at, v, f32) if v.type == narrow else v for v in operands], with_element(narrow, f32))
    return truncate(at, wide, narrow)
