"""The fusion patterns of libraries and code generators, by name: what `FuseOpsByPattern` is given for one of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from .fusion_pattern import FusionPattern, fusion_pattern

_patterns: dict[str, FusionPattern] = {}
_lock = threading.Lock()


def register_patterns(patterns: Iterable[Any]) -> None:
    """Register fusion patterns, or tuples of their fields. Those registered later have priority.

    One of a name that is registered already takes its place, with the priority of a new one. Raises `TiraxError` for
    what is no pattern.
    """
    made = [fusion_pattern(p) for p in patterns]
    with _lock:
        for p in made:
            _patterns.pop(p.name, None)
            _patterns[p.name] = p


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin with `prefix`, in order of priority: the last registered comes first."""
    with _lock:
        return [p for name, p in reversed(_patterns.items()) if name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of this name, None where there is none."""
    return _patterns.get(name)


def remove_patterns(prefix: str) -> None:
    """Forget the patterns whose names begin with `prefix`."""
    with _lock:
        for name in [n for n in _patterns if n.startswith(prefix)]:
            del _patterns[name]


__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns", "remove_patterns"]
