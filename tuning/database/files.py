"""What the databases in files share: their names, reading, writing and the modules in them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from xdsl.utils.exceptions import ParseError

from ...diagnostics import TiraxError
from ...handles.module import IRModule
from ...ir.passes.transform import new_context
from ...ir.text import TextParser, read_text


@contextmanager
def reading(path: str | os.PathLike[str]) -> Generator[None]:
    """Turn errors of reading into a `TiraxError` that names the file: stored text can be malformed in many ways."""
    try:
        yield
    except TiraxError:
        raise
    except (sqlite3.Error, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_ACCESS:
            raise _no_access(path, error) from error
        hint = "it is damaged, or something else: begin a new one in another folder"
        raise TiraxError(f"'{path}' is no database of tuning records", notes=[str(error)], hint=hint) from error


_NO_ACCESS = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN)
)
"""Errors of the disk, as opposed to invalid contents of the file."""


def _no_access(path: str | os.PathLike[str], error: Exception) -> TiraxError:
    hint = "make room, or see who holds it; tuning goes on from what it has"
    return TiraxError(f"'{path}' cannot be written", notes=[str(error)], hint=hint)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Generator[None]:
    """Turn errors of writing into a `TiraxError` that names the file; its contents remain unchanged."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _no_access(path, error) from error


def module_of(text: str) -> IRModule | None:
    """Parse a module from MLIR text, or return None for text that this version cannot read, such as TVM's own
    format.
    """
    try:
        return IRModule(read_text(new_context(), text, TextParser.parse_module))
    except (ParseError, TiraxError):
        return None


WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


def has_files(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains such a database."""
    return Path(folder, RECORDS).exists()


FILE_NAME = "database.sqlite"
