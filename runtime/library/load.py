"""Call libraries that `Executable.export_library` wrote from Python."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...untrusted import checked_path, read_json
from ..abi import ABI_VERSION
from ..arguments import bind_keywords, normalize_arguments
from ..dtypes import to_dtype
from ..errors import LibraryError, TiraxError
from ..metadata import FunctionInfo, PrimInfo, ShapeInfo, TupleInfo
from ..module import Functions
from ..ndarray import NDArray, empty
from .functions import dlpack_type
from .signature import Leaf, Signature, signature_of
from .source import INFO


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CPU = 1
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Library(Functions):
    """The functions of a library by name: `load_library("model.so")["main"](x)`.

    Each has the same arguments and results as that of the executable; run-time errors are a `LibraryError` with the
    library's own message.
    """

    def __init__(self, path: str | os.PathLike[str]):
        """Raises `LibraryError` for a file that is not such a library, or of another version of tirax."""
        try:
            library = ctypes.CDLL(_name_of(path))
            text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, INFO)))
            description: Any = read_json(text, "what it says of itself", LibraryError)
            functions = [FunctionInfo.from_json(row) for row in description["functions"]]
            name, abi = str(description["name"]), description["abi"]
            why = library[f"{name}_error"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, TiraxError) as error:
            raise LibraryError(f"'{path}' is not a tirax library", notes=[str(error)]) from error
        if abi != ABI_VERSION:
            raise LibraryError(f"'{path}' is of another version of tirax", expected=ABI_VERSION, found=abi)
        why.restype = ctypes.c_char_p
        callables = {info.name: _callable(library[info.symbol], signature_of(info), why, library) for info in functions}
        super().__init__({info.name: info for info in functions}, callables)


_loaded: dict[str, list[tuple[int, int, int]]] = {}
"""The files loaded from each path, in order."""


def _name_of(path: str | os.PathLike[str]) -> str:
    """Return the name to pass to the system's loader, which does not reopen a file under a name that it already knows.

    `/a/model.so`, and `/a/./model.so` for a file that replaced it. Raises `OSError`, `TiraxError`.
    """
    real = os.path.realpath(checked_path(path))
    status = os.stat(real)
    files, file = _loaded.setdefault(real, []), (status.st_dev, status.st_ino, status.st_mtime_ns)
    if file not in files:
        files.append(file)
    folder, name = os.path.split(real)
    return os.path.join(folder, "./" * files.index(file) + name)


def load_library(path: str | os.PathLike[str]) -> Library:
    """Load a shared library written by `Executable.export_library`. It is machine code: load only files that you trust.

    Raises `LibraryError`.
    """
    return Library(path)


def _callable(function: Any, signature: Signature, why: Any, library: object) -> Callable[..., Any]:
    info = signature.info

    def call(*args: Any, **kwargs: Any) -> Any:
        values = normalize_arguments(info, *bind_keywords(info, args, kwargs))
        taken = [_c_argument(leaf, _at(values, leaf.path)) for leaf in signature.params]
        places = [_place(leaf) for leaf in signature.results]
        if function(*taken, *map(ctypes.byref, places)):
            text = why()
            raise LibraryError("unknown" if text is None else text.decode(errors="replace"))
        results = {leaf.path: _result(leaf, p) for leaf, p in zip(signature.results, places, strict=True)}
        return _nested(results, (), info.result) if results else None

    call.__name__ = call.__qualname__ = info.name
    call.__doc__ = str(info)
    call.library = library  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _at(values: Any, path: tuple[int, ...]) -> Any:
    for i in path:
        values = values[i]
    return values


def _c_argument(leaf: Leaf, value: Any) -> Any:
    if isinstance(leaf.info, PrimInfo):
        return _number(leaf.info.dtype)(value)
    if isinstance(leaf.info, ShapeInfo):
        return (ctypes.c_int64 * max(leaf.info.ndim, 1))(*value)
    return ctypes.byref(_tensor(value))


def _number(dtype: str) -> Any:
    if dtype == "bool":
        return ctypes.c_bool
    return ctypes.c_double if "float" in dtype else ctypes.c_uint64 if dtype == "uint64" else ctypes.c_int64


def _tensor(array: np.ndarray) -> _Tensor:
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    dtype = _DataType(*dlpack_type(array.dtype.name), 1)
    return _Tensor(array.ctypes.data, _Device(_CPU, 0), array.ndim, dtype, shape, None, 0)


def _place(leaf: Leaf) -> Any:
    """Return the memory for a result of the library."""
    if isinstance(leaf.info, PrimInfo):
        return _number(leaf.info.dtype)()
    if isinstance(leaf.info, ShapeInfo):
        return (ctypes.c_int64 * max(leaf.info.ndim, 1))()
    return ctypes.POINTER(_Managed)()


def _result(leaf: Leaf, place: Any) -> Any:
    if isinstance(leaf.info, PrimInfo):
        return place.value
    if isinstance(leaf.info, ShapeInfo):
        return tuple(place[: leaf.info.ndim])
    return _array(place, to_dtype(str(leaf.info.dtype)))


def _array(place: Any, dtype: np.dtype[Any]) -> NDArray:
    """Return a tensor of the library as an array, which frees it."""
    tensor = place.contents.tensor
    shape = tuple(tensor.shape[: tensor.ndim])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    deleter, address = _Deleter(place.contents.deleter), ctypes.addressof(place.contents)
    if size == 0:
        deleter(address)
        return empty(shape, dtype)
    memory: Any = (ctypes.c_uint8 * size).from_address(tensor.data)
    weakref.finalize(memory, deleter, address)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape).view(NDArray)


def _nested(results: Mapping[tuple[int, ...], Any], path: tuple[int, ...], info: Any) -> Any:
    if isinstance(info, TupleInfo):
        return tuple(_nested(results, (*path, i), each) for i, each in enumerate(info.fields))
    return results[path]
