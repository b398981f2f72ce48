"""A compact sequence of texts in one UTF-8 buffer: as Python objects, 98,000 texts of 7 characters take 8 MB."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload


class Texts(Sequence[str]):
    """A sequence of texts that are created on access. Equal to any sequence of the same texts."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, texts: Iterable[str]):
        data, sizes = bytearray(), array("I")
        for text in texts:  # one by one: freed memory of many small objects is not returned to the system
            part = text.encode("utf-8", "surrogatepass")
            data += part
            sizes.append(len(part))
        self._data = bytes(data)
        self._bounds = array("I" if len(data) < 1 << 32 else "Q", accumulate(sizes, initial=0))
        """Where each begins in the whole, which is where the one before it ends, and where the last one ends."""

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index if index >= 0 else index + len(self)
        if place < 0:
            raise IndexError(index)
        return str(self._data[self._bounds[place] : self._bounds[place + 1]], "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (str(self._data[begin:end], "utf-8", "surrogatepass") for begin, end in pairwise(self._bounds))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) or not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other))

    def __repr__(self) -> str:
        return f"Texts({tuple(self)!r})"
