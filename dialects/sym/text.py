"""Symbolic expressions in MLIR text: `n * 4 + 1`, `n floordiv 2`, `min(n, 8)`, `128 : i32`.

A literal or variable is i64 unless `: i32` follows; a literal inside an expression gets the type of its neighbor. (`//`
begins a comment in MLIR, so floor division is spelled out, as in affine maps.)
"""

from __future__ import annotations

from collections.abc import Iterable
from keyword import iskeyword

from xdsl.dialects.builtin import IntegerType, Signedness, i8, i16
from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..assembly import kind_of_part
from .expr import Const, ExprLike, Sum, SymExpr, Var, i1, i32, i64
from .operations import OPERATIONS
from .operators import OPS
from .writing import INFIX, expr_text

_UNSIGNED = [IntegerType(n, Signedness.UNSIGNED) for n in (8, 16, 32, 64)]
_TYPES = {str(t): t for t in (*_UNSIGNED, i64, i32, i16, i8, i1)}  # `i16` before its prefix `i1`


def parse_expr(parser: AttrParser) -> SymExpr:
    """Parse an expression; literals without a type are i64."""
    value = _parse_sum(parser)
    return require_64_bits(parser, Const(value) if isinstance(value, int) else value)


def beyond_64_bits(expr: SymExpr) -> int | None:
    """Return a constant of the expression itself, not of its operands, that exceeds 64 bits, or None."""
    numbers = [expr.offset, *(n for _, n in expr.terms)] if isinstance(expr, Sum) else [expr.constant or 0]
    return next((n for n in numbers if not -(2**63) <= n < 2**63), None)


def require_64_bits(parser: AttrParser, expr: SymExpr) -> SymExpr:
    """Return the expression; raise a parse error if a constant, such as a folded sum, exceeds 64 bits."""
    number = beyond_64_bits(expr)
    if number is not None:
        parser.raise_error(f"{number} does not fit 64 bits")
    for child in expr.children():
        require_64_bits(parser, child)
    return expr


def parse_exprs(parser: AttrParser) -> list[SymExpr]:
    """Parse expressions in square brackets."""
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_expr(parser))


def exprs_text(attrs: Iterable[Data[SymExpr]]) -> str:
    """Return `[n, 4]`, as parsed by `parse_exprs`."""
    return "[" + ", ".join(expr_text(attr.data) for attr in attrs) + "]"


expr_part = kind_of_part(lambda printer, attr: printer.print_string(expr_text(attr.data)), parse_expr, "{}", " ")
"""` n * 4 + 1` of a `SymAttr`, in the `FORMAT` of an operation."""
exprs_part = kind_of_part(lambda printer, attrs: printer.print_string(exprs_text(attrs)), parse_exprs, "[{}, …]", " ")
"""` [n, 4]`"""


def _parse_sum(parser: AttrParser) -> ExprLike:
    negative = parser.parse_optional_punctuation("-") is not None
    value = -_parse_product(parser, 2**63) if negative else _parse_product(parser)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            value = value + _parse_product(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            value = value - _parse_product(parser, 2**63)
        else:
            return value


def _parse_product(parser: AttrParser, greatest: int = 2**63 - 1) -> ExprLike:
    value = _parse_atom(parser, greatest)
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            value = value * _parse_atom(parser, greatest)
            continue
        kind = next((k for k, word in INFIX.items() if parser.parse_optional_keyword(word) is not None), None)
        if kind is None:
            return value
        value = _apply(parser, kind, [value, _parse_atom(parser, greatest)])


def _parse_atom(parser: AttrParser, greatest: int = 2**63 - 1) -> ExprLike:
    if parser.parse_optional_punctuation("(") is not None:
        value = _parse_sum(parser)
        parser.parse_punctuation(")")
        return value
    if parser.parse_optional_punctuation("-") is not None:
        return -_parse_atom(parser, 2**63)
    literal = parser.parse_optional_integer(allow_boolean=False)
    if literal is not None:
        if not -(2**63) <= literal <= greatest:
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
    if not name.isidentifier() or iskeyword(name) or name in ("true", "false"):
        parser.raise_error(f"'{name}' is no name of a variable")
    return Var(name, _parse_type_suffix(parser) or i64)


def _apply(parser: AttrParser, name: str, args: list[ExprLike]) -> SymExpr:
    arity = OPERATIONS[name].arity
    if len(args) != arity:
        parser.raise_error(f"{name} takes {arity} operands, found {len(args)}")
    try:
        return OPS[name](*args)
    except ZeroDivisionError as error:
        parser.raise_error(str(error))


def _parse_type_suffix(parser: AttrParser) -> IntegerType | None:
    """Parse `: i32`, `: i64` or `: i1`; return None if there is none."""
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
