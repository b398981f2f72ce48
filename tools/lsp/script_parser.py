"""A TVMScript parser with error recovery: it records errors and the types of names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...script.parser.evaluator import Evaluator, Policy, Reader
from ...script.parser.module import Function, ModuleParser
from ...script.parser.scope import Environment, undefined_names
from ...script.parser.source import Source
from ...script.parser.values import Unusable
from .reading import type_text

Types = dict[tuple[int, int], tuple[str, bool]]
"""The struct info of bindings by line and column (as Python counts), and whether the text states it."""


class ConsequenceError(TiraxError):
    """Raised for what cannot be read only because of an earlier error."""


class _Broken(Unusable):
    """The value of a name whose definition could not be read."""

    def error(self, source: Source, node: ast.Name) -> TiraxError:
        return ConsequenceError(f"'{node.id}' could not be read")


BROKEN = _Broken()


class Notes:
    """The errors and types recorded while one function is read."""

    def __init__(self) -> None:
        self.errors: list[TiraxError] = []
        self.types: Types = {}
        self.failed = 0
        """How many statements could not be read."""
        self.policy = Policy(self._undefined, self._statement, self._bound)
        """What a parser does that takes these notes."""

    def _undefined(self, p: Evaluator[Any], uses: list[ast.Name], names: set[str], symbolic: Iterable[str]) -> None:
        names = names - {n.id for n in uses}
        for node in uses:
            self.errors.append(undefined_names(p.source, [node], names, symbolic))
            p.scope.define(node.id, BROKEN)

    def _statement(self, p: Evaluator[Any], read: Reader, node: ast.stmt) -> Any:
        failed = self.failed
        try:
            with p.source.located(node):
                return read(p, node)
        except TiraxError as error:
            if not isinstance(error, ConsequenceError) and failed == self.failed:
                self.errors.append(error)
            self.failed += 1
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for name in names:
                p.scope.define(name, BROKEN)
            return names[-1] if names else None

    def _bound(self, node: ast.AST, name: str, value: SSAValue, annotated: bool) -> None:
        target = _target(node, name)
        self.types[target.lineno, target.col_offset] = type_text(value.type), annotated


def _target(node: Any, name: str) -> Any:
    """Return the place at which a statement binds a name."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    nodes = (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name) and n.id == name)
    return next(nodes, node)


class ProgramReader:
    """Reads the functions of a program one by one and records errors for each."""

    def __init__(
        self, source: Source, environment: Environment, unreadable: set[str], op_of: Callable[[Function], Any]
    ):
        self.parser = ModuleParser(source, environment, unreadable=dict.fromkeys(unreadable, BROKEN), op_of=self._op_of)
        self._known_op = op_of

    def read(self, function: Function, notes: Notes) -> relax.FuncOp | tir.FuncOp | None:
        """Return the function as an op; None if it cannot be read: see the errors in `notes`."""
        outer, self.parser.policy = self.parser.policy, notes.policy
        try:
            function.op = None
            op = self.parser.read(function)
        except TiraxError as error:
            if not notes.errors and not notes.failed:
                raise
            raise ConsequenceError("a statement could not be read") from error
        finally:
            self.parser.policy = outer
        return None if notes.errors or notes.failed else op

    def _op_of(self, function: Function) -> Any:
        """Return the op of a function that another one needs."""
        op = None if function.in_progress else self._known_op(function)
        if op is None:
            raise ConsequenceError(f"'{function.node.name}' could not be read")
        return op

    def interface(self, name: str) -> tuple[Any, ...]:
        """Return what callers depend on: the name, and the types unless the function is unreadable or being read."""
        function = self.parser.functions.get(name)
        if function is None or function.in_progress:
            return (name,)
        try:
            if function.kind == "function":
                return name, self.parser.callable_type(name)
            op = self._op_of(function)
        except TiraxError:
            return (name,)
        return name, tuple(a.type for a in op.params), op.ret_type


def types_of(op: relax.FuncOp | tir.FuncOp | None) -> dict[str, str]:
    """Return the types of the named values in a tensor function."""
    if not isinstance(op, tir.FuncOp):
        return {}
    values = [a for inner in op.walk() for region in inner.regions for block in region.blocks for a in block.args]
    values += [r for inner in op.walk() for r in inner.results]
    return {name: type_text(v.type) for v in values if (name := name_of(v)) is not None}
