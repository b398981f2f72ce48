"""`arith` to llvm: scalars and vectors alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.dialects.utils import BitEnumAttribute
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras import arith_extras as extras
from ...dialects.xdsl_extras import llvm_extras
from ...dialects.xdsl_extras.arith_extras import FLOAT_PREDICATES, INTEGER_PREDICATES
from ...dialects.xdsl_extras.type_guards import element_type, is_integer_attr, is_vector, with_element
from .core import ConversionRule, Lowerer, Rules, fastmath_of, integer_attr
from .floats import extend, fcmp, is_narrow, select, through_f32, truncate
from .types import convert_type

Values = Sequence[SSAValue]
_HALVES = (Float16Type, BFloat16Type)
_overflow: dict[Attribute, IntegerAttr[IntegerType] | None] = {}


def _overflow_flags(op: Operation) -> IntegerAttr[IntegerType] | None:
    flags = op.properties.get("overflowFlags")
    if flags is None:
        return None
    if flags not in _overflow:
        names = {str(f) for f in cast("BitEnumAttribute[arith.IntegerOverflowFlag]", flags).data}
        bits = ("nsw" in names) + 2 * ("nuw" in names)
        _overflow[flags] = IntegerAttr(bits, i32) if bits else None
    return _overflow[flags]


def _constant(op: arith.ConstantOp, at: Lowerer) -> Values:
    value, type = op.value, op.result.type
    if is_integer_attr(value) and isinstance(value.type, IndexType):
        value = integer_attr(value.value.data, 64)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        value = _dense(cast("DenseIntOrFPElementsAttr[Any]", value), type)
    return (at.constant(value, type),)


def _dense(value: DenseIntOrFPElementsAttr[Any], type: Attribute) -> Attribute:
    """Return a dense constant whose attribute has the converted type (an index element takes eight bytes, like i64)."""
    if not is_vector(type):
        raise UnsupportedError(f"a dense constant of {type} is not a value in LLVM", expected="a vector")
    return value if value.type == type else DenseIntOrFPElementsAttr(cast(Any, type), value.data)


def _integer(target: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        return (at.integer_binary(target, op.operands[0], op.operands[1], _overflow_flags(op)),)

    return rule


def _integer_intrinsic(name: str) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        return at.intrinsic(name, op.operands, op.operands[0].type)

    return rule


def _float(target: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        fastmath = fastmath_of(op)
        return (through_f32(at, op.operands, lambda v, _: at.float_binary(target, v[0], v[1], fastmath)),)

    return rule


def float_intrinsic(name: str, kinds: tuple[type, ...] = (BFloat16Type,)) -> ConversionRule:
    """Return a rule that calls the LLVM intrinsic `name` on the operands; elements of `kinds` are computed in f32."""

    def rule(op: Operation, at: Lowerer) -> Values:
        fastmath = fastmath_of(op)
        return (through_f32(at, op.operands, lambda v, t: at.intrinsic(name, v, t, fastmath)[0], kinds),)

    return rule


def _negf(op: arith.NegfOp, at: Lowerer) -> Values:
    properties = {"fastmathFlags": fastmath_of(op)}
    return (at.value(make(llvm.FNegOp, (op.operand,), result_types=(op.operand.type,), properties=properties)),)


def _compare(op: Operation, default: tuple[str, ...]) -> str:
    predicate = op.properties["predicate"]
    if is_integer_attr(predicate):
        return default[predicate.value.data]
    return cast(StringAttr, predicate).data


def _cmpi(op: Operation, at: Lowerer) -> Values:
    lhs, rhs = op.operands
    return (at.icmp(_compare(op, INTEGER_PREDICATES), lhs, rhs, with_element(lhs.type, i1)),)


def _cmpf(op: Operation, at: Lowerer) -> Values:
    lhs, rhs = op.operands
    flag = with_element(lhs.type, i1)
    if is_narrow(lhs.type):
        lhs, rhs = extend(at, lhs, f32), extend(at, rhs, f32)
    return (fcmp(at, _compare(op, FLOAT_PREDICATES), lhs, rhs, flag, fastmath_of(op)),)


def _select(op: Operation, at: Lowerer) -> Values:
    cond, lhs, rhs = op.operands
    return (select(at, cond, lhs, rhs),)


def _cast(target: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        return (at.cast(target, op.operands[0], convert_type(op.results[0].type)),)

    return rule


def _width(type: Attribute) -> int:
    return cast(IntegerType, element_type(type)).width.data


def _index_cast(extension: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        value, type = op.operands[0], convert_type(op.results[0].type)
        growth = _width(type) - _width(value.type)
        if growth == 0:
            return (value,)
        return (at.cast(extension if growth > 0 else llvm.TruncOp, value, type),)

    return rule


def _int_to_float(target: type[Operation]) -> ConversionRule:
    """Return a rule for conversions to float that round f16 and bf16 once, through f32, or f64 for 64 bits."""

    def rule(op: Operation, at: Lowerer) -> Values:
        value, type = op.operands[0], op.results[0].type
        if not is_narrow(type, _HALVES):
            return (at.cast(target, value, type),)
        wide, digits = (f32, 24) if _width(value.type) <= 32 else (f64, 53)
        if _width(value.type) > digits:
            value = _rounded_to_odd(at, value, digits, signed=target is llvm.SIToFPOp)
        return (truncate(at, at.cast(target, value, with_element(type, wide)), type),)

    return rule


def _rounded_to_odd(at: Lowerer, value: SSAValue, digits: int, signed: bool) -> SSAValue:
    """Return an integer that a float of so many digits holds, and that is rounded further as the value would be.

    The last digit of a large one is odd if digits below are lost: then it is never taken for a tie.
    """
    type, step = value.type, 1 << (_width(value.type) - digits)
    below = at.integer(step - 1, type)
    carried = at.integer_binary(llvm.AddOp, at.integer_binary(llvm.AndOp, value, below), below)
    sticky = at.integer_binary(llvm.AndOp, carried, at.integer(step, type))
    odd = at.integer_binary(llvm.AndOp, at.integer_binary(llvm.OrOp, value, sticky), at.integer(-step, type))
    limit = 1 << digits
    size = at.integer_binary(llvm.AddOp, value, at.integer(limit, type)) if signed else value
    large = at.icmp("ugt", size, at.integer(2 * limit if signed else limit, type), with_element(type, i1))
    return select(at, large, odd, value)


def _float_to_int(target: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        value = op.operands[0]
        if is_narrow(value.type, _HALVES):
            value = extend(at, value, f32)
        return (at.cast(target, value, op.results[0].type),)

    return rule


def _extf(op: Operation, at: Lowerer) -> Values:
    value, target = op.operands[0], element_type(op.results[0].type)
    if is_narrow(value.type) and target != f32:
        value = extend(at, value, f32)
    return (extend(at, value, target),)


def _truncf(op: Operation, at: Lowerer) -> Values:
    return (truncate(at, op.operands[0], op.results[0].type),)


def _divide(op: Operation, at: Lowerer, divide: type[Operation], remainder: type[Operation]) -> tuple[SSAValue, ...]:
    """Return the quotient, the remainder, and an i1 that is true if the remainder is not zero."""
    lhs, rhs = op.operands
    rest = at.integer_binary(remainder, lhs, rhs)
    flag = with_element(lhs.type, i1)
    return at.integer_binary(divide, lhs, rhs), rest, at.icmp("ne", rest, at.integer(0, lhs.type), flag)


def _signed_rounding(predicate: str, step: type[Operation]) -> ConversionRule:
    """Return a rule for sdiv, adjusted by one if the remainder is not zero and its sign differs from the divisor's
    (or agrees with it).
    """

    def rule(op: Operation, at: Lowerer) -> Values:
        quotient, rest, inexact = _divide(op, at, llvm.SDivOp, llvm.SRemOp)
        signs = at.integer_binary(llvm.XOrOp, rest, op.operands[1])
        signs_differ = at.icmp(predicate, signs, at.integer(0, rest.type), inexact.type)
        adjusted = at.integer_binary(step, quotient, at.integer(1, rest.type))
        return (select(at, at.integer_binary(llvm.AndOp, inexact, signs_differ), adjusted, quotient),)

    return rule


def _ceildivui(op: Operation, at: Lowerer) -> Values:
    quotient, _, inexact = _divide(op, at, llvm.UDivOp, llvm.URemOp)
    return (at.integer_binary(llvm.AddOp, quotient, at.cast(llvm.ZExtOp, inexact, quotient.type)),)


def _addui_extended(op: arith.AddUIExtendedOp, at: Lowerer) -> Values:
    total = at.integer_binary(llvm.AddOp, op.lhs, op.rhs)
    return total, at.icmp("ult", total, op.lhs, with_element(total.type, i1))


def _mul_extended(extension: type[Operation]) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        narrow = op.operands[0].type
        width = _width(narrow)
        wide = with_element(narrow, IntegerType(2 * width))
        lhs, rhs = (at.cast(extension, v, wide) for v in op.operands)
        product = at.integer_binary(llvm.MulOp, lhs, rhs)
        high = at.integer_binary(llvm.LShrOp, product, at.integer(width, wide))
        return at.cast(llvm.TruncOp, product, narrow), at.cast(llvm.TruncOp, high, narrow)

    return rule


RULES: Rules = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _integer(llvm.AddOp),
    arith.SubiOp: _integer(llvm.SubOp),
    arith.MuliOp: _integer(llvm.MulOp),
    arith.DivUIOp: _integer(llvm.UDivOp),
    arith.DivSIOp: _integer(llvm.SDivOp),
    arith.RemUIOp: _integer(llvm.URemOp),
    arith.RemSIOp: _integer(llvm.SRemOp),
    arith.AndIOp: _integer(llvm.AndOp),
    arith.OrIOp: _integer(llvm.OrOp),
    arith.XOrIOp: _integer(llvm.XOrOp),
    arith.ShLIOp: _integer(llvm.ShlOp),
    arith.ShRUIOp: _integer(llvm.LShrOp),
    arith.ShRSIOp: _integer(llvm.AShrOp),
    arith.FloorDivSIOp: _signed_rounding("slt", llvm.SubOp),
    arith.CeilDivSIOp: _signed_rounding("sge", llvm.AddOp),
    arith.CeilDivUIOp: _ceildivui,
    arith.MinUIOp: _integer_intrinsic("llvm.umin"),
    arith.MaxUIOp: _integer_intrinsic("llvm.umax"),
    arith.MinSIOp: _integer_intrinsic("llvm.smin"),
    arith.MaxSIOp: _integer_intrinsic("llvm.smax"),
    arith.AddUIExtendedOp: _addui_extended,
    arith.MulUIExtendedOp: _mul_extended(llvm.ZExtOp),
    arith.MulSIExtendedOp: _mul_extended(llvm.SExtOp),
    arith.AddfOp: _float(llvm.FAddOp),
    arith.SubfOp: _float(llvm.FSubOp),
    arith.MulfOp: _float(llvm.FMulOp),
    arith.DivfOp: _float(llvm.FDivOp),
    arith.MaximumfOp: float_intrinsic("llvm.maximum"),
    arith.MinimumfOp: float_intrinsic("llvm.minimum"),
    arith.MaxnumfOp: float_intrinsic("llvm.maxnum"),
    arith.MinnumfOp: float_intrinsic("llvm.minnum"),
    arith.NegfOp: _negf,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
    arith.BitcastOp: _cast(llvm.BitcastOp),
    arith.IndexCastOp: _index_cast(llvm.SExtOp),
    arith.TruncIOp: _cast(llvm.TruncOp),
    arith.ExtSIOp: _cast(llvm.SExtOp),
    arith.ExtUIOp: _cast(llvm.ZExtOp),
    arith.SIToFPOp: _int_to_float(llvm.SIToFPOp),
    arith.UIToFPOp: _int_to_float(llvm_extras.UIToFPOp),
    arith.FPToSIOp: _float_to_int(llvm_extras.FPToSIOp),
    arith.FPToUIOp: _float_to_int(llvm_extras.FPToUIOp),
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    extras.CmpIOp: _cmpi,
    extras.CmpFOp: _cmpf,
    extras.SelectOp: _select,
    extras.IndexCastOp: _index_cast(llvm.SExtOp),
    extras.IndexCastUIOp: _index_cast(llvm.ZExtOp),
    extras.TruncIOp: _cast(llvm.TruncOp),
    extras.ExtSIOp: _cast(llvm.SExtOp),
    extras.ExtUIOp: _cast(llvm.ZExtOp),
    extras.SIToFPOp: _int_to_float(llvm.SIToFPOp),
    extras.UIToFPOp: _int_to_float(llvm_extras.UIToFPOp),
    extras.FPToSIOp: _float_to_int(llvm_extras.FPToSIOp),
    extras.FPToUIOp: _float_to_int(llvm_extras.FPToUIOp),
}
