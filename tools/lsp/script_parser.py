"""The parser of TVMScript that goes on behind an error: it notes what is wrong, and what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...script.parser.evaluator import Evaluator
from ...script.parser.module import Function, ModuleParser
from ...script.parser.relax_parser import RelaxParser, Signature
from ...script.parser.scope import Environment, names_in, undefined_names
from ...script.parser.source import Source
from ...script.parser.tir_functions import Callee
from ...script.parser.tir_parser import TirParser
from .reading import type_text

Types = dict[tuple[int, int], tuple[str, bool]]
"""Where names are bound (line and column as Python counts): their struct info, and whether the text says it."""


class ConsequenceError(TiraxError):
    """What cannot be read only because something else could not."""


class _Broken:
    """What a name stands for whose value could not be read."""


BROKEN = _Broken()


class Notes:
    """What is noted while one function is read."""

    def __init__(self) -> None:
        self.errors: list[TiraxError] = []
        self.types: Types = {}
        self.failed = 0
        """How many statements could not be read."""


class _GoesOn(Evaluator):
    """A statement that cannot be read is noted, and so is what depends on it passed over."""

    notes: Notes

    def check_names(self, function: ast.FunctionDef, symbolic: Iterable[str] = ()) -> set[str]:
        known = self.scope.environment.names()
        names, undefined = names_in(function, known)
        for node in undefined:
            self.notes.errors.append(undefined_names(self.source, [node], (names | known) - _ids(undefined), symbolic))
            self.scope.define(node.id, BROKEN)
        return names

    def visit_name(self, node: ast.Name) -> Any:
        value = super().visit_name(node)
        if isinstance(value, _Broken):
            raise ConsequenceError(f"'{node.id}' could not be read")
        return value

    def statement(self, visitor: Callable[..., Any], node: ast.stmt) -> Any:
        state, failed = self.state(), self.notes.failed
        try:
            return super().statement(visitor, node)  # type: ignore[misc]
        except TiraxError as error:
            if not isinstance(error, ConsequenceError) and failed == self.notes.failed:
                self.notes.errors.append(error)
            self.notes.failed += 1
            self.restore(state)
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for name in names:
                self.scope.define(name, BROKEN)
            return names[-1] if names else None

    def state(self) -> Any:
        """What a statement changes and puts back at its end."""

    def restore(self, state: Any) -> None:
        """Put back what a statement changed that did not come to its end."""


def _ids(nodes: Iterable[ast.Name]) -> set[str]:
    return {n.id for n in nodes}


class _RelaxReader(_GoesOn, RelaxParser):
    def __init__(self, source: Source, environment: Environment, module: ModuleNotes):
        super().__init__(source, environment, module)
        self.notes = module.notes[-1]

    def state(self) -> Any:
        return self.dataflow, self._branch_depth

    def restore(self, state: Any) -> None:
        self.dataflow, self._branch_depth = state

    def bind(self, name: str, value: Any, node: ast.AST, annotation: Any = None) -> None:
        super().bind(name, value, node, annotation)
        bound = self.scope.innermost(name)
        if isinstance(bound, SSAValue):
            target = _target(node, name)
            self.notes.types[target.lineno, target.col_offset] = type_text(bound.type), annotation is not None


def _target(node: Any, name: str) -> Any:
    """Where a statement binds a name."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    nodes = (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name) and n.id == name)
    return next(nodes, node)


class _TirReader(_GoesOn, TirParser):
    def __init__(self, source: Source, environment: Environment, module: ModuleNotes):
        super().__init__(source, environment, module)
        self.notes = module.notes[-1]


class ModuleNotes(ModuleParser):
    """Reads the functions of a program one by one; errors are noted for each."""

    relax_parser: ClassVar[type[RelaxParser]] = _RelaxReader
    tir_parser: ClassVar[type[TirParser]] = _TirReader

    def __init__(
        self, source: Source, environment: Environment, unreadable: set[str], op_of: Callable[[Function], Any]
    ):
        super().__init__(source, environment)
        self.notes: list[Notes] = []
        """Of the functions that are being read, innermost last."""
        self._unreadable = unreadable
        self._op_of = op_of

    def has_function(self, name: str) -> bool:
        return super().has_function(name) or name in self._unreadable

    def callable_type(self, name: str) -> Any:
        self._require(name)
        return super().callable_type(name)

    def tensor_function(self, name: str, site: Any) -> Callee:
        self._require(name)
        return super().tensor_function(name, site)

    def _require(self, name: str) -> None:
        if name in self._unreadable:
            raise ConsequenceError(f"'{name}' could not be read")

    @property
    def own(self) -> dict[str, Function]:
        """The functions by name."""
        return self._functions

    def read(self, function: Function, notes: Notes) -> relax.FuncOp | tir.FuncOp | None:
        """The function as an op, None where it cannot be read: `notes` say why. Raises `TiraxError`, too."""
        self.notes.append(notes)
        try:
            function.op = None
            op = super()._tir(function) if function.kind == "prim_func" else super()._relax(function)
        except TiraxError as error:
            if not notes.errors and not notes.failed:
                raise
            raise ConsequenceError("a statement could not be read") from error
        finally:
            self.notes.pop()
        return None if notes.errors or notes.failed else op

    def _tir(self, function: Function) -> tir.FuncOp:
        return self._read_before(function)

    def _relax(self, function: Function) -> relax.FuncOp:
        return self._read_before(function)

    def _read_before(self, function: Function) -> Any:
        """The op of a function that another one needs."""
        op = None if function.in_progress else self._op_of(function)
        if op is None:
            raise ConsequenceError(f"'{function.node.name}' could not be read")
        return op

    def _signature(self, function: Function) -> Signature:
        """As it is read otherwise, with notes of its own: it has no statements."""
        if function.signature is None:
            self.notes.append(Notes())
            try:
                super()._signature(function)
            finally:
                self.notes.pop()
        assert function.signature is not None
        return function.signature

    def interface(self, name: str) -> tuple[Any, ...]:
        """What callers depend on; a function that is being read, or cannot be, has none. Raises nothing."""
        function = self._functions.get(name)
        if function is None or function.in_progress:
            return (name,)
        try:
            if function.kind == "function":
                return name, self.callable_type(name)
            op = self._tir(function)
        except TiraxError:
            return (name,)
        return name, tuple(a.type for a in op.params), op.ret_type


def types_of(op: relax.FuncOp | tir.FuncOp | None) -> dict[str, str]:
    """The types of what has a name in a tensor function."""
    if not isinstance(op, tir.FuncOp):
        return {}
    values = [a for inner in op.walk() for region in inner.regions for block in region.blocks for a in block.args]
    values += [r for inner in op.walk() for r in inner.results]
    return {name: type_text(v.type) for v in values if (name := name_of(v)) is not None}
