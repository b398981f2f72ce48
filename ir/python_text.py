"""Python's tree of a text."""

from __future__ import annotations

import ast
from typing import Any

from ..locks import Lock

_reading = Lock()


def python_tree(text: str, filename: str = "<text>", mode: str = "exec") -> Any:
    """`ast.parse`, with its errors, by one thread at a time.

    Python 3.11 counts the depth of the trees that it makes in one number for all threads, and raises `SystemError`
    where two of them read at once (CPython's issue 106905).
    """
    with _reading:
        return ast.parse(text, filename, mode)
