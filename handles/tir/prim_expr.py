"""Scalar TIR expressions as Python values: operators on handles that build detached `tir` ops.

A `PrimExpr` is a handle on an SSA value. Its op belongs to no block; `place` clones the tree of such ops into one.
Python numbers get the other operand's dtype; mixed dtypes are promoted as in TVM; constants are folded and neutral
elements dropped, nothing more.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self
from typing import cast as cast_type

import numpy as np
from xdsl.dialects.builtin import IntegerType, StringAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import DTypeError, TiraxError
from ...dialects import tir
from ...dialects.dtypes import bit_width, dtype_name, dtype_of, is_float, is_scalable, is_unsigned, lanes_of, scalar_of
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.operations import COMPARISONS, OPERATIONS
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.origins import origin
from ..types import PointerType, PrimType
from .expr_trees import is_closed, same_tree
from .literals import note_literal
from .placeholders import named_var

Number = bool | int | float

DTypeLike = str | Attribute


def as_type(dtype: DTypeLike) -> Attribute:
    """Return the type of a dtype that is a name, a pointer type or a type."""
    if dtype == "handle":
        return tir.HANDLE
    if isinstance(dtype, PointerType):
        element = dtype_of(dtype.element_type.dtype) if isinstance(dtype.element_type, PrimType) else tir.VOID
        return tir.HandleType(element, StringAttr(dtype.storage_scope or "global"))
    return dtype_of(dtype) if isinstance(dtype, str) else dtype


def _operator(name: str, swapped: bool = False) -> Callable[[PrimExpr, ExprLike], PrimExpr]:
    """Return Python's operator for a function of this module."""

    def operator(self: PrimExpr, other: ExprLike) -> PrimExpr:
        build = globals()[name]
        return build(other, self) if swapped else build(self, other)

    return operator


class SymbolicTruthError(TiraxError, ValueError):
    """The truth value of a symbolic expression was requested."""


