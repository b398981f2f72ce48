"""What is known of values and operations besides what they are, kept with each of them.

A `WeakKeyDictionary` keeps its values alive, and a value of the IR leads to its uses, these to their blocks and so to
the whole program: the key would never go where its entry leads back to it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SideTable(Generic[K, V]):
    """Entries by the identity of objects that have attributes; each goes when its key goes. `name` is the table's."""

    def __init__(self, name: str):
        self._name = f"tirax.{name}"  # no identifier: no attribute of a class has such a name
        self._used = False

    def __setitem__(self, key: K, value: V) -> None:
        vars(key)[self._name] = value
        self._used = True

    def get(self, key: K, default: V) -> V:
        """The entry of `key`."""
        return vars(key).get(self._name, default) if self._used else default

    def __contains__(self, key: K) -> bool:
        return self._used and self._name in vars(key)

    def __bool__(self) -> bool:
        """False where there has been no entry yet."""
        return self._used
