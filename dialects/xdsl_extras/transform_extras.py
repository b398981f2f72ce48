"""Operations of `transform` that xDSL lacks, or has with other operands than MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FunctionType, IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser

from .forms import PlainOp, formed, generic


class TileUsingForallOp(PlainOp):
    """`transform.structured.tile_using_forall %0 tile_sizes [4, 8] (mapping = […]) : (…) -> (…)`, or `num_threads`."""

    name = "transform.structured.tile_using_forall"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        target = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        for word in ("num_threads", "tile_sizes"):
            if parser.parse_optional_keyword(word):
                properties[f"static_{word}"] = _numbers(parser)
        if parser.parse_optional_punctuation("("):
            parser.parse_keyword("mapping")
            parser.parse_punctuation("=")
            found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
            properties["mapping"] = ArrayAttr(found)
            parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind: FunctionType = parser.parse_function_type()
        operands = parser.resolve_operands([target], list(kind.inputs.data), place)
        return cls.of(operands[0], properties, kind.outputs.data, attributes)

    @classmethod
    def of(
        cls,
        target: SSAValue,
        properties: Mapping[str, Attribute],
        results: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Self:
        """Return the operation with numbers that are all constants."""
        sizes = DenseArrayBase.from_list(i32, [1, 0, 0, 0, 0])
        return cls.create(
            operands=[target],
            properties={**properties, "operandSegmentSizes": sizes},
            result_types=results,
            attributes=dict(attributes or {}),
        )


class VectorizeOp(PlainOp):
    """`transform.structured.vectorize %0 vector_sizes [1, 8] : !transform.any_op`; without sizes, all are static."""

    name = "transform.structured.vectorize"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_unresolved_operand()
        sizes = _numbers(parser) if parser.parse_optional_keyword("vector_sizes") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = cls.of(parser.resolve_operand(target, parser.parse_type()), sizes)
        result.attributes |= attributes
        return result

    @classmethod
    def of(cls, target: SSAValue, sizes: DenseArrayBase[Any] | None) -> Self:
        """Return the operation with these sizes, or with those of the iterators."""
        known = DenseArrayBase.from_list(i64, []) if sizes is None else sizes
        scalable = DenseArrayBase.from_list(i1, [0] * len(known))
        return cls.create(
            operands=[target], properties={"static_vector_sizes": known, "scalable_sizes": scalable}
        )  # fmt: skip


class UnrollOp(PlainOp):
    """`transform.loop.unroll %0 factor = 4 : !transform.any_op`."""

    name = "transform.loop.unroll"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_unresolved_operand()
        parser.parse_keyword("factor")
        parser.parse_punctuation("=")
        factor = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = cls.of(parser.resolve_operand(target, parser.parse_type()), factor)
        result.attributes |= attributes
        return result

    @classmethod
    def of(cls, loop: SSAValue, factor: int) -> Self:
        """Return the operation."""
        return cls.create(operands=[loop], properties={"factor": IntegerAttr(factor, i64)})


def _numbers(parser: Parser) -> DenseArrayBase[Any]:
    found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return cast("DenseArrayBase[Any]", DenseArrayBase.from_list(i64, found))


InterchangeOp = formed("transform.structured.interchange", "% iterator_interchange = [n:iterator_interchange] {} : F")
CoalesceOp = formed("transform.loop.coalesce", "% {} : F")
GeneralizeOp = formed("transform.structured.generalize", "% {} : F")
FuseIntoContainingOp = formed("transform.structured.fuse_into_containing_op", "% into % {} : F")
OPERATIONS = (
    TileUsingForallOp,
    VectorizeOp,
    UnrollOp,
    InterchangeOp,
    CoalesceOp,
    GeneralizeOp,
    FuseIntoContainingOp,
    formed("transform.split_handle", "% {} : F"),
    formed("transform.apply_cse", "to % {} : T"),
    *map(generic, ("transform.structured.pad", "transform.annotate")),
)
"""What the dialect `transform` has in addition to xDSL's operations, or instead of those of these names."""
