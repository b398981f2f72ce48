"""Where operations were written."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from ..diagnostics import SourceLocation


def location_of(op: Operation | None) -> SourceLocation | None:
    """Where an op was written, if that is known: its own location or the nearest one around it."""
    while op is not None:
        loc = op.location
        if isinstance(loc, FileLineColLoc):
            return SourceLocation(loc.filename.data, loc.line.data, loc.column.data)
        op = op.parent_op()
    return None
