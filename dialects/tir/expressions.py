"""TIR expressions: one op for each kind of TVM's PrimExpr, with exactly TVM's semantics.

Integers wrap; `floordiv`/`floormod` round down, `truncdiv`/`truncmod` towards zero; `div` is for floats. Sharing an SSA
value affects neither printing nor equality: both treat operands as a tree.

Ops whose text omits the type of some operand have hand-written parsers (see `assembly`). Binary ones, which are very
frequent, could share a type by a `VarConstraint`, but an `assembly_format` takes 1.5 times as many calls to parse.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    IsTerminator,
    MemoryReadEffect,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_type, parse_value, parse_values, print_type, print_values
from ..dtypes import bit_width, float_attr, is_dtype, is_float, is_scalable, lanes_of, scalar_of, ui32
from ..quick import fill
from .function import FuncOp
from .indices import INDEX_BITS, check_indices, parse_access, print_access
from .intrinsics import DEVICE_INTRINSICS
from .types import HANDLE, BufferType, HandleType


def with_lanes(dtype: Attribute, like: Attribute) -> Attribute:
    """Return `dtype` with as many lanes as `like`."""
    lanes = lanes_of(like)
    return dtype if lanes == 1 else vector_of(dtype, lanes, is_scalable(like))


def with_lanes_of(dtype: Attribute, lanes: int) -> Attribute:
    """Return `dtype` for one lane, else a vector of it."""
    return dtype if lanes == 1 else vector_of(dtype, lanes)


_SCALABLE = ArrayAttr([BoolAttr.from_bool(True)])


@lru_cache(maxsize=1024)
def vector_of(dtype: Attribute, lanes: int, scalable: bool = False) -> VectorType[Attribute]:
    """Return a vector of `lanes` elements of `dtype`; with `scalable`, of `lanes` times vscale elements."""
    return VectorType(dtype, [lanes], _SCALABLE if scalable else None)


@lru_cache(maxsize=4096)
def _integer(value: int, dtype: IntegerType) -> IntegerAttr:
    return IntegerAttr(value, dtype, truncate_bits=True)


# The most frequent operations are initialized like xDSL's `create`: its builders, which assign arguments to operands,
# take longer than everything else.


@irdl_op_definition
class ConstOp(IRDLOperation):
    """`tir.const 1.0 : f32`; `tir.const true`."""

    name = "tir.const"
    value = prop_def(IntegerAttr | FloatAttr)
    result = result_def()
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: int | float | IntegerAttr | FloatAttr, dtype: Attribute | None = None):
        if isinstance(value, IntegerAttr | FloatAttr):
            attr = value
        elif dtype is not None and is_float(dtype):
            attr = float_attr(float(value), dtype)
        else:
            attr = _integer(int(value), cast(IntegerType, dtype))
        fill(self, properties={"value": attr}, result_types=(attr.type,))

    @property
    def py_value(self) -> int | float | bool:
        """The value as a Python value: unsigned integers are not negative, bools are bools."""
        if isinstance(self.value, FloatAttr):
            return self.value.value.data
        value = self.value.value.data
        return bool(value) if self.value.type == i1 else value

    def verify_(self) -> None:
        if self.result.type != self.value.type:
            raise VerifyException(f"a constant of {self.value.type} has the result type {self.result.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_attribute()
        if not isinstance(value, IntegerAttr | FloatAttr):
            parser.raise_error("expected a number with its type, such as 1.0 : f32")
        return cls(cast("IntegerAttr | FloatAttr", value))


class BinaryExpr(IRDLOperation):
    """`%c = tir.add %a, %b : f32`: operands and result have one type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    RESULT: ClassVar[Attribute | None] = None

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        result = lhs.type if self.RESULT is None else with_lanes(self.RESULT, lhs.type)
        fill(self, (lhs, rhs), result_types=(result,))

    def verify_(self) -> None:
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.name}: operands of two types, {self.lhs.type} and {self.rhs.type}")
        result = self.lhs.type if self.RESULT is None else with_lanes(self.RESULT, self.lhs.type)
        if self.result.type != result:
            raise VerifyException(f"{self.name}: result type {self.result.type}, expected {result}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        print_type(printer, self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parse_value(parser)
        parser.parse_punctuation(",")
        rhs = parse_value(parser)
        parser.parse_punctuation(":")
        pos = parser.pos
        dtype = parser.parse_type()
        if dtype != lhs.type:
            parser.raise_error(f"{cls.name}: operands are of {lhs.type}, not {dtype}", pos)
        return cls(lhs, rhs)


class ExtremumExpr(BinaryExpr):
    """`%c = tir.max %a, %b : f32`: the maximum or minimum of the operands: NaN if one is NaN, the first of equal ones.

    0 and -0 are equal. With `nnan` (`tir.max nnan %a, %b : f32`) the result may be either operand if one is NaN.
    """

    nnan = opt_prop_def(UnitAttr)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, nnan: bool = False):
        super().__init__(lhs, rhs)
        if nnan:
            self.nnan = UnitAttr()

    def print(self, printer: Printer) -> None:
        printer.print_string("" if self.nnan is None else " nnan")
        super().print(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        nnan = parser.parse_optional_keyword("nnan")
        op = super().parse(parser)
        op.nnan = None if nnan is None else UnitAttr()
        return op


class CompareExpr(BinaryExpr):
    """A binary expression whose result is i1 (or a vector of it)."""

    RESULT: ClassVar[Attribute | None] = i1


_BINARY: dict[str, str] = {
    "add": "lhs + rhs",
    "sub": "lhs - rhs",
    "mul": "lhs * rhs",
    "div": "lhs / rhs of floats; integers truncate towards zero (TVM's Div)",
    "truncmod": "lhs - trunc(lhs / rhs) * rhs (TVM's Mod)",
    "floordiv": "floor(lhs / rhs)",
    "floormod": "lhs - floor(lhs / rhs) * rhs",
    "and": "lhs and rhs, both evaluated",
    "or": "lhs or rhs, both evaluated",
}
_EXTREMA: dict[str, str] = {"min": "The lesser.", "max": "The greater."}
_COMPARE: dict[str, str] = {
    "eq": "lhs == rhs",
    "ne": "lhs != rhs",
    "lt": "lhs < rhs",
    "le": "lhs <= rhs",
    "gt": "lhs > rhs",
    "ge": "lhs >= rhs",
}


_Expr = TypeVar("_Expr", bound=BinaryExpr)


def _family(rows: dict[str, str], base: type[_Expr]) -> dict[str, type[_Expr]]:
    def row(name: str, doc: str) -> type[_Expr]:
        body = {"__doc__": doc, "__module__": __name__, "name": f"tir.{name}"}
        cls = type(name.title() + "Op", (base,), body)
        return irdl_op_definition(cast("type[_Expr]", cls))

    return {name: row(name, doc) for name, doc in rows.items()}


EXTREMA = _family(_EXTREMA, ExtremumExpr)
BINARY: dict[str, type[BinaryExpr]] = {**_family(_BINARY, BinaryExpr), **EXTREMA, **_family(_COMPARE, CompareExpr)}
"""The classes of binary expressions by name: `add`, `floordiv`, `lt`, …"""

NODE_NAMES = {
    **{kind: kind.title() for kind in (*_BINARY, *_EXTREMA)},
    **{kind: kind.upper() for kind in _COMPARE},
    "truncmod": "Mod",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
}
"""TVM's names of these classes: `Add`, `FloorDiv`, `LT`, …"""

AddOp, SubOp, MulOp, DivOp = (BINARY[n] for n in ("add", "sub", "mul", "div"))
TruncModOp, FloorDivOp, FloorModOp = (BINARY[n] for n in ("truncmod", "floordiv", "floormod"))
AndOp, OrOp = (BINARY[n] for n in ("and", "or"))
MinOp, MaxOp = (EXTREMA[n] for n in ("min", "max"))
EqOp, NeOp, LtOp, LeOp, GtOp, GeOp = (BINARY[n] for n in ("eq", "ne", "lt", "le", "gt", "ge"))


@irdl_op_definition
class NotOp(IRDLOperation):
    """`%b = tir.not %a : i1 -> i1`: logical not; lane by lane for vectors."""

    name = "tir.not"
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class CastOp(IRDLOperation):
    """`%b = tir.cast %a : i32 -> f32`: conversion; floats to integers truncate.

    One marked `as_index`, `tir.cast %a {tirax.as_index} : …`, converts a bool, or an integer of less than a byte, to an
    index: TVM accepts these directly, and its text does not show a conversion.
    """

    name = "tir.cast"
    AS_INDEX: ClassVar[str] = "tirax.as_index"
    value = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, dtype: Attribute, *, as_index: bool = False):
        super().__init__(operands=[value], result_types=[dtype])
        if as_index:
            self.attributes[self.AS_INDEX] = UnitAttr()

    @property
    def as_index(self) -> bool:
        return self.AS_INDEX in self.attributes

    def verify_(self) -> None:
        lanes = [t.get_shape() if isinstance(t, VectorType) else () for t in (self.value.type, self.result.type)]
        if lanes[0] != lanes[1]:
            raise VerifyException(f"tir.cast changes the lanes: {self.value.type} -> {self.result.type}")


