"""Read GGUF: the header is parsed and validated, tensors are views of the mapped file.

A file is little-endian: the magic, a version, the numbers of tensors and of metadata entries; the metadata,
each entry a key, a type and a value; the tensor infos, each a name, extents (innermost first), a format and
an offset; and, aligned, the bytes of the tensors.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...untrusted import brief, checked_shape, mapped_file
from .cursor import Cursor, Value
from .errors import GgufError
from .formats import BY_CODE, TensorFormat

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT_KEY = "general.alignment"
DEFAULT_ALIGNMENT = 32
MOST_DIMS = 4
MOST_NAME = 1 << 16
"""Limit on the bytes of a key or name."""
_ENTRY, _TENSOR = 8 + 4 + 1, 8 + 4 + 4 + 8
"""The minimum bytes of a metadata entry and of a tensor info."""
_MOST_NOTES = 20


@dataclass(frozen=True, eq=False)
class GgufTensor:
    """A tensor of a file.

    `shape` counts numbers, outermost first as in numpy (files store the reverse). `data` is a read-only view of
    the file: for plain formats an array of that shape and the format's dtype, for blocks the bytes of each row,
    `uint8` of shape (…, bytes of a row).
    """

    name: str
    shape: tuple[int, ...]
    format: str
    data: np.ndarray[Any, Any]

    @property
    def nbytes(self) -> int:
        """The bytes in the file."""
        return self.data.nbytes


@dataclass(frozen=True, eq=False)
class GgufFile:
    """The contents of a file: `metadata` by key (numbers, texts, `Texts` and arrays) and tensors by name."""

    path: str
    version: int
    metadata: Mapping[str, Value]
    tensors: Mapping[str, GgufTensor]

    @property
    def architecture(self) -> str | None:
        """The model family (`general.architecture`), or None if the file has none."""
        name = self.metadata.get("general.architecture")
        return name if isinstance(name, str) else None


def open_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """Map a file and read its header.

    The tensors are not read. The file must not be truncated while a tensor is in use: the system kills a
    process that accesses a missing page of a mapped file. Raises `FileError`, an `OSError`, and `GgufError` for
    an invalid file.
    """
    name = os.fspath(path)
    data = mapped_file(path)
    if len(data) < len(MAGIC) + 20:
        raise GgufError(f"'{name}' is not a GGUF file", expected="GGUF and a header", found="a file that is too short")
    return _File(Cursor(name, data)).read()


@dataclass(frozen=True)
class _Place:
    """The info of a tensor; `offset` counts from the start of the tensor data."""

    name: str
    shape: tuple[int, ...]
    format: TensorFormat
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape) // self.format.elements * self.format.size


class _File:
    def __init__(self, cursor: Cursor):
        self.cursor = cursor

    def read(self) -> GgufFile:
        cursor = self.cursor
        version = self._version()
        tensor_count = cursor.count("the number of tensors", _TENSOR)
        entries = cursor.count("the number of entries of metadata", _ENTRY)
        metadata = self._metadata(entries)
        alignment = self._alignment(metadata)
        places = [self._place() for _ in range(tensor_count)]
        self._check_unique("tensor", (place.name for place in places))
        start = -(-cursor.at // alignment) * alignment
        self._check_layout(places, start, alignment)
        return GgufFile(cursor.name, version, metadata, {p.name: self._tensor(p, start) for p in places})

    def _version(self) -> int:
        cursor = self.cursor
        magic = bytes(cursor.take(4, "the magic"))
        if magic != MAGIC:
            raise GgufError(f"'{cursor.name}' is not a GGUF file", expected=MAGIC, found=magic)
        version = int(cursor.number(4, "the version"))
        if version in VERSIONS:
            return version
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
        hint = "it is written in big endian: convert it" if swapped else "write it anew by a current converter"
        raise cursor.fail(
            "has a version that is not read", expected=" or ".join(map(str, VERSIONS)), found=version, hint=hint
        )

    def _metadata(self, count: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for _ in range(count):
            key = self.cursor.text("a key", MOST_NAME)
            if key in metadata:
                raise self.cursor.fail(f"has a key twice: '{key}'")
            metadata[key] = self.cursor.value(f"'{key}'")
        return metadata

    def _alignment(self, metadata: Mapping[str, Value]) -> int:
        alignment = metadata.get(ALIGNMENT_KEY, DEFAULT_ALIGNMENT)
        if type(alignment) is not int or not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            expected = "a power of two up to 1048576"
            raise GgufError(
                f"'{self.cursor.name}' has a wrong {ALIGNMENT_KEY}", expected=expected, found=repr(alignment)
            )
        return alignment

    def _place(self) -> _Place:
        cursor = self.cursor
        name = cursor.text("the name of a tensor", MOST_NAME)
        rank = int(cursor.number(4, f"the rank of '{name}'"))
        if rank > MOST_DIMS:
            raise cursor.fail(
                f"has a tensor of too many dimensions: '{name}'", expected=f"up to {MOST_DIMS}", found=rank
            )
        shape = tuple(int(cursor.number(10, f"an extent of '{name}'")) for _ in range(rank))[::-1]
        code = int(cursor.number(4, f"the format of '{name}'"))
        if code not in BY_CODE:
            raise cursor.fail(
                f"has a tensor in an unknown format: '{name}'", expected=", ".join(map(str, BY_CODE)), found=code
            )
        columns, elements = (shape[-1] if shape else 1), BY_CODE[code].elements
        if columns % elements:
            expected = f"a multiple of {elements} ({BY_CODE[code].name})"
            raise cursor.fail(
                f"has a tensor whose rows are no whole blocks: '{name}'", expected=expected, found=columns
            )
        checked_shape(shape, BY_CODE[code].size, f"the tensor '{brief(name)}' of '{cursor.name}'", GgufError)
        return _Place(name, shape, BY_CODE[code], int(cursor.number(10, f"the offset of '{name}'")))

    def _check_unique(self, kind: str, names: Iterable[str]) -> None:
        seen: set[str] = set()
        twice = sorted({name for name in names if name in seen or seen.add(name)})
        if twice:
            raise GgufError(f"'{self.cursor.name}' has a {kind} twice", notes=_few(twice))

    def _check_layout(self, places: list[_Place], start: int, alignment: int) -> None:
        """Check that all tensors are aligned, lie within the file and do not overlap."""
        room = len(self.cursor.data) - start
        problems = [
            f"'{p.name}' begins at {p.offset}, no multiple of {alignment}" for p in places if p.offset % alignment
        ]
        problems += [
            f"'{p.name}' needs the bytes {p.offset} … {p.offset + p.size} of {max(room, 0)}"
            for p in places
            if p.offset + p.size > max(room, 0)
        ]
        order = sorted((p for p in places if p.size), key=lambda p: p.offset)
        problems += [
            f"'{after.name}' begins at {after.offset}, before '{before.name}' ends at {before.offset + before.size}"
            for before, after in zip(order, order[1:])
            if after.offset < before.offset + before.size
        ]
        if problems:
            raise GgufError(
                f"'{self.cursor.name}' was cut off, or is damaged: tensors do not lie in it", notes=_few(problems)
            )

    def _tensor(self, place: _Place, start: int) -> GgufTensor:
        begin = start + place.offset
        data = np.frombuffer(self.cursor.data[begin : begin + place.size], np.uint8)
        stored = place.format
        if stored.dtype is not None:
            array = data.view(stored.dtype).reshape(place.shape)
        else:
            array = data.reshape(*place.shape[:-1], stored.row_bytes(place.shape[-1]))
        return GgufTensor(place.name, place.shape, stored.name, array)


def _few(problems: list[str]) -> list[str]:
    """Return the first of many problems, and the number of remaining ones."""
    more = len(problems) - _MOST_NOTES
    return problems[:_MOST_NOTES] + ([f"and {more} more"] if more > 0 else [])
