"""Error handling of both command lines: errors become messages and exit codes, misspelt options get a suggestion."""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from xdsl.utils.exceptions import DiagnosticException

from ..diagnostics import TiraxError, raised_outside, suggestion
from .color import choose_color, is_colored, painted

OK, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
_DEPTH = 6000
"""Recursion limit for deeply nested programs; the default of 1000 suffices for about 100 nested loops."""


class UsageError(TiraxError):
    """Raised for an invalid command line."""


def as_usage(error: TiraxError) -> UsageError:
    """Return the same error as a `UsageError`, which has another exit code."""
    return UsageError(
        error.message,
        location=error.location,
        expected=error.expected,
        found=error.found,
        hint=error.hint,
        notes=error.notes,
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Convert an `OSError` inside to a `TiraxError` that names the file, which is `path` or belongs to it."""
    try:
        yield
    except OSError as error:
        raise TiraxError(f"cannot read '{error.filename or path}': {error.strerror}") from error


def _path(text: str) -> str:
    """Return a path that the file system can represent, or an empty text. Raises `UsageError`."""
    from ..untrusted import FileError, check_name

    try:
        return check_name(text) if text else text
    except FileError as error:
        raise UsageError(f"invalid path: {error.strerror}", found=error.filename) from error


def count(text: str) -> int:
    """Return an integer of at least 0. Raises `ValueError`."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


class ArgumentParser(argparse.ArgumentParser):
    """argparse with suggestions for misspelt options and without abbreviations.

    It has two named argument types: `path` is a valid path, `count` an integer of at least 0.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, allow_abbrev=False, **options)
        self.register("type", "path", _path)
        self.register("type", "count", count)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        parsed, rest = self.parse_known_args(args, namespace)
        if rest:
            parser = self._of_command(parsed)
            known = list(parser._option_string_actions)
            hints = [h for h in (suggestion(r.partition("=")[0], known) for r in rest if r.startswith("-")) if h]
            raise UsageError(
                f"unknown option or argument: {' '.join(rest)}", hint=(hints or [f"{parser.prog} --help"])[0]
            )
        return parsed

    def _of_command(self, parsed: Any) -> argparse.ArgumentParser:
        """Return the parser of the command that was chosen, or this one."""
        command = getattr(parsed, "command", None)
        commands = (a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        return next((c[command] for c in commands if command in c), self)

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        hint = suggestion(choice[1], re.findall(r"'(.*?)'", choice[2])) if choice else None
        raise UsageError(message, hint=hint or f"{self.prog} --help")


def report(error: BaseException | str) -> None:
    """Print a diagnostic to stderr, if it is open."""
    with suppress(OSError):
        print(painted(str(error)) if is_colored() else error, file=sys.stderr)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        report(f"note: {record.getMessage()}")


@contextmanager
def schedule_notes(level: int = logging.INFO) -> Iterator[None]:
    """Report on stderr when a plug-in's schedule rule is applied.

    At level `DEBUG`, also report why other rules do not apply, and why operators are not fused.
    """
    loggers, handler = [logging.getLogger(name) for name in ("tirax.schedule", "tirax.fusion")], _Notes()
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, its in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(its)


def run_guarded(program: Callable[[], int]) -> int:
    """Return the exit code of `program`, or that of the error that it raised, which is printed to stderr.

    1 for errors in the input, 2 for the command line, 130 for an interrupt, 141 if the reader of stdout closed
    the pipe. With `TIRAX_DEBUG=1` a traceback is printed first.
    """
    _open_streams()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return _flushed(_code_of(program))
    finally:
        choose_color("auto")
        sys.setrecursionlimit(limit)


def _code_of(program: Callable[[], int]) -> int:
    try:
        return program()
    except SystemExit as error:  # argparse's --help and --version
        return error.code if isinstance(error.code, int) else OK
    except BrokenPipeError:
        _abandon_stdout()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        report("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost handler: every error becomes a message and a code
        if debugging():
            traceback.print_exc()
        report(message_of(error))
        return USAGE if isinstance(error, UsageError) else FAILED


def _flushed(code: int) -> int:
    """Flush stdout and return the exit code of a program that ended with `code`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        return PIPE_CLOSED
    except OSError as error:  # a full disk
        _abandon_stdout()
        if code == OK:
            report(message_of(error))
        return code or FAILED
    return code


def _open_streams() -> None:
    """Redirect closed stdout and stderr to /dev/null, so that no opened file gets their descriptors.

    stdout also writes undecodable bytes of paths unchanged.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="surrogateescape")
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            if nowhere > 2:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


def debugging() -> bool:
    """Return whether tracebacks are enabled."""
    return os.environ.get("TIRAX_DEBUG", "") not in ("", "0")


def message_of(error: Exception) -> str:
    """Return the message for a user: a diagnostic's own text, or a summary of any other exception."""
    if isinstance(error, TiraxError):
        return str(error)
    if isinstance(error, RecursionError):
        return "error: the program is nested too deeply"
    if isinstance(error, MemoryError):
        return "error: out of memory"
    if isinstance(error, ModuleNotFoundError):
        from ..frontend.importing.extras import pip_line

        package = str(error.name).partition(".")[0]
        return str(TiraxError(f"a package is not installed: {error.name}", hint=pip_line(package)))
    if isinstance(error, OSError):
        name = "" if error.filename is None else f": '{error.filename}'"
        return f"error: {error.strerror or error}{name}"
    if isinstance(error, DiagnosticException):
        return f"error: {error}"
    notes: list[str] = getattr(error, "__notes__", [])
    first = (str(error).strip().split("\n") or [""])[0]
    place = raised_outside(error) if notes else None
    if place is not None:  # a pass that is not ours, or what one of ours called
        hint = "the code is not tirax's; TIRAX_DEBUG=1 shows the traceback"
        return str(TiraxError(f"{type(error).__name__}: {first}", location=place, notes=notes, hint=hint))
    where = "".join(f", {note}" for note in notes[:1])
    message = f"internal error: {type(error).__name__}: {first}{where}"
    lines = [f"{message}, please report; run with TIRAX_DEBUG=1 for the traceback", *notes[1:]]
    return "\n  note: ".join(lines)


def _abandon_stdout() -> None:
    """Redirect stdout to /dev/null after its reader left, so that buffered output is dropped silently, also at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
