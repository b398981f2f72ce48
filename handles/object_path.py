"""Paths into nested objects: `ObjectPath.root().attr("args").array_index(2)` is `<root>.args[2]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class ObjectPath:
    """A path: a step from its `parent`; the root has none."""

    parent: ObjectPath | None
    step: Any = None

    @staticmethod
    def root(root_name: str | None = None) -> RootPath:
        """Return the path of the object itself, under a name."""
        return RootPath(None, root_name)

    def attr(self, attr_key: str | None) -> ObjectPath:
        """Return the path of an attribute; None if its name is unknown."""
        return UnknownAttributeAccessPath(self) if attr_key is None else AttributeAccessPath(self, attr_key)

    def array_index(self, index: int) -> ArrayIndexPath:
        """Return the path of the element at an index."""
        return ArrayIndexPath(self, index)

    def missing_array_element(self, index: int) -> MissingArrayElementPath:
        """Return the path of an element that only the other list has."""
        return MissingArrayElementPath(self, index)

    def map_value(self, key: Any) -> MapValuePath:
        """Return the path of the value under a key."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> MissingMapEntryPath:
        """Return the path of an entry that only the other dictionary has."""
        return MissingMapEntryPath(self)

    def __len__(self) -> int:
        return 1 if self.parent is None else 1 + len(self.parent)

    def get_prefix(self, length: int) -> ObjectPath:
        """Return the first `length` steps, including the root. Raises `IndexError` if `length` is out of range."""
        if length < 1:
            raise IndexError("Prefix length must be at least 1")
        if length > len(self):
            raise IndexError("Attempted to get a prefix longer than the path itself")
        path: ObjectPath = self
        for _ in range(len(self) - length):
            path = path.parent or path
        return path

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Return whether the other path equals this one or continues it."""
        return len(self) <= len(other) and other.get_prefix(len(self)) == self

    def _text(self) -> str:
        return ""

    def __str__(self) -> str:
        return f"{self.parent}{self._text()}"

    def __repr__(self) -> str:
        return str(self)


class RootPath(ObjectPath):
    """The object itself."""

    def __str__(self) -> str:
        return "<root>" if self.step is None else str(self.step)


class AttributeAccessPath(ObjectPath):
    """An attribute."""

    def _text(self) -> str:
        return f".{self.step}"


class UnknownAttributeAccessPath(ObjectPath):
    """An attribute whose name is unknown."""

    def _text(self) -> str:
        return ".<unknown attribute>"


class ArrayIndexPath(ObjectPath):
    """An element of a list."""

    def _text(self) -> str:
        return f"[{self.step}]"


class MissingArrayElementPath(ObjectPath):
    """An element that is missing from a list."""

    def _text(self) -> str:
        return f"[<missing element #{self.step}>]"


class MapValuePath(ObjectPath):
    """A value of a dictionary."""

    def _text(self) -> str:
        name = getattr(self.step, "name_hint", None)
        if isinstance(name, str):
            return f'[I.GlobalVar("{name}")]'
        return f'["{self.step}"]' if isinstance(self.step, str) else f"[{self.step}]"


class MissingMapEntryPath(ObjectPath):
    """An entry that is missing from a dictionary."""

    def _text(self) -> str:
        return "[<missing entry>]"
