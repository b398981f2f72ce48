"""The trace file: an HTML file with the viewer first, then a script element of JSON for each record, appended as it is
written.

Browsers show incomplete files: if a build crashes, the file ends with the step that was running.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...diagnostics import TiraxError
from ...runtime.container import open_output, write_atomically

_HERE = Path(__file__).parent
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>trace of lowering</title>
<style>
{style}</style>
<script>
{script}</script>
</head>
<body>
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Content security policy: nothing is loaded from anywhere."""
OPEN, CLOSE = '<script type="application/json">', "</script>\n"


class TraceFile:
    """A trace that is being written. Raises `TiraxError` if it cannot be opened or written.

    The old file is kept until the beginning of the new one is complete.
    """

    def __init__(self, path: str):
        self.path = path.replace("%p", str(os.getpid()))
        parts = {"style": "viewer.css", "script": "viewer.js"}
        texts = {name: (_HERE / file).read_text(encoding="utf-8") for name, file in parts.items()}
        head = _HEAD.format(policy=_POLICY, **texts)
        with self._writing():
            if os.path.exists(self.path) and not os.path.isfile(self.path):
                self._file = open_output(self.path)
                self._write(head)
            else:
                write_atomically(os.path.realpath(self.path), [head.encode()])
                self._file = open(self.path, "ab")  # noqa: SIM115 - open as long as the program compiles

    @contextmanager
    def _writing(self) -> Generator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise TiraxError(f"cannot write '{self.path}': {error.strerror}") from error

    def _write(self, text: str) -> None:
        self._file.write(text.encode())
        self._file.flush()

    def add(self, kind: str, **fields: Any) -> None:
        """Append a record; it is on disk when this returns."""
        with self._writing():
            self._write(f"{OPEN}{to_json({'t': kind, **fields})}{CLOSE}")

    def close(self) -> None:
        """Close the file."""
        if not self._file.closed:
            with self._writing(), self._file:
                self._write("</body>\n</html>\n")


def to_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: ASCII without `<`."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def packed(value: Any) -> str:
    """Return a value as compact text: JSON, deflated, in base 64."""
    return base64.b64encode(zlib.compress(to_json(value).encode("ascii"), 6)).decode("ascii")


def unpacked(text: str) -> Any:
    """Return the inverse of `packed`."""
    return json.loads(zlib.decompress(base64.b64decode(text)).decode("ascii"))


def records(text: str) -> list[dict[str, Any]]:
    """Return the records of a trace's HTML, also if it is truncated."""
    out: list[dict[str, Any]] = []
    for piece in text.split(OPEN)[1:]:
        body, end, _ = piece.partition("</script>")
        if end:
            out.append(json.loads(body))
    return out
