"""Python expressions over values supplied by the caller: `tvm.script.parser.core`.

TVMScript itself is parsed elsewhere and never executed. This module evaluates a single expression with a table of
names: nothing outside the table is accessible, and only functions in the table are called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import suggestion
from ...dialects.sym.operations import OPERATIONS
from ...ir.python_text import python_tree
from .folding import OPERATORS
from .source import ScriptError


def _operator(node: ast.AST) -> Callable[..., Any]:
    if type(node) not in OPERATORS:
        raise ScriptError(f"{type(node).__name__} is no part of an expression over given values")
    return OPERATIONS[OPERATORS[type(node)]].evaluate


class Source:
    """The source text of an expression."""

    def __init__(self, program: str):
        self.source = program

    def as_ast(self) -> ast.Module:
        """Return the syntax tree. Raises `ScriptError` if the text is not valid Python."""
        try:
            return python_tree(self.source)
        except SyntaxError as error:
            raise ScriptError("this is not Python", found=self.source, hint=str(error)) from error


class ExprEvaluator:
    """Evaluates an expression of constants, names in a table, operators, subscripts and calls of functions in the
    table.
    """

    def __init__(self, value_table: Mapping[str, Any]):
        self.values = value_table

    @staticmethod
    def eval(parser: object, value_table: Mapping[str, Any], node: ast.AST) -> Any:
        """Return the value of `node`. `parser` exists for compatibility with TVM.

        Raises `ScriptError` for unsupported syntax.
        """
        return ExprEvaluator(value_table).visit(node)

    def visit(self, node: ast.AST | None) -> Any:
        """Return the value of a node, or None if it is absent."""
        if node is None:
            return None
        visitor = _VISITORS.get(type(node))
        if visitor is None:
            raise ScriptError(f"{type(node).__name__} is no part of an expression over given values")
        return visitor(self, node)

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self.values:
            raise ScriptError(f"'{node.id}' is not defined here", hint=suggestion(node.id, self.values))
        return self.values[node.id]

    def _compare(self, node: ast.Compare) -> Any:
        left = self.visit(node.left)
        result: Any = True
        for sign, right in zip(node.ops, map(self.visit, node.comparators), strict=True):
            result = _operator(sign)(left, right)
            if len(node.ops) > 1 and not result:
                break
            left = right
        return result

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or any(keyword.arg is None for keyword in node.keywords):
            raise ScriptError("only a function that is given by name is called")
        keywords = {str(keyword.arg): self.visit(keyword.value) for keyword in node.keywords}
        return self._name(node.func)(*map(self.visit, node.args), **keywords)


_VISITORS: dict[type[ast.AST], Callable[[ExprEvaluator, Any], Any]] = {
    ast.Constant: lambda e, n: n.value,
    ast.Name: ExprEvaluator._name,  # pyright: ignore[reportPrivateUsage]
    ast.Tuple: lambda e, n: tuple(map(e.visit, n.elts)),
    ast.List: lambda e, n: list(map(e.visit, n.elts)),
    ast.BinOp: lambda e, n: _operator(n.op)(e.visit(n.left), e.visit(n.right)),
    ast.UnaryOp: lambda e, n: _operator(n.op)(e.visit(n.operand)),
    ast.Compare: ExprEvaluator._compare,  # pyright: ignore[reportPrivateUsage]
    ast.Subscript: lambda e, n: e.visit(n.value)[e.visit(n.slice)],
    ast.Slice: lambda e, n: slice(e.visit(n.lower), e.visit(n.upper), e.visit(n.step)),
    ast.Call: ExprEvaluator._call,  # pyright: ignore[reportPrivateUsage]
}

__all__ = ["ExprEvaluator", "Source"]
