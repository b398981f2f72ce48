"""Attributes and types of `stablehlo`, `chlo` and `quant`: words, structures of numbers, dimension numbers, tokens.

#stablehlo<comparison_direction EQ>   #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>
#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>   !quant.uniform<i8:f32, 0.5:-3>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class WordAttr(ParametrizedAttribute):
    """One word of an enumeration."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with _optional_brackets(parser):
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.word.data}>")


class _optional_brackets:
    """`<…>`, or nothing around what follows a mnemonic: `#stablehlo<precision DEFAULT>`."""

    def __init__(self, parser: AttrParser):
        self.parser = parser

    def __enter__(self) -> None:
        self.open = self.parser.parse_optional_punctuation("<") is not None

    def __exit__(self, *_: object) -> None:
        if self.open:
            self.parser.parse_punctuation(">")


class StructAttr(ParametrizedAttribute):
    """Named numbers, and lists of them."""

    fields: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [DictionaryAttr(parse_fields(parser))]

    def print_parameters(self, printer: Printer) -> None:
        items = self.fields.data.items()
        printer.print_string("<")
        printer.print_list(items, lambda item: self._print_field(printer, *item))
        printer.print_string(">")

    def _print_field(self, printer: Printer, name: str, value: Attribute) -> None:
        printer.print_string(f"{name} = ")
        if isinstance(value, DenseArrayBase):
            printer.print_string(f"[{', '.join(map(str, value.get_values()))}]")
        elif isinstance(value, IntegerAttr):
            printer.print_string(str(value.value.data))
        elif isinstance(value, StringAttr):
            printer.print_string(value.data)
        else:
            printer.print_attribute(value)

    def numbers(self, name: str) -> list[int]:
        """Return a list of numbers; that of a field which is left out is empty."""
        value = self.fields.data.get(name)
        return [int(v) for v in value.get_values()] if isinstance(value, DenseArrayBase) else []

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a number."""
        value = self.fields.data.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else otherwise


def parse_fields(parser: AttrParser) -> dict[str, Attribute]:
    """Parse `name = value, …`."""
    fields: dict[str, Attribute] = {}
    while (name := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        fields[name] = _field(parser)
        if parser.parse_optional_punctuation(",") is None:
            break
    return fields


def _field(parser: AttrParser) -> Attribute:
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if numbers is not None:
        return DenseArrayBase.from_list(i64, numbers)
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return IntegerAttr(number, i64)
    word = parser.parse_optional_identifier()
    return parser.parse_attribute() if word is None else StringAttr(word)


@irdl_attr_definition
class ConvAttr(ParametrizedAttribute):
    """What the dimensions of a convolution are: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, of input, kernel, output."""

    name = "stablehlo.conv"

    operand: StringAttr
    kernel: StringAttr
    result: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("raw") is None:
                return parse_dim_numbers(parser)
            return _raw_dim_numbers(parse_fields(parser))

    def print_parameters(self, printer: Printer) -> None:
        operand, kernel, result = (", ".join(part.data.split()) for part in (self.operand, self.kernel, self.result))
        printer.print_string(f"<[{operand}]x[{kernel}]->[{result}]>")


_RAW = (
    ("input", "batch_dimension", "feature_dimension", "b", "f"),
    ("kernel", "output_feature_dimension", "input_feature_dimension", "o", "i"),
    ("output", "batch_dimension", "feature_dimension", "b", "f"),
)


def _raw_dim_numbers(fields: dict[str, Attribute]) -> list[StringAttr]:
    """Return the letters of dimension numbers that are written out, `raw`."""
    results: list[StringAttr] = []
    for side, first, second, letter, other in _RAW:
        spatial = cast(Any, fields[f"{side}_spatial_dimensions"]).get_values()
        letters = {int(axis): str(number) for number, axis in enumerate(spatial)}
        for name, mark in ((first, letter), (second, other)):
            letters[cast("IntegerAttr", fields[f"{side}_{name}"]).value.data] = mark
        results.append(StringAttr(" ".join(letters[axis] for axis in sorted(letters))))
    return results


def parse_dim_numbers(parser: AttrParser) -> list[StringAttr]:
    """Parse the dimension numbers of a convolution."""
    parts = [_letters(parser)]
    parser.parse_keyword("x")
    parts.append(_letters(parser))
    parser.parse_punctuation("->")
    return [*parts, _letters(parser)]


def _letters(parser: AttrParser) -> StringAttr:
    def letter() -> str:
        number = parser.parse_optional_integer(allow_boolean=False)
        if number is None and parser.parse_optional_punctuation("?"):
            return "?"
        return parser.parse_identifier() if number is None else str(number)

    return StringAttr(" ".join(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, letter)))


class PlainType(ParametrizedAttribute, TypeAttribute):
    """A type without parameters."""


@irdl_attr_definition
class TokenType(PlainType):
    """The type of a value that orders effects."""

    name = "stablehlo.token"


@irdl_attr_definition
class UniformType(ParametrizedAttribute, TypeAttribute):
    """Integers that stand for `(stored - zero_point) * scale`; with `axis`, each slice along it has its own numbers."""

    name = "quant.uniform"

    stored: Attribute
    expressed: Attribute
    axis: IntAttr
    """-1 if all elements have the same scale."""
    scales: ArrayAttr[FloatData]
    zero_points: ArrayAttr[IntAttr]
    bounds: ArrayAttr[IntAttr]
    """The least and the greatest stored integer; none if they are those of the type."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            stored = parser.parse_type()
            bounds: list[IntAttr] = []
            if parser.parse_optional_punctuation("<"):
                bounds.append(IntAttr(parser.parse_integer()))
                parser.parse_punctuation(":")
                bounds.append(IntAttr(parser.parse_integer()))
                parser.parse_punctuation(">")
            parser.parse_punctuation(":")
            expressed = parser.parse_type()
            axis = parser.parse_integer() if parser.parse_optional_punctuation(":") else -1
            parser.parse_punctuation(",")
            pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _scale(parser))
            pairs = [_scale(parser)] if pairs is None else pairs
        scales, zeros = ([pair[i] for pair in pairs] for i in (0, 1))
        return [stored, expressed, IntAttr(axis), ArrayAttr(scales), ArrayAttr(zeros), ArrayAttr(bounds)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.stored}")
        if self.bounds.data:
            low, high = (b.data for b in self.bounds.data)
            printer.print_string(f"<{low}:{high}>")
        printer.print_string(f":{self.expressed}" + ("" if self.axis.data < 0 else f":{self.axis.data}") + ", ")
        pairs = zip(self.scales.data, self.zero_points.data, strict=True)
        text = ", ".join(f"{scale.data!r}:{zero.data}" for scale, zero in pairs)
        printer.print_string((text if self.axis.data < 0 else f"{{{text}}}") + ">")


