"""Packages whose names are imported at their first use: a build needs a part of them, a known program none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(package: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, whose public names are in `files` of it, by name.

    No name may be that of a file of the package: importing the file would replace it.
    """

    def attribute(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(f".{files[name]}", package), name)

    return attribute
