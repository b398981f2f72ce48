"""Typed diagnostics with location, expected and found values, and a hint.

Every error that a user can cause is a `TiraxError` or a subclass of it. `str(error)` is the full message;
with a location it shows the source line and a caret below the position.
"""

from __future__ import annotations

import difflib
import linecache
import os
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from zlib import crc32

from xdsl.utils.exceptions import DiagnosticException, VerifyException

from .locks import Lock

_MAX_SOURCES = 256
_MAX_SOURCE_BYTES = 1 << 26
_sources: OrderedDict[str, tuple[int, list[str]]] = OrderedDict()
"""The most recently registered texts by name: their sizes and lines."""
_lock = Lock()


def register_source(name: str, text: str) -> None:
    """Register the text of `name` (a path or a made-up name such as `<string>`) so that diagnostics can quote it."""
    lines = text.splitlines()
    with _lock:
        _sources[name] = len(text), lines
        _sources.move_to_end(name)
        size = sum(size for size, _ in _sources.values())
        while len(_sources) > _MAX_SOURCES or (size > _MAX_SOURCE_BYTES and len(_sources) > 1):
            _, (dropped, _) = _sources.popitem(last=False)
            size -= dropped


def register_text(name: str, text: str) -> str:
    """Register a text that is not a file under a unique name, so that it is not mixed up with others of that name.

    `<string>` -> `<string>#3c9d01f2`, which diagnostics show as `<string>`. Names without `<…>` are unchanged.
    """
    own = f"{name}#{crc32(text.encode(errors='surrogatepass')):08x}" if name.startswith("<") else name
    register_source(own, text)
    return own


def source_line(name: str, line: int) -> str | None:
    """Return a line (1-based) of a registered source or of a file on disk, None if it is not available."""
    known = _sources.get(name)
    if known is not None:
        lines = known[1]
        return lines[line - 1] if 0 < line <= len(lines) else None
    return linecache.getline(name, line).rstrip("\n") or None if _is_source(name) else None


def source_text(name: str) -> str | None:
    """Return the text of a registered source or of a file on disk, None if it is not available."""
    known = _sources.get(name)
    if known is not None:
        return "\n".join(known[1])
    return "".join(linecache.getlines(name)) or None if _is_source(name) else None


def shown_name(source: str) -> str:
    """Return the name of a source without the suffix that `register_text` appends."""
    return source.rpartition("#")[0] if source.startswith("<") and "#" in source else source


def _is_source(path: str) -> bool:
    """Return whether a file can be quoted. Locations in untrusted text may name any file, even `/dev/zero`."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_SOURCE_BYTES


@dataclass(frozen=True)
class SourceLocation:
    """A position in a source: 1-based line and column; `end_column` is exclusive and on the same line."""

    file: str
    line: int
    column: int
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{shown_name(self.file)}:{self.line}:{self.column}"

    def render(self) -> str:
        """Return `file:line:column`, the source line, and carets below the position."""
        text = source_line(self.file, self.line)
        if text is None:
            return str(self)
        width = max(1, min((self.end_column or self.column + 1), len(text) + 1) - self.column)
        gutter = f"{self.line:>5} | "
        pad = "".join("\t" if c == "\t" else " " for c in text[: self.column - 1])
        return f"{self}\n{gutter}{text}\n{' ' * (len(gutter) - 2)}| {pad}{'^' * width}"


class TiraxError(DiagnosticException, RuntimeError):
    """The base class of all errors that a user of tirax can cause.

    `message` states the problem and `location` its position; `expected` and `found` are the two sides of a
    mismatch; `hint` says what to do; `notes` are further lines (other problems of the same kind, the
    surrounding IR, …).
    """

    def __init__(
        self,
        message: str,
        *,
        location: SourceLocation | None = None,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
        notes: Sequence[str] = (),
    ):
        self.message = message
        self.location = location
        self.expected = expected
        self.found = found
        self.hint = hint
        self.notes = tuple(notes)
        super().__init__(message)

    def __str__(self) -> str:
        lines = [f"error: {self.message}"] if self.location is None else [f"{self.location}: error: {self.message}"]
        if self.location is not None:
            lines += self.location.render().split("\n")[1:]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found: {self.found}")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


class TextError(TiraxError, SyntaxError):
    """Raised for a text that a parser does not understand."""

    @property
    def msg(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The full message, shown by Python and pytest for a `SyntaxError`."""
        return str(self)


class VerifyError(TiraxError, VerifyException):
    """Raised for IR that is not well-formed."""


class ShapeError(TiraxError, ValueError):
    """Raised for incompatible shapes."""


class DTypeError(TiraxError, TypeError):
    """Raised for an unknown or unsuitable data type."""


class ArgumentsError(TiraxError, TypeError):
    """Raised for a call with too many or too few arguments."""


class NameLookupError(TiraxError, KeyError, ValueError):
    """Raised for an unknown name. `str` is the usual message, not KeyError's; TVM raises ValueErrors."""

    __str__ = TiraxError.__str__


class UnsupportedError(TiraxError, NotImplementedError):
    """Raised for valid input that tirax does not support; `notes` list all such features of an input."""


@contextmanager
def nesting_checked() -> Iterator[None]:
    """Raise `TiraxError` in place of Python's `RecursionError` while a program is traversed recursively."""
    try:
        yield
    except RecursionError as error:
        if isinstance(error, TiraxError):
            raise
        hint = "give parts of long expressions names, or sys.setrecursionlimit(…)"
        raise TiraxError("the program is nested too deeply", hint=hint) from error


def suggestion(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the hint `did you mean 'x'?` for a misspelt name, or None if no known name is close.

    `cutoff` is the similarity, between 0 and 1, of names that are close.

    Names like `__test__` get none: Python and libraries look them up, no user misspelt them.
    """
    if name.startswith("__"):
        return None
    by_lower = {n.lower(): n for n in known}
    near = difflib.get_close_matches(name.lower(), list(by_lower), n=2, cutoff=cutoff)
    if not near:
        return None
    return "did you mean " + " or ".join(f"'{by_lower[n]}'" for n in near) + "?"


def unknown_name(kind: str, name: str, known: Iterable[str], location: SourceLocation | None = None) -> NameLookupError:
    """Return the error for a name of `kind` (`pass`, `function`, …) that is not in `known`, with a suggestion."""
    names = sorted(known)
    hint = suggestion(name, names) or (f"known: {', '.join(names)}" if 0 < len(names) <= 20 else None)
    return NameLookupError(f"unknown {kind} '{name}'", location=location, hint=hint)


def raised_outside(error: BaseException) -> SourceLocation | None:
    """Return where an exception was raised in a plug-in's or user's code; None if in ours or a library's."""
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        return SourceLocation(error.filename, error.lineno, 1)
    place = None
    frame = error.__traceback__
    while frame is not None:
        name, code = frame.tb_frame.f_globals.get("__name__", ""), frame.tb_frame.f_code
        if name.partition(".")[0] not in _LIBRARIES and not code.co_filename.startswith("<"):
            place = SourceLocation(code.co_filename, frame.tb_lineno, 1)
        frame = frame.tb_next
    return place


_LIBRARIES = frozenset(("tirax", "xdsl", "numpy", "ml_dtypes", "llvmlite", "importlib", "__main__", "contextlib"))
