"""What watches a pipeline while it runs: times and dumps of the IR."""

from __future__ import annotations

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


@dataclass
class Times:
    """Seconds by stage, in the order in which the stages were first entered."""

    seconds: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Adds the time of the `with` block."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds.append((stage, time.perf_counter() - start))

    def table(self) -> str:
        """A line for each stage and their sum."""
        total = sum(s for _, s in self.seconds)
        rows = [*self._rows(), ("total", total)]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}} {s * 1e3:>10.2f} ms {_percent(s, total):>5}" for name, s in rows)

    def _rows(self) -> list[tuple[str, float]]:
        """Equal names are one row, but passes: they are numbered, so each is its own."""
        merged: dict[str, float] = {}
        for name, s in self.seconds:
            merged[name] = merged.get(name, 0.0) + s
        return list(merged.items())


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else ""


_DUMPED = re.compile(r"(\d\d-)?\d\d-[\w-]+\.(mlir|py)")
"""What `--print-ir-dir` calls its files."""


@dataclass(frozen=True)
class Dumps:
    """When the IR is printed: before and after named passes, or all, to stderr; after each into a folder."""

    before: Collection[str] = ()
    after: Collection[str] = ()
    after_all: bool = False
    folder: str | None = None
    script: bool = False
    elide: int | None = None
    """Contents of constants of more bytes are left out."""

    def at_start(self, module: ModuleOp, piece: int) -> None:
        """The input as the first file of the folder; what an earlier run wrote there goes."""
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
        self._to_folder(module, piece, number, name)

    def _to_stderr(self, module: ModuleOp, when: str, name: str) -> None:
        text, extension = self._text(module)
        comment = "#" if extension == "py" else "//"
        print(f"{comment} -----{comment} IR Dump {when} {name} {comment}----- {comment}\n{text}", file=sys.stderr)

    def _to_folder(self, module: ModuleOp, piece: int, number: int, name: str) -> None:
        if self.folder is None:
            return
        text, extension = self._text(module)
        prefix = f"{piece:02}-" if piece else ""
        path = os.path.join(self.folder, f"{prefix}{number:02}-{name}.{extension}")
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            raise TiraxError(f"cannot write '{path}': {error.strerror}", hint="--print-ir-dir DIR") from error

    def _text(self, module: ModuleOp) -> tuple[str, str]:
        """TVMScript where it is wanted and can hold the module, else MLIR."""
        if self.script and is_high_level(module):
            from ..script.printer import print_script

            return print_script(module, show_meta=self.elide is None), "py"
        with elided_contents(self.elide):
            return str(module), "mlir"


_HIGH_LEVEL = ("builtin", "relax", "tir", "sym")


def is_high_level(module: ModuleOp) -> bool:
    """Whether a module holds nothing below relax and tir: what TVMScript can say."""
    return all(op.name.partition(".")[0] in _HIGH_LEVEL for op in module.walk())
