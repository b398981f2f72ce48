"""Tensors of a model file: data types, contents, contents in files beside it."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.dtypes import DTYPES, bit_width, dtype_of, numpy_dtype
from ..importing.errors import ModelError

if TYPE_CHECKING:
    from onnx import TensorProto, TypeProto

Array = np.ndarray[Any, Any]

_RENAMED = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn"}
"""Names of data types in ONNX that are not those of `DTYPES`; its `FLOAT8E4M3FN` is `float8_e4m3fn`."""


def dtype_name(number: int, what: str) -> str:
    """The name of one of ONNX's data types. Raises `ModelError` for numbers that are none, and for those that
    tensors here cannot hold: strings, complex numbers, floats of 6 bits."""
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
    """The type of a tensor, None of what is none: a sequence, an optional, a map."""
    return proto.tensor_type if proto.HasField("tensor_type") else None


def _over(tensor: TensorProto, raw: memoryview) -> Array | None:
    """The array over the bytes of a tensor; None where these are not its elements one after the other."""
    name = dtype_name(tensor.data_type, tensor.name)
    dtype = numpy_dtype(dtype_of(name))
    packed = name != "bool" and bit_width(dtype_of(name)) < 8
    if packed or len(raw) != dtype.itemsize * math.prod(tensor.dims):
        return None
    return np.frombuffer(raw, np.uint8).view(dtype).reshape(tuple(tensor.dims))


class TensorReader:
    """Reads tensors of one model; those that lie in other files are mapped into memory.

    `folder` is where the model lies: files elsewhere are refused, and all of them where it is None.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder

    def read(self, tensor: TensorProto, raw: memoryview | None = None) -> Array:
        """The contents of a tensor, of which `raw` is `raw_data` where that was cut out.

        Raises `ModelError` where they are not there or do not fill its shape.
        """
        from onnx import TensorProto, numpy_helper

        dtype_name(tensor.data_type, f"the tensor '{tensor.name}'")
        if tensor.data_location == TensorProto.EXTERNAL:
            return self._mapped(tensor)
        if any(d < 0 for d in tensor.dims):
            raise ModelError(f"the tensor '{tensor.name}' has a negative extent", found=list(tensor.dims))
        if raw is not None:
            array = _over(tensor, raw)
            if array is not None:
                return array
            tensor.raw_data = bytes(raw)
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise ModelError(
                f"the contents of the tensor '{tensor.name}' do not fill its shape {list(tensor.dims)}",
                notes=[str(error)],
            ) from error

    def _mapped(self, tensor: TensorProto) -> Array:
        from onnx import helper

        fields = {entry.key: entry.value for entry in tensor.external_data}
        path = self._path(tensor.name, fields.get("location", ""))
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        shape = tuple(tensor.dims)
        try:
            offset, length = int(fields.get("offset", 0)), int(fields.get("length", -1))
        except ValueError as error:
            raise ModelError(f"the place of the tensor '{tensor.name}' is no number", found=dict(fields)) from error
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        there = path.stat().st_size
        if offset < 0 or offset + size > there or length not in (-1, size):
            raise ModelError(
                f"the file of the tensor '{tensor.name}' does not hold it",
                expected=f"{size} bytes at {offset}",
                found=f"{there} bytes in all, {length} of them said to be the tensor's",
            )
        if not size:
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", offset, shape)

    def _path(self, name: str, location: str) -> Path:
        """The file of external contents. Raises `ModelError` where it is not in the model's folder, or not there."""
        if self._folder is None:
            raise ModelError(
                f"the tensor '{name}' lies in the file '{location}', and where the model lies is not known",
                hint="give the path of the model, or load it with onnx.load",
            )
        folder = Path(os.path.realpath(self._folder))
        path = Path(os.path.realpath(folder / location))
        if not location or not path.is_relative_to(folder) or path == folder:
            raise ModelError(f"the tensor '{name}' lies outside of the model's folder", found=location)
        if not path.is_file():
            raise ModelError(f"the file of the tensor '{name}' is missing", expected=str(path))
        return path
