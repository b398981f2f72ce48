"""The text of affine's operations as MLIR prints it, where xDSL reads the generic form only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from xdsl.dialects import affine
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.parser.affine_parser import AffineParser
from xdsl.parser.core import UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .forms import PlainOp, generic

_INDEX = IndexType()


class _Ids:
    """Affine expressions whose dimensions and symbols are values: `%i + symbol(%n) * 2`. All become dimensions."""

    def __init__(self, parser: Parser):
        self.parser = parser
        self.affine = AffineParser(parser._parser_state)  # pyright: ignore[reportPrivateUsage]
        self.positions: dict[str, int] = {}
        self.spans: list[Span] = []

    def identifier(self) -> AffineExpr | None:
        symbol = self.affine.parse_optional_keyword("symbol") is not None
        if symbol:
            self.affine.parse_punctuation("(")
        token = self.affine._parse_optional_token(MLIRTokenKind.PERCENT_IDENT)  # pyright: ignore[reportPrivateUsage]
        if token is None:
            return None
        if symbol:
            self.affine.parse_punctuation(")")
        name = token.span.text
        if name not in self.positions:
            self.positions[name] = len(self.positions)
            self.spans.append(token.span)
        return AffineExpr.dimension(self.positions[name])

    def expression(self) -> AffineExpr:
        return self.affine._parse_affine_expr(self.identifier)  # pyright: ignore[reportPrivateUsage]

    def operands(self) -> list[SSAValue]:
        return [self.parser.resolve_operand(UnresolvedOperand(span, 0), _INDEX) for span in self.spans]

    def map(self, results: Sequence[AffineExpr]) -> AffineMapAttr:
        return AffineMapAttr(AffineMap(len(self.positions), 0, tuple(results)))


def _access(parser: Parser) -> tuple[UnresolvedOperand, AffineMapAttr, list[SSAValue]]:
    """Parse `%memref[<expressions of values>]`."""
    target = parser.parse_unresolved_operand()
    ids = _Ids(parser)
    results = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, ids.expression)
    return target, ids.map(results), ids.operands()


def _load(cls: Any, parser: Parser, vector: bool) -> Any:
    """Parse `%m[%i + 1] {…} : memref<…>`; a vector's type follows that of the memref."""
    target, data, indices = _access(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    kind: Any = parser.parse_type()
    result = kind.element_type
    if vector:
        parser.parse_punctuation(",")
        result = parser.parse_type()
    source = parser.resolve_operand(target, kind)
    return cls.create(
        operands=[source, *indices], result_types=[result], properties={"map": data}, attributes=attributes
    )


def _store(cls: Any, parser: Parser, vector: bool) -> Any:
    """Parse `%v, %m[%i + 1] {…} : memref<…>`; a vector's type follows that of the memref."""
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    target, data, indices = _access(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    kind: Any = parser.parse_type()
    stored = kind.element_type
    if vector:
        parser.parse_punctuation(",")
        stored = parser.parse_type()
    operands = [parser.resolve_operand(value, stored), parser.resolve_operand(target, kind), *indices]
    return cls.create(operands=operands, properties={"map": data}, attributes=attributes)


class LoadOp(affine.LoadOp):
    """`affine.load`, with `symbol(%n)` in its indices."""

    name = "affine.load"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _load(cls, parser, vector=False)


class StoreOp(affine.StoreOp):
    """`affine.store`, with `symbol(%n)` in its indices."""

    name = "affine.store"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _store(cls, parser, vector=False)


class VectorLoadOp(affine.VectorLoadOp):
    """`affine.vector_load`, with `symbol(%n)` in its indices."""

    name = "affine.vector_load"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _load(cls, parser, vector=True)


class VectorStoreOp(affine.VectorStoreOp):
    """`affine.vector_store`, with `symbol(%n)` in its indices."""

    name = "affine.vector_store"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _store(cls, parser, vector=True)


def _applied(parser: Parser) -> list[SSAValue]:
    """Parse `(%dims)[%symbols]`."""

    def one() -> SSAValue:
        return parser.parse_operand(_INDEX)

    dims = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, one)
    symbols = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, one)
    return [*(dims or ()), *(symbols or ())]


class _Extreme(PlainOp):
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        data = parser.parse_attribute()
        operands = _applied(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=operands, result_types=[_INDEX], properties={"map": data}, attributes=attributes)


