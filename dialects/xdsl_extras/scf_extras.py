"""The text of `scf.parallel`, which xDSL reads in generic form only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, var_operand_def, var_result_def
from xdsl.parser import Parser

_INDEX = IndexType()


@irdl_op_definition
class ParallelOp(scf.ParallelOp):
    """`scf.parallel (%i) = (%low) to (%high) step (%step) { … }`, or `… init (%x) -> f32 { … }`."""

    name = "scf.parallel"

    lowerBound = var_operand_def(IndexType)  # noqa: N815 (MLIR's names)
    upperBound = var_operand_def(IndexType)  # noqa: N815
    step = var_operand_def(IndexType)
    initVals = var_operand_def()  # noqa: N815
    res = var_result_def()
    body = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        bounds: list[list[SSAValue]] = []
        for word in ("=", "to", "step"):
            parser.parse_characters(word)
            bounds.append(_resolved(parser, [_INDEX] * len(variables)))
        inits: list[SSAValue] = []
        if parser.parse_optional_keyword("init"):
            names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
            parser.parse_punctuation("->")
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            types = [parser.parse_type()] if several is None else several
            inits = list(parser.resolve_operands(names, types, parser.pos))
        body = parser.parse_region([v.resolve(_INDEX) for v in variables])
        if not isinstance(body.block.last_op, scf.ReduceOp):
            body.block.add_op(scf.ReduceOp())
        low, high, step = bounds
        op = cls(low, high, step, body, inits)
        op.attributes |= parser.parse_optional_attr_dict()
        return op


def _resolved(parser: Parser, types: Sequence[Attribute]) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return list(parser.resolve_operands(names, types, parser.pos))


OPERATIONS = (ParallelOp,)
"""What the dialect `scf` has instead of xDSL's operations of these names."""
