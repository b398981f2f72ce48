"""Read programs from files or stdin: text, language and pieces."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..api.hints import EXTENSIONS
from ..diagnostics import SourceLocation, TiraxError, suggestion
from ..untrusted import open_file
from .guard import UsageError

STDIN = "<stdin>"
_DESCRIPTOR = re.compile(r"/dev/(?:fd/\d+|stdin)|/proc/self/fd/\d+")
"""The path that a shell passes for `<(command)`: an open pipe, unlike a named one in a folder."""
_SEPARATOR = re.compile(r"^\s*(?://|#) -----.*\n?", re.MULTILINE)


def _parse_script(_ctx: Context | None, text: str, filename: str, name: str | None) -> ModuleOp:
    from ..script import parse_source

    with warnings.catch_warnings():  # Python warns of some literals while it parses: `1if`
        warnings.simplefilter("ignore", SyntaxWarning)
        return parse_source(text, filename, program=name)


def _parse_mlir(ctx: Context | None, text: str, filename: str, name: str | None) -> ModuleOp:
    from ..script import parse_mlir

    if name is not None:
        raise UsageError("a file of MLIR is one program", expected=filename, found=f"{filename}:{name}")
    return parse_mlir(text, filename, ctx)


FORMATS: dict[str, Callable[[Context | None, str, str, str | None], ModuleOp]] = {
    "mlir": _parse_mlir,
    "tvmscript": _parse_script,
    "py": _parse_script,
}
"""The parser of each language, `(context, text, filename, name of the program in it)`."""


@dataclass(frozen=True)
class Program:
    """A program text. In a piece of a file, empty lines replace the lines before it.

    `name` selects one of several programs in a Python file.
    """

    text: str
    filename: str
    format: str
    name: str | None = None

    def parse(self, ctx: Context | None = None) -> ModuleOp:
        """Parse the module with the dialects of `ctx`, by default all. Raises `TiraxError` for an invalid program."""
        return FORMATS[self.format](ctx, self.text, self.filename, self.name)


def read_program(path: str | None, format_name: str | None = None) -> Program:
    """Read the program in a file, or from stdin if `path` is None or `-`; `file.py:Layer` selects one by name.

    Input from stdin or a shell's `<(command)` is MLIR unless `format_name` is given.

    Raises `TiraxError` if it cannot be read.
    """
    name = None
    if path is not None and not os.path.lexists(path):
        match = re.fullmatch(r"(.*\.py):(\w+)", path, re.DOTALL)
        path, name = match.groups() if match else (path, None)
    if path is None or path == "-":
        return Program(_decode(sys.stdin.buffer.read(), STDIN), STDIN, format_name or "mlir")
    piped = _DESCRIPTOR.fullmatch(path) is not None
    language = format_name or ("mlir" if piped else _format_of(path) if os.path.isfile(path) else "")
    try:
        with open(path, "rb") if piped else open_file(path) as file:
            data = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = f"the folder of a language model: tirax chat {path}" if os.path.isdir(path) else _near(path)
        raise TiraxError(f"cannot read '{path}': {reason}", hint=hint) from error
    return Program(_decode(data, path), path, language or _format_of(path), name)


_HINTS = {
    "gguf": "tirax chat {}",
    "tirax": "tirax run {}, or tirax inspect {}",
    "so": "tirax.load('{}') in Python; a C program links it",
}
"""Commands for files that are not programs, by extension."""


def _format_of(path: str) -> str:
    extension = os.path.splitext(path)[1].removeprefix(".")
    if extension not in FORMATS:
        raise TiraxError(
            "the language of the file is unknown",
            expected=".mlir or .py, or a model: .onnx, .pt2",
            found=f".{extension}" if extension else f"'{path}'",
            hint=_HINTS.get(extension, "").format(path) or EXTENSIONS.get(f".{extension}", "-f mlir|py"),
        )
    return extension


def _decode(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TiraxError(
            f"{name} is not a text file", expected="UTF-8", found=f"byte 0x{data[error.start]:02x} at {error.start}"
        ) from error
    if "\0" in text:
        raise TiraxError(f"{name} is not a text file", found=f"a zero byte at {text.index(chr(0))}")
    return text.replace("\r\n", "\n")


def _near(path: str) -> str | None:
    """Return a similar file name of the same folder, for a path that does not exist."""
    folder, name = os.path.split(path)
    if os.path.lexists(path) or not os.path.isdir(folder or "."):
        return None
    return suggestion(name, os.listdir(folder or "."))


def split_program(program: Program) -> Iterator[Program]:
    """Yield the pieces between lines `// -----` (`# -----`); lines keep their numbers."""
    start = 0
    for match in [*_SEPARATOR.finditer(program.text), None]:
        end = match.start() if match else len(program.text)
        piece = program.text[start:end]
        if piece.strip() or match is None and start == 0:
            yield replace(program, text="\n" * program.text.count("\n", 0, start) + piece)
        start = match.end() if match else end


# `--verify-diagnostics`: comments in a program announce the errors that it must raise, and where.
#
#     // expected-error {{part of the message}}          on this line
#     // expected-error@+1 {{…}}  @-2  @above  @below    on another line
#     // expected-error@unknown {{…}}                    without a place
#
# In TVMScript the comment starts with `#`. The part is sought in the whole diagnostic, expectation and hint included.

_COMMENT = re.compile(r"(?://|#).*?expected-error\s*(@\w+|@[+-]\d+)?\s*\{\{(.*?)\}\}")
_OFFSETS = {"above": -1, "below": 1}


class ExpectationError(TiraxError):
    """Raised if a program does not produce exactly the errors that its comments announce."""


@dataclass(frozen=True)
class Expected:
    """An announced error; `line` is None for an error without location."""

    line: int | None
    part: str
    comment: SourceLocation

    def matches(self, error: TiraxError) -> bool:
        """Return whether an error is the announced one."""
        line = error.location.line if error.location is not None else None
        return line == self.line and self.part in str(error)


def expected_errors(program: Program) -> list[Expected]:
    """Return the errors announced in a program. Raises `ExpectationError` for a malformed comment."""
    announcements: list[Expected] = []
    for number, text in enumerate(program.text.split("\n"), 1):
        for match in _COMMENT.finditer(text):
            place = SourceLocation(program.filename, number, match.start() + 1, match.end() + 1)
            announcements.append(Expected(_line(match.group(1), number, place), match.group(2).strip(), place))
    return announcements


def _line(where: str | None, number: int, place: SourceLocation) -> int | None:
    word = (where or "@+0").removeprefix("@")
    if word == "unknown":
        return None
    if word in _OFFSETS:
        return number + _OFFSETS[word]
    if word[0] not in "+-":
        raise ExpectationError(
            f"unknown place '@{word}'", location=place, expected="@+N, @-N, @above, @below or @unknown"
        )
    return number + int(word)


def check_expected(expected: list[Expected], error: TiraxError | None) -> None:
    """Raise `ExpectationError` unless the error is the announced one; a program raises at most one error."""
    missing = [e for e in expected if error is None or not e.matches(error)]
    if error is not None and len(missing) == len(expected):
        raise ExpectationError("this error was not expected", notes=str(error).split("\n")) from error
    if missing:
        notes = [f"{e.comment}: {e.part}" for e in missing[1:]]
        raise ExpectationError(
            "an expected error did not come", location=missing[0].comment, expected=missing[0].part, notes=notes
        )
