"""Ordinary Python files: the programs in a file and the names around them, determined without executing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError, shown_name, unknown_name
from .module import FUNCTION_KINDS, ModuleParser, parse_class_node, parse_function_nodes
from .scope import Environment
from .source import ScriptError, Source
from .tir_functions import MACROS
from .values import Ref, Unknown, Unusable

Program: TypeAlias = ast.ClassDef | ast.FunctionDef
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DIALECTS = ("ir", "tir", "relax")
_PACKAGES = ("tvm", "tirax")
_SHOWN = 8
_HINT = "a script is read, never run; what only a run makes can be written as text: Module.script()"


def read_file(source: Source, environment: Environment, tree: ast.Module, chosen: str | None = None) -> ModuleOp:
    """Parse the only program of a file, or the one named `chosen`, with the functions beside it that it refers to.

    A program is a class with `@I.ir_module`, or all functions with `@R.function` and `@T.prim_func`. Imports before
    it are recorded by name and constants are evaluated. Using a name whose value is only known at run time is an
    error. Raises `TiraxError`.
    """
    programs = find_programs(source, environment, tree)
    nodes = _choose(source, tree, programs, chosen)
    head = Head(source, environment.copy())
    for statement in tree.body[: tree.body.index(nodes[-1])]:
        if statement not in nodes:
            head.note(statement)
    environment = head.environment_here()
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            if len(node.decorator_list) != 1:
                raise source.error(node, f"class '{node.name}' needs one decorator", expected="@I.ir_module")
            return parse_class_node(source, environment, node, functions)
    return parse_function_nodes(source, environment, functions)


def find_programs(source: Source, environment: Environment, tree: ast.Module) -> dict[str, Program]:
    """Return the programs of a file by name, in source order. Raises `ScriptError` if two have the same name."""
    programs: dict[str, Program] = {}
    head = Head(source, environment.copy())
    for statement in tree.body:
        head.note_imports(statement)
        if isinstance(statement, Program) and head.kind(statement) in ("module", "function"):
            if statement.name in programs:
                raise source.error(statement, f"'{statement.name}' is defined twice")
            programs[statement.name] = statement
    return programs


def _choose(source: Source, tree: ast.Module, programs: dict[str, Program], chosen: str | None) -> list[Program]:
    """Return the programs to parse in source order: a class or functions, and the functions that they refer to."""
    functions = {name: node for name, node in programs.items() if isinstance(node, ast.FunctionDef)}
    if not programs:
        raise _no_program(source, tree)
    if chosen is None and len(programs) > 1 and len(functions) < len(programs):
        *_, last = names = list(programs)
        expected = f"one of them: {shown_name(source.filename)}:{names[0]}"
        message = "a script is one module, or functions"
        raise source.error(programs[last], message, expected=expected, found=", ".join(names))
    if chosen is not None and chosen not in programs:
        raise _no_such_program(source, tree, programs, chosen)
    return with_referenced(programs, list(programs) if chosen is None else [chosen])


def with_referenced(programs: dict[str, Program], chosen: Sequence[str]) -> list[Program]:
    """Return the programs with these names and the functions that they refer to, in source order."""
    functions = {name: node for name, node in programs.items() if isinstance(node, ast.FunctionDef)}
    selected = set(chosen)
    left = [programs[name] for name in chosen]
    while left and functions.keys() - selected:
        named = {n.id for n in ast.walk(left.pop()) if isinstance(n, ast.Name)}
        more = (functions.keys() & named) - selected
        selected |= more
        left += [functions[name] for name in more]
    return [node for name, node in programs.items() if name in selected]


def _no_program(source: Source, tree: ast.Module) -> ScriptError:
    others = [n for n in tree.body if isinstance(n, _DEFINITIONS)]
    notes = [f"line {n.lineno}: '{n.name}' is decorated by {_decorators(n)}" for n in others[:_SHOWN]]
    message = "the script has neither a module nor a function"
    expected = "@I.ir_module class Module, @R.function def main or @T.prim_func def main"
    return source.error([*others, tree][0], message, expected=expected, hint=_HINT, notes=notes)


def _decorators(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ", ".join(f"@{ast.unparse(d)}" for d in node.decorator_list) or "nothing"


def _no_such_program(source: Source, tree: ast.Module, programs: dict[str, Program], chosen: str) -> TiraxError:
    for statement in reversed(tree.body):
        if chosen in _bound_names(statement):
            message = f"'{chosen}' is no module or function that can be read"
            return source.error(statement, message, expected=", ".join(programs), hint=_HINT)
    return unknown_name("program", chosen, programs)


class Head:
    """The statements before a program, whose names form an `Environment`."""

    def __init__(self, source: Source, environment: Environment):
        self._source = source
        self._environment = environment
        self._parser = ModuleParser(source, environment)
        self._bound: dict[str, Any] = {}
        self._mentioned: dict[str, ast.AST] = {}

    def kind(self, node: Program) -> str | None:
        """Return `module`, `function` or `macro`; None for an ordinary class or function of Python.

        An unknown decorator from a script dialect (`T.prim_fun`) counts as one; the parser reports the mistake.
        """
        refs = [r for r in map(self._decorator, node.decorator_list) if r is not None]
        if isinstance(node, ast.ClassDef):
            return "module" if any(_last(r.path) == "ir_module" for r in refs) else None
        if any(r in MACROS for r in refs):
            return "macro"
        plain = all(_last(r.path) not in FUNCTION_KINDS and (r.dialect == "tvm" or "." in r.path) for r in refs)
        return None if plain else "function"

    def _decorator(self, node: ast.expr) -> Ref | None:
        try:
            value = self._parser.evaluator.visit(node.func if isinstance(node, ast.Call) else node)
        except TiraxError:  # a foreign decorator
            return None
        return value if isinstance(value, Ref) else None

    def note(self, statement: ast.stmt) -> None:
        """Record the names that a statement binds: constants, macros and imports.

        The values of all others are unknown.
        """
        self.note_imports(statement)
        if isinstance(statement, ast.FunctionDef) and self.kind(statement) == "macro":
            self._parser.declare_function(statement)
            return
        nodes = list(ast.walk(statement))
        self._mentioned |= {n.id: statement for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            value = self._value(statement, statement.value)
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                self._assign(statement, target, value)
            return
        imported = {name for i in _imports(statement) for name in _bound_names(i)}
        changed = {name for n in nodes if isinstance(n, ast.Global) for name in n.names}
        for name in (_bound_names(statement) - imported) | changed:
            self._define(name, Unknown(self._source.place(statement)), statement)

    def _value(self, statement: ast.stmt, node: ast.expr) -> Any:
        known = self._environment.lookup(node.id) if isinstance(node, ast.Name) else None
        if isinstance(known, Unusable) and not isinstance(known, Unknown):
            return known
        try:
            return self._parser.evaluator.visit(node)
        except TiraxError as error:
            return Unknown(self._source.place(statement), error.message)

    def _assign(self, statement: ast.stmt, target: ast.expr, value: Any) -> None:
        """Record `N = 4` or `a, b = 1, 2`."""
        if isinstance(target, ast.Tuple) and isinstance(value, tuple) and len(target.elts) == len(value):
            for each, part in zip(target.elts, value, strict=True):
                self._assign(statement, each, part)
            return
        for name in _bound_names(target):
            known = isinstance(target, ast.Name) or isinstance(value, Unknown)
            self._define(name, value if known else Unknown(self._source.place(statement)), statement)

    def environment_here(self) -> Environment:
        """Return a copy of the names visible to a program at this point of the file.

        Lists and dictionaries that a skipped statement mentions are unknown, because it may have changed them.
        """
        environment = self._environment.copy()
        changeable = {name: v for name, v in self._bound.items() if isinstance(v, list | dict)}
        for name, statement in self._mentioned.items():
            if name in changeable:  # and its aliases
                for other in [n for n, v in changeable.items() if v is changeable[name]]:
                    environment.define(other, Unknown(self._source.place(statement), "it may change here"))
        return environment

    def note_imports(self, statement: ast.stmt) -> None:
        """Record the names that imports bind, also if an `if` or `try` chooses between them.

        Names from TVM's packages resolve to what they denote, others are unknown: nothing is imported.
        """
        for node in _imports(statement):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                self._import(node, module, alias)

    def _import(self, node: ast.Import | ast.ImportFrom, module: str, alias: ast.alias) -> None:
        path = f"{module}.{alias.name}" if module else alias.name
        name, last = alias.asname or _first(alias.name), _last(path)
        if _first(path) not in _PACKAGES:
            constants = [n for n, value in self._bound.items() if not isinstance(value, Ref)]
            for each in constants if name == "*" else [name]:
                self._define(each, Unknown(self._source.place(node), "it is imported"), node)
        elif last in _DIALECTS and (module or alias.asname):
            self._define(name, Ref(last), node)
        else:
            self._define(name, Ref("tvm", "" if not module or last == "tvm_api" else last), node)

    def _define(self, name: str, value: Any, node: ast.AST) -> None:
        """Define a name.

        If it was bound to something else before, its value is unknown, as only a run could decide between them.
        """
        known = self._bound.setdefault(name, value)
        if known is not value and not (isinstance(value, Ref) and value == known):
            twice = Unknown(self._source.place(node), "it is bound twice")
            value = self._bound[name] = value if isinstance(value, Unknown) else twice
        self._environment.define(name, value)


def _imports(statement: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    chooses = isinstance(statement, ast.If | ast.Try)
    return (n for n in (ast.walk(statement) if chooses else [statement]) if isinstance(n, ast.Import | ast.ImportFrom))


def _first(path: str) -> str:
    return path.partition(".")[0]


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _bound_names(tree: ast.AST) -> set[str]:
    """Return the names that a statement or target may bind in its own scope."""
    names: set[str | None] = set()
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.alias):
            names.add(node.asname or _first(node.name))
        elif isinstance(node, ast.Name):
            names |= {node.id} if not isinstance(node.ctx, ast.Load) else set()
        else:  # functions, classes, `except … as name`, the patterns of `match`
            names |= {getattr(node, "name", None), getattr(node, "rest", None)}
        if isinstance(node, ast.comprehension):
            left += [node.iter, *node.ifs]
        elif not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            left += ast.iter_child_nodes(node)
    return {name for name in names if name is not None}
