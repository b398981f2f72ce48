"""Parsing of Python source."""

from __future__ import annotations

import ast
from typing import Any

from ..locks import Lock

_reading = Lock()


def python_tree(text: str, filename: str = "<text>", mode: str = "exec") -> Any:
    """Call `ast.parse`, on one thread at a time.

    Python 3.11 counts the depth of syntax trees in a variable shared by all threads, and raises `SystemError` if two of
    them parse at the same time (CPython issue 106905).
    """
    with _reading:
        return ast.parse(text, filename, mode)
