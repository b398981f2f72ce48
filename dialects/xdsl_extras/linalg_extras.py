"""Operations of `linalg` that xDSL lacks: `map`, and a class for each name of `linalg_named.py`.

    linalg.batch_matmul {…} ins(%a, %b : tensor<…>, tensor<…>) outs(%c : tensor<…>) -> tensor<…>

The generic form has the region that the pretty one leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from .forms import PlainOp, WordAttr, generic
from .linalg_named import ELEMENTWISE, NAMED


class NamedOp(IRDLOperation):
    """A named operation on tensors or memrefs; its region is implied."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def(TensorType)
    indexing_maps = opt_prop_def()
    strides = opt_prop_def()
    dilations = opt_prop_def()
    cast = opt_prop_def()
    body = opt_region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes: dict[str, Attribute] = {}
        while True:  # `indexing_maps = […]` and a dictionary come in either order, as do `ins` and `attrs = {…}`
            if parser.parse_optional_keyword("indexing_maps"):
                parser.parse_punctuation("=")
                attributes["indexing_maps"] = parser.parse_attribute()
                continue
            before = len(attributes)
            attributes |= parser.parse_optional_attr_dict()
            if len(attributes) == before:
                break
        groups: dict[str, list[SSAValue]] = {}
        for word in ("ins", "outs"):
            groups[word] = _operands(parser) if parser.parse_optional_keyword(word) else []
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        results = _results(parser)
        known = cls.get_irdl_definition().properties
        properties = {name: value for name, value in attributes.items() if name in known}
        sizes = [len(group) for group in groups.values()]
        return cls.create(
            operands=[*groups["ins"], *groups["outs"]],
            result_types=results,
            properties={**properties, "operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)},
            attributes={name: value for name, value in attributes.items() if name not in known},
        )

    def print(self, printer: Printer) -> None:
        named = {name: value for name, value in self.properties.items() if name != "operandSegmentSizes"}
        maps = named.pop("indexing_maps", None)
        if maps is not None:
            printer.print_string(" indexing_maps = ")
            printer.print_attribute(maps)
        printer.print_op_attributes(named | self.attributes)
        for word, values in (("ins", self.inputs), ("outs", self.outputs)):
            if not values:
                continue
            printer.print_string(f" {word}(")
            printer.print_list(values, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list([v.type for v in values], printer.print_attribute)
            printer.print_string(")")
        if self.results:
            printer.print_string(" -> ")
            types = [r.type for r in self.results]
            if len(types) == 1:
                printer.print_attribute(types[0])
            else:
                with printer.in_parens():
                    printer.print_list(types, printer.print_attribute)


def _operands(parser: Parser) -> list[SSAValue]:
    """Parse `(%a, %b : type, type)`."""
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(names, types, parser.pos))


def _results(parser: Parser) -> list[Attribute]:
    """Parse `-> type`, `-> (type, type)`, or nothing."""
    if not parser.parse_optional_punctuation("->"):
        return []
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else list(several)


class GenericOp(linalg.GenericOp):
    """`linalg.generic`; xDSL does not read what it prints for several results."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        attributes = dict(parser.parse_optional_attr_dict())
        maps, kinds = attributes.pop("indexing_maps", None), attributes.pop("iterator_types", None)
        if not isinstance(maps, ArrayAttr) or not isinstance(kinds, ArrayAttr):
            parser.raise_error("expected indexing_maps and iterator_types", place)
        groups = {word: _operands(parser) if parser.parse_optional_keyword(word) else [] for word in ("ins", "outs")}
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        body = parser.parse_region()
        doc, library_call = (attributes.pop(name, None) for name in ("doc", "library_call"))
        result = cls(
            groups["ins"],
            groups["outs"],
            body,
            cast("ArrayAttr[AffineMapAttr]", maps),
            [_iterator_type(parser, kind) for kind in cast("ArrayAttr[Attribute]", kinds)],
            _results(parser),
            cast("StringAttr | None", doc),
            cast("StringAttr | None", library_call),
        )
        result.attributes |= attributes
        return result


def _iterator_type(parser: Parser, kind: Attribute) -> IteratorTypeAttr:
    if isinstance(kind, IteratorTypeAttr):
        return kind
    if not isinstance(kind, StringAttr) or kind.data not in list(IteratorType):
        parser.raise_error(f"unknown iterator type {kind}")
    return IteratorTypeAttr(IteratorType(kind.data))


class FillOp(linalg.FillOp):
    """`linalg.fill`; elements of xDSL's are integers and floats only."""

    @staticmethod
    def body_arg_types(operands: Sequence[SSAValue]) -> Sequence[Any]:
        return [getattr(v.type, "element_type", v.type) for v in operands]

    def verify_(self) -> None:
        if not isinstance(self.inputs[0].type, IndexType):
            super().verify_()


@irdl_op_definition
class MapOp(IRDLOperation):
    """`linalg.map ins(%a : …) outs(%b : …) (%x: f32) { … }`, or `linalg.map { math.exp } ins(…) outs(…)`."""

    name = "linalg.map"

    inputs = var_operand_def()
    init = operand_def()
    res = var_result_def(TensorType)
    mapper = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inner = parser.parse_optional_punctuation("{") is not None
        short = _named(parser) if inner else None
        groups: dict[str, list[SSAValue]] = {"ins": [], "outs": []}
        for word in groups:
            if parser.parse_optional_keyword(word):
                groups[word] = _operands(parser)
        attributes = parser.parse_optional_attr_dict()
        operands = [*groups["ins"], *groups["outs"]]
        if short is None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            body = parser.parse_region(arguments)
        else:
            body = Region(_body_of(parser, *short, operands))
        results = [cast(Any, v).type for v in groups["outs"] if isinstance(cast(Any, v).type, TensorType)]
        return cls.create(operands=operands, result_types=results, regions=[body], attributes=attributes)


def _named(parser: Parser) -> tuple[str, dict[str, Attribute]]:
    name = parser.parse_identifier()
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation("}")
    return name, attributes


def _body_of(parser: Parser, name: str, attributes: dict[str, Attribute], operands: Sequence[SSAValue]) -> Block:
    """Return the body of the short form: one operation on the elements."""
    *inputs, result = (cast("TensorType[Attribute] | MemRefType[Attribute]", v.type).element_type for v in operands)
    block = Block(arg_types=inputs)
    operation = parser.ctx.get_optional_op(name)
    if operation is None:
        parser.raise_error(f"unknown operation '{name}'")
    known = operation.get_irdl_definition().properties if issubclass(operation, IRDLOperation) else {}
    op: Operation = operation.create(
        operands=block.args,
        result_types=[result],
        properties={k: v for k, v in attributes.items() if k in known},
        attributes={k: v for k, v in attributes.items() if k not in known},
    )
    block.add_ops([op, linalg.YieldOp(op.results[0])])
    return block


def _class(name: str) -> type[Operation]:
    words = "".join(word.capitalize() for word in name.removeprefix("linalg.").split("_"))
    body = {"name": name, "__module__": __name__, "__doc__": f"`{name}`, see `linalg_named.py`."}
    return irdl_op_definition(type(f"{words}Op", (NamedOp,), body))


class PackOp(PlainOp):
    """`linalg.pack %x padding_value(%p : f32) outer_dims_perm = [1, 0] inner_dims_pos = […] inner_tiles = […] into %y`.

    The operands are the source, the destination, the value of the padding, and the tiles that are not static.
    """

    name = "linalg.pack"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        names = [parser.parse_unresolved_operand()]
        padding: list[SSAValue] = []
        if parser.parse_optional_keyword("padding_value"):
            with parser.in_parens():
                value = parser.parse_unresolved_operand()
                parser.parse_punctuation(":")
                padding = [parser.resolve_operand(value, parser.parse_type())]
        properties: dict[str, Attribute] = {"outer_dims_perm": DenseArrayBase.from_list(i64, [])}
        tiles: list[SSAValue] = []

        def number() -> int:
            found = parser.parse_optional_integer(allow_boolean=False)
            if found is None:
                tiles.append(parser.parse_operand(IndexType()))
            return DYNAMIC_INDEX if found is None else found

        for word, name in (("outer_dims_perm", "outer_dims_perm"), ("inner_dims_pos", "inner_dims_pos"),
                           ("inner_tiles", "static_inner_tiles")):  # fmt: skip
            if parser.parse_optional_keyword(word):
                parser.parse_punctuation("=")
                found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, number)
                properties[name] = DenseArrayBase.from_list(i64, found)
        parser.parse_keyword("into")
        names.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types: list[Attribute] = [parser.parse_type()]
        parser.parse_punctuation("->")
        types.append(parser.parse_type())
        source, target = parser.resolve_operands(names, types, place)
        if cls.name.endswith(".pack"):
            sizes = [1, 1, len(padding), len(tiles)]
            properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        return cls.create(
            operands=[source, target, *padding, *tiles],
            result_types=[t for t in types[1:] if t.name == "tensor"],
            properties=properties,
            attributes=attributes,
        )


