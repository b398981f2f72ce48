"""`arith` operations that also work on vectors.

xDSL's `arith.cmpi`, `cmpf`, `select`, `extsi`, `extui`, `trunci`, `sitofp`, `uitofp`, `fptosi`, `fptoui` and
`index_cast` accept scalars only, and it has no `index_castui`. The operations here have the names, the properties and
the text of MLIR's, and are elementwise on scalars and on vectors and tensors of one shape. They are subclasses of
xDSL's, so that its passes and interpreters find them.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, Self, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import (
    AnyFloat,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .type_guards import element_type as element_type
from .type_guards import with_element

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord")
    + ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
)  # fmt: skip

Kind = Any
"""What `isinstance` takes: a class, or a union of them."""

# operation -> (kind of source elements, kind of result elements, 1: wider, -1: narrower, 0: any width)
_CASTS: dict[str, tuple[Kind, Kind, int]] = {
    "arith.extsi": (IntegerType, IntegerType, 1),
    "arith.extui": (IntegerType, IntegerType, 1),
    "arith.trunci": (IntegerType, IntegerType, -1),
    "arith.sitofp": (IntegerType, AnyFloat, 0),
    "arith.uitofp": (IntegerType, AnyFloat, 0),
    "arith.fptosi": (AnyFloat, IntegerType, 0),
    "arith.fptoui": (AnyFloat, IntegerType, 0),
    "arith.index_cast": (IntegerType | IndexType, IntegerType | IndexType, 0),
    "arith.index_castui": (IntegerType | IndexType, IntegerType | IndexType, 0),
}

# operation -> (kinds of elements, predicates)
_COMPARISONS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "arith.cmpi": (IntegerType | IndexType, INTEGER_PREDICATES),
    "arith.cmpf": (AnyFloat, FLOAT_PREDICATES),
}


def _shape(type: Attribute) -> tuple[int, ...] | None:
    return cast("VectorType[Attribute]", type).get_shape() if isinstance(type, VectorType | TensorType) else None


def _element(type: Attribute) -> Attribute:
    shaped = isinstance(type, VectorType | TensorType)
    return cast("VectorType[Attribute]", type).element_type if shaped else type


def _flags(type: Attribute) -> Attribute:
    """Return `type` with elements of i1."""
    if isinstance(type, TensorType):
        return TensorType(i1, type.shape, type.encoding)
    return with_element(type, i1)


def _is_a(kind: Kind, value: SSAValue) -> bool:
    return isinstance(_element(value.type), kind)


def _width(type: Attribute) -> int:
    element = _element(type)
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 64


class CastOp(IRDLOperation, ABC):
    """An elementwise conversion, between the element types listed in `_CASTS`."""

    input = operand_def()
    result = result_def()

    assembly_format = None
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue | Operation, type: Attribute):
        IRDLOperation.__init__(self, operands=[value], result_types=[type])

    def verify_(self) -> None:
        source, target = self.input.type, self.result.type
        if _shape(source) != _shape(target):
            raise VerifyException(f"'{self.name}' changes the shape: {source} to {target}")
        from_kind, to_kind, growth = _CASTS[self.name]
        if not (_is_a(from_kind, self.input) and _is_a(to_kind, self.result)):
            raise VerifyException(f"'{self.name}' cannot convert {source} to {target}")
        if growth and growth * (_width(target) - _width(source)) <= 0:
            raise VerifyException(f"'{self.name}' needs a {'wider' if growth > 0 else 'narrower'} result, got {target}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("overflow"):
            properties["overflowFlags"] = IntegerOverflowAttr(IntegerOverflowAttr.parse_parameter(parser))
        if parser.parse_optional_keyword("nneg"):
            properties["nonNeg"] = UnitAttr()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        operands = parser.resolve_operands([value], [source], parser.pos)
        return cls.create(
            operands=operands, result_types=[parser.parse_type()], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.input)
        overflow = self.properties.get("overflowFlags")
        if isinstance(overflow, IntegerOverflowAttr) and overflow.data:
            printer.print_string(" overflow")
            overflow.print_parameter(printer)
        if "nonNeg" in self.properties:
            printer.print_string(" nneg")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.input.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class ExtSIOp(CastOp, arith.ExtSIOp):
    """`%y = arith.extsi %x : i8 to i32`: sign-extend integers."""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(CastOp, arith.ExtUIOp):
    """`%y = arith.extui %x : i8 to i32`: zero-extend integers; `nneg` promises that they are not negative."""

    name = "arith.extui"
    non_neg = opt_prop_def(UnitAttr, prop_name="nonNeg")


@irdl_op_definition
class TruncIOp(CastOp, arith.TruncIOp):
    """`%y = arith.trunci %x : i32 to i8`: truncate integers: the high bits are dropped."""

    name = "arith.trunci"
    overflow_flags = prop_def(IntegerOverflowAttr, default_value=IntegerOverflowAttr("none"), prop_name="overflowFlags")


@irdl_op_definition
class SIToFPOp(CastOp, arith.SIToFPOp):
    """`%y = arith.sitofp %x : i32 to f32`: convert signed integers to floats."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(CastOp, arith.UIToFPOp):
    """`%y = arith.uitofp %x : i32 to f32`: convert unsigned integers to floats; `nneg` as in `extui`."""

    name = "arith.uitofp"
    non_neg = opt_prop_def(UnitAttr, prop_name="nonNeg")


