"""Read settings from JSON and text files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...frontend.importing.errors import ModelError
from ...untrusted import brief, read_file, read_json

_MOST_JSON = 1 << 24
"""Size limit of a settings file, in bytes."""


def read_object(path: Path, most: int = _MOST_JSON) -> dict[str, Any]:
    """Return the JSON object in a file. Raises `FileError`; `ModelError` if it is none or larger than `most` bytes."""
    value = read_json(read_text(path, most), f"'{brief(os.fspath(path))}'", ModelError, halves=True)
    if not isinstance(value, dict):
        raise ModelError(f"'{path}' is not a JSON object")
    return value


def read_text(path: Path, most: int = _MOST_JSON) -> str:
    """Return the text of a file. Raises `FileError`; `ModelError` if it is not UTF-8 or larger than `most` bytes."""
    try:
        return read_file(path, most, ModelError).decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"'{path}' is not UTF-8 text") from error
