"""Operations of MLIR's `tensor` dialect that xDSL lacks."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, result_def, var_operand_def
from xdsl.parser import Parser


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """Elements from their indices.

    `tensor.generate %n { ^bb0(%i: index): … tensor.yield %x : f32 } : tensor<?xf32>`.
    """

    name = "tensor.generate"

    dynamic_extents = var_operand_def(IndexType)
    result = result_def(TensorType)
    body = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        extents = parser.resolve_operands(names or [], [IndexType()] * len(names or []), parser.pos)
        return cls.create(operands=extents, result_types=[parser.parse_type()], regions=[body], attributes=attributes)


OPERATIONS = (GenerateOp,)
"""What the dialect `tensor` has in addition to xDSL's operations."""