class PrimExpr:
    """A scalar expression; `ssa` is its SSA value, the result of a detached op or a block argument.

    Its kind and its parts are described by the classes of `expr_kinds`: `isinstance(e, Add)`, `e.a`.
    """

    __slots__ = ("__weakref__", "ssa")
    ssa: SSAValue

    # The parts that the kind of expression has; `expr_kinds` fills these in.
    value_part: ClassVar[Callable[[Any], Any]]
    part_of: ClassVar[Callable[[Any, str], Any]]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        # Python calls the right operand's comparison first if its class is derived from the left one's: computed
        # expressions have a sibling class of the variables', so that `x + 1 < y` is not built as `y > x + 1`.
        return object.__new__(cast_type(type[Self], _Computed) if cls is PrimExpr else cls)

    def __init__(self, value: SSAValue):
        self.ssa = value

    def __tirax_script_value__(self) -> Any:
        """Return its meaning when TVMScript captures it: a constant, or an integer over symbolic variables."""
        owner = self.ssa.owner
        if isinstance(owner, tir.ConstOp) and not (isinstance(self.type, IntegerType) and self.type != i1):
            return owner
        if not isinstance(self.type, IntegerType):
            return self.ssa if is_closed(self.ssa) else self
        expr = as_sym(self)
        if any(v.value is not None and isinstance(v.value.owner, Operation) for v in expr.free_vars()):
            return self.ssa if is_closed(self.ssa) else self
        return expr.substitute({v: named_var(v) for v in expr.free_vars()})

    @property
    def value(self) -> Any:
        """TVM's `value` of a constant, a conversion, a broadcast or a let; `ssa` for other expressions."""
        return self.value_part()

    def __getattr__(self, name: str) -> Any:
        if name == "ssa" or name.startswith("_"):
            raise AttributeError(name)
        return self.part_of(name)

    @property
    def type(self) -> Attribute:
        """The dtype as a type."""
        return self.ssa.type

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype; `handle` for an address, `void` for a call without a result."""
        if isinstance(self.ssa.type, tir.HandleType):
            return "handle"
        return "void" if self.ssa.type == tir.VOID else dtype_name(self.ssa.type)

    @property
    def constant(self) -> Number | None:
        """The value of a constant, or None for other expressions."""
        owner = self.ssa.owner
        if isinstance(owner, tir.ConstOp):
            return owner.py_value
        return None

    def astype(self, dtype: DTypeLike) -> PrimExpr:
        """Return the expression converted to `dtype`; constants are converted at once."""
        return cast(dtype, self)

    def equal(self, other: ExprLike) -> PrimExpr:
        """Return `self == other` as an expression."""
        return equal(self, other)

    def asobject(self) -> PrimExpr:
        """Return the expression itself: comparisons are expressions already."""
        return self

    def same_as(self, other: object) -> bool:
        """Return whether both are handles on the same value; a buffer has a single address."""
        if not isinstance(other, PrimExpr):
            return False
        a, b = self.ssa.owner, other.ssa.owner
        if isinstance(a, tir.BufferDataOp) and isinstance(b, tir.BufferDataOp):
            return origin(a.buffer) is origin(b.buffer)
        return origin(other.ssa) is origin(self.ssa)

    def __hash__(self) -> int:
        return hash(origin(self.ssa))

    def __bool__(self) -> bool:
        """Return the value of a constant, and for `a == b` whether both are one expression; else raise `TiraxError`."""
        known = self.constant
        if known is not None:
            return bool(known)
        owner = self.ssa.owner
        if isinstance(owner, tir.EqOp | tir.NeOp):
            return same_tree(owner.lhs, owner.rhs) == isinstance(owner, tir.EqOp)
        raise SymbolicTruthError(
            "the truth of a symbolic expression is not known while the program is built",
            found=str(self),
            hint="use if_then_else, and logical_and / logical_or in place of `and` / `or`",
        )

    def __index__(self) -> int:
        known = self.constant
        if isinstance(known, int):
            return int(known)
        raise TiraxError("a Python integer is needed, and the expression is symbolic", found=str(self))

    def __int__(self) -> int:
        return self.__index__()

    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", swapped=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", swapped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", swapped=True)
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _operator("floordiv", swapped=True)
    __mod__, __rmod__ = _operator("floormod"), _operator("floormod", swapped=True)
    __lshift__, __rlshift__ = _operator("shift_left"), _operator("shift_left", swapped=True)
    __rshift__, __rrshift__ = _operator("shift_right"), _operator("shift_right", swapped=True)
    __and__, __rand__ = _operator("bitwise_and"), _operator("bitwise_and", swapped=True)
    __or__, __ror__ = _operator("bitwise_or"), _operator("bitwise_or", swapped=True)
    __xor__, __rxor__ = _operator("bitwise_xor"), _operator("bitwise_xor", swapped=True)
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")

    def __neg__(self) -> PrimExpr:
        return multiply(self, -1)

    def __invert__(self) -> PrimExpr:
        return bitwise_not(self)

    def __eq__(self, other: object) -> PrimExpr | bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, SymExpr):
            return _named(self) == other
        if isinstance(other, str):
            owner = self.ssa.owner
            return isinstance(owner, tir.StringImmOp) and owner.value.data == other
        return equal(self, other) if isinstance(other, PrimExpr | int | float) else NotImplemented

    def __ne__(self, other: object) -> PrimExpr | bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, str):
            return not self == other
        return not_equal(self, other) if isinstance(other, PrimExpr | int | float) else NotImplemented

    def __str__(self) -> str:
        return self.script()

    def script(self, **options: Any) -> str:
        """Return the expression as TVMScript, without declarations of its variables."""
        from ...script.printer.fragment import print_expression

        return print_expression(self.ssa, **options)

    __repr__ = __str__


class _Computed(PrimExpr):
    """Base of expressions that are not variables."""

    __slots__ = ()


ExprLike = PrimExpr | Number


def const(value: Number, dtype: DTypeLike | None = None) -> PrimExpr:
    """Return a constant. By default a numpy scalar keeps its dtype; Python values are float32, int32 or bool."""
    if isinstance(value, np.generic):
        dtype, value = dtype or str(value.dtype), value.item()
    if dtype is None:
        dtype = _default_dtype(value)
    element = as_type(dtype)
    if isinstance(element, VectorType):
        scalar = const(value, scalar_of(element)).ssa
        return PrimExpr(tir.BroadcastOp(scalar, lanes_of(element), is_scalable(element)).result)
    if isinstance(value, float) and not is_float(element) and not value.is_integer():
        raise DTypeError(
            "the constant has a fraction that its dtype cannot hold", expected=dtype_name(element), found=value
        )
    if isinstance(element, IntegerType) and element != i1:
        low, high = integer_range(element)
        if not low <= int(value) <= high:
            raise DTypeError("the constant does not fit its dtype", expected=dtype_name(element), found=value)
    most = _LARGEST.get(dtype_name(element), math.inf)
    if isinstance(value, int | float) and math.isfinite(value) and abs(value) > most:
        raise DTypeError(
            f"the constant does not fit its dtype: its magnitude is above {most}",
            expected=dtype_name(element),
            found=value,
        )
    op = tir.ConstOp(value, element)
    note_literal(op, value)
    return PrimExpr(op.result)


_LARGEST = {"float16": 65504.0, "float32": float(np.finfo(np.float32).max)}
"""The largest finite values; others would silently become infinite."""


def _default_dtype(value: Number) -> str:
    """Return the dtype of a number without one: 32 bits where they hold it, else 64."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64"
    return "float64" if _LARGEST_FLOAT32 < abs(value) < math.inf else "float32"


