"""Lowering of pure intrinsics: a table from TVM's names to builders (arguments all scalars, or all vectors)."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable, Sequence

from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError, unknown_name
from ...dialects import tir
from ...dialects.dtypes import bit_width, is_float, is_unsigned, lanes_of, scalar_of
from ...dialects.quick import make
from ...dialects.xdsl_extras import arith_extras as extras
from ...dialects.xdsl_extras.arith_extras import element_type
from ...ir.llvm_names import is_llvm_intrinsic
from ...ir.locations import location_of
from . import remainders
from .emitter import NO_FLAGS, REASSOC, Emitter, is_vector, lane_count, like, pick_lanes, vector_type
from .expressions import constant_of
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


def _shift(cls: _Cls, emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Shift; a negative amount, or one not below the bit width, returns 0, while LLVM's result would be undefined."""
    value, by = args
    bits, known = bit_width(scalar_of(op.call_args[0].type)), constant_of(op.call_args[1])
    if known is not None and 0 <= known < bits:
        return emit.binary(cls, value, by)
    within = emit.compare("ult", by, emit.constant(bits, by.type))
    if cls is arith.ShRSIOp:  # the sign is left
        return emit.binary(cls, value, emit.select(within, by, emit.constant(bits - 1, by.type)))
    zero = emit.constant(0, by.type)
    return emit.select(within, emit.binary(cls, value, emit.select(within, by, zero)), zero)


