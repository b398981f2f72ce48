"""Source locations of graph nodes in the Python program."""

from __future__ import annotations

import re
from typing import Any

from ...diagnostics import SourceLocation

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LIBRARY = re.compile(r"(^|/)torch/(nn|fx|_|utils|functional)")


def location_of(node: Any) -> SourceLocation | None:
    """Return the innermost line outside of PyTorch that created a node, or None if it is unknown."""
    frames = [(f, int(n)) for f, n in _FRAME.findall(node.meta.get("stack_trace") or "")]
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])] or frames
    return SourceLocation(own[-1][0], own[-1][1], 1) if own else None


def place_of(node: Any) -> str:
    """Return a node's location as `file:line`, or its name."""
    location = location_of(node)
    return f"node {node.name}" if location is None else f"{location.file}:{location.line}"
