"""Symbolic expressions as text inside of MLIR: `n * 4 + 1`, `n floordiv 2`, `min(n, 8)`, `128 : i32`.

A literal or variable is i64 unless `: i32` follows; a literal inside of an expression takes the type of its neighbour.
(`//` begins a comment in MLIR, so floor division is spelt out, as in affine maps.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.parser import AttrParser
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .expr import CONDITIONS, OPS, Const, ExprLike, Op, Product, Sum, SymExpr, Var, i1, i32, i64

if TYPE_CHECKING:
    from xdsl.dialects.builtin import IntegerType

_INFIX = {"floordiv": "floordiv", "floormod": "mod"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TYPES = {"i1": i1, "i32": i32, "i64": i64}
_SUM, _PRODUCT, _ATOM = 0, 1, 2


def expr_text(e: SymExpr) -> str:
    """The text of an expression."""
    if isinstance(e, Const):
        return str(e.value) + _type_suffix(e.dtype)
    return _text(e, _SUM)


def _type_suffix(dtype: IntegerType) -> str:
    return "" if dtype == i64 else f" : {dtype}"


def _text(e: SymExpr, level: int) -> str:
    if isinstance(e, Const):
        return str(e.value)
    if isinstance(e, Var):
        if isinstance(e.name, str):
            return e.name if e.dtype == i64 else f"{e.name} : {e.dtype}"
        return f"%{e.name.name_hint or '?'}"
    text, own = _compound(e)
    return f"({text})" if own < level else text


def _compound(e: SymExpr) -> tuple[str, int]:
    if isinstance(e, Product):
        return " * ".join(_text(a, _ATOM) for a in e.atoms), _PRODUCT
    if isinstance(e, Sum):
        return _sum_text(e)
    if not isinstance(e, Op):
        raise TypeError(type(e).__name__)
    if e.kind in _INFIX:
        return f"{_text(e.args[0], _ATOM)} {_INFIX[e.kind]} {_text(e.args[1], _ATOM)}", _PRODUCT
    return f"{e.kind}({', '.join(_text(a, _SUM) for a in e.args)})", _ATOM


def _sum_text(e: Sum) -> tuple[str, int]:
    parts: list[str] = []
    for term, c in e.terms:
        text = _text(term, _PRODUCT if abs(c) == 1 else _ATOM if not isinstance(term, Product) else _PRODUCT)
        text = text if abs(c) == 1 else f"{text} * {abs(c)}"
        parts.append((("- " if c < 0 else "+ ") if parts else ("-" if c < 0 else "")) + text)
    if e.offset:
        parts.append(f"{'-' if e.offset < 0 else '+'} {abs(e.offset)}")
    return " ".join(parts), _PRODUCT if len(parts) == 1 and e.terms[0][1] > 0 else _SUM


def parse_expr(parser: AttrParser) -> SymExpr:
    """Parse an expression; literals without a type become i64."""
    value = _parse_sum(parser)
    return Const(value) if isinstance(value, int) else value


def _parse_sum(parser: AttrParser) -> ExprLike:
    negative = parser.parse_optional_punctuation("-") is not None
    value = -_parse_product(parser) if negative else _parse_product(parser)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            value = value + _parse_product(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            value = value - _parse_product(parser)
        elif (n := parser.parse_optional_integer(allow_boolean=False)) is not None and n < 0:
            value = value + n
        else:
            return value


def _parse_product(parser: AttrParser) -> ExprLike:
    value = _parse_atom(parser)
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            value = value * _parse_atom(parser)
        elif parser.parse_optional_keyword("floordiv") is not None:
            value = _apply(parser, "floordiv", [value, _parse_atom(parser)])
        elif parser.parse_optional_keyword("mod") is not None:
            value = _apply(parser, "floormod", [value, _parse_atom(parser)])
        else:
            return value


def _parse_atom(parser: AttrParser) -> ExprLike:
    if parser.parse_optional_punctuation("(") is not None:
        value = _parse_sum(parser)
        parser.parse_punctuation(")")
        return value
    if parser.parse_optional_punctuation("-") is not None:
        return -_parse_atom(parser)
    literal = parser.parse_optional_integer(allow_boolean=False)
    if literal is not None:
        if not -(2**63) <= literal < 2**63:
            parser.raise_error(f"{literal} does not fit 64 bits")
        dtype = _parse_type_suffix(parser)
        return literal if dtype is None else Const(literal, dtype)
    name = parser.parse_optional_identifier()
    if name is None:
        parser.raise_error("expected a symbolic expression: an integer, a variable or an operation such as min(n, 8)")
    if name in OPS and parser.parse_optional_punctuation("(") is not None:
        args = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_sum(parser))
        parser.parse_punctuation(")")
        return _apply(parser, name, args)
    return Var(name, _parse_type_suffix(parser) or i64)


def _apply(parser: AttrParser, name: str, args: list[ExprLike]) -> SymExpr:
    wanted = 1 if name == "not" else 3 if name == "select" else 2
    if len(args) != wanted:
        parser.raise_error(f"{name} takes {wanted} operands, found {len(args)}")
    try:
        return OPS[name](*args)
    except ZeroDivisionError as error:
        parser.raise_error(str(error))


def _parse_type_suffix(parser: AttrParser) -> IntegerType | None:
    """`: i32`, `: i64` or `: i1`, where one follows."""
    if parser._current_token.kind is not MLIRTokenKind.COLON:  # pyright: ignore[reportPrivateUsage]
        return None
    state = parser._parser_state  # pyright: ignore[reportPrivateUsage]
    rest = state.lexer.input.content[state.current_token.span.end :].lstrip()
    word = next((w for w in _TYPES if rest.startswith(w)), None)
    if word is None:
        return None
    parser.parse_punctuation(":")
    parser.parse_identifier()
    return _TYPES[word]


__all__ = ["CONDITIONS", "expr_text", "parse_expr"]
