"""Read the TVMScript programs of a Python file while it is edited, without executing it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from ...diagnostics import TiraxError, register_source
from ...ir.passes.transform import no_gc
from ...script.parser.module import Function
from ...script.parser.python_file import Head, Program, find_programs, with_referenced
from ...script.parser.scope import Environment, header_names, nodes_of
from ...script.parser.source import Source
from ...script.parser.values import GlobalRef, Metadata, ModuleRef
from .python_text import UNREADABLE, tree_of
from .reader import Checker, Memory, internal, lines_of, readable, words_of
from .reading import Binding, Piece, Place, Reading, problem_of, type_text
from .script_parser import BROKEN, ConsequenceError, Notes, ProgramReader, Types, types_of

PROGRAM = re.compile(r"^\s*@\s*(?:[\w.]+\.)?(?:function|prim_func|ir_module)\b", re.MULTILINE)
"""Matches a file that contains a program."""
_END_OF_HEAD = re.compile(r"\)\s*:\s*(?:#.*)?$")


class ScriptReader:
    """Reads one file repeatedly."""

    def __init__(self, filename: str):
        self._source = Source(filename)
        self._memory = Memory()
        self._checkers: dict[str, Checker] = {}

    def read(self, text: str) -> Reading:
        """Read the current text. Raises nothing: errors become problems."""
        with no_gc():
            return self._read(text)

    def _read(self, text: str) -> Reading:
        self._memory.begin_reading()
        reading = Reading(lines_of(text))
        register_source(self._source.filename, "\n".join(reading.lines))
        with warnings.catch_warnings():  # Python warns of some literals while it parses: `1if`
            warnings.simplefilter("ignore", SyntaxWarning)
            parsed = tree_of(reading.lines, self._source.filename)
        reading.others += parsed.problems
        if parsed.tree is not None:
            try:
                self._programs(reading, parsed.tree, parsed.functions, text)
            except TiraxError as error:
                reading.others.append(problem_of(error, reading.lines))
            except Exception as error:  # noqa: BLE001 - a fault of ours must not end the server
                reading.others.append(internal(error))
        reading.pieces.sort(key=lambda p: p.first)
        return reading

    def _programs(self, reading: Reading, tree: ast.Module, unreadable: set[str], text: str) -> None:
        names: dict[str, Any] = {**header_names(text), "metadata": Metadata(None)}
        environment = Environment({}, names)
        programs = find_programs(self._source, environment, tree)
        for name in (*unreadable, UNREADABLE):
            environment.define(name, BROKEN)
        around = _lines_around(reading.lines, programs)
        head, position = Head(self._source, environment), 0
        index = {id(node): i for i, node in enumerate(tree.body)}
        for name, nodes in sorted(_groups(programs).items(), key=lambda item: index[id(item[1][-1])]):
            end = index[id(nodes[-1])]
            for statement in tree.body[position:end]:
                if statement not in nodes and not isinstance(programs.get(_name(statement)), ast.FunctionDef):
                    head.note(statement)
            position = max(position, end)
            _Group(self, reading, name, head.environment_here(), unreadable, around).read(nodes)
        self._checkers = {name: c for name, c in self._checkers.items() if name in reading.modules}

    def checker(self, name: str) -> Checker:
        """Return the checker of the program of this name."""
        return self._checkers.setdefault(name, Checker())


class _Group:
    """A class with the functions outside of it that it names, or all functions of the file."""

    def __init__(
        self,
        reader: ScriptReader,
        reading: Reading,
        name: str,
        environment: Environment,
        unreadable: set[str],
        around: tuple[str, ...],
    ):
        self._reader, self._reading, self._name, self._around = reader, reading, name, around
        self._environment = environment
        self._program = ProgramReader(reader._source, environment, unreadable, lambda f: self._piece(f).op)
        self._parser = self._program.parser
        self._pieces: dict[str, Piece] = {}

    def read(self, nodes: list[Program]) -> None:
        """Add the pieces and problems of the group to the reading."""
        beside = [n for n in nodes if isinstance(n, ast.FunctionDef)]
        for node in beside:
            self._environment.define(node.name, GlobalRef(node.name))
        own: list[ast.stmt] = [*beside] if not self._name else []
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                self._environment.define(node.name, ModuleRef())
                self._check_class(node)
                own += node.body
        for statement in beside if self._name else ():
            self._declare(statement)
        borrowed = set(self._parser.functions)
        for statement in own:
            self._declare(statement)
        for function in list(self._parser.functions.values()):
            self._piece(function)
        pieces = list(self._pieces.values())
        module = self._reader.checker(self._name).check(pieces) if pieces else None
        if module is not None:
            self._reading.modules[self._name] = module
        self._reading.pieces += [p for name, p in self._pieces.items() if name not in borrowed]

    def _check_class(self, node: ast.ClassDef) -> None:
        if len(node.decorator_list) != 1:
            self._note(self._parser.source.error(node, f"class '{node.name}' needs one decorator"))
        if node.bases or node.keywords:
            self._note(self._parser.source.error(node, "a module has no base classes"))

    def _declare(self, statement: ast.stmt) -> None:
        try:
            self._parser.declare([statement])
        except ConsequenceError:
            pass  # reported where it is not Python
        except TiraxError as error:
            self._note(error)

    def _note(self, error: TiraxError) -> None:
        self._reading.others.append(problem_of(error, self._reading.lines))

    def _piece(self, function: Function) -> Piece:
        name = function.node.name
        known = self._pieces.get(name)
        if known is not None:
            return known
        function.in_progress = True
        first, end = _range(function.node)
        lines = tuple(self._reading.lines[first:end])
        words = frozenset(words_of(lines))
        called = sorted((words & set(self._parser.function_names())) - {name})
        key: Hashable = (self._name, name, lines, self._around, tuple(map(self._program.interface, called)))
        read = partial(self._read, function, Piece(name, first, lines, words=words, origin=first, program=self._name))
        self._pieces[name] = piece = self._reader._memory.piece(key, first, read)
        function.in_progress = False
        return piece

    def _read(self, function: Function, piece: Piece) -> Piece:
        notes = Notes()
        function.in_progress = False
        readable(lambda: self._program.read(function, notes), piece, (ConsequenceError,))
        function.in_progress = True
        for error in notes.errors:
            piece.add(error)
        types = notes.types
        if function.signature is not None:
            for arg, t in zip(function.node.args.args, function.signature.params, strict=False):
                types[arg.lineno, arg.col_offset] = type_text(t), True
        op: Any = piece.op
        piece.bindings = list(_bindings(function.node, piece, types, types_of(op)))
        if function.kind == "function" and op is not None and function.node.returns is None:
            piece.bindings += _result(function.node, piece, type_text(op.ret_type))
        return piece


def _groups(programs: dict[str, Program]) -> dict[str, list[Program]]:
    """Return each class with the functions that it names, and all functions under the empty name."""
    groups = {
        name: with_referenced(programs, [name]) for name, node in programs.items() if isinstance(node, ast.ClassDef)
    }
    functions: list[Program] = [node for node in programs.values() if isinstance(node, ast.FunctionDef)]
    return groups | ({"": functions} if functions else {})


def _name(statement: ast.stmt) -> str:
    return getattr(statement, "name", "")


def _range(node: ast.FunctionDef | ast.ClassDef) -> tuple[int, int]:
    """Return the first line of a definition, including its decorators, and the line after its last."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1, node.end_lineno or node.lineno


