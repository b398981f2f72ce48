"""The source of a script: locations of its nodes, and errors that carry a location."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from ...diagnostics import SourceLocation, TextError, TiraxError, source_line
from ...ir.python_text import python_tree


class ScriptError(TextError):
    """A script that is not valid TVMScript."""


@dataclass(frozen=True)
class Source:
    """A piece of Python text: a file, or text with a name in place of one."""

    filename: str

    def place(self, node: ast.AST) -> SourceLocation:
        """Return the location of a node in the file."""
        line = getattr(node, "lineno", 1)
        column = self._column(line, getattr(node, "col_offset", 0))
        end = getattr(node, "end_col_offset", None)
        one_line = getattr(node, "end_lineno", line) == line and end is not None
        last = self._column(line, end) if one_line and end is not None else None
        return SourceLocation(self.filename, line, column, last)

    def _column(self, line: int, offset: int) -> int:
        """Return the 1-based column in characters; Python counts bytes."""
        text = source_line(self.filename, line)
        if text is None or text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="ignore")) + 1

    def attr(self, node: ast.AST) -> FileLineColLoc:
        """Return the location of a node as a location attribute for operations."""
        place = self.place(node)
        return FileLineColLoc(self._file, IntAttr(place.line), IntAttr(place.column))

    @cached_property
    def _file(self) -> StringAttr:
        return StringAttr(self.filename)

    def error(
        self,
        node: ast.AST,
        message: str,
        *,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
        notes: Sequence[str] = (),
    ) -> ScriptError:
        """Return an error with `message` at the location of `node`."""
        return ScriptError(message, location=self.place(node), expected=expected, found=found, hint=hint, notes=notes)

    @contextmanager
    def located(self, node: ast.AST) -> Iterator[None]:
        """Add the location of `node` to errors raised within the context that have none."""
        try:
            yield
        except TiraxError as error:
            if error.location is None:
                error.location = self.place(node)
            raise


def parse_text(text: str, source: Source) -> ast.Module:
    """Return Python's syntax tree of `text`. Raises `ScriptError` if it is not valid Python."""
    try:
        return python_tree(text, source.filename)
    except SyntaxError as error:
        place = SourceLocation(source.filename, error.lineno or 1, max(error.offset or 1, 1))
        raise ScriptError(f"this is not Python: {error.msg}", location=place) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ScriptError(f"this cannot be read as Python: {error}") from None


_trees: dict[str, tuple[str, ast.Module]] = {}


def file_tree(filename: str | None, name: str) -> tuple[Source, ast.Module]:
    """Return the syntax tree of a file. Recent trees are cached, as a file often contains several modules."""
    text = "".join(linecache.getlines(filename)) if filename else ""
    if not filename or not text:
        raise no_source(name)
    known = _trees.get(filename)
    source = Source(filename)
    if known is not None and known[0] == text:
        return source, known[1]
    if len(_trees) >= 8:
        _trees.clear()
    tree = parse_text(text, source)
    _trees[filename] = (text, tree)
    return source, tree


def no_source(name: str) -> ScriptError:
    return ScriptError(
        f"the source of '{name}' cannot be found",
        hint="put it into a file, or parse a text: tvm.script.from_source(…)",
    )
