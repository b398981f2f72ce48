"""Python functions captured by a script: simple ones are inlined at the call from their source, and never executed.

A simple function is a lambda, or a function that assigns names and returns an expression, with branches on
constants only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from .scope import Environment, closure_of
from .source import Source, file_tree, no_source

Visit = Callable[[ast.AST], Any]


class Text(NamedTuple):
    """The source of a function: its parameters and its statements."""

    source: Source
    arguments: ast.arguments
    body: Sequence[ast.stmt]


class NotSimpleError(Exception):
    """A statement or a condition that cannot be evaluated without running the function."""


def lambda_text(function: FunctionType, what: str) -> tuple[Source, ast.Lambda]:
    """Return the source of a lambda.

    Raises `ScriptError` if its line has several lambdas that cannot be distinguished.
    """
    code = function.__code__
    source, tree = file_tree(code.co_filename, what)
    lambdas = (n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno)
    nodes = [n for n in lambdas if tuple(a.arg for a in n.args.args) == code.co_varnames[: code.co_argcount]]
    if len(nodes) > 1:
        places = set(code.co_positions())
        nodes = [n for n in nodes if _extent(n.body) in places]
    if len(nodes) != 1:
        raise no_source(what)
    return source, nodes[0]


def _extent(node: ast.expr) -> tuple[int | None, ...]:
    """Return the start and end position of an expression, in the form that `co_positions` reports for instructions."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def text_of(function: FunctionType) -> Text:
    """Return the source of a function.

    Raises `NotSimpleError` if the source is ambiguous. Decorators returned the function itself: others have another
    text.
    """
    if function.__name__ == "<lambda>":
        source, node = lambda_text(function, "the lambda")
        return Text(source, node.args, [ast.copy_location(ast.Return(node.body), node.body)])
    line = function.__code__.co_firstlineno
    source, tree = file_tree(function.__code__.co_filename, function.__name__)
    named = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function.__name__)
    matches = [n for n in named if line == min(d.lineno for d in (n, *n.decorator_list))]
    if len(matches) != 1:
        raise NotSimpleError
    return Text(source, matches[0].args, matches[0].body)


def bind_arguments(
    text: Text, function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the values of the parameters, or None if the arguments do not match the signature."""
    a = text.arguments
    names, every = [p.arg for p in (*a.posonlyargs, *a.args)], [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    defaults = function.__defaults__ or ()
    values = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | (function.__kwdefaults__ or {})
    values.update(zip(names, args, strict=False))
    more = {k: v for k, v in kwargs.items() if k not in every}
    values.update((k, v) for k, v in kwargs.items() if k in every)
    twice = set(names[: len(args)]) & set(kwargs)
    if a.vararg is not None:
        values[a.vararg.arg] = tuple(args[len(names) :])
    if a.kwarg is not None:
        values[a.kwarg.arg] = more
    unfit = (len(args) > len(names) and a.vararg is None) or (more and a.kwarg is None)
    return None if unfit or twice or not all(n in values for n in every) else values


def result(body: Sequence[ast.stmt], visit: Visit, define: Callable[[str, Any], None]) -> Any:
    """Return the value that the statements return.

    Raises `NotSimpleError` for anything but assignments and branches.
    """
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Return) and statement.value is not None:
            return visit(statement.value)
        if isinstance(statement, ast.If):
            chosen = visit(statement.test)
            if not isinstance(chosen, bool | int | str | tuple | list | type(None)):
                raise NotSimpleError
            pending += reversed(statement.body if chosen else statement.orelse)
        elif isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets):
            value = visit(statement.value)
            for target in statement.targets:
                define(getattr(target, "id", ""), value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            define(statement.target.id, visit(_augmented_value(statement, statement.target.id)))
        elif not isinstance(statement, ast.Pass) and not _is_text(statement):
            raise NotSimpleError
    raise NotSimpleError


def _augmented_value(statement: ast.AugAssign, name: str) -> ast.expr:
    """Return `a + b` for the statement `a += b`."""
    before = ast.copy_location(ast.Name(name, ast.Load()), statement.target)
    return ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def surroundings(function: FunctionType) -> Environment:
    """Return the environment of a function: the global and captured names that it can use."""
    return Environment({**function.__globals__, **closure_of(function)})
