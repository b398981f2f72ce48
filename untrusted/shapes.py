"""Validate array extents and byte ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..diagnostics import TiraxError
from .texts import brief

MOST_RANK = 64
"""Limit on the dimensions of an array, which is numpy's."""
MOST_BYTES = (1 << 63) - 1
"""Limit on the bytes of an array, counting an extent of 0 as 1, as numpy does."""


def checked_shape(extents: object, itemsize: int, what: str, error: type[TiraxError]) -> tuple[int, ...]:
    """Return the extents as a tuple if they are integers from 0 on, at most `MOST_RANK`, of at most `MOST_BYTES` bytes.

    Raises `error`, whose message begins with `what`.
    """
    if not isinstance(extents, list | tuple):
        raise error(f"{what}: no list of extents", found=brief(extents))
    if len(extents) > MOST_RANK:
        raise error(f"{what}: too many dimensions", expected=f"at most {MOST_RANK}", found=len(extents))
    if not all(type(extent) is int and 0 <= extent <= MOST_BYTES for extent in extents):
        raise error(f"{what}: a wrong extent", expected="integers from 0 to 2**63 - 1", found=brief(extents))
    if math.prod(max(extent, 1) for extent in extents) * max(itemsize, 1) > MOST_BYTES:
        raise error(f"{what}: extents are too large", found=brief(extents))
    return tuple(extents)


def checked_range(begin: object, end: object, size: int, what: str, error: type[TiraxError]) -> tuple[int, int]:
    """Return the begin and end of a range within `size` bytes. Raises `error`, whose message begins with `what`."""
    if type(begin) is not int or type(end) is not int or not 0 <= begin <= end <= size:
        byte_range = f"{brief(begin)} to {brief(end)}"
        raise error(f"{what}: bytes that are not there", expected=f"within 0 to {size}", found=byte_range)
    return begin, end


def check_filled(ranges: Iterable[tuple[int, int, str]], size: int, what: str, error: type[TiraxError]) -> None:
    """Check that byte ranges, each with its owner's name, cover `size` bytes without gaps and overlaps.

    Raises `error`, whose message begins with `what`.
    """
    at = 0
    for begin, end, name in sorted(ranges):
        if begin != at:
            gap = f"{begin - at} bytes that belong to nobody come before it"
            problem = f"'{brief(name)}': {'it overlaps what comes before it' if begin < at else gap}"
            raise error(f"{what}: {problem}", expected=f"byte {at}", found=f"byte {begin}")
        at = end
    if at != size:
        problem = "bytes at its end belong to nobody"
        raise error(f"{what}: {problem}", expected=f"{at} bytes", found=f"{size} bytes")
