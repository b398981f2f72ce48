"""Source locations of programs built from Python: the line of the caller outside of tirax."""

from __future__ import annotations

import inspect
from functools import lru_cache
from itertools import islice
from types import CodeType

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

_OWN = __name__.partition(".")[0]


def place_of_caller() -> LocationAttr:
    """Return the file, line and column (from 1) of the innermost call from outside of this package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        frame = frame.f_back
    return UNKNOWN_LOC if frame is None else _place(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=4096)
def _place(code: CodeType, instruction: int) -> LocationAttr:
    line, _, column, _ = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    at = IntAttr(line or code.co_firstlineno), IntAttr((column or 0) + 1)
    return FileLineColLoc(StringAttr(code.co_filename), *at)
