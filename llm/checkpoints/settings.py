"""Files of settings: JSON, and other texts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...frontend.importing.errors import ModelError
from ...untrusted import brief, read_file, read_json

_MOST_JSON = 1 << 24
"""Bytes of a file of settings."""


def read_object(path: Path, most: int = _MOST_JSON) -> dict[str, Any]:
    """The JSON object in a file. Raises `FileError`, `ModelError` for none or above `most` bytes."""
    value = read_json(read_text(path, most), f"'{brief(os.fspath(path))}'", ModelError, halves=True)
    if not isinstance(value, dict):
        raise ModelError(f"'{path}' is no JSON object")
    return value


def read_text(path: Path, most: int = _MOST_JSON) -> str:
    """The text in a file. Raises `FileError`, an `OSError`, and `ModelError` for no UTF-8 or above `most` bytes."""
    try:
        return read_file(path, most, ModelError).decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"'{path}' is no text in UTF-8") from error
