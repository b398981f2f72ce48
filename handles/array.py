"""Immutable sequences of nodes, as TVM returns them; they print as their elements do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T", covariant=True)


class Array(Sequence[T]):
    """An immutable sequence: `[A[0:4], B[i]]`. It equals any list or tuple of equal elements."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()):
        self._items = tuple(items)

    @overload
    def __getitem__(self, idx: int) -> T: ...
    @overload
    def __getitem__(self, idx: slice) -> Array[T]: ...
    def __getitem__(self, idx: int | slice) -> T | Array[T]:
        return Array(self._items[idx]) if isinstance(idx, slice) else self._items[idx]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array | list | tuple):
            return NotImplemented
        return self._items == tuple(other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __add__(self, other: Iterable[Any]) -> Array[Any]:
        return Array((*self._items, *other))

    def __radd__(self, other: Iterable[Any]) -> Array[Any]:
        return Array((*other, *self._items))

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self._items))}]"


__all__ = ["Array"]
