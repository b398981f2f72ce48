"""What users add to tables of passes, for good or for a while.

What such a pass makes is not what tirax makes by itself: it must not be found in a cache (`are_any`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

_tables: list[Additions[object]] = []


class Additions(Generic[T]):
    """Additions to one table, in order: those for good, then those for a while, of the innermost `with` last."""

    def __init__(self) -> None:
        self._lasting: list[T] = []
        self._entered: ContextVar[tuple[T, ...]] = ContextVar("tirax_additions", default=())
        _tables.append(self)  # pyright: ignore[reportArgumentType]

    def add(self, item: T) -> None:
        """Add for good."""
        self._lasting.append(item)

    def remove(self, item: T) -> None:
        """Take back what was added for good."""
        self._lasting.remove(item)

    @contextmanager
    def added(self, item: T) -> Iterator[None]:
        """Add for what runs inside of `with`, on this thread."""
        token = self._entered.set((*self._entered.get(), item))
        try:
            yield
        finally:
            self._entered.reset(token)

    @property
    def lasting(self) -> tuple[T, ...]:
        """What was added for good."""
        return tuple(self._lasting)

    def __iter__(self) -> Iterator[T]:
        return iter((*self._lasting, *self._entered.get()))


def are_any() -> bool:
    """Whether anything is added to any table."""
    return any(True for table in _tables for _ in table)
