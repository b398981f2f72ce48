"""Operations of `vector` that xDSL lacks, or reads in another form than MLIR prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import Parser

from .forms import PlainOp, WordAttr, formed, generic, read_form


@irdl_attr_definition
class IteratorTypeAttr(WordAttr):
    """`#vector.iterator_type<parallel>`, or `reduction`."""

    name = "vector.iterator_type"


class MaskOp(PlainOp):
    """`vector.mask %m { vector.transfer_read … } : vector<8xi1> -> vector<8xf32>`: an operation on some lanes."""

    name = "vector.mask"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        mask = parser.parse_type()
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results = [parser.parse_type()] if several is None else list(several)
        operands = parser.resolve_operands(names, [mask, *results][: len(names)], place)
        return cls.create(operands=operands, result_types=results, regions=[body], attributes=attributes)


def _shape(type: Attribute) -> tuple[int, ...]:
    return cast("VectorType[Attribute]", type).get_shape() if isinstance(type, VectorType) else ()


def _vector(element: Attribute, shape: Sequence[int]) -> Attribute:
    return VectorType(cast(Any, element), shape)


def _outer(operands: Sequence[Attribute], results: Sequence[Attribute]) -> Sequence[Attribute]:
    left = cast("VectorType[Attribute]", operands[0])
    return [_vector(left.element_type, (*_shape(left), *_shape(operands[1])))]


def _elements(operands: Sequence[Attribute], results: Sequence[Attribute]) -> Sequence[Attribute]:
    kind = cast("VectorType[Attribute]", operands[0])
    return [kind.element_type] * math.prod(_shape(kind))


class OuterProductOp(PlainOp):
    """`vector.outerproduct %a, %b, %c : vector<…>, vector<…>`; `%c` has the type of the result."""

    name = "vector.outerproduct"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        r = read_form(parser, cls.name, "% , % ,%? {} : T* ")
        (result,) = _outer(cast("list[Attribute]", r.types[:2]), ())
        r.rest(result)
        operands = parser.resolve_operands(r.operands, cast("list[Attribute]", r.types), place)
        return cls.create(operands=operands, result_types=[result], properties=r.attributes)


class ShuffleOp(vector.ShuffleOp):
    """`vector.shuffle %a, %b [0, 3] : vector<…>, vector<…>`: as many of the first dimension as there are numbers."""

    name = "vector.shuffle"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        r = read_form(parser, cls.name, "% , % [n:mask] {} : T , T")
        kind = cast("VectorType[Attribute]", r.types[0])
        mask = cast("DenseArrayBase[Any]", r.attributes["mask"])
        result = _vector(kind.element_type, (len(mask), *_shape(kind)[1:]))
        operands = parser.resolve_operands(r.operands, cast("list[Attribute]", r.types), place)
        return cls.create(operands=operands, result_types=[result], properties=r.attributes)


OPERATIONS = (
    OuterProductOp,
    ShuffleOp,
    formed("vector.shape_cast", "% {} : T to R"),
    formed("vector.transpose", "% , [n:permutation] {} : T to R"),
    formed("vector.contract", "{} % , % , % : T , T into T =R"),
    formed("vector.multi_reduction", "<kind> , % , % [n:reduction_dims] {} : T to T =R"),
    formed("vector.extract_strided_slice", "% {} : T to R"),
    formed("vector.insert_strided_slice", "% , % {} : T into T =R"),
    formed("vector.splat", "% {} : R =T"),
    formed("vector.step", "{} : R"),
    formed("vector.from_elements", "%* {} : R =T"),
    formed("vector.to_elements", "% {} : T", _elements),
    MaskOp,
    formed("vector.constant_mask", "[n:mask_dim_sizes] {} : R"),
    formed("vector.gather", "% [%*] [%] , % , % {} : T , T , T , T into R"),
    formed("vector.scatter", "% [%*] [%] , % , % {} : T , T , T , T"),
    formed("vector.expandload", "% [%*] , % , % {} : T , T , T into R"),
    formed("vector.compressstore", "% [%*] , % , % {} : T , T , T"),
    formed("vector.interleave", "% , % {} : T =T -> R"),
    formed("vector.deinterleave", "% {} : T -> RR"),
    formed("vector.scan", "<kind> , % , % {} : T , T", lambda operands, results: operands),
    *(
        generic(f"vector.{name}")
        for name in ("yield", "vscale", "scalable.insert", "scalable.extract", "type_cast", "flat_transpose",
                     "matrix_multiply")
    ),
)  # fmt: skip
"""What the dialect `vector` has in addition to xDSL's operations, or instead of those of these names."""