class MaxOp(_Extreme):
    """`affine.max #map(%i)[%n]`."""

    name = "affine.max"


def _terminated(region: Region) -> Region:
    if not isinstance(region.block.last_op, affine.YieldOp):
        region.block.add_op(affine.YieldOp.get())
    return region


def _result_types(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else list(several)


class IfOp(affine.IfOp):
    """`affine.if #set(%i)[%n] -> (f32) { … } else { … }`."""

    name = "affine.if"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an affine set", place)
        operands = _applied(parser)
        results = _result_types(parser)
        regions = [_terminated(parser.parse_region())]
        regions.append(_terminated(parser.parse_region()) if parser.parse_optional_keyword("else") else Region())
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"condition": condition},
            regions=regions,
            attributes=attributes,
        )


def _bounds(parser: Parser, word: str) -> tuple[AffineMapAttr, list[SSAValue], DenseIntElementsAttr]:
    """Parse `(%a, max(%b, %c + 1), 0)`: a group of expressions for each loop."""
    ids = _Ids(parser)
    groups: list[int] = []
    results: list[AffineExpr] = []

    def one() -> None:
        found = [ids.expression()] if not parser.parse_optional_keyword(word) else list(
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, ids.expression)
        )  # fmt: skip
        groups.append(len(found))
        results.extend(found)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    counts = DenseIntElementsAttr.from_list(TensorType(i32, [len(groups)]), groups)
    return ids.map(results), ids.operands(), counts


class ParallelOp(PlainOp):
    """`affine.parallel (%i) = (0) to (%n) step (2) reduce ("addf") -> (f32) { … }`."""

    name = "affine.parallel"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        low, low_values, low_groups = _bounds(parser, "max")
        parser.parse_characters("to")
        high, high_values, high_groups = _bounds(parser, "min")
        steps = [1] * len(arguments)
        if parser.parse_optional_keyword("step"):
            steps = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
        kinds: list[str] = []
        if parser.parse_optional_keyword("reduce"):
            kinds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
        results = _result_types(parser)
        body = _terminated(parser.parse_region([a.resolve(_INDEX) for a in arguments]))
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=[*low_values, *high_values],
            result_types=results,
            properties={
                "lowerBoundsMap": low,
                "lowerBoundsGroups": low_groups,
                "upperBoundsMap": high,
                "upperBoundsGroups": high_groups,
                "steps": ArrayAttr([IntegerAttr(s, i64) for s in steps]),
                "reductions": ArrayAttr([StringAttr(kind) for kind in kinds]),
            },
            regions=[body],
            attributes=attributes,
        )


class DelinearizeIndexOp(PlainOp):
    """`affine.delinearize_index %i into (2, %n) : index, index`."""

    name = "affine.delinearize_index"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parser.parse_operand(_INDEX)
        parser.parse_keyword("into")
        basis, static = _basis(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            operands=[index, *basis],
            result_types=results,
            properties={"static_basis": static},
            attributes=attributes,
        )


class LinearizeIndexOp(PlainOp):
    """`affine.linearize_index disjoint [%i, %j] by (2, %n) : index`."""

    name = "affine.linearize_index"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_optional_keyword("disjoint")
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(_INDEX))
        parser.parse_keyword("by")
        basis, static = _basis(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        sizes = DenseArrayBase.from_list(i32, [len(indices), len(basis)])
        return cls.create(
            operands=[*indices, *basis],
            result_types=[result],
            properties={"static_basis": static, "operandSegmentSizes": sizes},
            attributes=attributes,
        )


def _basis(parser: Parser) -> tuple[list[SSAValue], DenseArrayBase[Any]]:
    values: list[SSAValue] = []

    def one() -> int:
        number = parser.parse_optional_integer(allow_boolean=False)
        if number is not None:
            return number
        values.append(parser.parse_operand(_INDEX))
        return DYNAMIC_INDEX

    numbers = parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    return values, DenseArrayBase.from_list(i64, numbers)


OPERATIONS = (
    LoadOp,
    StoreOp,
    VectorLoadOp,
    VectorStoreOp,
    MaxOp,
    IfOp,
    ParallelOp,
    DelinearizeIndexOp,
    LinearizeIndexOp,
    *(generic(f"affine.{name}") for name in ("prefetch", "dma_start", "dma_wait")),
)
"""What the dialect `affine` has in addition to xDSL's operations, or instead of those of these names."""
