"""The ways into the parser: a text, a decorated class, a decorated function."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import register_source
from ...dialects import relax, tir
from .module import parse_class_node, parse_function_nodes
from .python_file import read_file
from .scope import Environment, header_names
from .source import ScriptError, Source, parse_text
from .tir_functions import Macro
from .values import Metadata

_NO_METADATA = Metadata(None)


def parse_source(
    text: str,
    filename: str = "<string>",
    extra_vars: Mapping[str, Any] | None = None,
    program: str | None = None,
) -> ModuleOp:
    """The module that a text says: a class with `@I.ir_module`, or decorated functions; the one called `program`.

    The text may be any file of Python. Nothing of it runs: imports are noted by name alone, constants at its head are
    computed, the rest is passed over. `extra_vars` are Python values that the text may use. Raises `ScriptError` or
    another located `TiraxError`, also where there are several programs and `program` names none.
    """
    text = text.removeprefix("\ufeff")  # what some editors put at the head of a file
    register_source(filename, text)
    source = Source(filename)
    tree = parse_text(text, source)
    given = extra_vars or {}
    names: dict[str, Any] = {**header_names(text), "metadata": _NO_METADATA}
    environment = Environment(given, {n: v for n, v in names.items() if n not in given})
    return _guarded(source, tree, lambda: read_file(source, environment, tree, program))


def parse_function(
    text: str, filename: str = "<string>", extra_vars: Mapping[str, Any] | None = None
) -> relax.FuncOp | tir.FuncOp:
    """The one function of a text, in a module of its own. Raises as `parse_source`, and where there is not one."""
    module = parse_source(text, filename, extra_vars)
    functions = [op for op in module.body.block.ops if isinstance(op, relax.FuncOp | tir.FuncOp)]
    if len(functions) != 1:
        raise ScriptError("one function is expected", expected=1, found=len(functions))
    return functions[0]


def _guarded(source: Source, node: ast.AST, read: Callable[[], ModuleOp]) -> ModuleOp:
    try:
        return read()
    except RecursionError:
        raise source.error(node, "the script is nested too deeply") from None


def parse_class(cls: type, frame: FrameType | None = None) -> ModuleOp:
    """The module that a decorated class is; `frame` is that of the code which decorates it."""
    codes = [f.__code__ for f in vars(cls).values() if hasattr(f, "__code__")]
    filename = codes[0].co_filename if codes else frame.f_code.co_filename if frame is not None else None
    line = codes[0].co_firstlineno if codes else frame.f_lineno if frame is not None else 0
    source, tree = _file_of(filename, cls.__name__)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == cls.__name__]
    node = next((n for n in reversed(found) if _first_line(n) <= line <= (n.end_lineno or line)), None)
    if node is None:
        raise _no_source(cls.__name__)
    captured = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    for function in vars(cls).values():
        captured |= _closure(function)
    return _guarded(source, node, lambda: parse_class_node(source, Environment(captured), node))


def read_macro(function: Callable[..., Any], hygienic: bool = True) -> Macro:
    """The macro that a decorated function is; nothing of it is read before it is called."""
    code = function.__code__
    source, tree = _file_of(code.co_filename, code.co_name)
    found = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name)
    node = next((n for n in found if _first_line(n) == code.co_firstlineno), None)
    if node is None:
        raise _no_source(code.co_name)
    return Macro(node, source, Environment({**function.__globals__, **_closure(function)}) if hygienic else None)


def parse_decorated(function: Callable[..., Any], frame: FrameType | None = None) -> ModuleOp:
    """A module of one decorated function (and of the functions it captures).

    `frame` is that of the code around it, the innermost one in the same file where it is not given.
    """
    code = function.__code__
    source, tree = _file_of(code.co_filename, code.co_name)
    found = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name)
    node = next((n for n in found if _first_line(n) == code.co_firstlineno), None)
    if node is None:
        raise _no_source(code.co_name)
    frame = frame or _frame_in(code.co_filename)
    local = {} if frame is None else frame.f_locals
    captured = {**function.__globals__, **local, **_closure(function)}
    return _guarded(source, node, lambda: parse_function_nodes(source, Environment(captured), [node]))


def _frame_in(filename: str) -> FrameType | None:
    """The innermost frame of a file: there a decorator runs."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame


def is_class_body(frame: FrameType) -> bool:
    """Whether a frame runs the body of a class: decorators there leave the function to the class's own decorator."""
    return "__qualname__" in frame.f_locals and "__module__" in frame.f_locals


def _closure(function: Any) -> dict[str, Any]:
    """Variables of enclosing functions that `function` uses."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found: dict[str, Any] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the variable is assigned later
            continue
    return found


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


_trees: dict[str, tuple[str, ast.Module]] = {}


def _file_of(filename: str | None, name: str) -> tuple[Source, ast.Module]:
    """A file's tree; the last trees are kept, for a file often holds several modules."""
    text = "".join(linecache.getlines(filename)) if filename else ""
    if not filename or not text:
        raise _no_source(name)
    known = _trees.get(filename)
    source = Source(filename)
    if known is not None and known[0] == text:
        return source, known[1]
    if len(_trees) >= 8:
        _trees.clear()
    tree = parse_text(text, source)
    _trees[filename] = (text, tree)
    return source, tree


def _no_source(name: str) -> ScriptError:
    return ScriptError(
        f"the source of '{name}' cannot be found",
        hint="put it into a file, or parse a text: tvm.script.from_source(…)",
    )
