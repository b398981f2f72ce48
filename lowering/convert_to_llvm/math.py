"""`math` to llvm: an LLVM intrinsic if there is one, otherwise the C library's function, lane by lane on vectors.

f16 and bf16 are computed in f32. LLVM also turns most intrinsics on vectors into one call per lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, i1, i16
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.quick import make
from ...dialects.xdsl_extras import llvm_extras
from ...dialects.xdsl_extras.type_guards import element_type, is_vector, with_element
from .arith import float_intrinsic
from .core import ConversionRule, Lowerer, Rules, fastmath_of
from .floats import is_narrow, through_f32

Values = Sequence[SSAValue]
_HALVES = (Float16Type, BFloat16Type)


def call_libm(at: Lowerer, name: str, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """Call the C library's function on f32 (`erff`) or f64 (`erf`) values, lane by lane for vectors."""
    symbol = name if isinstance(element_type(type), Float64Type) else name + "f"
    if not is_vector(type):
        return at.call(symbol, args, type)[0]
    result = at.value(make(llvm_extras.PoisonOp, result_types=(type,)))
    for lane in range(type.get_shape()[0]):
        position = at.integer(lane)
        scalars = [
            at.value(make(llvm_extras.ExtractElementOp, (a, position), result_types=(element_type(a.type),)))
            for a in args
        ]
        value = at.call(symbol, scalars, element_type(type))[0]
        result = at.value(make(llvm.InsertElementOp, (result, value, position), result_types=(type,)))
    return result


def _libm(name: str) -> ConversionRule:
    def rule(op: Operation, at: Lowerer) -> Values:
        return (through_f32(at, op.operands, lambda v, t: call_libm(at, name, v, t), _HALVES),)

    return rule


def _bits(name: str) -> ConversionRule:
    """Return a rule for integer intrinsics with an `is_poison` flag, which is always false: math's results are
    defined.
    """

    def rule(op: Operation, at: Lowerer) -> Values:
        value = op.operands[0]
        return at.intrinsic(name, (value, at.integer(0, i1)), value.type)

    return rule


def _ctpop(op: math.CtPopOp, at: Lowerer) -> Values:
    return at.intrinsic("llvm.ctpop", (op.operand,), op.operand.type)


def _rsqrt(op: math.RsqrtOp, at: Lowerer) -> Values:
    fastmath = fastmath_of(op)

    def build(values: Sequence[SSAValue], type: Attribute) -> SSAValue:
        root = at.intrinsic("llvm.sqrt", values, type, fastmath)[0]
        return at.float_binary(llvm.FDivOp, at.floating(1.0, type), root, fastmath)

    return (through_f32(at, (op.operand,), build, _HALVES),)


def _fpowi(op: math.FPowIOp, at: Lowerer) -> Values:
    fastmath = fastmath_of(op)
    return (through_f32(at, (op.lhs, op.rhs), lambda v, t: at.intrinsic("llvm.powi", v, t, fastmath)[0], _HALVES),)


_SIGN = 0x8000
"""The sign of a float of 16 bits."""


def _absf(op: math.AbsFOp, at: Lowerer) -> Values:
    if not is_narrow(op.operand.type, _HALVES):
        return at.intrinsic("llvm.fabs", (op.operand,), op.operand.type, fastmath_of(op))
    return (_of_bits(at, _digits(at, op.operand), op.operand.type),)


def _copysign(op: math.CopySignOp, at: Lowerer) -> Values:
    if not is_narrow(op.lhs.type, _HALVES):
        return at.intrinsic("llvm.copysign", (op.lhs, op.rhs), op.lhs.type, fastmath_of(op))
    sign = at.cast(llvm.BitcastOp, op.rhs, with_element(op.rhs.type, i16))
    sign = at.integer_binary(llvm.AndOp, sign, at.integer(_SIGN, sign.type))
    return (_of_bits(at, at.integer_binary(llvm.OrOp, _digits(at, op.lhs), sign), op.lhs.type),)


def _digits(at: Lowerer, value: SSAValue) -> SSAValue:
    """Return the bits of a float of 16 bits without its sign."""
    bits = at.cast(llvm.BitcastOp, value, with_element(value.type, i16))
    return at.integer_binary(llvm.AndOp, bits, at.integer(_SIGN - 1, bits.type))


def _of_bits(at: Lowerer, bits: SSAValue, type: Attribute) -> SSAValue:
    return at.cast(llvm.BitcastOp, bits, type)


_EXACT = {
    math.CeilOp: "llvm.ceil",
    math.FloorOp: "llvm.floor",
    math.TruncOp: "llvm.trunc",
    math.RoundOp: "llvm.round",
    math.RoundEvenOp: "llvm.roundeven",
}
_INTRINSICS = {
    math.SqrtOp: "llvm.sqrt",
    math.FmaOp: "llvm.fma",
    math.ExpOp: "llvm.exp",
    math.Exp2Op: "llvm.exp2",
    math.LogOp: "llvm.log",
    math.Log2Op: "llvm.log2",
    math.Log10Op: "llvm.log10",
    math.SinOp: "llvm.sin",
    math.CosOp: "llvm.cos",
    math.TanOp: "llvm.tan",
    math.AsinOp: "llvm.asin",
    math.AcosOp: "llvm.acos",
    math.AtanOp: "llvm.atan",
    math.Atan2Op: "llvm.atan2",
    math.SinhOp: "llvm.sinh",
    math.CoshOp: "llvm.cosh",
    math.TanhOp: "llvm.tanh",
    math.PowFOp: "llvm.pow",
}
_LIBM = {
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
    math.CbrtOp: "cbrt",
    math.AcoshOp: "acosh",
    math.AsinhOp: "asinh",
    math.AtanhOp: "atanh",
}

RULES: Rules = {
    **{op: float_intrinsic(name, _HALVES) for op, name in (_EXACT | _INTRINSICS).items()},
    **{op: _libm(name) for op, name in _LIBM.items()},
    math.AbsFOp: _absf,
    math.CopySignOp: _copysign,
    math.RsqrtOp: _rsqrt,
    math.FPowIOp: _fpowi,
    math.AbsIOp: _bits("llvm.abs"),
    math.CountLeadingZerosOp: _bits("llvm.ctlz"),
    math.CountTrailingZerosOp: _bits("llvm.cttz"),
    math.CtPopOp: _ctpop,
}
