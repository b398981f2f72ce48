"""`scf.forall`, which xDSL lacks, and the text of `scf.parallel`, which it reads in generic form only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand

from .forms import PlainOp

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


class ReduceOp(scf.ReduceOp):
    """`scf.reduce(%a, %b : f32, f32) { … }, { … }`, with commas between the regions."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[SSAValue] = []
        if parser.parse_optional_punctuation("("):
            names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
            operands = list(parser.resolve_operands(names, types, parser.pos))
        regions: list[Region] = []
        while len(regions) < len(operands):
            regions.append(parser.parse_region())
            parser.parse_optional_punctuation(",")
        return cls.create(operands=operands, regions=regions, attributes=parser.parse_optional_attr_dict())


class ForallOp(PlainOp):
    """`scf.forall (%i) in (%n) shared_outs(%o = %x) -> (tensor<…>) { … }`, or with `= (…) to (…) step (…)`."""

    name = "scf.forall"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        dynamic: list[list[SSAValue]] = []
        static: list[list[int]] = []

        def numbers() -> None:
            values: list[SSAValue] = []

            def one() -> int:
                found = parser.parse_optional_integer(allow_boolean=False)
                if found is None:
                    values.append(parser.parse_operand(_INDEX))
                return DYNAMIC_INDEX if found is None else found

            static.append(parser.parse_comma_separated_list(parser.Delimiter.PAREN, one))
            dynamic.append(values)

        if parser.parse_optional_keyword("in"):
            dynamic.append([])
            static.append([0] * len(variables))
            numbers()
            dynamic.append([])
            static.append([1] * len(variables))
        else:
            for word in ("=", "to", "step"):
                parser.parse_characters(word)
                numbers()
        args: list[Parser.Argument] = [v.resolve(_INDEX) for v in variables]
        outputs: list[SSAValue] = []
        if parser.parse_optional_keyword("shared_outs"):
            pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _assignment(parser))
            parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            outputs = list(parser.resolve_operands([value for _, value in pairs], types, parser.pos))
            args += [arg.resolve(kind) for (arg, _), kind in zip(pairs, types, strict=True)]
        body = parser.parse_region(args)
        if body.block.last_op is None or body.block.last_op.name != InParallelOp.name:
            body.block.add_op(InParallelOp.create(regions=[Region(Block())]))
        attributes = parser.parse_optional_attr_dict()
        sizes = [*map(len, dynamic), len(outputs)]
        return cls.create(
            operands=[*(v for values in dynamic for v in values), *outputs],
            result_types=[v.type for v in outputs],
            properties={
                "operandSegmentSizes": DenseArrayBase.from_list(i32, sizes),
                **{
                    f"static{name}": DenseArrayBase.from_list(i64, found)
                    for name, found in zip(("LowerBound", "UpperBound", "Step"), static, strict=True)
                },
            },
            regions=[body],
            attributes=attributes,
        )


def _assignment(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


class InParallelOp(PlainOp):
    """`scf.forall.in_parallel { tensor.parallel_insert_slice … }`."""

    name = "scf.forall.in_parallel"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(regions=[parser.parse_region()])


OPERATIONS = (ParallelOp, ReduceOp, ForallOp, InParallelOp)
"""What the dialect `scf` has instead of xDSL's operations of these names."""
