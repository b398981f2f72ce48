"""Names of a script: captured, bound and undefined ones."""

from __future__ import annotations

import ast
import builtins
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from ...diagnostics import suggestion
from ...dialects import tir
from .source import ScriptError, Source
from .values import Builtin, Imm, Ref

MARK = "__tirax_script_dialect__"
"""An attribute of a module or object that names its script dialect; on a function, its name in that dialect."""
OURS = {
    "tvm_api.script.relax": "relax",
    "tvm_api.script.tir": "tir",
    "tvm_api.script._in_scripts": "tir",
    "handles.relax": "relax",
    "handles.struct_info": "relax",
    "handles.target": "tir",
    "handles.tir": "tir",
    "te.axis": "tir",
    "te.reduction": "tir",
}
"""Modules of this package whose functions scripts may call by other prefixes than `R` and `T`, such as
`relax.const`.
"""
_PACKAGE = __name__.removesuffix("script.parser.scope")
SCRIPT_VALUE = "__tirax_script_value__"
"""The method by which captured objects define their script value: a `tir.ConstOp`, `SymExpr` or `IndexMapping`."""
CONVENTIONAL = {
    "R": Ref("relax"),
    "relax": Ref("relax"),
    "T": Ref("tir"),
    "tir": Ref("tir"),
    "I": Ref("ir"),
    "ir": Ref("ir"),
    "tvm": Ref("tvm"),
    "tirax": Ref("tvm"),
}
BUILTIN_FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (range, len, int, float, bool, min, max, abs, tuple, list)
}
BUILTINS = {name: Builtin(name) for name in BUILTIN_FUNCTIONS}
_HEADER = re.compile(r"^#\s*from\s+[\w.]+\s+import\s+(ir|tir|relax)(?:\s+as\s+(\w+))?\s*$", re.MULTILINE)
_MISSING = object()


def header_names(text: str) -> dict[str, Ref]:
    """Return the names that comments at the top of a printed script define: `# from tvm.script import tir as T`."""
    return {m[2] or m[1]: Ref(m[1]) for m in _HEADER.finditer(text)}


class Environment:
    """The environment of a script: captured Python variables, or the imports of a text."""

    def __init__(self, captured: Mapping[str, Any], known: Mapping[str, Any] | None = None):
        self._captured = captured
        self._known: dict[str, Any] = dict(known or {})

    def copy(self) -> Environment:
        return Environment(self._captured, self._known)

    def define(self, name: str, value: Any) -> None:
        self._known[name] = value

    def lookup(self, name: str) -> Any:
        """Return the value of `name`, or `MISSING` if it is undefined."""
        if name in self._known:
            return self._known[name]
        if name in self._captured:
            return script_value(self._captured[name])
        builtin = BUILTINS.get(name)
        return CONVENTIONAL.get(name, _MISSING) if builtin is None else builtin

    def names(self) -> set[str]:
        return {*self._known, *self._captured, *BUILTINS, *CONVENTIONAL}


def is_missing(value: Any) -> bool:
    return value is _MISSING


def script_value(value: Any) -> Any:
    """Return the script value of a captured Python object."""
    if type(value) in (list, tuple):
        return type(value)(map(script_value, value))
    if isinstance(value, FunctionType | type):
        value = _own_name(value)
    mark = getattr(value, MARK, None) if isinstance(value, ModuleType) or hasattr(type(value), MARK) else None
    if isinstance(mark, str):
        return Ref(mark)
    for name, function in BUILTIN_FUNCTIONS.items():
        if value is function:
            return Builtin(name)
    convert = getattr(type(value), SCRIPT_VALUE, None)
    if convert is not None:
        value = convert(value)
        return Imm(value.py_value, value.result.type) if isinstance(value, tir.ConstOp) else value
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value


_CLASSES = {
    "TensorStructInfo": "Tensor",
    "ShapeStructInfo": "Shape",
    "TupleStructInfo": "Tuple",
    "PrimStructInfo": "Prim",
    "FuncStructInfo": "Callable",
    "ObjectStructInfo": "Object",
    "ShapeExpr": "shape",
    "PrimValue": "prim_value",
    "StringImm": "str",
    "DataTypeImm": "dtype",
    "Tuple": "tuple",
}
"""Classes of `tvm.relax` with the names of their constructors in a script."""


