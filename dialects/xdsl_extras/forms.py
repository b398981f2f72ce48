"""Operations by the form of their text: for those that xDSL lacks, and whose operands are MLIR's to verify.

    "vector.transpose": "% , [n:permutation] {} : T to R"

The words of a form:

| word | what is read |
|---|---|
| `%`, `,%?`, `%*` | an operand; one after a comma, if there is one; any number of them |
| `[%*]`, `(%*)`, `[%]` | operands of type index; the last one any operand |
| `[i:NAME]` | numbers and operands of type index: `static_NAME` |
| `[n:NAME]`, `(n:NAME)` | numbers |
| `<NAME>` | a word in angle brackets, as the attribute `kind` of `vector` |
| `map:NAME`, `attr:NAME` | an affine map without its keyword; any attribute |
| `unit:NAME` | the keyword, or nothing |
| `{}` | a dictionary of attributes |
| `T`, `T*` | the type of the next operand without one; those of the rest |
| `=T` | nothing: the rest have the last type, or the element type of the results |
| `R`, `R*`, `=R`, `RR` | the type of a result; of some; the last type once more, or twice |
| `F` | the type of a function: of the operands without a type, and of the results |

Other words are keywords of the text. `segments` at the end notes how many operands each part of the form has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, OpTraits, ParametrizedAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer

_INDEX = IndexType()


class _Reading:
    """What has been read of an operation."""

    def __init__(self, parser: Parser, name: str):
        self.parser, self.name = parser, name
        self.operands: list[UnresolvedOperand] = []
        self.types: list[Attribute | None] = []
        self.parts: list[int] = []
        self.results: list[Attribute] = []
        self.last: Attribute = _INDEX
        self.attributes: dict[str, Attribute] = {}

    def operand(self, type: Attribute | None = None) -> None:
        self.operands.append(self.parser.parse_unresolved_operand())
        self.types.append(type)

    def several(self, delimiter: Parser.Delimiter) -> None:
        before = len(self.operands)
        self.parser.parse_comma_separated_list(delimiter, lambda: self.operand(_INDEX))
        self.parts.append(len(self.operands) - before)

    def open_ones(self) -> list[int]:
        return [number for number, type in enumerate(self.types) if type is None]

    def type(self) -> None:
        """Read the type of the next operand without one."""
        self.last = self.parser.parse_type()
        self.types[self._next()] = self.last

    def _next(self) -> int:
        missing = self.open_ones()
        if not missing:
            self.parser.raise_error(f"'{self.name}' has more types than operands")
        return missing[0]

    def rest(self, type: Attribute) -> None:
        for number in self.open_ones():
            self.types[number] = type

    def numbers(self, delimiter: Parser.Delimiter, name: str) -> None:
        found = self.parser.parse_comma_separated_list(delimiter, self.parser.parse_integer)
        self.attributes[name] = DenseArrayBase.from_list(i64, found)

    def indices(self, name: str) -> None:
        """Read numbers and operands."""
        before = len(self.operands)

        def one() -> int:
            number = self.parser.parse_optional_integer(allow_boolean=False)
            if number is None:
                self.operand(_INDEX)
                return DYNAMIC_INDEX
            return number

        found = self.parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, one)
        self.attributes[f"static_{name}"] = DenseArrayBase.from_list(i64, found)
        self.parts.append(len(self.operands) - before)


def _operand(r: _Reading) -> None:
    r.operand()
    r.parts.append(1)


def _optional(r: _Reading) -> None:
    present = r.parser.parse_optional_punctuation(",") is not None
    if present:
        r.operand()
    r.parts.append(int(present))


def _some(r: _Reading) -> None:
    found = r.parser.parse_optional_undelimited_comma_separated_list(
        r.parser.parse_optional_unresolved_operand, r.parser.parse_unresolved_operand
    )
    r.operands += found or []
    r.types += [None] * len(found or [])
    r.parts.append(len(found or []))


def _bracketed(r: _Reading) -> None:
    r.parser.parse_punctuation("[")
    _operand(r)
    r.parser.parse_punctuation("]")


def _dictionary(r: _Reading) -> None:
    r.attributes |= r.parser.parse_optional_attr_dict()


def _types(r: _Reading) -> None:
    for number, type in zip(
        r.open_ones(), r.parser.parse_comma_separated_list(Parser.Delimiter.NONE, r.parser.parse_type), strict=False
    ):
        r.types[number] = type


def _same(r: _Reading) -> None:
    last = r.results[-1] if r.results else r.last
    r.rest(cast(Attribute, getattr(last, "element_type", last)) if r.results else last)


def _result(r: _Reading) -> None:
    r.last = r.parser.parse_type()
    r.results.append(r.last)


def _results(r: _Reading) -> None:
    r.results += r.parser.parse_comma_separated_list(Parser.Delimiter.NONE, r.parser.parse_type)


def _twice(r: _Reading) -> None:
    _result(r)
    r.results.append(r.last)


def _function(r: _Reading) -> None:
    kind = r.parser.parse_function_type()
    inputs = list(kind.inputs.data)
    missing = r.open_ones()
    if len(inputs) == len(r.operands):
        r.types = list(inputs)
    elif len(inputs) == len(missing):
        for number, type in zip(missing, inputs, strict=True):
            r.types[number] = type
    else:
        r.parser.raise_error(f"'{r.name}' has {len(r.operands)} operands and {len(inputs)} types")
    r.results += kind.outputs.data


_WORDS: Mapping[str, Callable[[_Reading], None]] = {
    "%": _operand,
    ",%?": _optional,
    "%*": _some,
    "[%*]": lambda r: r.several(Parser.Delimiter.SQUARE),
    "(%*)": lambda r: r.several(Parser.Delimiter.PAREN),
    "[%]": _bracketed,
    "{}": _dictionary,
    "T": lambda r: r.type(),
    "T*": _types,
    "=T": _same,
    "R": _result,
    "R*": _results,
    "=R": lambda r: r.results.append(r.last),
    "RR": _twice,
    "F": _function,
}


def _kind(r: _Reading, name: str) -> None:
    with r.parser.in_angle_brackets():
        word = r.parser.parse_identifier()
    if word not in set(CombiningKindFlag):
        r.parser.raise_error(f"expected one of {', '.join(CombiningKindFlag)}, found '{word}'")
    r.attributes[name] = CombiningKindAttr(CombiningKindFlag(word))


def _unit(r: _Reading, name: str) -> None:
    if r.parser.parse_optional_keyword(name):
        r.attributes[name] = UnitAttr()


def _map(r: _Reading, name: str) -> None:
    r.attributes[name] = AffineMapAttr(r.parser.parse_affine_map())


def _attribute(r: _Reading, name: str) -> None:
    r.attributes[name] = r.parser.parse_attribute()


def _word(r: _Reading, name: str) -> None:
    r.attributes[name] = StringAttr(r.parser.parse_identifier())


_NAMED: Mapping[str, Callable[[_Reading, str], None]] = {
    "[i": lambda r, name: r.indices(name[:-1]),
    "[n": lambda r, name: r.numbers(Parser.Delimiter.SQUARE, name[:-1]),
    "(n": lambda r, name: r.numbers(Parser.Delimiter.PAREN, name[:-1]),
    "map": _map,
    "attr": _attribute,
    "unit": _unit,
    "word": _word,
}


def read_form(parser: Parser, name: str, form: str) -> _Reading:
    """Read the text of an operation."""
    reading = _Reading(parser, name)
    for word in form.split():
        if word in _WORDS:
            _WORDS[word](reading)
        elif word.startswith("<"):
            _kind(reading, word[1:-1])
        elif ":" in word and word != ":":
            key, _, rest = word.partition(":")
            _NAMED[key](reading, rest)
        elif word.isidentifier():
            parser.parse_keyword(word)
        else:
            parser.parse_characters(word)
    return reading


class WordAttr(ParametrizedAttribute):
    """An attribute that is one word: `#vector.iterator_type<parallel>`."""

    data: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.data)


class PlainOp(Operation):
    """An operation without a definition: what it accepts is MLIR's to verify."""

    traits: ClassVar[OpTraits] = OpTraits(lambda: ())


