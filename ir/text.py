"""A reader for untrusted MLIR text, in time linear in its length."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from ..diagnostics import SourceLocation
from .passes.limits import check_limit, exceeded, limit

T = TypeVar("T")


UNDESCRIBED = "tirax."
"""What the names of operations begin with that IRDL cannot describe."""
BLOCK_END = '"tirax.end"() : () -> ()'
"""What ends the blocks of text in `irdl_text.py`'s form; it is read as nothing."""


class _Lexer(MLIRLexer):
    """xDSL's lexer, without the exponential time for an unterminated string.

    Possessive repetition (`++`, `*+`) does not backtrack. Words, value names and most punctuation are matched by a
    single regular expression each: xDSL's steps would take a quarter of the reading time.
    """

    _frequent = re.compile(
        r"(?:\s++|//[^\n]*+\n?)*+(?:([a-zA-Z_][\w$.]*+)|(%(?:\d++|[a-zA-Z$._-][\w$.-]*+))|([:,()}\[\]<>=+/*?|]))",
        re.ASCII,
    )
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        match = self._frequent.match(self.input.content, self.pos)
        if match is None or match.lastindex is None:
            return super().lex()
        group, self.pos = match.lastindex, match.end()
        kind = _NAMES[group] or MLIRTokenKind(match[group])
        return MLIRToken(kind, Span(match.start(group), self.pos, self.input))


_NAMES = (None, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT, None)
"""The token kinds of the groups of `_Lexer._frequent`; None if the text is the kind."""


