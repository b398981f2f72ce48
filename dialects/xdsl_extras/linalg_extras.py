"""Named operations of `linalg` that xDSL lacks: a class for each name of `linalg_named.py`.

    linalg.batch_matmul {…} ins(%a, %b : tensor<…>, tensor<…>) outs(%c : tensor<…>) -> tensor<…>

The generic form has the region that the pretty one leaves out.
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

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
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results = [parser.parse_type()] if several is None else list(several)
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
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(names, types, parser.pos))


def _class(name: str) -> type[Operation]:
    words = "".join(word.capitalize() for word in name.removeprefix("linalg.").split("_"))
    body = {"name": name, "__module__": __name__, "__doc__": f"`{name}`, see `linalg_named.py`."}
    return irdl_op_definition(type(f"{words}Op", (NamedOp,), body))


_KEPT = frozenset(("linalg.fill",))
OPERATIONS = tuple(
    _class(name) for name in (*NAMED, *(f"linalg.{n}" for n in ELEMENTWISE), "linalg.contract") if name not in _KEPT
)
"""What the dialect `linalg` has in addition to xDSL's operations, or instead of those of these names."""
