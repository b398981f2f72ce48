"""Why signatures differ from TVM's."""

from __future__ import annotations

from fnmatch import fnmatchcase

REASONS: dict[tuple[str, str, str], str] = {}
"""Reasons by path, kind of difference and what differs, as patterns."""


def reason_of(path: str, kind: str, what: str) -> str | None:
    """Return the reason of a difference, or None."""
    for (paths, kinds, things), reason in REASONS.items():
        if fnmatchcase(path, paths) and fnmatchcase(kind, kinds) and fnmatchcase(what, things):
            return reason
    return None


__all__ = ["REASONS", "reason_of"]