ResultTypes = Callable[[Sequence[Attribute], Sequence[Attribute]], Sequence[Attribute]]
"""The types of results, of those of operands and those in the text."""


class FormedOp(PlainOp):
    """An operation with a form; printed in generic form."""

    form: ClassVar[str] = ""
    segments: ClassVar[bool] = False
    types: ClassVar[ResultTypes | None] = None

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        r = read_form(parser, cls.name, cls.form)
        if r.open_ones():
            parser.raise_error(f"'{cls.name}' has more operands than types", place)
        operands = parser.resolve_operands(r.operands, cast("list[Attribute]", r.types), place)
        properties = r.attributes
        if cls.segments:
            properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, r.parts)
        results = r.results if cls.types is None else cls.types([o.type for o in operands], r.results)
        return cls.create(operands=operands, result_types=results, properties=properties)


def formed(name: str, form: str, results: ResultTypes | None = None, segments: bool = False) -> type[Operation]:
    """Return the class of an operation, `results` of which gives the types that its text leaves out."""
    words = "".join(word.capitalize() for word in name.replace(".", "_").split("_"))
    body: dict[str, Any] = {
        "name": name, "__module__": __name__, "__doc__": f"`{name}`.", "form": form, "segments": segments,
    }  # fmt: skip
    if results is not None:
        body["types"] = staticmethod(results)
    return type(f"{words}Op", (FormedOp,), body)


def generic(name: str) -> type[Operation]:
    """Return the class of an operation that is read in generic form only."""
    words = "".join(word.capitalize() for word in name.replace(".", "_").split("_"))
    return type(f"{words}Op", (PlainOp,), {"name": name, "__module__": __name__, "__doc__": f"`{name}`."})
