"""A reader of MLIR text from anywhere, whose time grows with the text's length only."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer


class _Lexer(MLIRLexer):
    """xDSL's lexer, whose time for a string that is not closed would double with each character.

    Possessive repetition (`++`, `*+`) gives nothing back, so there is one way to match.
    """

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class TextParser(Parser):
    """xDSL's parser on this lexer. It raises `ParseError` where the first token is none already."""

    def __init__(self, ctx: Context, text: str, filename: str = "<unknown>"):
        super().__init__(ctx, "", filename)
        self._parser_state = ParserState(_Lexer(Input(text, filename)))