class UnpackOp(PackOp):
    """`linalg.unpack %x outer_dims_perm = […] inner_dims_pos = […] inner_tiles = […] into %y`."""

    name = "linalg.unpack"


class SoftmaxOp(PlainOp):
    """`linalg.softmax dimension(1) ins(%x : tensor<…>) outs(%y : tensor<…>) -> tensor<…>`."""

    name = "linalg.softmax"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_keyword("dimension")
        with parser.in_parens():
            axis = parser.parse_integer()
        operands: list[SSAValue] = []
        for word in ("ins", "outs"):
            parser.parse_keyword(word)
            operands += _operands(parser)
        results = [parser.parse_type()] if parser.parse_optional_punctuation("->") else []
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"dimension": IntegerAttr(axis, i64)},
            attributes=attributes,
        )


@irdl_attr_definition
class ElementwiseKindAttr(WordAttr):
    """`#linalg.elementwise_kind<add>`."""

    name = "linalg.elementwise_kind"


@irdl_op_definition
class ElementwiseOp(NamedOp):
    """`linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = […] ins(…) outs(…) -> tensor<…>`."""

    name = "linalg.elementwise"

    kind = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("kind")
        parser.parse_punctuation("=")
        kind = parser.parse_attribute()
        result = super().parse(parser)
        result.properties["kind"] = kind
        return result

    def print(self, printer: Printer) -> None:
        printer.print_string(" kind=")
        printer.print_attribute(self.properties["kind"])
        kind = self.properties.pop("kind")
        super().print(printer)
        self.properties["kind"] = kind


_REFUSED = tuple(f"linalg.winograd_{name}_transform" for name in ("filter", "input", "output"))
_KEPT = frozenset(("linalg.fill",))
OPERATIONS = (
    GenericOp,
    FillOp,
    MapOp,
    PackOp,
    UnpackOp,
    SoftmaxOp,
    ElementwiseOp,
    *map(generic, (*_REFUSED, "linalg.fill_rng_2d", "linalg.scaled_contract")),
    *(_class(n) for n in (*NAMED, *(f"linalg.{n}" for n in ELEMENTWISE), "linalg.contract") if n not in _KEPT),
)
"""What the dialect `linalg` has in addition to xDSL's operations, or instead of those of these names."""
