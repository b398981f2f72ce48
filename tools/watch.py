"""Instruments of a running pipeline: timing and IR dumps."""

from __future__ import annotations

import difflib
import os
import re
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..dialects.relax.data import elided_contents
from ..ir.upstream_text import upstream_text
from .color import is_colored


@dataclass
class Times:
    """Seconds by stage, in the order of first entry; a nested stage counts for its parent, too."""

    seconds: dict[tuple[str, ...], float] = field(default_factory=dict)
    _inside: tuple[str, ...] = ()

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time of the `with` block to a stage."""
        outside, path = self._inside, (*self._inside, stage)
        self.seconds.setdefault(path, 0.0)
        self._inside, start = path, time.perf_counter()
        try:
            yield
        finally:
            self.seconds[path] += time.perf_counter() - start
            self._inside = outside

    def table(self) -> str:
        """Return a tree with a line for each stage, nested ones indented, and the total."""
        total = sum(s for path, s in self.seconds.items() if len(path) == 1)
        rows = [("  " * (len(path) - 1) + path[-1], self.seconds[path]) for path in self._in_order()]
        width = max(len(name) for name, _ in [*rows, ("total", total)])
        return "\n".join(
            f"{n:<{width}} {s * 1e3:>10.2f} ms {_percent(s, total):>5}" for n, s in [*rows, ("total", total)]
        )

    def _in_order(self, inside: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for path in self.seconds:
            if path[:-1] == inside:
                yield path
                yield from self._in_order(path)


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total:.0f}%" if total else ""


_DUMPED = re.compile(r"(\d\d-)?\d\d-[\w-]+\.(mlir|py)")
"""Matches the file names of `--print-ir-dir`."""


_ELIDED = 1024
"""Size in bytes above which the contents of constants are elided in output for display."""
EVERYTHING = -1
"""A limit in bytes that elides nothing."""


@dataclass
class Dumps:
    """When to print IR: before and after passes, and their changes, to stderr; after each pass to a folder."""

    before: Collection[str] = ()
    after: Collection[str] = ()
    after_all: bool = False
    diff: bool = False
    folder: str | None = None
    script: bool = False
    elide: int | None = None
    """Limit in bytes above which constants are elided; None if the user set none."""
    _last: str = ""

    @property
    def elide_shown(self) -> int | None:
        """Return the limit for output to a terminal or stderr, None for no limit."""
        return _ELIDED if self.elide is None else self.elide_written

    @property
    def elide_written(self) -> int | None:
        """Return the limit for output that may be read back."""
        return None if self.elide == EVERYTHING else self.elide

    def at_start(self, module: ModuleOp, piece: int) -> None:
        """Write the input as the first file of the folder, and remove the files of an earlier run."""
        if self.diff:
            self._last = self._text(module, self.elide_shown)[0]
        if self.folder is not None and piece < 2 and os.path.isdir(self.folder):
            for name in filter(_DUMPED.fullmatch, os.listdir(self.folder)):
                os.unlink(os.path.join(self.folder, name))
        self._to_folder(module, piece, 0, "input")

    def before_pass(self, module: ModuleOp, name: str) -> None:
        """Called before each pass."""
        if name in self.before:
            self._to_stderr(module, "Before", name)

    def after_pass(self, module: ModuleOp, piece: int, number: int, name: str) -> None:
        """Called after each pass; `number` counts from 1."""
        if self.after_all or name in self.after:
            self._to_stderr(module, "After", name)
        if self.diff:
            self._print_diff(module, number, name)
        self._to_folder(module, piece, number, name)

    def _print_diff(self, module: ModuleOp, number: int, name: str) -> None:
        before, self._last = self._last, self._text(module, self.elide_shown)[0]
        lines = list(difflib.unified_diff(before.split("\n"), self._last.split("\n"), "before", name, lineterm=""))
        if lines:
            report = [f"{number}. {name}", *lines[2:]]
            print("\n".join(map(_coloured, report) if is_colored() else report), file=sys.stderr)

    def _to_stderr(self, module: ModuleOp, when: str, name: str) -> None:
        text, extension = self._text(module, self.elide_shown)
        comment = "#" if extension == "py" else "//"
        print(f"{comment} -----{comment} IR Dump {when} {name} {comment}----- {comment}\n{text}", file=sys.stderr)

    def _to_folder(self, module: ModuleOp, piece: int, number: int, name: str) -> None:
        if self.folder is None:
            return
        text, extension = self._text(module, self.elide_written)
        prefix = f"{piece:02}-" if piece else ""
        path = os.path.join(self.folder, f"{prefix}{number:02}-{name}.{extension}")
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            raise TiraxError(f"cannot write '{path}': {error.strerror}", hint="--print-ir-dir DIR") from error

    def _text(self, module: ModuleOp, elide: int | None) -> tuple[str, str]:
        """Return the module as TVMScript if that was requested and can express it, else as MLIR."""
        if self.script and is_high_level(module):
            from ..script.printer import print_script

            return print_script(module, show_meta=elide is None), "py"
        with elided_contents(elide):
            return upstream_text(module), "mlir"


_COLOURS = {"+": "32", "-": "31", "@": "36", " ": ""}


def _coloured(line: str) -> str:
    """Return a line of a diff with terminal colours; lines of other kinds are headings."""
    colour = _COLOURS.get(line[:1], "1")
    return f"\x1b[{colour}m{line}\x1b[0m" if colour else line


_HIGH_LEVEL = ("builtin", "relax", "tir", "sym")


def is_high_level(module: ModuleOp) -> bool:
    """Return whether a module is entirely relax and tir, which TVMScript can express."""
    return all(op.name.partition(".")[0] in _HIGH_LEVEL for op in module.walk())