def _lines_around(lines: list[str], programs: dict[str, Program]) -> tuple[str, ...]:
    """Return the lines that every function of a file depends on: all that belong to no function of a program."""
    inside: set[int] = set()
    for program in programs.values():
        nodes = [program] if isinstance(program, ast.FunctionDef) else program.body
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and not _is_macro(node):
                inside |= set(range(*_range(node)))
    return tuple(line for i, line in enumerate(lines) if i not in inside and line.strip())


def _is_macro(node: ast.FunctionDef) -> bool:
    names = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(getattr(n, "attr", getattr(n, "id", "")) in ("macro", "inline") for n in names)


def _bindings(node: ast.FunctionDef, piece: Piece, types: Types, by_name: dict[str, str]) -> Iterator[Binding]:
    """Yield the names that a function binds, in text order."""
    names: list[tuple[int, int, str]] = []
    for inner in nodes_of([node]):
        if isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Store):
                names.append((inner.lineno, inner.col_offset, inner.id))
        elif isinstance(inner, ast.arg):
            names.append((inner.lineno, inner.col_offset, inner.arg))
    for line, offset, name in sorted(names):
        text = piece.lines[line - 1 - piece.origin]
        start = offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))
        shown, is_annotated = types.get((line, offset), (by_name.get(name), True))
        yield Binding(name, Place(line - 1 - piece.origin, start, start + len(name)), shown, is_annotated)


def _result(node: ast.FunctionDef, piece: Piece, shown: str) -> Iterator[Binding]:
    """Yield the result type of a function that does not annotate it, at the end of its parameters."""
    for line in range(node.body[0].lineno - 1 - piece.origin, -1, -1):
        end = _END_OF_HEAD.search(piece.lines[line])
        if end is not None:
            yield Binding("", Place(line, end.start(), end.start() + 1), f"-> {shown}", False)
            return
