"""The custom text of operations, read by one tolerant reader: operands, words, `name = value`, attributes, types.

    stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (…) -> …
    stablehlo.compare EQ, %a, %b, FLOAT : (…) -> …
    stablehlo.slice %a [0:4:2, 1:3] : (…) -> …

What is between the name and the colon is a list of items; a table (`operations.py`) says which property a name is.
Printed operations are generic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import traits_def
from xdsl.parser import Parser, UnresolvedOperand

from .attributes import ConvAttr, parse_dim_numbers, parse_fields, structure, word

Words = dict[str, tuple[str, str]]
"""keyword -> (property, kind of its value)"""


class HloOp(Operation):
    """An operation with operands, results, regions and attributes of its own. It is printed generically."""

    words: ClassVar[Words] = {}
    bare: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Properties of words without a name, in their order, and the enumerations that they are of."""
    results_like_operands: ClassVar[bool] = False
    has_results: ClassVar[bool] = True
    traits: ClassVar[Any] = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_operation(parser, cls)  # type: ignore[return-value]

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute, as a property or not."""
        found = self.properties.get(name)
        return self.attributes.get(name) if found is None else found


@dataclass
class Items:
    """What an operation's text has before the colon."""

    operands: list[UnresolvedOperand] = field(default_factory=list[UnresolvedOperand])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


def parse_operation(parser: Parser, cls: type[HloOp]) -> HloOp:
    """Read an operation after its name."""
    special = _SPECIAL.get(cls.name)
    if special is not None:
        return special(parser, cls)
    items = Items()
    bare = list(cls.bare)
    while parser.parse_optional_punctuation(":") is None:
        if not _item(parser, cls, items, bare):
            return _made(parser, cls, items, [], [])
    ins, outs = _types(parser, cls, len(items.operands))
    return _made(parser, cls, items, ins, outs)


def _made(parser: Parser, cls: type[HloOp], items: Items, ins: Sequence[Attribute], outs: Sequence[Attribute]) -> HloOp:
    return cls.create(
        operands=parser.resolve_operands(items.operands, ins, parser.pos),
        result_types=outs,
        properties=items.properties,
        attributes=items.attributes,
    )


def _item(parser: Parser, cls: type[HloOp], items: Items, bare: list[tuple[str, str]]) -> bool:
    """Read one item; return whether there was one."""
    if (operand := parser.parse_optional_unresolved_operand()) is not None:
        items.operands.append(operand)
    elif any(parser.parse_optional_punctuation(mark) for mark in ("(", ")", ",")):  # type: ignore[arg-type]
        return True
    elif (symbol := parser.parse_optional_symbol_name()) is not None:
        items.properties[_next(parser, bare, symbol.data)[0]] = symbol
    elif (text := parser.parse_optional_str_literal()) is not None:
        items.properties[_next(parser, bare, text)[0]] = StringAttr(text)
    elif (name := parser.parse_optional_identifier()) is not None:
        if parser.parse_optional_punctuation("=") is None:
            key, kind = _next(parser, bare, name)
            items.properties[key] = word(kind, name)
        else:
            key, kind = cls.words.get(name, (name, "attribute"))
            items.properties |= VALUES.get(kind, _word_of(kind))(parser, key)
    elif ranges := parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _range(parser)):
        items.properties |= _of_ranges(cls, ranges)
    elif more := parser.parse_optional_attr_dict():
        items.attributes |= more
    else:
        return bool(parser.parse_optional_punctuation("{") and parser.parse_punctuation("}"))
    return True


def _next(parser: Parser, bare: list[tuple[str, str]], text: str) -> tuple[str, str]:
    """Return the property that the next word without a name is."""
    if not bare:
        parser.raise_error(f"unexpected '{text}'")
    return bare.pop(0)


def _range(parser: Parser) -> list[int]:
    numbers = [parser.parse_integer()]
    while parser.parse_optional_punctuation(":"):
        numbers.append(parser.parse_integer())
    return numbers


def _of_ranges(cls: type[HloOp], ranges: Sequence[list[int]]) -> dict[str, Attribute]:
    if len(ranges[0]) == 1:
        return {"index": IntegerAttr(ranges[0][0], i32)}
    names = ("start_indices", "limit_indices", "strides")
    columns = zip(*((*r, 1)[:3] for r in ranges), strict=True)
    return {name: DenseArrayBase.from_list(i64, column) for name, column in zip(names, columns, strict=True)}


# -- types -------------------------------------------------------------------------------------------------------------


