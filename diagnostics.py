"""Typed diagnostics: where, what was expected, what was found, what to do.

Every error that a user can cause is a `TiraxError` or a subclass of it. `str(error)` is the whole message; with a
location it shows the line of the source and a caret below the place.
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

_MAX_SOURCES = 256
_MAX_SOURCE_BYTES = 1 << 26
_sources: OrderedDict[str, tuple[int, list[str]]] = OrderedDict()
"""Texts by name, the last ones: their sizes, and their lines."""


def register_source(name: str, text: str) -> None:
    """Remember the text of `name` (a path or a made-up name such as `<string>`) so that diagnostics can quote it."""
    _sources[name] = len(text), text.splitlines()
    _sources.move_to_end(name)
    size = sum(size for size, _ in _sources.values())
    while len(_sources) > _MAX_SOURCES or (size > _MAX_SOURCE_BYTES and len(_sources) > 1):
        _, (dropped, _) = _sources.popitem(last=False)
        size -= dropped


def register_text(name: str, text: str) -> str:
    """Remember a text that no file has, and give the name of it: places in another text of `name` are not in this one.

    `<string>` -> `<string>#3c9d01f2`, which diagnostics show as `<string>`. What is no made-up name stays as it is.
    """
    own = f"{name}#{crc32(text.encode(errors='surrogatepass')):08x}" if name.startswith("<") else name
    register_source(own, text)
    return own


def source_line(name: str, line: int) -> str | None:
    """The text of a line (1-based) of a registered source or of a file on disk, None where it cannot be had."""
    known = _sources.get(name)
    if known is not None:
        lines = known[1]
        return lines[line - 1] if 0 < line <= len(lines) else None
    return linecache.getline(name, line).rstrip("\n") or None if _is_source(name) else None


def source_text(name: str) -> str | None:
    """The whole text of a registered source or of a file on disk, None where it cannot be had."""
    known = _sources.get(name)
    if known is not None:
        return "\n".join(known[1])
    return "".join(linecache.getlines(name)) or None if _is_source(name) else None


def shown_name(source: str) -> str:
    """The name of a source as it was given, without what `register_text` added."""
    return source.rpartition("#")[0] if source.startswith("<") and "#" in source else source


def _is_source(path: str) -> bool:
    """Whether a file can be quoted: text that was read may name any file as its place, `/dev/zero`, too."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_SOURCE_BYTES


@dataclass(frozen=True)
class SourceLocation:
    """A place in a source: 1-based line and column; `end_column` is exclusive and on the same line."""

    file: str
    line: int
    column: int
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{shown_name(self.file)}:{self.line}:{self.column}"

    def render(self) -> str:
        """`file:line:column`, the line itself and a caret (or a run of carets) below the place."""
        text = source_line(self.file, self.line)
        if text is None:
            return str(self)
        width = max(1, min((self.end_column or self.column + 1), len(text) + 1) - self.column)
        gutter = f"{self.line:>5} | "
        pad = "".join("\t" if c == "\t" else " " for c in text[: self.column - 1])
        return f"{self}\n{gutter}{text}\n{' ' * (len(gutter) - 2)}| {pad}{'^' * width}"


class TiraxError(DiagnosticException, RuntimeError):
    """The base of all errors that a user of tirax can cause.

    `message` says what is wrong; `location` where; `expected` and `found` the two sides of a mismatch; `hint` what to
    do; `notes` are further lines, one each (the other problems of the same kind, the IR around the place, …).
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


class VerifyError(TiraxError, VerifyException):
    """IR that is not well formed."""


class ShapeError(TiraxError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(TiraxError, TypeError):
    """A data type that is unknown or does not fit."""


class ArgumentsError(TiraxError, TypeError):
    """A call with too many arguments, or too few."""


class NameLookupError(TiraxError, KeyError, ValueError):
    """A name that nothing answers to; `str` as all diagnostics, not KeyError's quoted form. TVM's are ValueErrors."""

    __str__ = TiraxError.__str__


class UnsupportedError(TiraxError, NotImplementedError):
    """Something that is right but that tirax cannot do (all such things of one input at once, in `notes`)."""


@contextmanager
def nesting_checked() -> Iterator[None]:
    """Raise `TiraxError` in place of Python's `RecursionError`: around what goes along a program by calls of itself."""
    try:
        yield
    except RecursionError as error:
        if isinstance(error, TiraxError):
            raise
        hint = "give parts of long expressions names, or sys.setrecursionlimit(…)"
        raise TiraxError("the program is nested too deeply", hint=hint) from error


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """A hint for a misspelt name: `did you mean 'x'?`, or None when nothing known is near.

    Names as `__test__` are what Python or a library asks for, which nobody has misspelt.
    """
    if name.startswith("__"):
        return None
    by_lower = {n.lower(): n for n in known}
    near = difflib.get_close_matches(name.lower(), list(by_lower), n=2, cutoff=0.6)
    if not near:
        return None
    return "did you mean " + " or ".join(f"'{by_lower[n]}'" for n in near) + "?"


def unknown_name(kind: str, name: str, known: Iterable[str], location: SourceLocation | None = None) -> NameLookupError:
    """The error for a name of `kind` (`pass`, `function`, …) that is not among `known`, with a suggestion."""
    names = sorted(known)
    hint = suggestion(name, names) or (f"known: {', '.join(names)}" if 0 < len(names) <= 20 else None)
    return NameLookupError(f"unknown {kind} '{name}'", location=location, hint=hint)


def raised_outside(error: BaseException) -> SourceLocation | None:
    """Where in code that is neither ours nor a library's an exception arose: in a plug-in, or a file of the user's."""
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