def _scale(parser: AttrParser) -> tuple[Attribute, Attribute]:
    scale = FloatData(float(parser.parse_number()))
    return scale, IntAttr(parser.parse_integer() if parser.parse_optional_punctuation(":") else 0)


WORDS = (
    "comparison_direction", "comparison_type", "precision", "fft_type", "transpose", "rng_algorithm",
    "rng_distribution", "custom_call_api_version", "result_accuracy_mode",
)  # fmt: skip
STRUCTURES = (
    "scatter", "gather", "dot", "dot_algorithm", "output_operand_alias", "channel_handle", "result_accuracy",
    "type_extensions", "bounds",
)  # fmt: skip


class TextAttr(ParametrizedAttribute):
    """An attribute that is kept as text."""

    text: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [StringAttr(parser._parse_dialect_symbol_body())]  # pyright: ignore[reportPrivateUsage]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text.data}>")


SHARDINGS = ("dimension", "mesh", "mesh_axis", "op_sharding_rule", "sharding", "sharding_per_value", "sub_axis_info")
"""Attributes of `sdy` that say where parts of tensors are, which means nothing for one device."""


def _class(base: type[ParametrizedAttribute], name: str) -> type[ParametrizedAttribute]:
    words = "".join(word.capitalize() for word in name.replace(".", "_").split("_"))
    body = {"name": name, "__module__": __name__, "__doc__": f"`#{name}`.", "__annotations__": base.__annotations__}
    return irdl_attr_definition(type(f"{words}Attr", (base,), body))


class _Classes:
    """Attributes by name."""

    of: ClassVar[dict[str, type[ParametrizedAttribute]]] = {}


def _register(dialect: str) -> list[type[ParametrizedAttribute]]:
    rows = [*((WordAttr, name) for name in WORDS), *((StructAttr, name) for name in STRUCTURES)]
    if dialect == "chlo":
        rows = [*((WordAttr, name) for name in WORDS[:3]), (StructAttr, "ragged_dot")]
    results = [_class(base, f"{dialect}.{name}") for base, name in rows]
    _Classes.of |= {cls.name: cls for cls in results}
    return results


STABLEHLO = (*_register("stablehlo"), ConvAttr, TokenType)
CHLO = tuple(_register("chlo"))
SHARDY = tuple(_class(TextAttr, f"sdy.{name}") for name in SHARDINGS)


def word(name: str, text: str) -> Attribute:
    """Return the attribute of a word: `word("stablehlo.precision", "HIGHEST")`."""
    return _Classes.of[name](StringAttr(text))


def structure(name: str, fields: dict[str, Attribute]) -> Attribute:
    """Return a structure of named fields."""
    return _Classes.of[name](DictionaryAttr(fields))
