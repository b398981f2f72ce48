"""Weights in files of the safetensors format (its README, section "Format"), mapped into memory.

A file is 8 bytes with the length of a header (little endian), the header, which is a JSON object of name -> dtype,
shape and byte range, and the bytes of all tensors. The package of that name copies what it reads; here arrays are views
on the mapped file, so that weights of many gigabytes cost no memory until somebody reads them.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..diagnostics import DTypeError, TiraxError
from .container import write_atomically
from .dtypes import to_dtype

_MOST_HEADER = 100_000_000
"""Bytes; what the format allows."""

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
_CODES = {name: code for code, name in _NAMES.items()}


class WeightsError(TiraxError, ValueError):
    """A file of weights that is damaged, or has a tensor that cannot be read."""


def read_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors in a file, as read-only arrays that share the mapped file.

    The file must not be changed as long as one of them is in use: a process that reads what was cut off is ended by
    the system. Raises `OSError`, and `WeightsError` for what is no such file.
    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < 8:
            raise WeightsError(f"'{name}' is no file of weights", expected="safetensors")
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    header, start = _header(name, data)
    header.pop("__metadata__", None)
    ends = [0]
    arrays = {key: _array(name, key, row, data[start:], ends) for key, row in header.items()}
    if sum(array.nbytes for array in arrays.values()) != max(ends):
        raise WeightsError(f"'{name}' is damaged: tensors overlap, or bytes between them belong to none")
    return arrays


def _header(name: str, data: memoryview) -> tuple[dict[str, object], int]:
    (size,) = struct.unpack("<Q", data[:8])
    if size > min(len(data) - 8, _MOST_HEADER):
        raise WeightsError(f"'{name}' is no file of weights, or was cut off", expected="safetensors")
    try:
        header = json.loads(bytes(data[8 : 8 + size]))
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"'{name}' is damaged: its header is not JSON") from error
    if not isinstance(header, dict):
        raise WeightsError(f"'{name}' is damaged: its header is no JSON object")
    return cast("dict[str, object]", header), 8 + size


def _array(name: str, key: str, row: object, data: memoryview, ends: list[int]) -> np.ndarray[Any, Any]:
    try:
        fields = cast("Mapping[str, Any]", row)
        code, shape, (begin, end) = fields["dtype"], tuple(fields["shape"]), fields["data_offsets"]
        sound = all(type(n) is int and n >= 0 for n in (*shape, begin, end)) and begin <= end <= len(data)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"'{name}' is damaged: '{key}' must have dtype, shape and data_offsets") from error
    if code not in _NAMES:
        raise WeightsError(f"'{key}' of '{name}' has an unknown dtype", expected=", ".join(_NAMES), found=code)
    dtype = to_dtype(_NAMES[code])
    if not sound or math.prod(shape) * dtype.itemsize != end - begin:
        raise WeightsError(f"'{name}' is damaged or was cut off: the bytes of '{key}' do not fill {list(shape)}")
    ends.append(end)
    return np.frombuffer(data[begin:end], np.uint8).view(dtype).reshape(shape)


def write_weights(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays to a file, which appears whole or not at all. Raises `OSError`, `DTypeError` for other dtypes.

    Dtypes of many bytes come first, so that all are aligned.
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
