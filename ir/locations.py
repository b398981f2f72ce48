"""Source locations of operations."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from ..diagnostics import SourceLocation


def location_of(op: Operation | None) -> SourceLocation | None:
    """Return the source location of an op, or the nearest one around it; None if unknown."""
    while op is not None:
        loc = op.location
        if isinstance(loc, FileLineColLoc):
            return SourceLocation(loc.filename.data, loc.line.data, loc.column.data)
        op = op.parent_op()
    return None
