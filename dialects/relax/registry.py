"""The table of operators, and the plug-ins that fill it up.

A plug-in is a package with an entry point in the group `tirax.plugins` that names a module; importing the module
declares its operators:

    [project.entry-points."tirax.plugins"]
    acme = "acme_operators"

Plug-ins are imported when somebody first looks into the table, not before: `import tirax` costs as much with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from ...diagnostics import TiraxError
from ...locks import Lock
from ...universe import load_plugin

GROUP = "tirax.plugins"
"""The group of entry points of plug-ins."""

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes by name: those that are declared, and after the first look into it those of plug-ins.

    A look raises `PluginError` while some plug-in cannot be loaded.
    """

    def __init__(self) -> None:
        self._classes: dict[str, type[T]] = {}
        self._loaded = False
        self._loading: int | None = None
        self._lock = Lock()

    def declare(self, name: str, cls: type[T]) -> None:
        """Put a class in the table. Raises `TiraxError` where another module has declared that name."""
        before = self._classes.get(name)
        if before is not None and before.__module__ != cls.__module__:
            raise TiraxError(f"{name} is declared twice", found=f"{before.__module__} and {cls.__module__}")
        self._classes[name] = cls

    def remove(self, name: str) -> None:
        """Take a class out of the table."""
        del self._classes[name]

    def load(self) -> None:
        """Import the plug-ins, if that has not been done: they may add to other tables, too."""
        self._all()

    def _all(self) -> dict[str, type[T]]:
        if not self._loaded:
            self._load()
        return self._classes

    def _load(self) -> None:
        with self._lock:
            if self._loaded or self._loading == os.getpid():  # a plug-in may look into the table while it is imported
                return
            self._loading = os.getpid()
            try:
                for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
                    load_plugin(entry)
                self._loaded = True
            finally:
                self._loading = None

    def __getitem__(self, name: str) -> type[T]:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