@irdl_op_definition
class ReinterpretOp(IRDLOperation):
    """`%b = tir.reinterpret %a : f32 -> i32`: the same bits as another type."""

    name = "tir.reinterpret"
    value = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, dtype: Attribute):
        super().__init__(operands=[value], result_types=[dtype])

    def verify_(self) -> None:
        bits = [_total_bits(t) for t in (self.value.type, self.result.type)]
        if bits[0] != bits[1]:
            raise VerifyException(f"tir.reinterpret changes the number of bits: {bits[0]} -> {bits[1]}")


def _total_bits(t: Attribute) -> int:
    return 64 if isinstance(t, HandleType) else bit_width(scalar_of(t)) * lanes_of(t)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`%r = tir.select %c, %a, %b : f32`: all three are evaluated (TVM's Select)."""

    name = "tir.select"
    cond = operand_def()
    true_value = operand_def()
    false_value = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, cond: SSAValue, true_value: SSAValue, false_value: SSAValue):
        super().__init__(operands=[cond, true_value, false_value], result_types=[true_value.type])

    def verify_(self) -> None:
        if self.cond.type not in (i1, with_lanes(i1, self.true_value.type)):
            raise VerifyException(f"tir.select: the condition must be i1, found {self.cond.type}")
        if not self.true_value.type == self.false_value.type == self.result.type:
            raise VerifyException(f"tir.select: values of {self.true_value.type} and {self.false_value.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_value(parser))
        if len(values) != 3:
            parser.raise_error(f"tir.select takes a condition and two values, found {len(values)} operands")
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls(*values)


class HoldsExpressions(OpTrait):
    """Trait: the regions of the operation are expressions, which end with `tir.yield`."""


class _EndsExpression(OpTrait):
    def verify(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is not None and not parent.has_trait(HoldsExpressions):
            raise VerifyException(f"'{op.name}' stands in '{parent.name}', whose regions are no expressions")


@irdl_op_definition
class IfThenElseOp(asm.FormattedOp):
    """`%r = tir.if_then_else %c : f32 {…} else {…}`: only one side is evaluated; both end with `tir.yield`."""

    name = "tir.if_then_else"
    cond = operand_def(i1)
    result = result_def()
    then_region = region_def("single_block")
    else_region = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), HoldsExpressions())
    FORMAT: ClassVar = (asm.value("cond"), asm.region("then_region"), " else", asm.region("else_region"))

    def __init__(self, cond: SSAValue, then_region: Region, else_region: Region):
        last = then_region.block.last_op
        types = [last.value.type] if isinstance(last, YieldOp) else []
        super().__init__(operands=[cond], result_types=types, regions=[then_region, else_region])

    def verify_(self) -> None:
        for region in (self.then_region, self.else_region):
            last = region.block.last_op
            if not isinstance(last, YieldOp):
                raise VerifyException("both sides of tir.if_then_else must end with tir.yield")
            if last.value.type != self.result.type:
                raise VerifyException(f"a side of tir.if_then_else gives {last.value.type}, not {self.result.type}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`tir.yield %v : f32`: the value of a region that is an expression."""

    name = "tir.yield"
    value = operand_def()
    traits = traits_def(IsTerminator(), Pure(), _EndsExpression())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class LetInOp(IRDLOperation):
    """`%r = tir.let_in %x = %v {… tir.yield %y : f32}`: an expression with a bound variable (TVM's Let)."""

    name = "tir.let_in"
    value = operand_def()
    result = result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), HoldsExpressions())

    def __init__(self, value: SSAValue, body: Region):
        last = body.block.last_op
        types = [last.value.type] if isinstance(last, YieldOp) else []
        super().__init__(operands=[value], result_types=types, regions=[body])

    @property
    def var(self) -> SSAValue:
        """The bound variable, an argument of the body."""
        return self.body.block.args[0]

    def verify_(self) -> None:
        args, last = self.body.block.args, self.body.block.last_op
        if len(args) != 1 or args[0].type != self.value.type:
            raise VerifyException("the body of tir.let_in has one argument, of the type of the value")
        if not isinstance(last, YieldOp) or last.value.type != self.result.type:
            raise VerifyException(f"the body of tir.let_in must end with tir.yield of {self.result.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.var)
        printer.print_string(" = ")
        printer.print_ssa_value(self.value)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        var = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        value = parse_value(parser)
        return cls(value, parser.parse_region([var.resolve(value.type)]))


@irdl_op_definition
class LoadOp(IRDLOperation):
    """`%v = tir.load %X[%i, %j] : f32`: an element; a vector if the last index is one."""

    name = "tir.load"
    buffer = operand_def(BufferType)
    indices = var_operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect())

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue]):
        fill(self, (buffer, *indices), result_types=(element_type(buffer, indices),))

    def verify_(self) -> None:
        check_indices(self, self.buffer, self.indices)
        if self.result.type != element_type(self.buffer, self.indices):
            raise VerifyException(f"tir.load from {self.buffer.type} gives {self.result.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_access(printer, self.buffer, self.indices)
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer, indices = parse_access(parser)
        parser.parse_punctuation(":")
        pos = parser.pos
        dtype = parser.parse_type()
        op = cls(buffer, indices)
        if dtype != op.result.type:
            parser.raise_error(f"an element here is of {op.result.type}, not {dtype}", pos)
        return op


def element_type(buffer: SSAValue, indices: Sequence[SSAValue]) -> Attribute:
    """Return the result type of an access: the buffer's dtype, with the lanes of the last index."""
    dtype = cast(BufferType, buffer.type).dtype
    return with_lanes(dtype, indices[-1].type) if indices and lanes_of(dtype) == 1 else dtype


def index_cast(index: SSAValue) -> CastOp | None:
    """Return the conversion to an index of a bool (true is 1) or a sub-byte integer; None for other integers."""
    element = scalar_of(index.type)
    narrow = isinstance(element, IntegerType) and bit_width(cast(IntegerType, element)) < INDEX_BITS
    return CastOp(index, with_lanes(i32, index.type), as_index=True) if narrow else None


def written_index(index: SSAValue) -> SSAValue:
    """Return an index as written in the program: without the conversion added by `index_cast`."""
    op = index.owner
    return op.value if isinstance(op, CastOp) and op.as_index else index


@irdl_op_definition
class RampOp(IRDLOperation):
    """`%v = tir.ramp %base, %stride : i32, i32 -> vector<4xi32>`: base, base + stride, …"""

    name = "tir.ramp"
    base = operand_def(IntegerType)
    stride = operand_def(IntegerType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$base `,` $stride attr-dict `:` type($base) `,` type($stride) `->` type($result)"

    def __init__(self, base: SSAValue, stride: SSAValue, lanes: int, scalable: bool = False):
        fill(self, (base, stride), result_types=(vector_of(base.type, lanes, scalable),))


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """`%v = tir.broadcast %x : f32 -> vector<4xf32>`: x in each lane."""

    name = "tir.broadcast"
    value = operand_def()
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, lanes: int, scalable: bool = False):
        fill(self, (value,), result_types=(vector_of(value.type, lanes, scalable),))


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """`%v = tir.shuffle [%a, %b] [0, 5] : f32`: lanes, by number, of the concatenation of all vectors (or scalars)."""

    name = "tir.shuffle"
    vectors = var_operand_def()
    lanes = prop_def(ArrayAttr[IntAttr])
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, vectors: Sequence[SSAValue], lanes: Sequence[int]):
        element = scalar_of(vectors[0].type)
        result = element if len(lanes) == 1 else VectorType(element, [len(lanes)])
        properties = {"lanes": ArrayAttr(IntAttr(i) for i in lanes)}
        super().__init__(operands=[vectors], properties=properties, result_types=[result])

    def verify_(self) -> None:
        elements = {scalar_of(v.type) for v in self.vectors}
        if len(elements) != 1:
            raise VerifyException("tir.shuffle of vectors of several types, or of none")
        count = sum(lanes_of(v.type) for v in self.vectors)
        wrong = [i.data for i in self.lanes if not 0 <= i.data < count]
        if wrong or not self.lanes.data:
            raise VerifyException(f"tir.shuffle: lane {wrong[0]} of {count}" if wrong else "tir.shuffle gives no lane")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(self.vectors, printer.print_ssa_value)
        printer.print_string(f" [{', '.join(str(i.data) for i in self.lanes)}] : ")
        printer.print_attribute(scalar_of(self.result.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        vectors = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser))
        lanes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer())
        parser.parse_punctuation(":")
        parser.parse_type()
        if not vectors or not lanes:
            parser.raise_error("tir.shuffle takes vectors and numbers of lanes, at least one of each")
        return cls(vectors, lanes)


