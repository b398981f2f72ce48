"""Parse size expressions of untrusted files into trees. Nothing is evaluated or executed.

A tree is an integer, `("var", name)`, or an operator or function name with its operands: `("+", ("var",
"n"), 1)`. The cost of evaluating it is bounded in advance.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..diagnostics import TiraxError
from .texts import brief

Tree: TypeAlias = "int | float | tuple[object, ...]"

MOST_TEXT = 1 << 14
"""Limit on the characters of an expression."""
MOST_DEPTH = 200
MOST_NODES = 2048
MOST_BITS = 256
"""Limit on the bits of integers that evaluation may produce, counting a symbol as one bit."""
MOST_TERMS = 1024
"""Limit on the terms of the expression after its products are expanded."""
_LITERAL_BITS = 64

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Invert: "~", ast.USub: "neg",
}  # fmt: skip
ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "neg", "min", "max"))
"""The operators of size arithmetic."""
_NAME = re.compile(r"(?!.*__)[A-Za-z_]\w{0,254}", re.ASCII)
_LEAVES = ("Symbol", "Integer", "Float", "Identity")
"""Functions in sympy's notation that stand for their only argument."""


class ExpressionError(TiraxError, ValueError):
    """Raised for a text that is not a size expression, or is too expensive to evaluate."""


def read_expression(text: object, functions: Mapping[str, str], operators: Collection[str] | None = None) -> Tree:
    """Return the tree of a text in Python's notation, or in sympy's, which writes operators as functions.

    `functions` maps the names of callable functions to their names in the tree; `operators` are the allowed
    operators, by default all. Raises `ExpressionError`.
    """
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise ExpressionError("the size is not a text of limited length", found=brief(text))
    try:
        syntax = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("the size is not an expression", found=brief(text)) from error
    tree = _Reader(text, functions, operators).tree(syntax, 0)
    _Cost.check(tree, text)
    return tree


class _Reader:
    def __init__(self, text: str, functions: Mapping[str, str], operators: Collection[str] | None):
        self._text = text
        self._functions = functions
        self._operators = operators
        self._nodes = 0

    def tree(self, node: ast.expr, depth: int) -> Tree:
        """Return the tree of a syntax node."""
        self._nodes += 1
        if depth > MOST_DEPTH or self._nodes > MOST_NODES:
            raise self._error("the size is an expression that is too large")
        match node:
            case ast.Constant(value=int() | float() as value) if type(value) in (int, float):
                return self._number(value)
            case ast.Name(id=name):
                return self._symbol(name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.tree(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self._number(-value)
            case ast.UnaryOp(op=op, operand=operand):
                return self._operation(op, [operand], depth)
            case ast.BinOp(op=op, left=left, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._operation(op, [left, right], depth)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._called(name, arguments, keywords, depth)
            case _:
                raise self._error("the size is not arithmetic")

    def _error(self, problem: str) -> ExpressionError:
        return ExpressionError(problem, found=brief(self._text))

    def _number(self, value: float) -> Tree:
        too_large = value.bit_length() > _LITERAL_BITS if isinstance(value, int) else not abs(value) < 1e300
        if too_large:
            raise self._error("the size has a number that is too large")
        return value

    def _symbol(self, name: object) -> Tree:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self._error("the size has a symbol that is no name")
        return "var", name

    def _operation(self, op: ast.AST, operands: list[ast.expr], depth: int) -> Tree:
        name = _OPERATORS.get(type(op))
        if name is None or (self._operators is not None and name not in self._operators):
            raise self._error("the size has an operator that is not read")
        return name, *(self.tree(each, depth + 1) for each in operands)

    def _called(self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], depth: int) -> Tree:
        if name not in self._functions or not all(isinstance(k.value, ast.Constant) for k in keywords):
            raise self._error("the size calls a function that is not read")
        first = arguments[0].value if len(arguments) == 1 and isinstance(arguments[0], ast.Constant) else None
        if name == "Symbol":
            return self._symbol(first)
        if name == "Float":
            return self._float(first)
        operands = [self.tree(each, depth + 1) for each in arguments]
        return operands[0] if name in _LEAVES and len(operands) == 1 else (self._functions[name], *operands)

    def _float(self, value: object) -> Tree:
        """Return a number, which sympy writes as a text."""
        try:
            return self._number(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise self._error("the size has a number that is none") from None


@dataclass(frozen=True)
class _Cost:
    """The cost of evaluating a tree: the bits of its value, and its terms after expansion."""

    bits: int = 1
    terms: int = 1

    @staticmethod
    def check(tree: Tree, text: str) -> None:
        """Raise `ExpressionError` if the tree is too expensive."""
        if not isinstance(tree, tuple) or tree[0] == "var":
            return
        _Cost.of(tree, text)

    @staticmethod
    def of(tree: Tree, text: str) -> _Cost:
        """Return the cost of a tree. Raises `ExpressionError` if it, or a part of it, exceeds the limits."""
        if isinstance(tree, float):
            return _Cost(_LITERAL_BITS)
        if isinstance(tree, int):
            return _Cost(max(tree.bit_length(), 1))
        if tree[0] == "var":
            return _Cost()
        operands: list[Tree] = list(tree[1:])  # type: ignore[arg-type]
        parts = [_Cost.of(each, text) for each in operands]
        cost = _COSTS.get(str(tree[0]), _most)(parts, operands)
        if cost.bits > MOST_BITS or cost.terms > MOST_TERMS:
            raise ExpressionError("computing the size would cost too much", found=brief(text))
        return cost


def _most(parts: list[_Cost], _: list[Tree]) -> _Cost:
    """Return the cost of an operation that returns one of its operands."""
    return _Cost(max((p.bits for p in parts), default=1))


def _sum(parts: list[_Cost], _: list[Tree]) -> _Cost:
    return _Cost(max((p.bits for p in parts), default=1) + len(parts).bit_length(), sum(p.terms for p in parts))


def _product(parts: list[_Cost], _: list[Tree]) -> _Cost:
    terms = 1
    for part in parts:
        terms = min(terms * max(part.terms, 1), MOST_TERMS + 1)
    return _Cost(sum(p.bits for p in parts), terms)


def _power(parts: list[_Cost], operands: list[Tree]) -> _Cost:
    """Return the cost of a power; without a constant exponent it exceeds the limit."""
    exponent = _constant(operands[1]) if len(operands) == 2 else None
    if exponent is None or not abs(exponent) <= MOST_BITS:
        return _TOO_MUCH
    return _product([parts[0]] * max(math.ceil(abs(exponent)), 1), operands)


def _shift(parts: list[_Cost], operands: list[Tree]) -> _Cost:
    """Return the cost of a shift; without a constant count it exceeds the limit."""
    count = _constant(operands[1]) if len(operands) == 2 else None
    return _TOO_MUCH if count is None or not 0 <= count <= MOST_BITS else _Cost(parts[0].bits + math.ceil(count))


def _constant(tree: Tree) -> float | None:
    """Return the value of a number or fraction, None for anything else."""
    match tree:
        case int() | float():
            return tree
        case ("/", int() as a, int() as b) if b:
            return a / b
        case _:
            return None


_TOO_MUCH = _Cost(MOST_BITS + 1)
_COSTS = {"+": _sum, "-": _sum, "*": _product, "**": _power, "<<": _shift, ">>": _shift}
