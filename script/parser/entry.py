"""The entry points of the parser: a text, a decorated class, a decorated function."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import register_text
from ...dialects import relax, tir
from .module import parse_class_node, parse_function_nodes
from .python_file import read_file
from .scope import Environment, closure_of, header_names
from .source import ScriptError, Source, file_tree, no_source, parse_text
from .tir_functions import Macro
from .values import Metadata

_NO_METADATA = Metadata(None)


def parse_source(
    text: str,
    filename: str = "<string>",
    extra_vars: Mapping[str, Any] | None = None,
    program: str | None = None,
) -> ModuleOp:
    """Parse the module in a text: a class with `@I.ir_module`, or decorated functions. `program` selects one by name.

    The text may be any Python file. Nothing is executed: imports are recorded by name only, constants at the top of
    the file are evaluated, and everything else is skipped. `extra_vars` are Python values that the text may use.
    Raises `ScriptError` or another located `TiraxError`, also if there are several programs and `program` selects
    none of them.
    """
    text = text.removeprefix("\ufeff")  # a byte order mark, as written by some editors
    source = Source(register_text(filename, text))
    tree = parse_text(text, source)
    explicit = extra_vars or {}
    names: dict[str, Any] = {**header_names(text), "metadata": _NO_METADATA}
    environment = Environment(explicit, {n: v for n, v in names.items() if n not in explicit})
    return _guarded(source, tree, lambda: read_file(source, environment, tree, program))


def parse_function(
    text: str, filename: str = "<string>", extra_vars: Mapping[str, Any] | None = None
) -> relax.FuncOp | tir.FuncOp:
    """Parse the only function of a text, in a module of its own.

    Raises as `parse_source`, and if there is not exactly one function.
    """
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


def parse_class(cls: type) -> ModuleOp:
    """Return the module of a decorated class."""
    codes = [f.__code__ for f in vars(cls).values() if hasattr(f, "__code__")]
    filename = codes[0].co_filename if codes else getattr(sys.modules.get(cls.__module__), "__file__", None)
    source, tree = file_tree(filename, cls.__name__)
    around = _frames_around(filename, cls.__qualname__)
    line = codes[0].co_firstlineno if codes else around[-1].f_lineno if around else 0
    candidates = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and _is_name_of(n, cls.__name__)]
    node = next((n for n in reversed(candidates) if _first_line(n) <= line <= (n.end_lineno or line)), None)
    if node is None:
        raise no_source(cls.__name__)
    names = around[-1].f_globals if around else vars(sys.modules.get(cls.__module__, builtins))
    captured = _captured(names, around, vars(cls).values())
    return _guarded(source, node, lambda: parse_class_node(source, Environment(captured), node))


def read_macro(function: Callable[..., Any], hygienic: bool = True) -> Macro:
    """Return the macro for a decorated function. Its body is not parsed before the first call."""
    code = function.__code__
    source, tree = file_tree(code.co_filename, code.co_name)
    node = _node_of(function, tree)
    return Macro(node, source, Environment({**function.__globals__, **closure_of(function)}) if hygienic else None)


def parse_decorated(function: Callable[..., Any]) -> ModuleOp:
    """Return a module of one decorated function (and of the functions it captures)."""
    code = function.__code__
    source, tree = file_tree(code.co_filename, code.co_name)
    node = _node_of(function, tree)
    captured = _captured(function.__globals__, _frames_around(code.co_filename, function.__qualname__), [function])
    return _guarded(source, node, lambda: parse_function_nodes(source, Environment(captured), [node]))


def in_module_class(function: Callable[..., Any]) -> bool:
    """Return whether a function is defined in the body of a class that a TVMScript decorator parses as one module."""
    around, _, _ = function.__qualname__.rpartition(".")
    if not around or around.endswith("<locals>"):
        return False
    code = function.__code__
    _, tree = file_tree(code.co_filename, code.co_name)
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    enclosing = [c for c in classes if c.lineno < code.co_firstlineno <= (c.end_lineno or c.lineno)]
    if not enclosing:
        raise no_source(code.co_name)
    names = (d.func if isinstance(d, ast.Call) else d for d in max(enclosing, key=lambda c: c.lineno).decorator_list)
    return any((getattr(n, "attr", None) or getattr(n, "id", None)) in _OF_CLASSES for n in names)


_OF_CLASSES = ("ir_module", "rewriter")
"""The decorators of classes. As in TVM they are recognized by their names in the text."""


def _frames_around(filename: str | None, qualname: str) -> list[FrameType]:
    """Return the active frames of the functions and classes that enclose a definition, outermost first.

    They are identified by file and qualified name, because decorators may be called by other functions in any file.
    """
    parts = qualname.split(".")[:-1]
    around = {"<module>", *(".".join(parts[:i]).removesuffix(".<locals>") for i in range(1, len(parts) + 1))}
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and around:
        name = frame.f_code.co_qualname
        if frame.f_code.co_filename == filename and name in around:
            around.remove(name)
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _captured(names: Mapping[str, Any], around: Sequence[FrameType], functions: Iterable[Any]) -> dict[str, Any]:
    """Return the Python names visible to a script: globals, names of enclosing functions, and captures of its own
    functions.
    """
    captured = dict(names)
    for frame in around:
        captured |= frame.f_locals
    for function in functions:
        captured |= closure_of(function)
    return captured


def _node_of(function: Callable[..., Any], tree: ast.Module) -> ast.FunctionDef:
    code = function.__code__
    candidates = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and _is_name_of(n, code.co_name))
    node = next((n for n in candidates if _first_line(n) == code.co_firstlineno), None)
    if node is None:
        raise no_source(code.co_name)
    return node


def _is_name_of(node: ast.ClassDef | ast.FunctionDef, name: str) -> bool:
    """Return whether a definition has this name, ignoring the prefix that notebooks add to the names of a cell."""
    return node.name == name or (node.name.startswith("_") and name.endswith(node.name))


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])
