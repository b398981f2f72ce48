"""Remarks on rules that do not fit: a `plan` that gives up ends with `return reject("the sum does not start at 0")`.

Only `--explain` collects them: they are constant texts, which cost nothing but the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[dict[str, None] | None] = ContextVar("listener", default=None)


def reject(reason: str) -> None:
    """Record the condition that failed; returns None, as a `plan` that does not fit does."""
    remarks = _listener.get()
    if remarks is not None:
        remarks[reason] = None


@contextmanager
def collect_remarks() -> Iterator[dict[str, None]]:
    """Collect the remarks of the block, each once, in order: several where a rule tries several ways."""
    reasons: dict[str, None] = {}
    token = _listener.set(reasons)
    try:
        yield reasons
    finally:
        _listener.reset(token)
