"""Parts of the text of operations that several of them have.

Where the types of operands are not in the text but come from their definitions, or where a symbolic expression is, an
operation is a `FormattedOp`: xDSL's `assembly_format` has to read or infer every type. What even that cannot say, and
what modules are full of, prints and parses itself by hand, with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import attrgetter
from types import ModuleType
from typing import Any, ClassVar, Protocol, Self

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .attributes import PyValue
from .dtypes import float_text


def parse_value(parser: Parser) -> SSAValue:
    """Return an operand whose type its definition gives: it must be defined before."""
    return resolve_defined(parser, parser.parse_unresolved_operand())


def parse_optional_value(parser: Parser) -> SSAValue | None:
    """`parse_value`, or None where no operand follows."""
    operand = parser.parse_optional_unresolved_operand()
    return None if operand is None else resolve_defined(parser, operand)


def resolve_defined(parser: Parser, operand: UnresolvedOperand) -> SSAValue:
    """Return the value that an operand names. A parse error where it is not defined yet."""
    known = parser.ssa_values.get(operand.operand_name)
    if known is None or operand.index >= len(known):
        span = operand.span
        parser.raise_error(f"%{operand.operand_name} is used before its definition", span.start, span.end)
    return known[operand.index]


def parse_values(parser: Parser) -> list[SSAValue]:
    """Operands in parentheses, each as `parse_value` reads it."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_value(parser))


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`(%a, %b)`."""
    with printer.in_parens():
        printer.print_list(values, printer.print_ssa_value)


def parse_type(parser: Parser) -> Attribute:
    """Return the type after a colon."""
    parser.parse_punctuation(":")
    return parser.parse_type()


def print_type(printer: Printer, t: Attribute) -> None:
    """` : t`."""
    printer.print_string(" : ")
    printer.print_attribute(t)


def parse_body(parser: Parser) -> Region:
    """Return a region; with an empty block where nothing is written in it."""
    region = parser.parse_region()
    if region.first_block is None:
        region.add_block(Block())
    return region


def print_attr_dict(printer: Printer, attrs: DictionaryAttr | None, keyword: str = "attributes") -> None:
    """` attributes {…}` where there are any."""
    if attrs is not None and attrs.data:
        printer.print_string(f" {keyword} ")
        printer.print_attribute(attrs)


def parse_attr_dict(parser: Parser, keyword: str = "attributes") -> DictionaryAttr | None:
    """What `print_attr_dict` writes, None where the keyword does not follow."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def parse_name(parser: Parser, unknown: str, names: Collection[str]) -> str:
    """Return the `name =` in front of a value. A parse error that begins with `unknown` where it is none of `names`."""
    name = parser.parse_identifier()
    if name not in names:
        parser.raise_error(f"{unknown} {name}; it has: {', '.join(names) or 'none'}")
    parser.parse_punctuation("=")
    return name


def print_literal(printer: Printer, value: PyValue, print_item: Callable[[Printer, Any], None] | None = None) -> None:
    """A value of Python: `none`, `2`, `"text"`, `[1, 2]` or an attribute; `print_item` prints what is in a list."""
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
    """Return the inverse of `print_literal`."""
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


class PartKind(Protocol):
    """Parts of a kind, by their name, and where they are if that is not an attribute of this name."""

    def __call__(self, name: str, path: str = "") -> Part: ...


@dataclass(frozen=True)
class Part:
    """A part of an operation's text: the argument `name` of its class, which it has as the attribute `path`.

    `syntax` is what the references show for it.
    """

    name: str
    path: str
    show: Callable[[Printer, Any], object]
    read: Callable[[Parser], Any]
    syntax: str


class FormattedOp(IRDLOperation):
    """An operation whose text is its `FORMAT`: parts and words, in order. Its class takes the parts as arguments."""

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
    # Not `issubclass`: an abstract class asks all its subclasses, and this is asked of each class at every start.
    return [c for c in own if Operation in c.__mro__ and "name" in vars(c)]


def kind_of_part(
    show: Callable[[Printer, Any], object], read: Callable[[Parser], Any], syntax: str, before: str = ""
) -> PartKind:
    """Parts that have the text `before` in front of them. In `syntax`, `{}` stands for the part's name."""

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
"""` attributes {…}`, where there are any."""


def optional(word: str, part: Part) -> Part:
    """Return a part behind a word, both left out where it is None."""

    def show(printer: Printer, item: Any) -> None:
        if item is not None:
            printer.print_string(word)
            part.show(printer, item)

    def read(parser: Parser) -> Any:
        return None if parser.parse_optional_keyword(word.strip()) is None else part.read(parser)

    return Part(part.name, part.path, show, read, f"({word}{part.syntax})?")
