"""Pure intrinsics by TVM's names: a table from the name to a builder (arguments all scalars, or all vectors)."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import unknown_name
from ...dialects import tir
from ...dialects.dtypes import is_float, is_unsigned
from ...dialects.xdsl_extras.arith_extras import element_type
from ...ir.verify import location_of
from .emitter import NO_FLAGS, REASSOC, Emitter, like
from .signature import scalar_type

Call = tir.CallIntrinOp | tir.CallLLVMIntrinOp
Builder = Callable[[Emitter, Call, Sequence[SSAValue]], SSAValue]
_Cls = type[Operation]

_UNARY: dict[str, _Cls] = {
    "exp": math.ExpOp, "exp2": math.Exp2Op, "log": math.LogOp, "log2": math.Log2Op, "log10": math.Log10Op,
    "log1p": math.Log1pOp, "expm1": math.ExpM1Op, "sqrt": math.SqrtOp, "rsqrt": math.RsqrtOp, "cbrt": math.CbrtOp,
    "sin": math.SinOp, "cos": math.CosOp, "tan": math.TanOp, "asin": math.AsinOp, "acos": math.AcosOp,
    "atan": math.AtanOp, "sinh": math.SinhOp, "cosh": math.CoshOp, "tanh": math.TanhOp, "asinh": math.AsinhOp,
    "acosh": math.AcoshOp, "atanh": math.AtanhOp, "erf": math.ErfOp, "floor": math.FloorOp, "ceil": math.CeilOp,
    "trunc": math.TruncOp, "round": math.RoundOp, "nearbyint": math.RoundEvenOp,
}  # fmt: skip
_BINARY: dict[str, _Cls] = {"atan2": math.Atan2Op, "copysign": math.CopySignOp}
_ROUNDINGS = frozenset(("floor", "ceil", "trunc", "round", "nearbyint"))


def _unary(name: str, cls: _Cls) -> Builder:
    def build(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        if name in _ROUNDINGS and not is_float(op.call_args[0].type):
            return args[0]
        return emit.pure(cls, args[:1], args[0].type, {"fastmath": NO_FLAGS})

    return build


def _binary(cls: _Cls) -> Builder:
    return lambda emit, op, args: emit.pure(cls, args[:2], args[0].type, {"fastmath": NO_FLAGS})


def _integer(cls: _Cls) -> Builder:
    return lambda emit, op, args: emit.binary(cls, args[0], args[1])


def _shift_right(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    unsigned = is_unsigned(op.call_args[0].type)
    return emit.binary(arith.ShRUIOp if unsigned else arith.ShRSIOp, args[0], args[1])


def _complement(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.binary(arith.XOrIOp, args[0], emit.constant(-1, args[0].type))


def _sigmoid(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """1 / (1 + exp(-x))"""
    x = args[0]
    one = emit.constant(1.0, x.type)
    minus = emit.pure(arith.NegfOp, (x,), x.type, {"fastmath": NO_FLAGS})
    power = emit.pure(math.ExpOp, (minus,), x.type, {"fastmath": NO_FLAGS})
    return emit.binary(arith.DivfOp, one, emit.binary(arith.AddfOp, one, power))


def _power(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """x to the y; of integers by way of f64"""
    from .casts import convert

    dtype = op.call_args[0].type
    if is_float(dtype):
        return emit.pure(math.PowFOp, args[:2], args[0].type, {"fastmath": NO_FLAGS})
    x, y = (convert(emit, a, dtype, f64) for a in args[:2])
    return convert(emit, emit.pure(math.PowFOp, (x, y), x.type, {"fastmath": NO_FLAGS}), f64, dtype)


def _exp10(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.pure(math.PowFOp, (emit.constant(10.0, args[0].type), args[0]), args[0].type, {"fastmath": NO_FLAGS})


def _hypot(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """big * sqrt(1 + (small / big)^2), which does not overflow; 0 where both are 0"""
    a, b = (emit.pure(math.AbsFOp, (v,), v.type, {"fastmath": NO_FLAGS}) for v in args)
    big, small = emit.binary(arith.MaximumfOp, a, b), emit.binary(arith.MinimumfOp, a, b)
    is_zero = emit.compare("oeq", big, emit.constant(0.0, big.type))
    one = emit.constant(1.0, big.type)
    ratio = emit.binary(arith.DivfOp, small, emit.select(is_zero, one, big))
    total = emit.binary(arith.AddfOp, one, emit.binary(arith.MulfOp, ratio, ratio))
    return emit.binary(arith.MulfOp, big, emit.pure(math.SqrtOp, (total,), big.type, {"fastmath": NO_FLAGS}))


def _abs(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    dtype = op.call_args[0].type
    if is_float(dtype):
        return emit.pure(math.AbsFOp, args, args[0].type, {"fastmath": NO_FLAGS})
    return args[0] if is_unsigned(dtype) else emit.pure(math.AbsIOp, args, args[0].type)


def _fma(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.pure(math.FmaOp, args[:3], args[0].type, {"fastmath": NO_FLAGS})


def _isnan(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.compare("uno", args[0], args[0])


def _against_infinity(predicate: str) -> Builder:
    def build(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        magnitude = emit.pure(math.AbsFOp, args, args[0].type, {"fastmath": NO_FLAGS})
        return emit.compare(predicate, magnitude, emit.constant(pymath.inf, args[0].type))

    return build


def _bits(cls: _Cls) -> Builder:
    """The number of bits as the call's result type."""

    def build(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        from .casts import convert

        counted = emit.pure(cls, args, args[0].type)
        return convert(emit, counted, element_type(counted.type), op.result.type)

    return build


def _same(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return args[0]


def _ldexp(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    from .casts import convert

    power = convert(emit, args[1], op.call_args[1].type, op.call_args[0].type)
    power = emit.pure(math.Exp2Op, (power,), args[0].type, {"fastmath": NO_FLAGS})
    return emit.binary(arith.MulfOp, args[0], power)


INTRINSICS: dict[str, Builder] = {
    **{name: _unary(name, cls) for name, cls in _UNARY.items()},
    **{name: _binary(cls) for name, cls in _BINARY.items()},
    "pow": _power,
    "power": _power,
    "sigmoid": _sigmoid,
    "exp10": _exp10,
    "hypot": _hypot,
    "ldexp": _ldexp,
    "abs": _abs,
    "fabs": _abs,
    "fma": _fma,
    "isnan": _isnan,
    "isinf": _against_infinity("oeq"),
    "isfinite": _against_infinity("olt"),
    "bitwise_and": _integer(arith.AndIOp),
    "bitwise_or": _integer(arith.OrIOp),
    "bitwise_xor": _integer(arith.XOrIOp),
    "bitwise_not": _complement,
    "shift_left": _integer(arith.ShLIOp),
    "shift_right": _shift_right,
    "popcount": _bits(math.CtPopOp),
    "clz": _bits(math.CountLeadingZerosOp),
    "likely": _same,
}
"""Name of a pure intrinsic -> builder."""

VECTOR_REDUCTIONS: dict[str, str] = {
    "llvm.vector.reduce.fadd": "add",
    "llvm.vector.reduce.add": "add",
    "llvm.vector.reduce.mul": "mul",
    "llvm.vector.reduce.fmul": "mul",
    "llvm.vector.reduce.fmax": "maxnumf",
    "llvm.vector.reduce.fmin": "minnumf",
    "llvm.vector.reduce.smax": "maxsi",
    "llvm.vector.reduce.smin": "minsi",
    "llvm.vector.reduce.umax": "maxui",
    "llvm.vector.reduce.umin": "minui",
}
"""LLVM's horizontal reductions that `call_llvm_intrin` may name -> the kind of `vector.reduction`."""

LLVM_INTRINSICS: dict[str, Builder] = {
    "llvm.fma": _fma,
    "llvm.fmuladd": _fma,
    "llvm.sqrt": INTRINSICS["sqrt"],
    "llvm.fabs": _abs,
    "llvm.exp": INTRINSICS["exp"],
    "llvm.log": INTRINSICS["log"],
    "llvm.pow": INTRINSICS["pow"],
}


def build_intrinsic(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """The value of an intrinsic. Raises `NameLookupError` for one that is not known, with a suggestion."""
    name = op.func.data
    if isinstance(op, tir.CallIntrinOp):
        name = name.removeprefix("tir.")
        table = INTRINSICS
    else:
        table = LLVM_INTRINSICS
        if name in VECTOR_REDUCTIONS:
            return reduce_lanes(emit, VECTOR_REDUCTIONS[name], args)
    build = table.get(name)
    if build is None:
        known = [*table, *(VECTOR_REDUCTIONS if table is LLVM_INTRINSICS else ())]
        raise unknown_name("intrinsic", name, known, location_of(op))
    return build(emit, op, args)


def reduce_lanes(emit: Emitter, kind: str, args: Sequence[SSAValue]) -> SSAValue:
    """A horizontal reduction: of (start, vector) for sums and products of floats, of (vector,) for others.

    Sums may be taken in any order.
    """
    lanes = args[-1]
    element = element_type(lanes.type)
    properties: dict[str, Attribute] = {"kind": vector.CombiningKindAttr(vector.CombiningKindFlag(kind))}
    if is_float(element):
        properties["fastmath"] = REASSOC
    return emit.pure(vector.ReductionOp, (lanes,) if len(args) == 1 else (lanes, args[0]), element, properties)


def reinterpret(emit: Emitter, value: SSAValue, target: Attribute) -> SSAValue:
    """The same bits as elements of another type of the same width."""
    element = scalar_type(element_type(target))
    if element == element_type(value.type):
        return value
    wanted = like(value.type, element)
    return emit.pure(arith.BitcastOp, (value,), wanted)
