"""The one registry of tirax: entries by name, declared at import and changed while a program runs.

    RULES: Table[LegalizeRule] = Table("legalization rule")

    @RULES.row("relax.exp", "relax.log")
    def unary(op): …

    with RULES.added("relax.exp", mine):
        …

A second entry of a name is an error in all tables, unless `override=True`; a definition that runs again (a module that
is reloaded, a cell of a notebook) replaces itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, overload

from .diagnostics import NameLookupError, TiraxError, unknown_name
from .locks import Lock

T = TypeVar("T")
_E = TypeVar("_E")
_D = TypeVar("_D")


class Table(Mapping[str, T], Generic[T]):
    """Entries of one kind by name, in the order of their declaration.

    `kind` names an entry in diagnostics. `load` imports the modules that fill the table; it runs once, before the first
    look-up.
    """

    error: type[TiraxError] = TiraxError
    """The error for a second entry of a name."""

    def __init__(self, kind: str, load: Callable[[], None] | None = None) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._load = load
        self._loaded = load is None
        self._loading: int | None = None
        self._lock = Lock()

    def add(self, name: str, entry: T, override: bool = False) -> None:
        """Add an entry. Raises `Table.error` if `name` has another one, unless `override`, which puts it last."""
        with self._lock:
            existing = self._entries.get(name)
            if existing is not None and not override and not _is_redefinition(existing, entry):
                places = " and ".join(sorted({str(getattr(e, "__module__", "")) for e in (existing, entry)} - {""}))
                raise self.error(
                    f"{self.kind} '{name}' is already registered",
                    found=places or None,
                    hint="pass override=True to replace it",
                )
            self._entries.pop(name, None)
            self._entries[name] = entry

    def row(self, *names: str, override: bool = False) -> Callable[[_E], _E]:
        """Return a decorator that adds the decorated function or class under each of `names`."""

        def add(entry: _E) -> _E:
            for name in names:
                self.add(name, entry, override)  # pyright: ignore[reportArgumentType]
            return entry

        return add

    def update(self, entries: Mapping[str, T]) -> None:
        """Add several entries, as `add` does."""
        for name, entry in entries.items():
            self.add(name, entry)

    def remove(self, name: str) -> T:
        """Remove an entry and return it. Raises `NameLookupError` if there is none."""
        with self._lock:
            if name not in self._entries:
                raise self.unknown(name)
            return self._entries.pop(name)

    @contextmanager
    def added(self, name: str, entry: T) -> Iterator[None]:
        """Add or replace an entry for the duration of a `with` block, on all threads."""
        self.load()
        existing = self._entries.copy()
        self._entries[name] = entry
        try:
            yield
        finally:
            self._entries = existing

    def declared(self, name: str) -> T | None:
        """Return the entry of a name without filling the table, None if it is not there yet."""
        return self._entries.get(name)

    def find(self, name: str) -> T:
        """Return the entry of `name`. Raises `NameLookupError`, with the nearest names, if there is none."""
        entries = self._all()
        if name not in entries:
            raise self.unknown(name)
        return entries[name]

    def unknown(self, name: str) -> NameLookupError:
        """Return the error for a name that is not in the table."""
        return unknown_name(self.kind, name, list(self._entries))

    def load(self) -> None:
        """Fill the table now, if that has not been done."""
        self._all()

    def _all(self) -> dict[str, T]:
        if not self._loaded:
            self._fill()
        return self._entries

    def _fill(self) -> None:
        with self._lock:
            if self._loaded or self._loading == os.getpid():  # what fills the table may look into it
                return
            self._loading = os.getpid()
            try:
                if self._load is not None:
                    self._load()
                self._loaded = True
            finally:
                self._loading = None

    @overload
    def get(self, key: str, default: None = None, /) -> T | None: ...
    @overload
    def get(self, key: str, default: T | _D, /) -> T | _D: ...
    def get(self, key: str, default: Any = None, /) -> Any:
        """Return the entry of a name, or `default`."""
        return self._all().get(key, default)

    def __getitem__(self, key: str) -> T:
        return self._all()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def _is_redefinition(existing: object, entry: object) -> bool:
    """Return whether an entry is another run of the definition of the existing one."""
    if existing is entry:
        return True
    keys = [(getattr(e, "__module__", None), getattr(e, "__qualname__", None)) for e in (existing, entry)]
    return keys[0] == keys[1] and None not in keys[0] and "<locals>" not in str(keys[0][1])


__all__ = ["Table"]
