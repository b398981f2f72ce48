"""Side tables: data attached to values and operations outside the IR.

A `WeakKeyDictionary` keeps its values alive, and a value of the IR leads to its uses, these to their blocks and so to
the whole program: a key whose entry refers back to it would never be freed.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SideTable(Generic[K, V]):
    """A table keyed by the identity of objects that have attributes; an entry is freed with its key.

    `name` is the table's.
    """

    def __init__(self, name: str):
        self._name = f"tirax.{name}"  # no identifier: no attribute of a class has such a name
        self._used = False

    def __setitem__(self, key: K, value: V) -> None:
        vars(key)[self._name] = value
        self._used = True

    def get(self, key: K, default: V) -> V:
        """Return the entry of `key`."""
        return vars(key).get(self._name, default) if self._used else default

    def __contains__(self, key: K) -> bool:
        return self._used and self._name in vars(key)

    def __bool__(self) -> bool:
        """Return False as long as there has been no entry."""
        return self._used
