"""The rows and segments of a profile."""

from __future__ import annotations

from dataclasses import dataclass

from .sites import Site


@dataclass(frozen=True)
class Row:
    """What ran, how often, for how long, and its work; None for values that are unknown or do not apply."""

    kind: str
    """`kernel`, `packed` (a Python function), `host` (code around kernels) or `python` (entry and exit)."""
    name: str
    function: str
    result: str
    place: str
    count: int
    seconds: float
    share: float
    """Share of the time of the call."""
    operations: int | None
    bytes: int | None
    limit: float | None
    """The minimum time on this machine, as a fraction of the actual time."""
    threads: int | None
    """Maximum number of threads that loops ran on at once."""
    balance: float | None
    """Utilization of these threads while a loop ran: 1 if all ended together."""


@dataclass(frozen=True)
class Segment:
    """A site that ran from one moment to another, in nanoseconds since the begin of the call."""

    site: Site
    begin: int
    end: int
    operations: int
    bytes: int
    live: int
