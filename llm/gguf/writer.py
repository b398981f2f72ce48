"""Write GGUF, version 3."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...diagnostics import unknown_name
from ...runtime.container import write_atomically
from .cursor import ARRAY, BOOL, NAMES, SCALARS, STRING, Value
from .errors import GgufError
from .formats import FORMATS, TensorFormat
from .reader import ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC, MOST_DIMS, GgufTensor
from .texts import Texts

_PLAIN = {row.dtype: row for row in FORMATS.values() if row.dtype is not None}
_UINT32, _INT32, _FLOAT32, _UINT64, _INT64 = 4, 5, 6, 10, 11

Tensors = Mapping[str, "np.ndarray[Any, Any] | GgufTensor"]


def write_gguf(path: str | os.PathLike[str], metadata: Mapping[str, Value], tensors: Tensors) -> None:
    """Write a file atomically.

    A metadata value is a bool, a text, an int (unsigned 32 bits if it fits, else 64), a float (32 bits), a
    numpy scalar for any other type, a sequence of texts, or a one-dimensional numpy array. A tensor is an array
    of a plain dtype, or a `GgufTensor`, whose `data` are blocks. Raises `OSError`, and `GgufError`
    (`NameLookupError` for an unknown format name) for values that cannot be represented.
    """
    if ALIGNMENT_KEY in metadata:
        raise GgufError(f"{ALIGNMENT_KEY} is the writer's own", expected=f"the default, {DEFAULT_ALIGNMENT}")
    stored = {name: _stored(name, tensor) for name, tensor in tensors.items()}
    head = bytearray(MAGIC + struct.pack("<IQQ", 3, len(stored), len(metadata)))
    for key, value in metadata.items():
        head += _text(key) + _value(key, value)
    at = 0
    for name, (shape, row, data) in stored.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], row.code, at)
        at += data.nbytes + _padding(data.nbytes)
    chunks: list[bytes | memoryview] = [bytes(head) + bytes(_padding(len(head)))]
    for _, _, data in stored.values():
        chunks += [data.data, bytes(_padding(data.nbytes))]
    write_atomically(path, chunks)


def _padding(size: int) -> int:
    return -size % DEFAULT_ALIGNMENT


def _stored(name: str, tensor: Any) -> tuple[tuple[int, ...], TensorFormat, np.ndarray[Any, Any]]:
    """Return the shape, the format, and the bytes of the rows."""
    if isinstance(tensor, GgufTensor):
        if tensor.format not in FORMATS:
            raise unknown_name("format of tensors", tensor.format, FORMATS)
        shape, row, data = tensor.shape, FORMATS[tensor.format], tensor.data
    else:
        shape, row, data = tensor.shape, _PLAIN.get(tensor.dtype), tensor
    if row is None:
        expected = ", ".join(str(dtype) for dtype in _PLAIN)
        raise GgufError(f"tensor '{name}' has a dtype without a form", expected=expected, found=data.dtype)
    if len(shape) > MOST_DIMS:
        raise GgufError(f"tensor '{name}' has too many dimensions", expected=f"up to {MOST_DIMS}", found=list(shape))
    data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    full_blocks = (shape[-1] if shape else 1) % row.elements == 0
    if not full_blocks or data.nbytes != int(np.prod(shape, dtype=np.int64)) // row.elements * row.size:
        raise GgufError(
            f"tensor '{name}' does not fill its shape",
            expected=f"{list(shape)} of {row.name}",
            found=f"{data.nbytes} bytes",
        )
    return shape, row, data


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(key: str, value: Value) -> bytes:
    """Return the type and the bytes of a value."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise GgufError(f"'{key}' has more than one dimension, or none", expected=1, found=value.ndim)
        code = _code(key, value.dtype)
        return struct.pack("<IIQ", ARRAY, code, value.size) + value.astype(value.dtype.newbyteorder("<")).tobytes()
    if isinstance(value, list | tuple | Texts):
        return _texts(key, value)
    if isinstance(value, np.generic):
        return struct.pack("<I", _code(key, value.dtype)) + SCALARS[_code(key, value.dtype)].pack(value.item())
    return _number(key, value)


def _texts(key: str, value: Any) -> bytes:
    if not all(isinstance(text, str) for text in value):
        raise GgufError(f"'{key}' has a sequence of what are no texts", hint="numbers are an array of numpy")
    return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_text, value))


def _number(key: str, value: Value) -> bytes:
    if isinstance(value, bool):
        code = BOOL
    elif isinstance(value, float):
        code = _FLOAT32
    elif isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        code = next(c for c, low, end in _INTEGERS if low <= value < end)
    else:
        raise GgufError(f"'{key}' has a value without a form", found=repr(value)[:80])
    return struct.pack("<I", code) + SCALARS[code].pack(value)


_INTEGERS = ((_UINT32, 0, 1 << 32), (_INT32, -(1 << 31), 0), (_UINT64, 0, 1 << 64), (_INT64, -(1 << 63), 0))
"""Type codes and value ranges of integers, smallest first."""


def _code(key: str, dtype: np.dtype[Any]) -> int:
    name = dtype.newbyteorder("=").name
    if name not in NAMES:
        raise GgufError(f"'{key}' has a dtype without a form", expected=", ".join(NAMES), found=name)
    return NAMES.index(name)
