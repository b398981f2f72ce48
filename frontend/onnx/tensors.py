"""Tensors in model files: data types, contents, and external data."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.dtypes import DTYPES, bit_width, dtype_of, numpy_dtype
from ...untrusted import FileError, MissingFileError, brief, checked_range, checked_shape, mapped_file
from ..importing.errors import ModelError

if TYPE_CHECKING:
    from onnx import TensorProto, TypeProto

Array = np.ndarray[Any, Any]

_RENAMED = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn"}
"""ONNX's data types with other names in `DTYPES`; its `FLOAT8E4M3FN` is `float8_e4m3fn`."""

_MOST_DIGITS = 20
_MOST_ITEM = 8
"""The maximal size of an element, in bytes."""


STRING_KIND = 8
"""The number of strings among ONNX's data types."""


def dtype_name(number: int, what: str) -> str:
    """Return the name of an ONNX data type.

    Raises `ModelError` for invalid numbers, and for types without a tensor representation: strings, complex
    numbers, 6-bit floats.
    """
    from onnx import TensorProto

    known = TensorProto.DataType.DESCRIPTOR.values_by_number
    if number not in known or number == TensorProto.UNDEFINED:
        raise ModelError(f"{what} has no data type that ONNX knows", found=number)
    text = known[number].name.lower()
    name = _RENAMED.get(text, re.sub(r"^float([48])e", r"float\1_e", text))
    if name not in DTYPES:
        raise ModelError(f"{what} is a tensor of {name}", expected=f"one of {', '.join(DTYPES)}")
    return name


def tensor_type(proto: TypeProto) -> TypeProto.Tensor | None:
    """Return a tensor type, or None for any other type: a sequence, an optional, a map."""
    return proto.tensor_type if proto.HasField("tensor_type") else None


def _is_packed(tensor: TensorProto) -> bool:
    """Return whether a byte contains several elements."""
    name = dtype_name(tensor.data_type, tensor.name)
    return name != "bool" and bit_width(dtype_of(name)) < 8


def _byte_count(tensor: TensorProto) -> int:
    """Return the size of a tensor's elements, in bytes."""
    bits = max(bit_width(dtype_of(dtype_name(tensor.data_type, tensor.name))), 4 if _is_packed(tensor) else 8)
    return -(-math.prod(tensor.dims) * bits // 8)


def _over(tensor: TensorProto, raw: memoryview) -> Array | None:
    """Return an array that shares the bytes of a tensor, or None if these are not its consecutive elements."""
    dtype = numpy_dtype(dtype_of(dtype_name(tensor.data_type, tensor.name)))
    if _is_packed(tensor) or len(raw) != _byte_count(tensor):
        return None
    return np.frombuffer(raw, np.uint8).view(dtype).reshape(tuple(tensor.dims))


class TensorReader:
    """Reads tensors of one model; external files are memory-mapped.

    `folder` is the model's folder: files outside of it are refused, and all of them if it is None.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._files: dict[str, memoryview] = {}

    def read(self, tensor: TensorProto, raw: memoryview | None = None) -> Array:
        """Return the contents of a tensor; `raw` is its `raw_data` if that was removed from the message.

        Raises `ModelError` if they are missing or do not match its shape.
        """
        from onnx import TensorProto, numpy_helper

        what = f"the tensor '{brief(tensor.name)}'"
        if tensor.data_type == STRING_KIND and tensor.data_location != TensorProto.EXTERNAL:
            return _texts(tensor, what)
        dtype_name(tensor.data_type, what)
        checked_shape(tuple(tensor.dims), _MOST_ITEM, what, ModelError)
        if tensor.data_location == TensorProto.EXTERNAL:
            raw = self._external(tensor, what)
        array = None if raw is None else _over(tensor, raw)
        if array is not None:
            return array
        if raw is not None:
            tensor = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=bytes(raw))
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            problem = f"the contents of {what} do not fill its shape {list(tensor.dims)}"
            raise ModelError(problem, notes=[brief(str(error))]) from error

    def _external(self, tensor: TensorProto, what: str) -> memoryview:
        """Return the bytes of a tensor in an external file."""
        fields = {entry.key: entry.value for entry in tensor.external_data}
        data = self._file(what, fields.get("location", ""))
        size = _byte_count(tensor)
        offset, length = (_number(fields, key, what) for key in ("offset", "length"))
        problem = f"the file of {what} does not hold it"
        begin, end = checked_range(offset or 0, (offset or 0) + size, len(data), problem, ModelError)
        if length not in (None, size):
            raise ModelError(f"{problem}: another size", expected=f"{size} bytes", found=length)
        return data[begin:end]

    def _file(self, what: str, location: str) -> memoryview:
        """Return a memory-mapped file of external data, cached. Raises `ModelError` if it is outside of the model's
        folder.
        """
        if self._folder is None:
            raise ModelError(
                f"{what} lies in the file '{brief(location)}', and where the model lies is not known",
                hint="give the path of the model, or load it with onnx.load",
            )
        if location not in self._files:
            try:
                self._files[location] = mapped_file(location, self._folder)
            except MissingFileError as error:
                hint = "keep the files of a model in one folder, and give the path of the model in place of its bytes"
                raise ModelError(f"the file of {what} is missing", expected=brief(location), hint=hint) from error
            except FileError as error:
                problem = f"{what} lies in no file of the model's folder, or outside of it: {error.strerror}"
                raise ModelError(problem, expected=error.expected, found=brief(location)) from error
        return self._files[location]


def _texts(tensor: TensorProto, what: str) -> Array:
    """Return the strings of a tensor. Raises `ModelError` if they are no UTF-8, or do not fill its shape."""
    checked_shape(tuple(tensor.dims), _MOST_ITEM, what, ModelError)
    try:
        return np.array([s.decode() for s in tensor.string_data], object).reshape(tuple(tensor.dims))
    except ValueError as error:
        problem = f"the contents of {what} are no texts that fill its shape {list(tensor.dims)}"
        raise ModelError(problem, notes=[brief(str(error))]) from error


def _number(fields: dict[str, str], key: str, what: str) -> int | None:
    """Return a byte count of the external data, or None if it is missing."""
    text = fields.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ModelError(f"the {key} of {what} is no number of bytes", found=brief(text))
    return int(text)
