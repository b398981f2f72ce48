"""A bounds-checked reader of a file's bytes, front to back."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .errors import GgufError
from .texts import Texts

BOOL, STRING, ARRAY = 7, 8, 9
_KINDS = (
    ("uint8", "B"), ("int8", "b"), ("uint16", "H"), ("int16", "h"), ("uint32", "I"), ("int32", "i"), ("float32", "f"),
    ("bool", "?"), ("string", ""), ("array", ""), ("uint64", "Q"), ("int64", "q"), ("float64", "d"),
)  # fmt: skip
NAMES = tuple(name for name, _ in _KINDS)
"""The metadata types, by code."""
SCALARS = {code: struct.Struct("<" + letter) for code, (_, letter) in enumerate(_KINDS) if letter}
"""The metadata types of fixed size, by code."""

_SIZE = SCALARS[10]

MOST_STRING = 1 << 26
"""Limit on the bytes of a text."""
MOST_STRINGS = 1 << 22
"""Limit on the texts in all arrays of a file: as Python objects they take more memory than in the file."""

Value = Any
"""A metadata value: a number, bool or text, `Texts`, or a one-dimensional numpy array."""


class Cursor:
    """A position in a file. Every method advances it, and raises `GgufError` for truncated or invalid data."""

    def __init__(self, name: str, data: memoryview):
        self.name = name
        self.data = data
        self.at = 0
        self._strings_left = MOST_STRINGS

    @property
    def left(self) -> int:
        """The bytes from here to the end."""
        return len(self.data) - self.at

    def fail(self, problem: str, **details: object) -> GgufError:
        """Return the error for a problem at this position."""
        return GgufError(f"'{self.name}' {problem} (byte {self.at})", **details)  # type: ignore[arg-type]

    def take(self, size: int, what: str) -> memoryview:
        """Return the next `size` bytes."""
        begin, end = self.at, self.at + size
        if end > len(self.data):
            raise self.fail(
                f"was cut off, or is damaged: {what} does not fit", expected=f"{size} bytes", found=self.left
            )
        self.at = end
        return self.data[begin:end]

    def number(self, code: int, what: str) -> int | float | bool:
        """Read a number of a type of `SCALARS`."""
        kind = SCALARS[code]
        part = self.take(kind.size, what)
        if code == BOOL and part[0] > 1:
            raise self.fail(f"is damaged: {what} is no bool", expected="0 or 1", found=part[0])
        return kind.unpack(part)[0]

    def count(self, what: str, least: int) -> int:
        """Read the number of entries that follow, each of at least `least` bytes."""
        count = int(self.number(10, what))
        if count * least > self.left:
            raise self.fail(f"was cut off, or is damaged: {what} is {count}, more than its bytes can hold")
        return count

    def text(self, what: str, most: int = MOST_STRING) -> str:
        """Read a text of at most `most` bytes."""
        (size,) = _SIZE.unpack(self.take(8, what))
        if size > most:
            raise self.fail(f"has a text that is too long: {what}", expected=f"at most {most} bytes", found=size)
        try:
            return str(self.take(size, what), "utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"is damaged: {what} is not UTF-8 text") from error

    def value(self, what: str) -> Value:
        """Read a metadata value, preceded by its type."""
        code = self.kind(what)
        if code == STRING:
            return self.text(what)
        if code != ARRAY:
            return self.number(code, what)
        element = self.kind(f"the kind of elements of {what}")
        if element == ARRAY:
            raise self.fail(f"has an array of arrays: {what}", hint="no model that is supported has one")
        return self._texts(what) if element == STRING else self._numbers(element, what)

    def kind(self, what: str) -> int:
        """Read the code of a metadata type."""
        code = int(self.number(4, f"the kind of {what}"))
        if code >= len(NAMES):
            raise self.fail(f"is damaged: {what} is of an unknown kind", expected=f"below {len(NAMES)}", found=code)
        return code

    def _texts(self, what: str) -> Texts:
        count = self.count(f"the length of {what}", 8)
        self._strings_left -= count
        if self._strings_left < 0:
            raise self.fail(f"has too many texts: {what} has {count}", expected=f"at most {MOST_STRINGS} in all")
        element = f"an element of {what}"
        return Texts(self.text(element) for _ in range(count))

    def _numbers(self, code: int, what: str) -> np.ndarray[Any, Any]:
        dtype = np.dtype(NAMES[code]).newbyteorder("<")
        count = self.count(f"the length of {what}", dtype.itemsize)
        part = self.take(count * dtype.itemsize, what)
        if code == BOOL and (np.frombuffer(part, np.uint8) > 1).any():
            raise self.fail(f"is damaged: an element of {what} is no bool")
        return np.frombuffer(part, dtype).astype(dtype.newbyteorder("="), copy=False)
