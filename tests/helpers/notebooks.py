"""Runs the cells of a marimo file without marimo: a stand-in for the few names that the course uses.

A notebook is a module whose functions are cells: parameters are what a cell needs of others, the names of its last
`return` what it gives. Cells run in the order of their dependencies. What a cell shows is made, and dropped: whether
marimo shows it, and that it finds the same dependencies, is for a test with marimo itself.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import io
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

SHOWN = ("md", "Html", "callout", "hstack", "vstack", "accordion")
"""What makes something that a cell shows."""


class App:
    """Collects the cells of a file."""

    def __init__(self, **_options: Any):
        self.cells: list[Callable[..., Any]] = []
        self.defined: dict[str, Any] = {}

    def cell(self, function: Callable[..., Any] | None = None, **_options: Any) -> Any:
        """The decorator of a cell, with options or without."""
        if function is None:
            return self.cell
        self.cells.append(function)
        return function

    def function(self, function: Callable[..., Any] | None = None, **_options: Any) -> Any:
        """The decorator of a cell that is one function, which needs no other cell."""
        if function is None:
            return self.function
        self.defined[function.__name__] = function
        return function


@contextmanager
def stand_in(folder: Path) -> Iterator[None]:
    """Names of marimo mean those of this file, and files beside the notebook can be imported."""
    marimo = ModuleType("marimo")
    marimo.App = App
    for name in SHOWN:
        setattr(marimo, name, lambda *args, **options: SimpleNamespace(args=args, options=options))
    before = {name: sys.modules.pop(name, None) for name in ("marimo", "lesson")}
    sys.modules["marimo"] = marimo
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def run_cells(path: Path) -> dict[str, Any]:
    """Run all cells of a notebook, and give what they define. Raises what a cell raises."""
    with stand_in(path.parent), tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name  # a file, since TVMScript is read from it
        copy.write_text(with_plain_strings(path.read_text()))
        spec = importlib.util.spec_from_file_location(path.stem, copy)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return _run(module.app, results_of_cells(path))


def with_plain_strings(text: str) -> str:
    """As marimo reads a cell: what is indented with it, the lines of its strings too, is moved to the left."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            for row in range(token.start[0], token.end[0]):
                lines[row] = lines[row].removeprefix("    ")
    return "\n".join(lines)


def results_of_cells(path: Path) -> list[list[str]]:
    """The names that each cell returns, in the order of the file."""
    cells = [f for f in ast.parse(path.read_text()).body if isinstance(f, ast.FunctionDef) and f.name == "_"]
    return [[n.id for n in ast.walk(cell.body[-1]) if isinstance(n, ast.Name)] for cell in cells]


def _run(app: App, results: list[list[str]]) -> dict[str, Any]:
    defined = dict(app.defined)
    waiting = [(c, list(inspect.signature(c).parameters), names) for c, names in zip(app.cells, results, strict=True)]
    while waiting:
        ready = [entry for entry in waiting if all(name in defined for name in entry[1])]
        assert ready, f"cells wait for each other: {[needs for _, needs, _ in waiting]}"
        for entry in ready:
            cell, needs, names = entry
            values = cell(*(defined[name] for name in needs)) or ()
            defined.update(zip(names, values if isinstance(values, tuple) else (values,), strict=True))
            waiting.remove(entry)
    return defined
