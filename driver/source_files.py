"""The state of tirax's own sources.

Keys of caches contain it: a changed pass must not get the result of the old one.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path


@cache
def sources(rooms: tuple[str, ...]) -> str:
    """Return the names, sizes and times of the files of rooms, which are folders or modules (`target.py`)."""
    root = str(Path(__file__).parents[1])
    rows: list[tuple[str, int, int]] = []
    pending = [os.path.join(root, room) for room in rooms if not room.endswith(".py")]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir():
                pending.append(entry.path)
            elif entry.name.endswith((".py", ".ll")):
                rows.append(_row(entry.path))
    return json.dumps([*sorted(rows), *(_row(os.path.join(root, room)) for room in rooms if room.endswith(".py"))])


def _row(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns
