"""Read numpy's files: one array in an `.npy` file, several in an `.npz` archive."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from ..diagnostics import TiraxError
from .files import FileError, Path, open_file
from .shapes import checked_shape
from .texts import brief

_DAMAGES = (
    ValueError, EOFError, OverflowError, RuntimeError, SyntaxError, TypeError, LookupError, MemoryError, struct.error,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Exceptions that Python's and numpy's readers raise for damaged archives and headers."""
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_PORTION = 1 << 20


Array = np.ndarray[Any, Any]


def read_arrays(path: Path, error: type[TiraxError], hint: str | None = None) -> Array | dict[str, Array]:
    """Return the array of an `.npy` file, or the arrays of an `.npz` file by name. Nothing is unpickled.

    Raises `FileError`; raises `error`, with `hint`, for damaged files and Python objects.
    """
    name = brief(os.fspath(path))
    try:
        opened = open_file(path)
    except FileError as problem:
        problem.hint = hint
        raise
    with opened as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.peek(2)[:2] != b"PK":
                return _read_array(file, size)
            with zipfile.ZipFile(file) as archive:
                return {info.filename.removesuffix(".npy"): _read_member(archive, info) for info in _members(archive)}
        except OSError as problem:
            raise error(f"cannot read '{name}': {problem.strerror}", hint=hint) from problem
        except _DAMAGES as problem:
            reason = problem.message if isinstance(problem, TiraxError) else brief(str(problem) or "it is damaged")
            raise error(f"cannot read '{name}': {reason}", expected="arrays of numpy's", hint=hint) from problem


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if len({info.filename for info in members}) < len(members):
        raise ValueError("names come twice")
    return members


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("numpy compresses in another way")
    with archive.open(info) as file:
        return _read_array(file, info.file_size)


def _read_array(file: IO[bytes], size: int) -> Array:
    """Read an array from a file of `size` bytes; its header is validated before memory is allocated."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"the version {version} of the format is unknown")
    extents, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject or dtype.subdtype is not None:
        raise ValueError(f"elements are {'objects of Python' if dtype.hasobject else 'arrays'}")
    shape = checked_shape(extents, dtype.itemsize, "an array", TiraxError)
    count = math.prod(shape)
    if count and not dtype.itemsize:
        raise ValueError("elements have no bytes")
    if count * dtype.itemsize > size:
        raise ValueError(f"{count * dtype.itemsize} bytes of elements in a file of {size}")
    values = np.empty(count, dtype)
    if count:
        _fill(file, values.view(np.uint8).data)
    return values.reshape(shape, order="F" if is_fortran else "C")


def _fill(file: IO[bytes], memory: memoryview) -> None:
    at = 0
    while at < len(memory):
        portion = file.read(min(_PORTION, len(memory) - at))
        if not portion:
            raise EOFError("it is cut off")
        memory[at : at + len(portion)] = portion
        at += len(portion)