class _Element(Parser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a dense constant, whose hexadecimal numbers are the bits of floats where floats are expected."""

    def to_type(self, parser: Any, type: Any) -> Any:
        if isinstance(type, ComplexType) and isinstance(self.value, tuple):
            kind = type.element_type
            return tuple(_Element(False, part, span).to_type(parser, kind) for part, span in self.parts)
        if isinstance(type, AnyFloat) and self.span.text[:2].lower() == "0x" and isinstance(self.value, int):
            size = type.compile_time_size
            if self.value >= 1 << 8 * size:
                parser.raise_error(f"more bits than those of {type}", self.span)
            return type.unpack(self.value.to_bytes(size, "little"), 1)[0]
        return super().to_type(parser, type)

    @property
    def parts(self) -> list[tuple[Any, Span]]:
        """The numbers of a complex one, and where they are."""
        text, at = self.span.text[1:-1], self.span.start + 1
        first = at + text.index(",")
        spans = [Span(at, first, self.span.input), Span(first + 1, self.span.end - 1, self.span.input)]
        places = [Span(s.start + len(s.text) - len(s.text.lstrip()), s.end, s.input) for s in spans]
        return list(zip(cast("tuple[Any, Any]", self.value), places, strict=True))


_RESOURCE = re.compile(r'"?([\w.$-]++)"?\s*+:\s*+"0x([0-9A-Fa-f]++)"')
_ALIGNMENT = 4
"""Bytes of a resource that say its alignment."""


class TextParser(Parser):
    """xDSL's parser on this lexer. Raises `ParseError` if the first token is invalid."""

    _frequent_type = re.compile(r"!\w++\.[\w.]++<[^<>]*+>", re.ASCII)

    def __init__(self, ctx: Context, text: str, filename: str = "<unknown>"):
        super().__init__(ctx, "", filename)
        self._parser_state = ParserState(_Lexer(Input(text, filename)))
        self._types: dict[str, TypeAttribute] = {}
        self._resources: dict[str, str] | None = None
        self._sizes: dict[int, int] = {}
        """Of attributes that are part of an alias, by identity: to hash one takes as long as to write it out."""

    def _parse_alias_def(self) -> None:
        """Parse an alias like xDSL, with a limit on its expansion through other aliases. Raises `LimitError`."""
        start = self._current_token.span.start
        super()._parse_alias_def()
        name, value = next(reversed(self.attribute_aliases.items()))
        if self._size(value) > limit("parse.aliases"):
            what = f"the alias {name} expands to too much"
            raise exceeded("parse.aliases", what, self._size(value), self._place(start))

    def _size(self, attribute: Attribute) -> int:
        if id(attribute) not in self._sizes:
            self._sizes[id(attribute)] = 1 + sum(map(self._size, _parts(attribute)))
        return self._sizes[id(attribute)]

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        if type is not None:
            self._check_elements(type)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_dense_literal_type(self) -> Any:
        literal_type = super()._parse_dense_literal_type()
        self._check_elements(literal_type)
        return literal_type

    def _parse_tensor_literal_element(self) -> _Element:
        """Parse like xDSL, which takes the bits of floats for integers, `0x7FC00000`, and refuses them as parts."""
        number = self._parse_optional_bool_int_or_float()
        if number is not None:
            return _Element(number[0] < 0, *number)
        start = self._current_token.span
        self.parse_punctuation("(", " in a dense constant")
        real, _ = self._parse_bool_int_or_float()
        self.parse_punctuation(",")
        imaginary, _ = self._parse_bool_int_or_float()
        end = self._current_token.span.end
        self.parse_punctuation(")")
        return _Element(False, (real, imaginary), Span(start.start, end, start.input))

    def _parse_builtin_dense_resource_attr(self) -> Any:
        """Parse a constant whose bytes are at the end of the text, as one that holds them."""
        self.parse_punctuation("<")
        name = self.parse_optional_str_literal() or self.parse_identifier()
        self.parse_punctuation(">")
        self.parse_punctuation(":")
        kind = self.parse_type()
        if not isinstance(kind, TensorType | VectorType | MemRefType):
            self.raise_error(f"a constant of type {kind}")
        data = self._resource(name)
        if data is None:
            return DenseResourceAttr.from_params(name, kind)
        shaped = cast("TensorType[Any]", kind)
        if len(data) != math.prod(shaped.get_shape()) * shaped.element_type.compile_time_size:
            self.raise_error(f"{len(data)} bytes for a constant of type {kind}")
        return DenseIntOrFPElementsAttr(shaped, BytesAttr(data))

    def _resource(self, name: str) -> bytes | None:
        """Return the bytes of a resource, after those that say its alignment; None if the text does not have it."""
        if self._resources is None:
            content = self.lexer.input.content
            at = content.rfind("{-#")
            self._resources = dict(_RESOURCE.findall(content, at)) if at >= 0 else {}
        text = self._resources.get(name)
        return None if text is None else bytes.fromhex(text)[_ALIGNMENT:]

    def _parse_resource(self, dialect_name: str, interface: Any) -> None:
        """Parse the bytes of a resource; xDSL would keep them for the life of the process."""
        if self.parse_optional_str_literal() is None:
            self.parse_identifier()
        self.parse_punctuation(":")
        self.parse_str_literal()

    def parse_optional_operation(self) -> Operation | None:
        while self.lexer.input.content.startswith(BLOCK_END, self.pos):
            self._resume_from(self.pos + len(BLOCK_END))
        return super().parse_optional_operation()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        return super()._get_op_by_name(name.removeprefix(UNDESCRIBED))

    def _parse_dialect_type_or_attribute_body(self, attr_name: str, is_type: bool, *rest: Any) -> Any:
        """Parse like xDSL, and the form that has the text as a parameter: `<unit, "…">`, see `irdl_text.py`."""
        attr_name = (
            attr_name.removesuffix(".type") if attr_name.count(".") > 1 else attr_name
        )  # `!pdl.type` is its name
        if "." not in attr_name or not self.lexer.input.content.startswith('<unit, "', self._current_token.span.start):
            return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, *rest)
        self.parse_punctuation("<")
        self.parse_keyword("unit")
        self.parse_punctuation(",")
        text = self.parse_str_literal()
        self.parse_punctuation(">")
        if attr_name != "sym.builtin":
            text = f"{'!' if is_type else '#'}{attr_name}<{text}>"
        return read_text(self.ctx, text, TextParser.parse_attribute, self.lexer.input.name)

    def _check_elements(self, type: Any) -> None:
        """Raise `LimitError` for too many elements in a splat."""
        count = math.prod(type.get_shape())
        if count > len(self.lexer.input.content):
            check_limit(
                "parse.elements", count, "a constant has too many elements", self._place(self._current_token.span.start)
            )

    def _place(self, at: int) -> SourceLocation:
        before = self.lexer.input.content[:at]
        return SourceLocation(self.lexer.input.name, before.count("\n") + 1, len(before) - before.rfind("\n"))

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type like xDSL; the text of a dialect type that has been read before is not parsed again."""
        content = self.lexer.input.content
        match = self._frequent_type.match(content, self.pos)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_type()
        if parsed is not None and match.end() <= self.pos and not content[match.end() : self.pos].strip():
            self._types[match[0]] = parsed  # the type ends with the match: the `>` is not part of `->` or `a > b`
        return parsed


def _parts(attribute: Attribute) -> Iterable[Attribute]:
    if isinstance(attribute, ParametrizedAttribute):
        return attribute.parameters
    if isinstance(attribute, ArrayAttr):
        return cast("ArrayAttr[Attribute]", attribute).data
    return attribute.data.values() if isinstance(attribute, DictionaryAttr) else ()


def read_text(ctx: Context, text: str, parse: Callable[[TextParser], T], filename: str = "<unknown>") -> T:
    """Return what `parse` reads from the text, e.g. `TextParser.parse_module`. Raises `ParseError` for invalid text.

    xDSL raises a `VerifyException` for a number that its type cannot hold.
    """
    parser = TextParser(ctx, text, filename)
    try:
        return parse(parser)
    except VerifyException as error:
        parser.raise_error(str(error))