VOID = NoneType()
"""The result type of a call without a result."""


class CallExpr(IRDLOperation):
    """`%r = tir.call_intrin "exp"(%x) : f32`: a call by name."""

    func = prop_def(StringAttr)
    call_args = var_operand_def()
    result = result_def()

    def __init__(self, func: str, args: Sequence[SSAValue], dtype: Attribute):
        super().__init__(operands=[args], properties={"func": StringAttr(func)}, result_types=[dtype])

    def _print_func(self, printer: Printer) -> None:
        printer.print_attribute(self.func)

    @classmethod
    def _parse_func(cls, parser: Parser) -> str:
        return parser.parse_str_literal()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self._print_func(printer)
        print_values(printer, self.call_args)
        printer.print_op_attributes(self.attributes)
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        func = cls._parse_func(parser)
        args = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        op = cls(func, args, parse_type(parser))
        op.attributes = attributes
        return op

    def verify_(self) -> None:
        self.verify_result()

    def verify_result(self) -> None:
        """Verify that a call returns a scalar, a vector, an untyped address, or nothing: what its text can express."""
        if self.result.type not in (VOID, HANDLE) and not is_dtype(self.result.type):
            raise VerifyException(f"a call gives a data type, a handle or nothing, not {self.result.type}")


@irdl_op_definition
class CallIntrinOp(CallExpr):
    """A pure intrinsic by TVM's name without the prefix: `exp`, `sqrt`, `shift_left`, `bitwise_and`, `likely`, …"""

    name = "tir.call_intrin"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        name = self.func.data
        if not all(part.isidentifier() and not iskeyword(part) for part in name.split(".")):
            raise VerifyException(f"'{name}' is no name of an intrinsic")
        if name in DEVICE_INTRINSICS:
            raise VerifyException(f"'{name}' is for other devices: it is called by tir.device_call")
        address = self.address()
        if address is None:
            self.verify_result()
        elif self.result.type != address:
            raise VerifyException(f"the address is {address}, not {self.result.type}")

    def address(self) -> HandleType | None:
        """The result type of `address_of` an element, None for other calls."""
        of = self.call_args[0].owner if self.func.data == "address_of" and len(self.call_args) == 1 else None
        return address_type(of.buffer) if isinstance(of, LoadOp) else None


