"""Components of the assembly format of operations, shared by several of them.

An operation whose text omits operand types, because they come from definitions, or contains a symbolic expression is a
`FormattedOp`: xDSL's `assembly_format` must read or infer every type. Operations that even this cannot express, and
very frequent ones, have hand-written parsers and printers built on the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import attrgetter
from types import ModuleType
from typing import Any, ClassVar, Protocol, Self

from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .attributes import PyValue
from .dtypes import float_text


def parse_value(parser: Parser) -> SSAValue:
    """Parse an operand, whose type comes from its definition: it must be defined before."""
    return resolve_defined(parser, parser.parse_unresolved_operand())


def parse_optional_value(parser: Parser) -> SSAValue | None:
    """Parse an operand like `parse_value`; return None if there is none."""
    operand = parser.parse_optional_unresolved_operand()
    return None if operand is None else resolve_defined(parser, operand)


def resolve_defined(parser: Parser, operand: UnresolvedOperand) -> SSAValue:
    """Return the value of an operand. Raises a parse error if it is not defined yet."""
    known = parser.ssa_values.get(operand.operand_name)
    if known is None or operand.index >= len(known):
        span = operand.span
        parser.raise_error(f"%{operand.operand_name} is used before its definition", span.start, span.end)
    return known[operand.index]


def parse_values(parser: Parser) -> list[SSAValue]:
    """Parse operands in parentheses, each like `parse_value`."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_value(parser))


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print `(%a, %b)`."""
    with printer.in_parens():
        printer.print_list(values, printer.print_ssa_value)


def parse_type(parser: Parser) -> Attribute:
    """Parse a colon and a type."""
    parser.parse_punctuation(":")
    return parser.parse_type()


def print_type(printer: Printer, t: Attribute) -> None:
    """Print ` : t`."""
    printer.print_string(" : ")
    printer.print_attribute(t)


def parse_body(parser: Parser) -> Region:
    """Parse a region; an empty one gets an empty block."""
    region = parser.parse_region()
    if region.first_block is None:
        region.add_block(Block())
    return region


def print_attr_dict(printer: Printer, attrs: DictionaryAttr | None, keyword: str = "attributes") -> None:
    """Print ` attributes {…}` if there are any."""
    if attrs is not None and attrs.data:
        printer.print_string(f" {keyword} ")
        printer.print_attribute(attrs)


def parse_attr_dict(parser: Parser, keyword: str = "attributes") -> DictionaryAttr | None:
    """Parse the output of `print_attr_dict`; return None if the keyword does not follow."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def parse_name(parser: Parser, unknown: str, names: Collection[str]) -> str:
    """Parse the `name =` in front of a value. Raises a parse error that begins with `unknown` if it is not in
    `names`.
    """
    name = parser.parse_identifier()
    if name not in names:
        parser.raise_error(f"{unknown} {name}; it has: {', '.join(names) or 'none'}")
    parser.parse_punctuation("=")
    return name


def print_literal(printer: Printer, value: PyValue, print_item: Callable[[Printer, Any], None] | None = None) -> None:
    """Print a Python value: `none`, `2`, `"text"`, `[1, 2]` or an attribute; `print_item` prints the elements of
    a list.
    """
    if isinstance(value, bool):
        printer.print_string("true" if value else "false")
    elif isinstance(value, float):
        printer.print_string(float_text(value) if isfinite(value) else f'"{value}"')
    elif isinstance(value, int):
        printer.print_string(str(value))
    elif isinstance(value, str):
        printer.print_string_literal(value)
    elif isinstance(value, Attribute):
        printer.print_attribute(value)
    elif value is None:
        printer.print_string("none")
    else:
        item = print_item or print_literal
        with printer.in_square_brackets():
            printer.print_list(value, lambda v: item(printer, v))


_WORDS = {"none": None, "true": True, "false": False}


def parse_literal(parser: Parser, parse_item: Callable[[Parser], Any] | None = None) -> Any:
    """Parse the output of `print_literal`."""
    for word, constant in _WORDS.items():
        if parser.parse_optional_keyword(word) is not None:
            return constant
    item = parse_item or parse_literal
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: item(parser))
    if items is not None:
        return items
    number = parser.parse_optional_number(allow_boolean=False)
    if number is not None:
        return number
    text = parser.parse_optional_str_literal()
    return text if text is not None else parser.parse_attribute()


