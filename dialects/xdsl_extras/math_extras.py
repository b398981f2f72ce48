"""Operations of MLIR's `math` dialect that xDSL's lacks."""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from .type_guards import with_element


class ClassifyOp(IRDLOperation, ABC):
    """A property of floats: an i1 per element."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[_flags(value.type)])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        (operand,) = parser.resolve_operands([value], [parser.parse_type()], parser.pos)
        op = cls(operand)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)


def _flags(type: Attribute) -> Attribute:
    if isinstance(type, TensorType):
        return TensorType(i1, type.shape, type.encoding)
    return with_element(type, i1)


@irdl_op_definition
class IsNaNOp(ClassifyOp):
    """`%c = math.isnan %x : f32`: whether floats are NaN."""

    name = "math.isnan"


@irdl_op_definition
class IsInfOp(ClassifyOp):
    """`%c = math.isinf %x : f32`: whether floats are infinite."""

    name = "math.isinf"


@irdl_op_definition
class IsFiniteOp(ClassifyOp):
    """`%c = math.isfinite %x : f32`: whether floats are finite."""

    name = "math.isfinite"


OPERATIONS = (IsNaNOp, IsInfOp, IsFiniteOp)
"""What the dialect `math` has in addition to xDSL's operations."""
