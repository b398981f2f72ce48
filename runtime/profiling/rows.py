"""What a profile consists of."""

from __future__ import annotations

from dataclasses import dataclass

from .sites import Site


@dataclass(frozen=True)
class Row:
    """What ran, how often, for how long, and what it did; None where that is not known, or does not apply."""

    kind: str
    """`kernel`, `packed` (a Python function), `host` (code around kernels) or `python` (the way in and out)."""
    name: str
    function: str
    result: str
    place: str
    count: int
    seconds: float
    share: float
    """Of the time of the call."""
    operations: int | None
    bytes: int | None
    limit: float | None
    """How long this machine takes at least, as a part of how long it took."""
    threads: int | None
    """That loops ran on at once, at most."""
    balance: float | None
    """How busy these threads were while a loop ran: 1 where all ended together."""


@dataclass(frozen=True)
class Segment:
    """What ran from one moment to another, in nanoseconds since the call."""

    site: Site
    begin: int
    end: int
    operations: int
    bytes: int
    live: int