def _own_name(value: FunctionType | type) -> Any:
    """Return a function or class of this package as a reference by its script name; any other value unchanged,
    never called.
    """
    mark = vars(value).get(MARK)
    if isinstance(mark, str) and "." in mark:
        return Ref(*mark.split(".", 1))
    dialect = next((d for room, d in OURS.items() if is_own(value, room)), None)
    name = value.__name__
    return value if dialect is None else Ref(dialect, _CLASSES.get(name, name) if dialect == "relax" else name)


def is_own(value: Any, room: str) -> bool:
    """Return whether a value is a function or class of the package `room`, so that calling it runs no user code."""
    return isinstance(value, FunctionType | type) and f"{value.__module__}.".startswith(f"{_PACKAGE}{room}.")


def closure_of(function: Any) -> dict[str, Any]:
    """Return the variables of enclosing functions that `function` uses."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells: dict[str, Any] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # the variable is assigned later
            continue
    return cells


class Scope:
    """The names of a function, innermost frame last."""

    def __init__(self, environment: Environment):
        self.environment = environment
        self._frames: list[dict[str, Any]] = [{}]

    @contextmanager
    def frame(self) -> Iterator[dict[str, Any]]:
        """Open a frame whose names are dropped at the end of the context."""
        self._frames.append({})
        try:
            yield self._frames[-1]
        finally:
            self._frames.pop()

    def define(self, name: str, value: Any) -> None:
        self._frames[-1][name] = value

    def rebind(self, name: str, value: Any) -> None:
        """Assign a new value to a name in the frame that defines it."""
        for frame in reversed(self._frames):
            if name in frame:
                frame[name] = value
                return
        self.define(name, value)

    def local(self, name: str) -> Any:
        for frame in reversed(self._frames):
            if name in frame:
                return frame[name]
        return _MISSING

    def innermost(self, name: str) -> Any:
        """Return the value of `name` in the innermost frame, or None if it is not bound there."""
        return self._frames[-1].get(name)

    def lookup(self, name: str) -> Any:
        value = self.local(name)
        return self.environment.lookup(name) if value is _MISSING else value

    def names(self) -> set[str]:
        return {n for frame in self._frames for n in frame}


def names_in(function: ast.FunctionDef, known: Iterable[str]) -> tuple[set[str], list[ast.Name]]:
    """Return the names that occur in `function`, and the first use of each undefined name.

    Names in `known` are defined.
    """
    parts: list[ast.AST] = [*function.body]
    parts += [a.annotation for a in function.args.args if a.annotation is not None]
    parts += [function.returns] if function.returns is not None else []
    bound = {a.arg for a in function.args.args}
    used: dict[str, ast.Name] = {}
    for node in nodes_of(parts):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.setdefault(node.id, node)
        elif isinstance(node, _BINDERS):
            bound.update(_bound_names(node))
    names = used.keys() | bound
    bound.update(known)
    return names, [node for name, node in used.items() if name not in bound]


_LEAVES = frozenset({ast.Constant, ast.Name})


def nodes_of(parts: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of syntax trees in the order of `ast.walk`, in a third of the time."""
    todo = deque(parts)
    while todo:
        node = todo.popleft()
        yield node
        if type(node) in _LEAVES:
            continue
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                todo.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                todo.append(value)


def undefined_names(
    source: Source, nodes: list[ast.Name], names: set[str], symbolic: Iterable[str] = ()
) -> ScriptError:
    """Return the error for uses of undefined names; `names` are all names in the function and those that are known."""
    nodes = sorted(nodes, key=lambda n: (n.lineno, n.col_offset))
    known = sorted(names - {n.id for n in nodes} - set(BUILTINS) - set(dir(builtins)))
    declared = set(symbolic)
    quoted = [f"'{n.id}'" for n in nodes]
    hints = [(n.id, f"declare it: {n.id} = T.int64()" if n.id in declared else suggestion(n.id, known)) for n in nodes]
    hint = "; ".join(f"'{name}': {text}" if len(nodes) > 1 else text for name, text in hints if text) or None
    message = f"undefined name {quoted[0]}" if len(nodes) == 1 else f"undefined names {', '.join(quoted)}"
    notes = [source.place(n).render() for n in nodes[1:]]
    return source.error(nodes[0], message, hint=hint, notes=notes)


_BINDERS = (ast.Name, ast.FunctionDef, ast.Lambda)


def _bound_names(node: ast.Name | ast.FunctionDef | ast.Lambda) -> Iterable[str]:
    """Return the names that a node itself binds, without its children."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    names = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    return [node.name, *names] if isinstance(node, ast.FunctionDef) else names