_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def integer_range(dtype: Attribute) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype."""
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def convert(value: object, like: PrimExpr | None = None) -> PrimExpr:
    """Convert a Python number to an expression; it gets the dtype of `like` if that can represent it."""
    if isinstance(value, PrimExpr):
        return value
    number = getattr(value, "item", None)
    if number is not None:  # a scalar of numpy
        value = number()
    if isinstance(value, bool | int | float):
        fractional = isinstance(value, float) and like is not None and not is_float(like.type)
        return const(value, None if like is None or fractional else scalar_of(like.type))
    raise TiraxError("a scalar expression is needed", expected="a number or a PrimExpr", found=type(value).__name__)


def cast(dtype: DTypeLike, value: ExprLike) -> PrimExpr:
    """Return `value` converted to `dtype`, lane by lane: constants at once, floats to integers by truncation."""
    x, element = convert(value), as_type(dtype)
    if lanes_of(x.type) == 1 < lanes_of(element):
        return PrimExpr(tir.BroadcastOp(cast(scalar_of(element), x).ssa, lanes_of(element)).result)
    element = tir.with_lanes(element, x.type) if lanes_of(element) == 1 else element
    if x.type == element:
        return x
    known, producer = x.constant, x.ssa.owner
    if isinstance(x.type, tir.HandleType) or isinstance(producer, tir.StringImmOp):
        raise DTypeError("Can't cast a handle to other types", expected="a number", found=str(x))
    if isinstance(producer, tir.BroadcastOp):
        one = cast(scalar_of(element), PrimExpr(producer.value))
        return PrimExpr(tir.BroadcastOp(one.ssa, lanes_of(element), is_scalable(element)).result)
    if known is None or (isinstance(known, float) and not math.isfinite(known)):
        return PrimExpr(tir.CastOp(x.ssa, element).result)
    return PrimExpr(tir.ConstOp(known if is_float(element) else int(known), element).result)


def promoted(a: Attribute, b: Attribute) -> Attribute:
    """Return the dtype that operands are converted to: floats first, then the wider, then the unsigned."""
    for x, y in ((a, b), (b, a)):
        if is_float(x) and not is_float(y):
            return x
        if y == i1:
            return x
    if bit_width(a) != bit_width(b):
        return a if bit_width(a) > bit_width(b) else b
    return a if is_unsigned(a) else b


def match_types(a: ExprLike, b: ExprLike) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands converted to one dtype; a scalar is broadcast to the lanes of a vector.

    Raises `DTypeError` for vectors of different lengths.
    """
    x = convert(a, b if isinstance(b, PrimExpr) else None)
    y = convert(b, x)
    if x.type == y.type:
        return x, y
    dtype = promoted(scalar_of(x.type), scalar_of(y.type))
    x, y = cast(dtype, x), cast(dtype, y)
    return _with_lanes(x, y), _with_lanes(y, x)


