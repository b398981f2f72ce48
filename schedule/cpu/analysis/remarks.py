"""Why a rule does not fit: a `plan` that gives up says so by `return misfit("the sum does not start at 0")`.

Nobody listens but `--explain`: reasons are texts that are there anyway, and cost nothing but the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[dict[str, None] | None] = ContextVar("listener", default=None)


def misfit(reason: str) -> None:
    """Tell who listens the condition that failed; always None, what a `plan` gives where it does not fit."""
    told = _listener.get()
    if told is not None:
        told[reason] = None


@contextmanager
def told_reasons() -> Iterator[dict[str, None]]:
    """Inside, reasons are kept, each once, in order: several where a rule tries several ways."""
    reasons: dict[str, None] = {}
    token = _listener.set(reasons)
    try:
        yield reasons
    finally:
        _listener.reset(token)