def _types(parser: Parser, cls: type[HloOp], operands: int) -> tuple[list[Attribute], list[Attribute]]:
    """Read the types of operands and results: a function type, or types that stand for several."""
    if parser.parse_optional_punctuation("("):
        first = _list_until_closed(parser)
        if parser.parse_optional_punctuation("->") is None:
            return first, first
        return first, _results(parser)
    types: list[Attribute] = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)  # type: ignore[assignment]
    if parser.parse_optional_punctuation("->"):
        return types, _results(parser)
    if cls.name == "stablehlo.tuple":
        return list(cast("TupleType", types[0]).types), types
    if cls.results_like_operands:
        return types, types
    if not cls.has_results:
        return types, []
    if cls.name == "stablehlo.complex":
        types = [_part(types[0])] * 2 + types
    elif cls.name == "stablehlo.select" and len(types) == 2:
        types = [types[0], types[1], types[1], types[1]]
    elif len(types) == 1:
        types = types * (operands + 1)
    return types[:operands], types[operands:]


def _part(type: Attribute) -> Attribute:
    tensor = cast("TensorType[ComplexType]", type)
    return TensorType(cast(Any, tensor.element_type.element_type), tensor.get_shape(), tensor.encoding)


def _list_until_closed(parser: Parser) -> list[Attribute]:
    types: list[Attribute] = []
    while parser.parse_optional_punctuation(")") is None:
        types.append(parser.parse_type())
        parser.parse_optional_punctuation(",")
    return types


def _results(parser: Parser) -> list[Attribute]:
    return _list_until_closed(parser) if parser.parse_optional_punctuation("(") else [parser.parse_type()]


# -- values of `name = value` ------------------------------------------------------------------------------------------

Value = Callable[[Parser, str], dict[str, Attribute]]


def _integers(parser: Parser, key: str) -> dict[str, Attribute]:
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return {key: DenseArrayBase.from_list(i64, numbers)}


def _integer(parser: Parser, key: str) -> dict[str, Attribute]:
    return {key: IntegerAttr(parser.parse_integer(), i64)}


def _attribute(parser: Parser, key: str) -> dict[str, Attribute]:
    return {key: parser.parse_attribute()}


def _bool(parser: Parser, key: str) -> dict[str, Attribute]:
    return {key: BoolAttr.from_bool(parser.parse_boolean())}


def _text(parser: Parser, key: str) -> dict[str, Attribute]:
    return {key: StringAttr(parser.parse_str_literal())}


def _word_of(kind: str) -> Value:
    return lambda parser, key: {key: word(kind, parser.parse_identifier())}


def _dims(parser: Parser, key: str) -> dict[str, Attribute]:
    """`[0] x [0]`: those of the left and of the right operand."""
    left = _integers(parser, f"lhs_{key}")
    parser.parse_keyword("x")
    return left | _integers(parser, f"rhs_{key}")


def _precision(parser: Parser, key: str) -> dict[str, Attribute]:
    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
    return {key: ArrayAttr([word("stablehlo.precision", name) for name in names])}


def _algorithm(parser: Parser, key: str) -> dict[str, Attribute]:
    with parser.in_angle_brackets():
        return {key: structure("stablehlo.dot_algorithm", _algorithm_fields(parser))}


def _algorithm_fields(parser: Parser) -> dict[str, Attribute]:
    fields: dict[str, Attribute] = {}
    while (name := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        kind = parser.parse_optional_type()
        fields[name] = parser.parse_attribute() if kind is None else kind
        parser.parse_optional_punctuation(",")
    return fields


def _format(parser: Parser, key: str) -> dict[str, Attribute]:
    """`e8m10`."""
    exponent, _, mantissa = parser.parse_identifier().removeprefix("e").partition("m")
    return {"exponent_bits": IntegerAttr(int(exponent), i32), "mantissa_bits": IntegerAttr(int(mantissa), i32)}


def _dim_numbers(parser: Parser, key: str) -> dict[str, Attribute]:
    return {key: ConvAttr(*parse_dim_numbers(parser))}


_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def _window(parser: Parser, key: str) -> dict[str, Attribute]:
    """`{stride = [2, 2], pad = [[1, 1], [0, 0]], lhs_dilate = [1, 2], reverse = [false, true]}`."""
    result: dict[str, Attribute] = {}
    parser.parse_punctuation("{")
    while (name := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        if name == "pad":
            rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _pair(parser))
            kind = TensorType(i64, [len(rows), 2])
            result["padding"] = DenseIntOrFPElementsAttr.from_list(kind, [n for row in rows for n in row])
        elif name == "reverse":
            flags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _flag(parser))
            result["window_reversal"] = DenseArrayBase.from_list(i1, flags)
        else:
            result |= _integers(parser, _WINDOW[name])
        parser.parse_optional_punctuation(",")
    parser.parse_punctuation("}")
    return result


def _pair(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)


def _flag(parser: Parser) -> int:
    return int(parser.parse_integer(allow_boolean=True))


VALUES: dict[str, Value] = {
    "integers": _integers,
    "integer": _integer,
    "attribute": _attribute,
    "bool": _bool,
    "text": _text,
    "dims": _dims,
    "precision": _precision,
    "algorithm": _algorithm,
    "format": _format,
    "dim_numbers": _dim_numbers,
    "window": _window,
}
"""Readers of values, by kind. Another kind is the name of an enumeration."""