def _with_lanes(x: PrimExpr, like: PrimExpr) -> PrimExpr:
    """Broadcast a scalar to as many lanes as `like` has."""
    lanes, expected = lanes_of(x.type), lanes_of(like.type)
    if 1 != lanes != expected != 1:
        raise DTypeError("vectors of different lengths", expected=like.dtype, found=x.dtype)
    return x if lanes >= expected else PrimExpr(tir.BroadcastOp(x.ssa, expected, is_scalable(like.type)).result)


class OperandError(TiraxError, ValueError):
    """An operation without a defined result: division by 0, a shift by more bits than the operand has."""


_DIVISIONS = frozenset({"div", "truncmod", "floordiv", "floormod"})

_RIGHT_NEUTRAL: dict[str, Number] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "floordiv": 1, "and": True, "or": False}

_LEFT_NEUTRAL: dict[str, Number] = {"add": 0, "mul": 1, "and": True, "or": False}

_ABSORBING: dict[str, Number] = {"mul": 0, "and": False, "or": True}


def _folded(name: str, x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    a, b = x.constant, y.constant
    if a is not None and b is not None and not (name in _DIVISIONS and b == 0):
        if name in ("floormod", "truncmod") and not _is_index(x.type):
            return None
        result = OPERATIONS["truncdiv" if name == "div" else name].evaluate(a, b)
        if name in COMPARISONS:
            return const(result, i1)
        return PrimExpr(tir.ConstOp(result, x.type).result)
    if b is not None and name in _RIGHT_NEUTRAL and b == _RIGHT_NEUTRAL[name]:
        return x if name != "floordiv" or not is_float(x.type) else None
    if a is not None and name in _LEFT_NEUTRAL and a == _LEFT_NEUTRAL[name]:
        return y
    for known, e in ((a, x), (b, y)):
        if known is not None and known == _ABSORBING.get(name) and not is_float(e.type):
            return e
    if name in ("floormod", "truncmod") and b == 1 and _is_index(x.type):
        return const(0, x.type)
    return x if name in ("min", "max") and x.ssa is y.ssa else None


def _is_index(dtype: Attribute) -> bool:
    """Return whether remainders of a dtype are folded, which TVM does for indices only."""
    return dtype in (i32, i64)


def _binary(name: str, doc: str) -> Callable[[ExprLike, ExprLike], PrimExpr]:
    def build(a: ExprLike, b: ExprLike) -> PrimExpr:
        x, y = match_types(a, b)
        if name in _DIVISIONS and y.constant == 0 and not is_float(y.type):
            raise OperandError("Divide by zero", expected="a divisor that is not 0", found=f"{x} and {y}")
        folded = _folded(name, x, y)
        return folded if folded is not None else PrimExpr(tir.BINARY[name](x.ssa, y.ssa).result)

    build.__name__, build.__doc__ = name, doc
    return build


_MEANINGS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "truncmod": "a - trunc(a / b) * b, of floats exact.",
    "floordiv": "floor(a / b)",
    "floormod": "a - floor(a / b) * b, of floats exact before b is added.",
    "min": "The lesser.",
    "max": "The greater.",
    "and": "a and b",
    "or": "a or b",
    **{kind: f"a {OPERATIONS[kind].symbol} b" for kind in COMPARISONS},
}

