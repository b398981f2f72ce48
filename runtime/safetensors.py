"""Weights in files of the safetensors format (its README, section "Format"), mapped into memory.

A file is 8 bytes with the length of a header (little endian), the header, which is a JSON object of name -> dtype,
shape and byte range, and the bytes of all tensors. The safetensors package copies what it reads; here arrays are views
on the mapped file, so that many gigabytes of weights take no memory until they are read.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..diagnostics import DTypeError, TiraxError
from ..untrusted import brief, check_filled, checked_range, checked_shape, mapped_file, read_json
from .container import write_atomically
from .dtypes import to_dtype

_MOST_HEADER = 100_000_000
"""Maximum size of the header in bytes, by the format."""

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
_CODES = {name: code for code, name in _NAMES.items()}


class WeightsError(TiraxError, ValueError):
    """A file of weights is damaged, or has a tensor that cannot be read."""


def read_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the tensors in a file, as read-only arrays that share the mapped file.

    The file must not be changed while one of them is in use: reading a truncated part kills the process. Raises
    `FileError`, an `OSError`, if the file cannot be opened, and `WeightsError` if it has another format.
    """
    name = brief(os.fspath(path))
    data = mapped_file(path)
    if len(data) < 8:
        raise WeightsError(f"'{name}' is no file of weights", expected="safetensors")
    header, start = _header(name, data)
    header.pop("__metadata__", None)
    contents = data[start:]
    tensors = [_tensor(name, key, row, len(contents)) for key, row in header.items()]
    check_filled(((t.begin, t.end, t.key) for t in tensors), len(contents), f"'{name}' is damaged", WeightsError)
    return {t.key: t.over(contents) for t in tensors}


@dataclass(frozen=True)
class _Tensor:
    """The header's entry for a tensor; byte offsets count from the end of the header."""

    key: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int

    def over(self, contents: memoryview) -> np.ndarray[Any, Any]:
        """Return the array over its bytes."""
        return np.frombuffer(contents[self.begin : self.end], np.uint8).view(self.dtype).reshape(self.shape)


def _header(name: str, data: memoryview) -> tuple[dict[str, object], int]:
    (size,) = struct.unpack("<Q", data[:8])
    if size > min(len(data) - 8, _MOST_HEADER):
        raise WeightsError(f"'{name}' is no file of weights, or was cut off", expected="safetensors")
    header = read_json(bytes(data[8 : 8 + size]), f"'{name}' is damaged: its header", WeightsError)
    if not isinstance(header, dict):
        raise WeightsError(f"'{name}' is damaged: its header is not a JSON object")
    return cast("dict[str, object]", header), 8 + size


def _tensor(name: str, key: str, row: object, size: int) -> _Tensor:
    what = f"'{brief(key)}' of '{name}'"
    if not isinstance(row, dict) or not row.keys() >= {"dtype", "shape", "data_offsets"}:
        raise WeightsError(f"{what} must have dtype, shape and data_offsets", found=brief(row))
    fields = cast("dict[str, Any]", row)
    code, offsets = fields["dtype"], fields["data_offsets"]
    if not isinstance(code, str) or code not in _NAMES:
        raise WeightsError(f"{what} has an unknown dtype", expected=", ".join(_NAMES), found=brief(code))
    dtype = to_dtype(_NAMES[code])
    what = f"'{name}' is damaged or was cut off: the bytes of '{brief(key)}' do not fill its shape"
    shape = checked_shape(fields["shape"], dtype.itemsize, what, WeightsError)
    first, last = offsets if isinstance(offsets, list) and len(offsets) == 2 else (offsets, None)
    begin, end = checked_range(first, last, size, what, WeightsError)
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise WeightsError(f"{what} {list(shape)}", found=f"{end - begin} bytes")
    return _Tensor(key, dtype, shape, begin, end)


def write_weights(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays to a file, atomically. Raises `OSError`, `DTypeError` for unsupported dtypes.

    Wide dtypes come first, so that all are aligned.
    """
    order = sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key))
    header: dict[str, object] = {}
    at = 0
    for key in order:
        array = arrays[key]
        if array.dtype.name not in _CODES:
            raise DTypeError(f"'{key}' cannot be stored", expected=", ".join(_CODES), found=array.dtype.name)
        header[key] = {
            "dtype": _CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    contents = (np.ascontiguousarray(arrays[key]).reshape(-1).view(np.uint8).data for key in order)
    write_atomically(path, [struct.pack("<Q", len(text)), text, *contents])