# -- operations with a syntax of their own -----------------------------------------------------------------------------


def _constant(parser: Parser, cls: type[HloOp]) -> HloOp:
    attributes = parser.parse_optional_attr_dict()
    value = parser.parse_attribute()
    if parser.parse_optional_punctuation(":"):
        kind: Attribute = parser.parse_type()
    else:
        kind = cast("DenseIntOrFPElementsAttr", value).type
    return cls.create(result_types=[kind], properties={"value": value}, attributes=attributes)


def _return(parser: Parser, cls: type[HloOp]) -> HloOp:
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    attributes = parser.parse_optional_attr_dict()
    types: list[Attribute] = []
    if operands is not None:
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)  # type: ignore[assignment]
    return cls.create(operands=parser.resolve_operands(operands or [], types, parser.pos), attributes=attributes)


def _barrier(parser: Parser, cls: type[HloOp]) -> HloOp:
    attributes = parser.parse_optional_attr_dict()
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if operands is None:
        parser.parse_punctuation("(")
        parser.parse_punctuation(")")
        return cls.create(attributes=attributes)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    values = parser.resolve_operands(operands, types, parser.pos)
    return cls.create(operands=values, result_types=types, attributes=attributes)


def _while(parser: Parser, cls: type[HloOp]) -> HloOp:
    """`(%i = %a, …) : types cond {…} do {…}`"""
    names: list[Any] = []
    operands: list[UnresolvedOperand] = []
    parser.parse_punctuation("(")
    while parser.parse_optional_punctuation(")") is None:
        names.append(parser.parse_argument(expect_type=False))
        parser.parse_punctuation("=")
        operands.append(parser.parse_unresolved_operand())
        parser.parse_optional_punctuation(",")
    types: list[Attribute] = []
    if operands:
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)  # type: ignore[assignment]
    more = parser.parse_optional_attr_dict_with_keyword()
    regions: list[Region] = []
    for keyword in ("cond", "do"):
        parser.parse_keyword(keyword)
        arguments = [name.resolve(type) for name, type in zip(names, types, strict=True)]
        regions.append(parser.parse_region(arguments))
    return cls.create(
        operands=parser.resolve_operands(operands, types, parser.pos),
        result_types=types,
        attributes={} if more is None else more.data,
        regions=regions,
    )


def _reduce(parser: Parser, cls: type[HloOp]) -> HloOp:
    """`(%x init: %c), … applies name across dimensions = […] : types`, or with the region at the end."""
    inputs: list[UnresolvedOperand] = []
    starts: list[UnresolvedOperand] = []
    while parser.parse_optional_punctuation("("):
        inputs.append(parser.parse_unresolved_operand())
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        starts.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(")")
        parser.parse_optional_punctuation(",")
    applied = parser.parse_identifier() if parser.parse_optional_keyword("applies") else None
    parser.parse_keyword("across")
    parser.parse_keyword("dimensions")
    parser.parse_punctuation("=")
    properties = _integers(parser, "dimensions")
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    ins, outs = _types(parser, cls, 2 * len(inputs))
    elements = [TensorType(cast("TensorType[Any]", t).element_type, []) for t in ins[len(inputs) :]]
    region = _reducer(parser, elements) if applied is None else _applied(parser, applied, elements[0])
    return cls.create(
        operands=parser.resolve_operands([*inputs, *starts], ins, parser.pos),
        result_types=outs,
        properties=properties,
        attributes=attributes,
        regions=[region],
    )


def _applied(parser: Parser, name: str, kind: Attribute) -> Region:
    """Return the region that applies one operation."""
    operation = parser.ctx.get_optional_op(name)
    ends = parser.ctx.get_optional_op("stablehlo.return")
    if operation is None or ends is None:
        parser.raise_error(f"unknown operation '{name}'")
    block = Block(arg_types=[kind, kind])
    op = operation.create(operands=block.args, result_types=[kind])
    block.add_ops([op, ends.create(operands=op.results)])
    return Region(block)


def _reducer(parser: Parser, kinds: Sequence[Attribute]) -> Region:
    """`reducer(%a: T, %b: T) (%c: U, %d: U) {…}`: the arguments are pairs, those of the region first all left ones."""
    parser.parse_keyword("reducer")
    left: list[Parser.Argument] = []
    right: list[Parser.Argument] = []
    for _ in kinds:
        parser.parse_punctuation("(")
        left.append(parser.parse_argument())
        parser.parse_punctuation(",")
        right.append(parser.parse_argument())
        parser.parse_punctuation(")")
    return parser.parse_region([*left, *right])


_SPECIAL: dict[str, Callable[[Parser, type[Any]], Any]] = {
    "stablehlo.constant": _constant,
    "chlo.constant": _constant,
    "stablehlo.return": _return,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.while": _while,
    "stablehlo.reduce": _reduce,
}

__all__ = ["Items", "SymbolRefAttr", "Words", "parse_fields", "parse_operation"]
