"""Files of settings: JSON, and other texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..importing.errors import ModelError

_MOST_JSON = 1 << 24
"""Bytes of a file of settings."""


def read_json(path: Path, most: int = _MOST_JSON) -> dict[str, Any]:
    """The JSON object in a file. Raises `OSError`, and `ModelError` for what is none or is larger than `most` bytes."""
    text = read_text(path, most)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"'{path}' is not JSON") from error
    if not isinstance(value, dict):
        raise ModelError(f"'{path}' is no JSON object")
    return value


def read_text(path: Path, most: int = _MOST_JSON) -> str:
    """The text in a file. Raises `OSError`, and `ModelError` for what is no UTF-8 or larger than `most` bytes."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ModelError(f"'{path}' is too large", expected=f"at most {most} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"'{path}' is no text in UTF-8") from error
