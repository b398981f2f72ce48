"""`arith` and `math` on scalars as expressions of tir: a row for each operation.

MLIR's integers have no sign: they are signed here, and operations that take them as unsigned convert there and back.
`index` is int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, Signedness, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import is_dtype
from ...dialects.xdsl_extras.arith_extras import FLOAT_PREDICATES, INTEGER_PREDICATES
from ...ir.locations import location_of


def scalar_type(type: Attribute, at: Operation | None = None) -> Attribute:
    """Return the dtype of a scalar of `type`. Raises `UnsupportedError` if tir has none."""
    if isinstance(type, IndexType):
        return i64
    if is_dtype(type):
        return type
    location = None if at is None else location_of(at)
    raise UnsupportedError(f"elements of type {type}", location=location, expected="an integer, a float or index")


class Expressions:
    """Appends expressions to a block."""

    def __init__(self, block: Block):
        self.block = block

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; its result."""
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: float, type: Attribute) -> SSAValue:
        """A number."""
        return self.add(tir.ConstOp(value, type))

    def binary(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """An operation of `tir.BINARY`."""
        return self.add(tir.BINARY[name](a, b))

    def call(self, name: str, *args: SSAValue, type: Attribute | None = None) -> SSAValue:
        """An intrinsic; its result has the type of the first argument unless `type` says otherwise."""
        return self.add(tir.CallIntrinOp(name, args, args[0].type if type is None else type))

    def cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A conversion, if it is one."""
        return value if value.type == type else self.add(tir.CastOp(value, type))

    def select(self, cond: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` where `cond` holds, else `b`."""
        return self.add(tir.SelectOp(cond, a, b))

    def no(self, value: SSAValue) -> SSAValue:
        """The negation of a truth value."""
        return self.add(tir.NotOp(value))

    def signed(self, value: SSAValue) -> SSAValue:
        """A truth value as the one-bit integer that it is: 0 or -1; other values as they are."""
        if value.type != i1:
            return value
        return self.select(value, self.const(-1, i32), self.const(0, i32))


def _unsigned(type: Attribute) -> Attribute:
    width = cast("IntegerType[int]", type).width.data
    return IntegerType(width, Signedness.UNSIGNED) if width > 1 else type


Rule = Callable[[Expressions, Sequence[SSAValue], Operation], SSAValue]


def _plain(name: str) -> Rule:
    return lambda e, args, op: e.binary(name, args[0], args[1])


def _intrinsic(name: str) -> Rule:
    return lambda e, args, op: e.call(name, *args)


def _on_unsigned(name: str) -> Rule:
    """A rule for integers without a sign: `name` is a binary operation or an intrinsic."""

    def rule(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
        kind = args[0].type
        a, b = (e.cast(v, _unsigned(kind)) for v in args)
        return e.cast(e.binary(name, a, b) if name in tir.BINARY else e.call(name, a, b), kind)

    return rule


def _of_bits(truth: str, name: str) -> Rule:
    """A rule for integers, and another operation for truth values."""

    def rule(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
        if args[0].type == i1:
            return e.binary(truth, *args)
        return e.binary(name, *args) if name in tir.BINARY else e.call(name, *args)

    return rule


def _ceildiv(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    zero = e.const(0, args[0].type)
    return e.binary("sub", zero, e.binary("floordiv", e.binary("sub", zero, args[0]), args[1]))


def _ceildivui(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    kind = args[0].type
    a, b = (e.cast(v, _unsigned(kind)) for v in args)
    rest = e.binary("ne", e.binary("truncmod", a, b), e.const(0, a.type))
    return e.cast(e.binary("add", e.binary("div", a, b), e.cast(rest, a.type)), kind)


def _number(name: str) -> Rule:
    """The lesser or greater one, and the other operand where one is NaN."""

    def rule(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
        a, b = args
        either = e.select(e.call("isnan", b, type=i1), a, e.binary(name, a, b))
        return e.select(e.call("isnan", a, type=i1), b, either)

    return rule


def _negf(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.binary("mul", args[0], e.const(-1, args[0].type))


_SWAPPED = {"false": "true", "one": "ueq", "ugt": "ole", "uge": "olt", "ult": "oge", "ule": "ogt", "ord": "uno"}


def compare_floats(e: Expressions, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the truth value of a predicate of `arith.cmpf`."""
    if predicate == "true":
        return e.const(1, i1)
    if predicate == "uno":
        return e.binary("or", e.call("isnan", a, type=i1), e.call("isnan", b, type=i1))
    if predicate == "ueq":
        return e.no(e.binary("or", e.binary("lt", a, b), e.binary("gt", a, b)))
    if predicate in _SWAPPED:
        return e.no(compare_floats(e, _SWAPPED[predicate], a, b))
    return e.binary(predicate[1:], a, b)  # `oeq`, `olt`, …, and `une`, which holds for NaN as `ne` does


def compare_integers(e: Expressions, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the truth value of a predicate of `arith.cmpi`."""
    if predicate in ("eq", "ne"):
        return e.binary(predicate, a, b)
    if a.type == i1:
        a, b = (e.cast(v, i32) if predicate[0] == "u" else e.signed(v) for v in (a, b))
    elif predicate[0] == "u":
        a, b = (e.cast(v, _unsigned(a.type)) for v in (a, b))
    return e.binary(predicate[1:], a, b)


def _cmpf(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    predicate = cast("IntegerAttr[IntegerType]", op.properties["predicate"]).value.data
    return compare_floats(e, FLOAT_PREDICATES[predicate], *args)


def _cmpi(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    predicate = cast("IntegerAttr[IntegerType]", op.properties["predicate"]).value.data
    return compare_integers(e, INTEGER_PREDICATES[predicate], *args)


def _select(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.select(*args)


def _constant(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    value = op.properties["value"]
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise UnsupportedError(f"the constant {value}", location=location_of(op), expected="a number")
    return e.add(number(value, scalar_type(op.results[0].type, op)))


def number(value: IntegerAttr | FloatAttr, type: Attribute) -> tir.ConstOp:
    """Return a constant of a dtype."""
    data = value.value.data
    return tir.ConstOp(abs(int(data)) if type == i1 else data, type)


def _target(op: Operation) -> Attribute:
    return scalar_type(op.results[0].type, op)


def _cast(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.cast(args[0], _target(op))


def _index_cast(extended: Rule) -> Rule:
    """A rule that extends an integer, or cuts it: to one bit, it is the lowest."""
    return lambda e, args, op: (_trunci if _target(op) == i1 else extended)(e, args, op)


def _cast_signed(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.cast(e.signed(args[0]), _target(op))


def _cast_unsigned(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.cast(e.cast(args[0], _unsigned(args[0].type)), _target(op))


def _fptoui(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.cast(e.cast(args[0], _unsigned(_target(op))), _target(op))


def _trunci(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    if _target(op) != i1:
        return e.cast(args[0], _target(op))
    lowest = e.call("bitwise_and", args[0], e.const(1, args[0].type))
    return e.binary("ne", lowest, e.const(0, args[0].type))


def _bitcast(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    target = _target(op)
    return args[0] if args[0].type == target else e.add(tir.ReinterpretOp(args[0], target))


def _absi(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    zero = e.const(0, args[0].type)
    return e.select(e.binary("lt", args[0], zero), e.binary("sub", zero, args[0]), args[0])


def _expm1(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    """`2 sinh(x / 2) exp(x / 2)`, which loses no digits near 0."""
    half = e.binary("mul", args[0], e.const(0.5, args[0].type))
    return e.binary("mul", e.binary("mul", e.const(2, half.type), e.call("sinh", half)), e.call("exp", half))


def _cbrt(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    root = e.call("pow", e.call("fabs", args[0]), e.const(1 / 3, args[0].type))
    return e.call("copysign", root, args[0])


def _ctlz(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.cast(e.call("clz", args[0], type=i32), args[0].type)


def _cttz(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    (x,) = args
    one, zero = e.const(1, x.type), e.const(0, x.type)
    lowest = e.call("bitwise_and", x, e.binary("sub", zero, x))
    return e.call("popcount", e.binary("sub", lowest, one))


def _fpowi(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.call("pow", args[0], e.cast(args[1], args[0].type))


def _truth(name: str) -> Rule:
    return lambda e, args, op: e.call(name, args[0], type=i1)


def _poison(e: Expressions, args: Sequence[SSAValue], op: Operation) -> SSAValue:
    return e.const(0, _target(op))


_SAME_NAME = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 floor log log10 log1p log2 rsqrt sin sinh sqrt tan "
    "tanh trunc atan2 copysign fma"
)
RULES: dict[str, Rule] = {
    **{f"math.{name}": _intrinsic(name) for name in _SAME_NAME.split()},
    "math.absf": _intrinsic("fabs"),
    "math.powf": _intrinsic("pow"),
    "math.roundeven": _intrinsic("nearbyint"),
    "math.round": _intrinsic("round"),
    "math.ctpop": _intrinsic("popcount"),
    "math.absi": _absi,
    "math.expm1": _expm1,
    "math.cbrt": _cbrt,
    "math.ctlz": _ctlz,
    "math.cttz": _cttz,
    "math.fpowi": _fpowi,
    "math.isnan": _truth("isnan"),
    "math.isinf": _truth("isinf"),
    "math.isfinite": _truth("isfinite"),
    "arith.constant": _constant,
    "arith.addf": _plain("add"),
    "arith.subf": _plain("sub"),
    "arith.mulf": _plain("mul"),
    "arith.divf": _plain("div"),
    "arith.remf": _intrinsic("fmod"),
    "arith.negf": _negf,
    "arith.maximumf": _plain("max"),
    "arith.minimumf": _plain("min"),
    "arith.maxnumf": _number("max"),
    "arith.minnumf": _number("min"),
    "arith.addi": _of_bits("ne", "add"),
    "arith.subi": _of_bits("ne", "sub"),
    "arith.muli": _of_bits("and", "mul"),
    "arith.andi": _of_bits("and", "bitwise_and"),
    "arith.ori": _of_bits("or", "bitwise_or"),
    "arith.xori": _of_bits("ne", "bitwise_xor"),
    "arith.divsi": _plain("div"),
    "arith.remsi": _plain("truncmod"),
    "arith.floordivsi": _plain("floordiv"),
    "arith.ceildivsi": _ceildiv,
    "arith.divui": _on_unsigned("div"),
    "arith.remui": _on_unsigned("truncmod"),
    "arith.ceildivui": _ceildivui,
    "arith.maxsi": _of_bits("and", "max"),
    "arith.minsi": _of_bits("or", "min"),
    "arith.maxui": _on_unsigned("max"),
    "arith.minui": _on_unsigned("min"),
    "arith.shli": _intrinsic("shift_left"),
    "arith.shrsi": _intrinsic("shift_right"),
    "arith.shrui": _on_unsigned("shift_right"),
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.extf": _cast,
    "arith.truncf": _cast,
    "arith.extsi": _cast_signed,
    "arith.extui": _cast_unsigned,
    "arith.trunci": _trunci,
    "arith.sitofp": _cast_signed,
    "arith.uitofp": _cast_unsigned,
    "arith.fptosi": _cast,
    "arith.fptoui": _fptoui,
    "arith.index_cast": _index_cast(_cast_signed),
    "arith.index_castui": _index_cast(_cast_unsigned),
    "arith.bitcast": _bitcast,
    "ub.poison": _poison,
}
"""operation -> the expression of its result, of those of its operands."""


def expression(e: Expressions, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Append the expression of the result of `op`. Raises `UnsupportedError` for an operation without a rule."""
    rule = RULES.get(op.name)
    if rule is None:
        raise UnsupportedError(
            f"'{op.name}' on scalars", location=location_of(op), expected="operations of arith and math"
        )
    return rule(e, args, op)
