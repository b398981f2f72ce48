"""Operations of MLIR's `tensor` dialect that xDSL lacks."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, result_def, var_operand_def
from xdsl.parser import Parser

from . import linalg_extras
from .forms import formed


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


class PackOp(linalg_extras.PackOp):
    """`tensor.pack`, the former name of `linalg.pack`."""

    name = "tensor.pack"


class UnpackOp(linalg_extras.UnpackOp):
    """`tensor.unpack`, the former name of `linalg.unpack`."""

    name = "tensor.unpack"


OPERATIONS = (
    GenerateOp,
    PackOp,
    UnpackOp,
    formed("tensor.bitcast", "% {} : T to R"),
    formed("tensor.rank", "% {} : T", lambda operands, results: [IndexType()]),
    formed("tensor.gather", "% [%] gather_dims ( [n:gather_dims] ) unit:unique {} : F"),
    formed("tensor.scatter", "% into % [%] scatter_dims ( [n:scatter_dims] ) unit:unique {} : F"),
    formed("tensor.parallel_insert_slice", "% into % [i:offsets] [i:sizes] [i:strides] {} : T into T", segments=True),
)
"""What the dialect `tensor` has in addition to xDSL's operations."""
