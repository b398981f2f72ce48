"""Parameters by name in TVM's binary format: `save_param_dict`, `load_param_dict`.

All numbers are little endian. A list is its magic number, 8 zero bytes, the count of names and each name after its
length, the count of arrays and each array. An array is its magic number, 8 zero bytes, the device (type and number,
int32), the rank (int32), the data type (code and bits in a byte each, lanes in two), the extents (int64), the bytes of
the elements (int64) and the elements.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..untrusted import MOST_RANK, checked_shape, mapped_file
from .container import write_atomically
from .dtypes import DTYPES, to_dtype
from .errors import DTypeError, TiraxError
from .ndarray import NDArray, array

_LIST, _ARRAY, _CPU = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F, 1
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
)
_HEAD = struct.Struct("<QQiiiBBH")
"""The header of an array, up to its data type."""


class ParametersError(TiraxError, ValueError):
    """The data is not in the format of parameters, or damaged."""


def _code(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the code and bits of a data type; a bool is an unsigned integer of one bit."""
    name = dtype.name
    if name == "bool":
        return 1, 1
    if name not in _NAMES:
        raise DTypeError("parameters cannot be saved in this type", expected="integers and floats", found=name)
    return _CODES[name.rstrip("0123456789")], dtype.itemsize * 8


_DTYPES = {_code(DTYPES[name]): DTYPES[name] for name in _NAMES}


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Serialize arrays by name. Raises `DTypeError` for elements that the format does not support."""
    out = bytearray(struct.pack("<QQQ", _LIST, 0, len(params)))
    for name in params:
        text = str(name).encode()
        out += struct.pack("<Q", len(text)) + text
    out += struct.pack("<Q", len(params))
    for value in params.values():
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        code, bits = _code(to_dtype(array.dtype))
        out += _HEAD.pack(_ARRAY, 0, _CPU, 0, array.ndim, code, bits, 1)
        out += struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes)
        out += array.tobytes()
    return out


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write arrays by name to a file, atomically."""
    write_atomically(path, [bytes(save_param_dict(params))])


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """Deserialize the output of `save_param_dict`, also of TVM's. Raises `ParametersError` for other or damaged
    bytes.
    """
    reader = _Reader(memoryview(param_bytes))
    magic, _ = reader.numbers("<QQ")
    if magic != _LIST:
        raise ParametersError("these are no parameters", expected="what save_param_dict has written")
    names = [reader.text() for _ in range(reader.count(8))]
    count = reader.count(_HEAD.size)
    if count != len(names):
        raise ParametersError("the parameters are damaged", expected=f"{len(names)} arrays", found=count)
    loaded = {name: reader.array() for name in names}
    if len(loaded) != len(names) or reader.rest:
        raise ParametersError("the parameters are damaged: names are repeated, or bytes are left over")
    return loaded


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """Return the arrays in a file. Raises `FileError`, an `OSError`, and like `load_param_dict`."""
    return load_param_dict(mapped_file(path))


class _Reader:
    """Reads items from bytes that may be truncated, or have wrong sizes."""

    def __init__(self, data: memoryview):
        self._data = data
        self._at = 0

    @property
    def rest(self) -> int:
        """The number of remaining bytes."""
        return len(self._data) - self._at

    def bytes(self, size: int) -> memoryview:
        """Read `size` bytes."""
        if not 0 <= size <= self.rest:
            raise ParametersError("the parameters are damaged", expected=f"{size} bytes", found=self.rest)
        self._at += size
        return self._data[self._at - size : self._at]

    def numbers(self, format: str) -> tuple[Any, ...]:
        """Read numbers by a `struct` format."""
        return struct.unpack(format, self.bytes(struct.calcsize(format)))

    def count(self, least: int) -> int:
        """Read the number of items that follow, each of at least `least` bytes."""
        (number,) = self.numbers("<Q")
        if number * least > self.rest:
            raise ParametersError("the parameters are damaged: there are not as many bytes as they need", found=number)
        return number

    def text(self) -> str:
        """Read a name."""
        (size,) = self.numbers("<Q")
        try:
            return bytes(self.bytes(size)).decode()
        except UnicodeDecodeError:
            raise ParametersError("the parameters are damaged: a name is no text") from None

    def array(self) -> NDArray:
        """Read an array with memory of its own."""
        magic, _, _, _, rank, code, bits, lanes = _HEAD.unpack(self.bytes(_HEAD.size))
        dtype = _DTYPES.get((code, bits))
        if magic != _ARRAY or not 0 <= rank <= MOST_RANK or dtype is None or lanes != 1:
            raise ParametersError("the parameters are damaged: this is no array", found=f"type {code}, {bits} bits")
        *shape, size = self.numbers(f"<{rank}qq")
        checked_shape(shape, dtype.itemsize, "the parameters are damaged: an array", ParametersError)
        if math.prod(shape) * dtype.itemsize != size:
            raise ParametersError(
                "the parameters are damaged", expected=f"{shape} of {dtype.name}", found=f"{size} bytes"
            )
        return array(np.frombuffer(self.bytes(size), dtype).reshape(shape))


__all__ = [
    "ParametersError", "load_param_dict", "load_param_dict_from_file", "save_param_dict", "save_param_dict_to_file",
]  # fmt: skip