def is_vscale(value: SSAValue) -> bool:
    """Return whether a value is `vscale()`: the processor's vector length as a multiple of the shortest one."""
    return isinstance(value.owner, CallIntrinOp) and value.owner.func.data == "vscale"


def vscale_factor(value: SSAValue) -> int | None:
    """Return the factor of `vscale()` in a number of lanes; None if it is not such a product."""
    op = value.owner
    if not isinstance(op, BINARY["mul"]):
        return None
    for number, rest in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(number.owner, ConstOp) and is_vscale(rest):
            return int(number.owner.py_value)
    return None


@irdl_op_definition
class CallExternOp(CallExpr):
    """A C function by name: `tir.call_extern "sinf"(%x) : f32`."""

    name = "tir.call_extern"


@irdl_op_definition
class CallPureExternOp(CallExpr):
    """A C function without effects."""

    name = "tir.call_pure_extern"
    traits = traits_def(Pure())


class _CallsFunction(SymbolUserOpInterface):
    """Trait: the arguments and the result must match the callee, if the module has it."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.func.data)
        if not isinstance(callee, FuncOp):
            return
        if len(callee.params) != len(op.call_args):
            raise VerifyException(f"@{op.func.data} takes {len(callee.params)} arguments, found {len(op.call_args)}")
        for i, (param, value) in enumerate(zip(callee.params, op.call_args, strict=True)):
            is_address = isinstance(param.type, BufferType | HandleType)
            if not isinstance(value.type, HandleType) if is_address else value.type != param.type:
                raise VerifyException(f"argument {i} of @{op.func.data} is of {value.type}, not {param.type}")
        if op.result.type != (VOID if callee.ret_type is None else callee.ret_type):
            raise VerifyException(f"@{op.func.data} does not give {op.result.type}")


@irdl_op_definition
class CallOp(CallExpr):
    """`tir.call @g(%h, %n) : none`: a call of another tensor function of the module; buffers are passed by address.

    The result is the scalar that the function returns, or none. An argument that is the address of a buffer
    (`tir.buffer_data`) binds the callee's symbolic extents to the buffer's. Functions may be recursive; native code is
    not supported for recursive functions that may fail or return a number.
    """

    name = "tir.call"
    SIZES: ClassVar[str] = "tirax.sizes"
    """The attribute for the callee's symbolic variables, once the buffers that determine them are flat."""
    traits = traits_def(_CallsFunction())

    def _print_func(self, printer: Printer) -> None:
        printer.print_symbol_name(self.func.data)

    @classmethod
    def _parse_func(cls, parser: Parser) -> str:
        return parser.parse_symbol_name().data


