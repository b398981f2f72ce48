"""Remarks on rejected rules: a `plan` that gives up ends with `return reject("the sum does not start at 0")`.

Only `--explain` collects them. They are constant texts, so that recording one costs no more than a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[dict[str, None] | None] = ContextVar("listener", default=None)


def reject(reason: str) -> None:
    """Record the condition that failed. Returns None, as does a `plan` that does not fit."""
    remarks = _listener.get()
    if remarks is not None:
        remarks[reason] = None


@contextmanager
def collect_remarks() -> Iterator[dict[str, None]]:
    """Collect the remarks on a block, each once and in order; a rule that tries several variants may record several."""
    reasons: dict[str, None] = {}
    token = _listener.set(reasons)
    try:
        yield reasons
    finally:
        _listener.reset(token)