@irdl_op_definition
class FPToSIOp(CastOp, arith.FPToSIOp):
    """`%y = arith.fptosi %x : f32 to i32`: convert floats to signed integers, truncating."""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(CastOp, arith.FPToUIOp):
    """`%y = arith.fptoui %x : f32 to i32`: convert floats to unsigned integers, truncating."""

    name = "arith.fptoui"


class _IndexCast(CastOp, ABC):
    def verify_(self) -> None:
        super().verify_()
        if _is_a(IndexType, self.input) == _is_a(IndexType, self.result):
            raise VerifyException(f"'{self.name}' converts between index and an integer, not {self.input.type}")


@irdl_op_definition
class IndexCastOp(_IndexCast, arith.IndexCastOp):
    """`%y = arith.index_cast %x : i64 to index`: convert between signed integers and indices."""

    name = "arith.index_cast"


@irdl_op_definition
class IndexCastUIOp(_IndexCast):
    """`%y = arith.index_castui %x : i64 to index`: convert between unsigned integers and indices."""

    name = "arith.index_castui"


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division of floats, with the sign of the dividend."""

    name = "arith.remf"
    traits = traits_def(Pure())


class CompareOp(IRDLOperation, ABC):
    """An elementwise comparison; the result has an i1 per element."""

    predicate = prop_def(IntegerAttr.constr(i64))
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, predicate: str, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        IRDLOperation.__init__(
            self,
            operands=[lhs, rhs],
            result_types=[_flags(lhs.type)],
            properties={"predicate": IntegerAttr(_COMPARISONS[self.name][1].index(predicate), i64)},
        )

    def verify_(self) -> None:
        kinds, predicates = _COMPARISONS[self.name]
        if not 0 <= self.predicate.value.data < len(predicates):
            raise VerifyException(f"unknown predicate {self.predicate.value.data}; known: 0 to {len(predicates) - 1}")
        if self.lhs.type != self.rhs.type or self.result.type != _flags(self.lhs.type):
            raise VerifyException(
                f"'{self.name}' compares two values of one type, got {self.lhs.type}, {self.rhs.type}"
            )
        if not _is_a(kinds, self.lhs):
            raise VerifyException(f"'{self.name}' cannot compare values of {self.lhs.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicates = _COMPARISONS[cls.name][1]
        at = parser.pos
        word = parser.parse_optional_str_literal() or parser.parse_identifier()
        if word not in predicates:
            parser.raise_error(f"unknown predicate '{word}'; known: {', '.join(predicates)}", at)
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(predicates.index(word), i64)}
        if cls is CmpFOp and parser.parse_optional_keyword("fastmath"):
            properties["fastmath"] = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = parser.resolve_operands([lhs, rhs], [type, type], parser.pos)
        return cls.create(operands=operands, result_types=[_flags(type)], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {_COMPARISONS[self.name][1][self.predicate.value.data]}, ")
        printer.print_list((self.lhs, self.rhs), printer.print_operand)
        fastmath = self.properties.get("fastmath")
        if isinstance(fastmath, FastMathFlagsAttr) and fastmath.data:
            printer.print_string(" fastmath")
            fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class CmpIOp(CompareOp, arith.CmpiOp):
    """`%c = arith.cmpi slt, %a, %b : i32`: compare integers or indices: an i1 per element."""

    name = "arith.cmpi"


@irdl_op_definition
class CmpFOp(CompareOp, arith.CmpfOp):
    """`%c = arith.cmpf olt, %a, %b : f32`: compare floats: an i1 per element."""

    name = "arith.cmpf"
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))


@irdl_op_definition
class SelectOp(arith.SelectOp):
    """Select by an i1, or per element by as many i1."""

    name = "arith.select"
    assembly_format = None

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(cond, lhs, rhs)

    def verify_(self) -> None:
        if not (self.lhs.type == self.rhs.type == self.result.type):
            raise VerifyException(f"'{self.name}' chooses between values of one type")
        if self.cond.type not in (i1, _flags(self.lhs.type)):
            raise VerifyException(f"'{self.name}' needs i1 or one i1 for each element, got {self.cond.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        cond = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        flags, type = i1, parser.parse_type()
        if parser.parse_optional_punctuation(","):
            flags, type = type, parser.parse_type()
        operands = parser.resolve_operands([cond, lhs, rhs], [flags, type, type], parser.pos)
        return cls.create(operands=operands, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.cond, self.lhs, self.rhs), printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


OPERATIONS = (
    ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, IndexCastOp, IndexCastUIOp, RemFOp,
    CmpIOp, CmpFOp, SelectOp,
)  # fmt: skip
"""What the dialect `arith` has instead of xDSL's operations of these names."""