def parse_typed_literal(parser: Parser) -> Any:
    """Parse the output of `print_literal`; numbers may have types, as MLIR prints them: `-1 : i64`, `1.0 : f32`."""
    value = parse_literal(parser, parse_typed_literal)
    if isinstance(value, int | float) and not isinstance(value, bool):
        start = parser.pos
        if parser.parse_optional_punctuation(":") is not None:
            kind = parser.parse_type()
            if not isinstance(kind, (IntegerType, IndexType) if isinstance(value, int) else AnyFloat):
                parser.raise_error(f"{value} is not of type {kind}", start, parser.pos)
    return value


class PartKind(Protocol):
    """Creates components of one kind from a name and, if it differs, the path of the attribute."""

    def __call__(self, name: str, path: str = "") -> Part: ...


@dataclass(frozen=True)
class Part:
    """A component of an operation's text: the argument `name` of its constructor, read from the attribute `path`.

    `syntax` is its form in the reference documentation.
    """

    name: str
    path: str
    show: Callable[[Printer, Any], object]
    read: Callable[[Parser], Any]
    syntax: str


class FormattedOp(IRDLOperation):
    """An operation whose text is its `FORMAT`: components and literal words, in order. The components are the
    arguments of its constructor.
    """

    FORMAT: ClassVar[tuple[Part | str, ...]]

    def print(self, printer: Printer) -> None:
        for part in self.FORMAT:
            if isinstance(part, str):
                printer.print_string(part)
            else:
                part.show(printer, attrgetter(part.path)(self))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments: dict[str, Any] = {}
        for part in cls.FORMAT:
            if isinstance(part, str):
                parser.parse_keyword(part.strip())
            else:
                arguments[part.name] = part.read(parser)
        return cls(**arguments)


def operations_in(module: ModuleType) -> list[type[Operation]]:
    """Return the operations that a module defines."""
    own = dict.fromkeys(c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
    # Not `issubclass`: for an abstract class it visits all subclasses, and this runs for each class at every start.
    return [c for c in own if Operation in c.__mro__ and "name" in vars(c)]


def kind_of_part(
    show: Callable[[Printer, Any], object], read: Callable[[Parser], Any], syntax: str, before: str = ""
) -> PartKind:
    """Return a kind of component with the prefix `before`. In `syntax`, `{}` is replaced by the component's name."""

    def show_prefixed(printer: Printer, item: Any) -> None:
        printer.print_string(before)
        show(printer, item)

    def named(name: str, path: str = "") -> Part:
        return Part(name, path or name, show_prefixed, read, before + syntax.format(name))

    return named


value = kind_of_part(Printer.print_ssa_value, parse_value, "%{}", " ")
"""` %a`"""
values = kind_of_part(print_values, parse_values, "(%{}, …)")
"""`(%a, %b)`"""
symbol = kind_of_part(Printer.print_attribute, lambda parser: parser.parse_symbol_name().data, "@{}", " ")
"""` @f`"""
string = kind_of_part(Printer.print_attribute, Parser.parse_str_literal, '"{}"', " ")
"""` "text"`"""
integers = kind_of_part(
    lambda printer, numbers: printer.print_string(f" {numbers}"),
    lambda parser: parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer),
    " [{}, …]",
)
"""` [0, -1]`"""
type_of = kind_of_part(Printer.print_attribute, Parser.parse_type, "{}", " ")
"""` f32`"""
typed = kind_of_part(print_type, parse_type, " : {}")
"""` : f32`"""
region = kind_of_part(Printer.print_region, parse_body, "{{…}}", " ")
"""` {…}`"""
attr_dict = kind_of_part(print_attr_dict, parse_attr_dict, "( attributes {{…}})?")
"""` attributes {…}`, if there are any."""


def optional(word: str, part: Part) -> Part:
    """Return a component after a keyword, both omitted if it is None."""

    def show(printer: Printer, item: Any) -> None:
        if item is not None:
            printer.print_string(word)
            part.show(printer, item)

    def read(parser: Parser) -> Any:
        return None if parser.parse_optional_keyword(word.strip()) is None else part.read(parser)

    return Part(part.name, part.path, show, read, f"({word}{part.syntax})?")