def _shift_left(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return _shift(arith.ShLIOp, emit, op, args)


def _shift_right(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    unsigned = is_unsigned(op.call_args[0].type)
    return _shift(arith.ShRUIOp if unsigned else arith.ShRSIOp, emit, op, args)


def _complement(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.binary(arith.XOrIOp, args[0], emit.constant(-1, args[0].type))


def _in_single(build: Builder) -> Builder:
    """Return a builder that computes 16-bit floats in float32 and rounds once."""

    def wide(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        if bit_width(element_type(args[0].type)) != 16:
            return build(emit, op, args)
        extended = [emit.pure(arith.ExtFOp, (a,), like(a.type, f32)) for a in args]
        return emit.pure(arith.TruncFOp, (build(emit, op, extended),), args[0].type)

    return wide


@_in_single
def _sigmoid(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Return 1 / (1 + exp(-x))."""
    x = args[0]
    one = emit.constant(1.0, x.type)
    minus = emit.pure(arith.NegfOp, (x,), x.type, {"fastmath": NO_FLAGS})
    power = emit.pure(math.ExpOp, (minus,), x.type, {"fastmath": NO_FLAGS})
    return emit.binary(arith.DivfOp, one, emit.binary(arith.AddfOp, one, power))


def _power(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Return x to the power y: x * x, 1 / x, and x * x * x (within 1 ulp) if x has more than 16 bits."""
    x, y = args[:2]
    if not is_float(op.call_args[0].type):
        return _integer_power(emit, op, x, y)
    match constant_of(op.call_args[1]):
        case 2:
            return emit.binary(arith.MulfOp, x, x)
        case -1:
            return emit.binary(arith.DivfOp, emit.constant(1.0, x.type), x)
        case 3 if bit_width(element_type(x.type)) > 16:
            return emit.binary(arith.MulfOp, emit.binary(arith.MulfOp, x, x), x)
        case _:
            return emit.pure(math.PowFOp, (x, y), x.type, {"fastmath": NO_FLAGS})


def _integer_power(emit: Emitter, op: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """Raise to a power by squaring, modulo 2**bits; for y < 0 return 1 / x**-y truncated toward zero, and 0
    for x = 0.
    """
    zero, one = emit.constant(0, x.type), emit.constant(1, x.type)
    known, signed = constant_of(op.call_args[1]), not is_unsigned(op.call_args[0].type)
    if known is not None and known < 0:
        return _inverse_power(emit, x, y)
    bits = bit_width(scalar_of(op.call_args[0].type)) - signed if known is None else int(known).bit_length()
    result, square, left = one, x, y
    for k in range(bits):
        odd = emit.compare("ne", emit.binary(arith.AndIOp, left, one), zero)
        result = emit.select(odd, emit.binary(arith.MuliOp, result, square), result)
        if k + 1 < bits:
            square, left = emit.binary(arith.MuliOp, square, square), emit.binary(arith.ShRUIOp, left, one)
    if known is not None or not signed:
        return result
    return emit.select(emit.compare("slt", y, zero), _inverse_power(emit, x, y), result)


def _inverse_power(emit: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x to a negative power: 1 for x = 1, 1 or -1 for x = -1, 0 for all others."""
    zero, one, minus = (emit.constant(c, x.type) for c in (0, 1, -1))
    odd = emit.compare("ne", emit.binary(arith.AndIOp, y, one), zero)
    of_minus = emit.select(emit.compare("eq", x, minus), emit.select(odd, minus, one), zero)
    return emit.select(emit.compare("eq", x, one), one, of_minus)


def _exp10(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.pure(math.PowFOp, (emit.constant(10.0, args[0].type), args[0]), args[0].type, {"fastmath": NO_FLAGS})


@_in_single
def _hypot(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Return big * sqrt(1 + (small / big)^2), which does not overflow; 0 if both are 0."""
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


def _strict_multiply(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Multiply with rounding: the product is never contracted into a fused multiply-add."""
    return emit.binary(arith.MulfOp, args[0], args[1], NO_FLAGS)


def _isnan(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.compare("uno", args[0], args[0])


def _against_infinity(predicate: str) -> Builder:
    def build(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        magnitude = emit.pure(math.AbsFOp, args, args[0].type, {"fastmath": NO_FLAGS})
        return emit.compare(predicate, magnitude, emit.constant(pymath.inf, args[0].type))

    return build


def _bits(cls: _Cls) -> Builder:
    """Return a builder for bit counts, converted to the call's result type."""

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


def _fmod(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return remainders.truncmod(emit, args[0], args[1])


def _nextafter(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Return the next float: the bits, read as an integer, plus or minus one; integers order the floats of one sign."""
    x, y = args[:2]
    dtype = element_type(x.type)
    bits = like(x.type, IntegerType(bit_width(dtype)))
    zero = emit.constant(0.0, x.type)
    grows = emit.binary(arith.XOrIOp, emit.compare("olt", x, y), emit.compare("olt", x, zero))
    step = emit.select(grows, emit.constant(1, bits), emit.constant(-1, bits))
    moved = emit.binary(arith.AddiOp, emit.pure(arith.BitcastOp, (x,), bits), step)
    next_one = emit.pure(arith.BitcastOp, (moved,), x.type)
    least = emit.pure(arith.BitcastOp, (emit.constant(1, bits),), x.type)
    from_zero = emit.pure(math.CopySignOp, (least, y), x.type, {"fastmath": NO_FLAGS})
    next_one = emit.select(emit.compare("oeq", x, zero), from_zero, next_one)
    next_one = emit.select(emit.compare("oeq", x, y), y, next_one)
    return emit.select(emit.compare("uno", x, y), emit.constant(pymath.nan, x.type), next_one)


def _multiply_shift(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Return round(x * y * 2^(s - q)) of 32-bit integers, computed in 64 bits."""
    x, y, q, s = (emit.convert(arith.ExtSIOp, extras.ExtSIOp, a, i64) for a in args)
    zero = emit.constant(0, x.type)
    x = emit.binary(arith.ShLIOp, x, emit.binary(arith.MaxSIOp, s, zero))
    return _rounded_shift(emit, x, y, emit.binary(arith.SubiOp, q, emit.binary(arith.MinSIOp, s, zero)))


def _rounded_shift(emit: Emitter, x: SSAValue, y: SSAValue, right: SSAValue) -> SSAValue:
    one = emit.constant(1, x.type)
    half = emit.binary(arith.ShLIOp, one, emit.binary(arith.SubiOp, right, one))
    total = emit.binary(arith.AddiOp, emit.binary(arith.MuliOp, x, y), half)
    return emit.convert(arith.TruncIOp, extras.TruncIOp, emit.binary(arith.ShRSIOp, total, right), i32)


def _multiply_shift_per_axis(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    """Like `q_multiply_shift`, with an optional left shift before and an optional right shift after."""
    x, y, left, right, q = (emit.convert(arith.ExtSIOp, extras.ExtSIOp, a, i64) for a in args[:5])
    zero = emit.constant(0, x.type)
    x = emit.binary(arith.ShLIOp, x, emit.select(args[5], left, zero))
    return _rounded_shift(emit, x, y, emit.binary(arith.AddiOp, q, emit.select(args[6], right, zero)))


def _undefined(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return emit.constant(0, scalar_or_vector(op.result.type))


def _half(number: int) -> Builder:
    def build(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
        count = lane_count(args[0].type) // 2
        return pick_lanes(emit, args, range(number * count, (number + 1) * count), element_type(args[0].type))

    return build


def _combine(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    return pick_lanes(emit, args, range(2 * lane_count(args[0].type)), element_type(args[0].type))


def _machine_lanes(emit: Emitter, op: Call, args: Sequence[SSAValue]) -> SSAValue:
    raise UnsupportedError(
        "T.vscale() has no value: the vectors of this machine have fixed lengths", location=location_of(op)
    )


INTRINSICS: dict[str, Builder] = {
    "vscale": _machine_lanes,
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
    "strict_multiply": _strict_multiply,
    "isnan": _isnan,
    "isinf": _against_infinity("oeq"),
    "isfinite": _against_infinity("olt"),
    "bitwise_and": _integer(arith.AndIOp),
    "bitwise_or": _integer(arith.OrIOp),
    "bitwise_xor": _integer(arith.XOrIOp),
    "bitwise_not": _complement,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "popcount": _bits(math.CtPopOp),
    "clz": _bits(math.CountLeadingZerosOp),
    **dict.fromkeys(("likely", "ignore_loop_partition", "tvm_thread_invariant", "tirax_streamed"), _same),
    "assume": _same,
    "undef": _undefined,
    "type_annotation": _undefined,
    "fmod": _fmod,
    "nextafter": _nextafter,
    "q_multiply_shift": _multiply_shift,
    "q_multiply_shift_per_axis": _multiply_shift_per_axis,
    "vectorlow": _half(0),
    "vectorhigh": _half(1),
    "vectorcombine": _combine,
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
"""LLVM's horizontal reductions, as named by `call_llvm_intrin` -> the kind of `vector.reduction`."""

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
    """Return the value of an intrinsic. Raises `NameLookupError`, with a suggestion, for an unknown name."""
    name = op.func.data
    if isinstance(op, tir.CallIntrinOp):
        name = name.removeprefix("tir.")
        table = INTRINSICS
    else:
        table = LLVM_INTRINSICS
        if name in VECTOR_REDUCTIONS:
            return reduce_lanes(emit, VECTOR_REDUCTIONS[name], args)
    build = table.get(name)
    if build is None and table is LLVM_INTRINSICS and is_llvm_intrinsic(name):
        return call_llvm_intrinsic(emit, name, args, scalar_or_vector(op.result.type))
    if build is None:
        known = [*table, *(VECTOR_REDUCTIONS if table is LLVM_INTRINSICS else ())]
        raise unknown_name("intrinsic", name, known, location_of(op))
    return build(emit, op, args)


def call_llvm_intrinsic(emit: Emitter, name: str, args: Sequence[SSAValue], result: Attribute | None) -> SSAValue:
    """Call any LLVM intrinsic, whose name LLVM completes; `result` None means that it returns void."""
    properties: dict[str, Attribute] = {
        "intrin": StringAttr(name),
        "fastmathFlags": llvm.FastMathAttr(None),
        "op_bundle_sizes": DenseArrayBase.from_list(i32, ()),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, (len(args), 0)),
    }
    types = () if result is None else (result,)
    op = make(llvm.CallIntrinsicOp, args, result_types=types, properties=properties)
    emit.append(op)
    return op.results[0] if op.results else emit.constant(0, i32)


def scalar_or_vector(dtype: Attribute) -> Attribute:
    """Return the lowered type of a value of `dtype`."""
    return like(dtype, scalar_type(element_type(dtype)))


def reduce_lanes(emit: Emitter, kind: str, args: Sequence[SSAValue]) -> SSAValue:
    """Reduce the lanes of a vector: of (start, vector) for sums and products of floats, of (vector,) for others.

    Sums may be reassociated.
    """
    lanes = args[-1]
    element = element_type(lanes.type)
    properties: dict[str, Attribute] = {"kind": vector.CombiningKindAttr(vector.CombiningKindFlag(kind))}
    if is_float(element):
        properties["fastmath"] = REASSOC
    return emit.pure(vector.ReductionOp, (lanes,) if len(args) == 1 else (lanes, args[0]), element, properties)


def reinterpret(emit: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """Reinterpret the bits of tir's `source` as `target`: lane by lane (also in vectorized loops), or with a
    different lane count.
    """
    element = scalar_type(element_type(target))
    lanes = lanes_of(target)
    if lanes_of(source) == lanes:
        same = element == element_type(value.type)
        return value if same else emit.pure(arith.BitcastOp, (value,), like(value.type, element))
    operand = value if is_vector(value) else emit.broadcast(value, 1)
    out = emit.pure(vector.BitcastOp, (operand,), vector_type(element, lanes))
    return out if lanes > 1 else pick_lanes(emit, [out], [0], element)
