"""TIR expressions: one op for each kind of TVM's PrimExpr, with exactly TVM's semantics.

Here are constants, conversions, selections, lets and loads; arithmetic, vectors and calls have files of their own.
Sharing an SSA value affects neither printing nor equality: both treat operands as a tree.

Ops whose text omits the type of some operand have hand-written parsers (see `assembly`). The most frequent ones are
initialized like xDSL's `create`: its builders, which assign arguments to operands, take longer than everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
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
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_value, print_type
from ..dtypes import bit_width, float_attr, is_float, lanes_of, scalar_of
from ..quick import fill
from .indices import INDEX_BITS, check_indices, parse_access, print_access
from .types import BufferType, HandleType
from .vectors import with_lanes


@lru_cache(maxsize=4096)
def _integer(value: int, dtype: IntegerType) -> IntegerAttr:
    return IntegerAttr(value, dtype, truncate_bits=True)


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