BINARY = {name: _binary(name, meaning) for name, meaning in _MEANINGS.items()}
"""The binary operations on operands of one type, by the names of scalar operations."""

add, subtract, multiply, truncmod = (BINARY[n] for n in ("add", "sub", "mul", "truncmod"))

minimum, maximum = BINARY["min"], BINARY["max"]

equal, not_equal, less, less_equal, greater, greater_equal = (BINARY[n] for n in ("eq", "ne", "lt", "le", "gt", "ge"))

floordiv, floormod = BINARY["floordiv"], BINARY["floormod"]

_div, _and, _or = (BINARY[n] for n in ("div", "and", "or"))


def div(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient; truncated for integers (C's division)."""
    return _div(a, b)


truncdiv = div


def divide(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of floats. Raises `DTypeError` for two integers, whose division is ambiguous."""
    x, y = match_types(a, b)
    if not is_float(x.type):
        raise DTypeError(
            "`/` of integers could round either way", found=x.dtype, hint="use // or truncdiv, or cast first"
        )
    return _div(x, y)


def truth(value: ExprLike) -> PrimExpr:
    """Return a value as a condition: whether it is not 0."""
    x = convert(value)
    return x if scalar_of(x.type) == i1 else not_equal(x, 0)


def logical_and(*args: ExprLike) -> PrimExpr:
    """Return the conjunction of conditions."""
    out = truth(args[0])
    for a in args[1:]:
        out = _and(out, truth(a))
    return out


def all_of(*args: ExprLike, span: object = None) -> PrimExpr:
    """Return the conjunction. Raises `OperandError` for no operand, `DTypeError` for one that is not bool."""
    return logical_and(*booleans(args))


def any_of(*args: ExprLike, span: object = None) -> PrimExpr:
    """Return the disjunction. Raises `OperandError` for no operand, `DTypeError` for one that is not bool."""
    return logical_or(*booleans(args))


def booleans(args: Sequence[ExprLike]) -> list[PrimExpr]:
    """Return conditions as expressions. Raises `OperandError` for none, `DTypeError` for one that is not bool."""
    if not args:
        raise OperandError("at least one condition is needed", expected="1 or more", found="0")
    conditions = list(map(convert, args))
    for c in conditions:
        if scalar_of(c.type) != i1:
            raise DTypeError("a condition must be bool", expected="bool", found=f"{c} of {c.dtype}", hint=f"{c} != 0")
    return conditions


def logical_or(*args: ExprLike) -> PrimExpr:
    """Return the disjunction of conditions."""
    out = truth(args[0])
    for a in args[1:]:
        out = _or(out, truth(a))
    return out


def logical_not(value: ExprLike) -> PrimExpr:
    """Return the negation of a condition."""
    x = truth(value)
    if x.constant is not None:
        return const(not x.constant, i1)
    return PrimExpr(tir.NotOp(x.ssa).result)


def call_intrin(dtype: DTypeLike, name: str, *args: ExprLike) -> PrimExpr:
    """Return a call of a pure intrinsic by TVM's name (a prefix `tir.` is dropped)."""
    values = [convert(a).ssa for a in args]
    return PrimExpr(tir.intrinsic(name.removeprefix("tir."), values, as_type(dtype)).result)


_BITWISE: dict[str, Callable[[int, int], int]] = {
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


def _check_shift(x: PrimExpr, by: PrimExpr) -> None:
    bits, distance = bit_width(scalar_of(x.type)), by.constant
    if distance is not None and not 0 <= distance < bits:
        raise OperandError(
            f"Shift amount must be non-negative and less than {bits}", expected=f"0 to {bits - 1}", found=distance
        )


def _wrapped(value: int, dtype: Attribute) -> PrimExpr:
    """Return a constant wrapped to the bits of `dtype`."""
    if dtype == i1:
        return const(value & 1, dtype)
    low, high = integer_range(dtype)
    return const((value - low) % (high - low + 1) + low, dtype)


def _integer_intrinsic(name: str) -> Callable[[ExprLike, ExprLike], PrimExpr]:
    def build(a: ExprLike, b: ExprLike) -> PrimExpr:
        x, y = match_types(a, b)
        if is_float(x.type):
            raise DTypeError(f"{name} is for integers", expected="an integer dtype", found=x.dtype)
        if name.startswith("shift"):
            _check_shift(x, y)
        if isinstance(x.constant, int) and isinstance(y.constant, int):
            return _wrapped(_BITWISE[name](x.constant, y.constant), x.type)
        return call_intrin(x.type, name, x, y)

    build.__name__, build.__doc__ = name, f"{name}(a, b) of integers."
    return build


shift_left, shift_right = _integer_intrinsic("shift_left"), _integer_intrinsic("shift_right")

bitwise_and, bitwise_or = _integer_intrinsic("bitwise_and"), _integer_intrinsic("bitwise_or")

bitwise_xor = _integer_intrinsic("bitwise_xor")


def bitwise_not(value: ExprLike) -> PrimExpr:
    """Return ~x of integers."""
    x = convert(value)
    if is_float(x.type):
        raise DTypeError("bitwise_not is for integers", expected="an integer dtype", found=x.dtype)
    return call_intrin(x.type, "bitwise_not", x)


def select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> PrimExpr:
    """Return `true_value` if the condition holds, else `false_value`; both are evaluated."""
    c, (x, y) = truth(condition), match_types(true_value, false_value)
    if c.constant is not None:
        return x if c.constant else y
    return PrimExpr(tir.SelectOp(c.ssa, x.ssa, y.ssa).result)


Select = select


def if_then_else(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> PrimExpr:
    """Return `true_value` if the condition, a bool, holds, else `false_value`; only the selected one is evaluated."""
    (c,), (x, y) = booleans([condition]), match_types(true_value, false_value)
    if c.constant is not None:
        return x if c.constant else y
    sides = [Region(Block([tir.YieldOp(v.ssa)])) for v in (x, y)]
    return PrimExpr(tir.IfThenElseOp(c.ssa, *sides).result)


def load(buffer: SSAValue, indices: Sequence[ExprLike]) -> PrimExpr:
    """Return an element of a buffer."""
    return PrimExpr(tir.LoadOp(buffer, [index_of(i).ssa for i in indices]).result)


def index_of(value: ExprLike) -> PrimExpr:
    """Return an expression as an index: bools and integers of less than a byte are converted.

    Raises `DTypeError` if it is not an integer.
    """
    expr = convert(value)
    if not isinstance(scalar_of(expr.type), IntegerType):
        raise DTypeError("an index must be an integer", found=f"{expr} : {expr.dtype}")
    conversion = tir.index_cast(expr.ssa)
    return expr if conversion is None else PrimExpr(conversion.result)


_INDEX_TYPES = (i32, i64)


def _named(expr: PrimExpr) -> SymExpr:
    """Return the expression over symbolic variables by name."""
    symbolic = as_sym(expr)
    return symbolic.substitute({v: named_var(v) for v in symbolic.free_vars()})


def as_sym(expr: PrimExpr | SSAValue) -> SymExpr:
    """Return an integer in canonical form; loads, casts, … become variables over their SSA values."""
    return sym_expr_of(expr.ssa if isinstance(expr, PrimExpr) else expr)


def from_sym(expr: SymExpr) -> PrimExpr:
    """Return a symbolic expression as a scalar expression: the inverse of `as_sym`."""
    return PrimExpr(Materializer(lambda op: None)(expr))


def simplified(expr: PrimExpr) -> PrimExpr:
    """Return an index expression in canonical form (`i + 4 - 4` is `i`)."""
    return from_sym(as_sym(expr)) if expr.type in _INDEX_TYPES else expr
