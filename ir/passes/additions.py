"""User additions to tables of passes, permanent or temporary.

Programs compiled with such additions must not come from a cache (`are_any`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

_tables: list[Additions[object]] = []


class Additions(Generic[T]):
    """The additions to one table, in order: permanent ones, then temporary ones, those of the innermost `with` last."""

    def __init__(self) -> None:
        self._lasting: list[T] = []
        self._entered: ContextVar[tuple[T, ...]] = ContextVar("tirax_additions", default=())
        _tables.append(self)  # pyright: ignore[reportArgumentType]

    def add(self, item: T) -> None:
        """Add an item permanently."""
        self._lasting.append(item)

    def remove(self, item: T) -> None:
        """Remove a permanent addition."""
        self._lasting.remove(item)

    @contextmanager
    def added(self, item: T) -> Iterator[None]:
        """Add an item inside the context, on this thread."""
        token = self._entered.set((*self._entered.get(), item))
        try:
            yield
        finally:
            self._entered.reset(token)

    @property
    def lasting(self) -> tuple[T, ...]:
        """The permanent additions."""
        return tuple(self._lasting)

    def __iter__(self) -> Iterator[T]:
        return iter((*self._lasting, *self._entered.get()))


def are_any() -> bool:
    """Return whether any table has additions."""
    return any(True for table in _tables for _ in table)
