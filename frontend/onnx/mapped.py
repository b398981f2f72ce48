"""Read model files without loading the weights, which remain in the memory-mapped file.

A model is a protobuf message, a series of fields with tag, length and contents. Protobuf's reader copies
the contents, including gigabytes of weights, and returns another copy. Therefore the `raw_data` fields of
initializers are removed from the message before it is parsed, and the arrays are views of the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...untrusted import mapped_file
from ..importing.errors import ModelError

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""The field numbers of `ModelProto.graph`, `GraphProto.initializer` and `TensorProto.raw_data`."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_SMALL = 4096
"""Smaller contents remain in the message (bytes)."""
_MOST_BYTES = (1 << 31) - 1
"""The maximal size of a message that protobuf reads, in bytes."""
_MOST_FIELDS = 256
"""The maximal number of fields searched in a tensor; one that lists its elements individually has no `raw_data`."""

Contents = dict[int, memoryview]
"""The removed contents, by the position of the initializer."""


class _Field(NamedTuple):
    number: int
    kind: int
    begin: int
    """The offsets of the tag, of the contents, and of their end."""
    at: int
    end: int


class _NoMessage(Exception):
    """The bytes use encodings that ONNX does not use; protobuf's reader decides."""


def read_message(path: Path) -> tuple[bytes, Contents]:
    """Return the message of a file, and the contents removed from it.

    Raises `FileError`, an `OSError`, and `ModelError` for an invalid message.
    """
    data = mapped_file(path)
    if len(data) < _SMALL or sys.byteorder != "little":
        return bytes(data), {}
    try:
        return without_weights(data)
    except _NoMessage as error:
        if len(data) > _MOST_BYTES:
            raise _damaged_file_error() from error
        return bytes(data), {}


def _damaged_file_error() -> ModelError:
    return ModelError("the file is not an ONNX model, or is corrupted", expected="a message of protobuf")


def without_weights(data: memoryview) -> tuple[bytes, Contents]:
    """Return a model's message without the contents of large initializers, and these contents.

    A message whose graph is split into several fields is left unchanged. Raises `ModelError`.
    """
    fields = list(_fields(data, 0, len(data)))
    graphs = [field for field in fields if field.number == _GRAPH]
    if len(graphs) != 1 or graphs[0].kind != _BYTES:
        raise _NoMessage
    contents: Contents = {}
    parts = [[_text(data, f)] if f is not graphs[0] else _message(_GRAPH, _graph(data, f, contents)) for f in fields]
    return b"".join(part for each in parts for part in each), contents


def _graph(data: memoryview, graph: _Field, contents: Contents) -> list[bytes]:
    parts: list[bytes] = []
    count = 0
    for field in _fields(data, graph.at, graph.end):
        if field.number != _INITIALIZER or field.kind != _BYTES:
            parts.append(_text(data, field))
            continue
        raw = _raw_data(data, field) if field.end - field.at > _SMALL else None
        if raw is None:
            parts.append(_text(data, field))
        else:
            parts += _message(_INITIALIZER, [bytes(data[field.at : raw.begin]), bytes(data[raw.end : field.end])])
            contents[count] = data[raw.at : raw.end]
        count += 1
    return parts


def _raw_data(data: memoryview, tensor: _Field) -> _Field | None:
    """Return the only `raw_data` field of a tensor if it is large."""
    chosen = None
    for i, field in enumerate(_fields(data, tensor.at, tensor.end)):
        if i > _MOST_FIELDS or (field.number == _RAW_DATA and chosen is not None):
            return None
        if field.number == _RAW_DATA and field.kind == _BYTES:
            chosen = field
    return chosen if chosen is not None and chosen.end - chosen.at > _SMALL else None


def _fields(data: memoryview, at: int, end: int) -> Iterator[_Field]:
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if tag >> 3 == 0:
            raise _damaged_file_error()
        if kind == _VARINT:
            _, stop = _varint(data, at, end)
        elif kind == _BYTES:
            size, at = _varint(data, at, end)
            stop = at + size
        elif kind in _FIXED:
            stop = at + _FIXED[kind]
        else:
            raise _NoMessage
        if stop > end:
            raise _damaged_file_error()
        yield _Field(tag >> 3, kind, begin, at, stop)
        at = stop


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Decode a varint (seven bits a byte, lowest first), and return the number and the offset of its end."""
    value = 0
    for i in range(min(10, end - at)):
        byte = data[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, at + i + 1
    raise _damaged_file_error()


def _text(data: memoryview, field: _Field) -> bytes:
    return bytes(data[field.begin : field.end])


def _message(number: int, parts: Sequence[bytes]) -> list[bytes]:
    """Encode a field that contains a message."""
    return [_encode_varint(number << 3 | _BYTES), _encode_varint(sum(map(len, parts))), *parts]


def _encode_varint(value: int) -> bytes:
    digits: list[int] = []
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
