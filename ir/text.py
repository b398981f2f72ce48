"""A reader of MLIR text from anywhere, whose time grows with the text's length only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from ..diagnostics import SourceLocation
from .passes.limits import check_limit, exceeded, limit

T = TypeVar("T")


class _Lexer(MLIRLexer):
    """xDSL's lexer, whose time for a string that is not closed would double with each character.

    Possessive repetition (`++`, `*+`) gives nothing back, so there is one way to match. Words, names of values and most
    punctuation are found by one match each: with xDSL's steps they are a quarter of the time of reading.
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
"""The kinds of what is found in the groups of `_Lexer._frequent`; None where it is the text."""


class TextParser(Parser):
    """xDSL's parser on this lexer. It raises `ParseError` where the first token is none already."""

    _frequent_type = re.compile(r"!\w++\.[\w.]++<[^<>]*+>", re.ASCII)

    def __init__(self, ctx: Context, text: str, filename: str = "<unknown>"):
        super().__init__(ctx, "", filename)
        self._parser_state = ParserState(_Lexer(Input(text, filename)))
        self._types: dict[str, TypeAttribute] = {}
        self._sizes: dict[int, int] = {}
        """Of attributes that are part of an alias, by identity: to hash one takes as long as to write it out."""

    def _parse_alias_def(self) -> None:
        """As xDSL's; what an alias expands to, through other aliases, is limited. Raises `LimitError`."""
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

    def _check_elements(self, type: Any) -> None:
        """Raises `LimitError` for elements that the text does not have one by one, and that are too many."""
        count = math.prod(type.get_shape())
        if count > len(self.lexer.input.content):
            check_limit(
                "parse.elements", count, "a constant has too many elements", self._place(self._current_token.span.start)
            )

    def _place(self, at: int) -> SourceLocation:
        before = self.lexer.input.content[:at]
        return SourceLocation(self.lexer.input.name, before.count("\n") + 1, len(before) - before.rfind("\n"))

    def parse_optional_type(self) -> TypeAttribute | None:
        """As xDSL's; a type of a dialect that has been read is not read again where its text comes again."""
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
            self._types[match[0]] = parsed  # it ends where the match does: the `>` was none of `->` or `a > b`
        return parsed


def _parts(attribute: Attribute) -> Iterable[Attribute]:
    if isinstance(attribute, ParametrizedAttribute):
        return attribute.parameters
    if isinstance(attribute, ArrayAttr):
        return cast("ArrayAttr[Attribute]", attribute).data
    return attribute.data.values() if isinstance(attribute, DictionaryAttr) else ()


def read_text(ctx: Context, text: str, parse: Callable[[TextParser], T], filename: str = "<unknown>") -> T:
    """What `parse` reads of the text: `TextParser.parse_module` or another. Raises `ParseError` where it is none.

    xDSL raises a `VerifyException` for a number that its type cannot hold.
    """
    parser = TextParser(ctx, text, filename)
    try:
        return parse(parser)
    except VerifyException as error:
        parser.raise_error(str(error))