@irdl_op_definition
class CallPackedOp(CallExpr):
    """A packed function by name; a buffer among the arguments is passed as an array."""

    name = "tir.call_packed"


class LLVMCall(CallExpr):
    """A call of an LLVM intrinsic."""

    COUNTED: ClassVar[str] = "tirax.counted"

    @property
    def counted(self) -> int | None:
        """The number of arguments in the signature, if the text has it; it has no effect."""
        attribute = self.attributes.get(self.COUNTED)
        return cast("IntegerAttr[IntegerType]", attribute).value.data if isinstance(attribute, IntegerAttr) else None

    @counted.setter
    def counted(self, number: int | None) -> None:
        if number is not None:
            self.attributes[self.COUNTED] = IntegerAttr(number, ui32)


@irdl_op_definition
class CallLLVMIntrinOp(LLVMCall):
    """An LLVM intrinsic by name: `tir.call_llvm_intrin "llvm.fma"(%a, %b, %c) : f32`."""

    name = "tir.call_llvm_intrin"
    traits = traits_def(Pure())


@irdl_op_definition
class CallLLVMEffectOp(LLVMCall):
    """An LLVM intrinsic with effects: `tir.call_llvm_effect "llvm.prefetch"(…) : none`."""

    name = "tir.call_llvm_effect"


@irdl_op_definition
class StringImmOp(IRDLOperation):
    """`tir.string "text"`: a string as an argument of a call."""

    name = "tir.string"
    value = prop_def(StringAttr)
    result = result_def(HANDLE)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict"

    def __init__(self, value: str):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[HANDLE])


def address_type(buffer: SSAValue) -> HandleType:
    """Return the type of an address into a buffer."""
    t = cast(BufferType, buffer.type)
    return HandleType(t.dtype, t.scope)


@irdl_op_definition
class BufferDataOp(asm.FormattedOp):
    """`%h = tir.buffer_data %X`: the pointer to a buffer's memory (`X.data`)."""

    name = "tir.buffer_data"
    buffer = operand_def(BufferType)
    result = result_def(HandleType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.value("buffer"),)

    def __init__(self, buffer: SSAValue):
        super().__init__(operands=[buffer], result_types=[address_type(buffer)])
