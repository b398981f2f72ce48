"""The file format of executables: JSON metadata and aligned blobs, with a checksum. No pickle; reading runs no code.

offset  0  magic (8 bytes)
        8  format version (u32), size of the header (u32), size of the file (u64), 8 zero bytes; little-endian
       32  SHA-256 of bytes 0 … 31 and 64 … end
       64  header: JSON, utf-8; then the blobs, each at a multiple of 64
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..untrusted import open_file, read_json
from .errors import DamagedFileError, ForeignFileError, IncompatibleFileError, NewerFileError
from .ndarray import ALIGNMENT, empty

MAGIC = b"\x89TIRAX\r\n"
FORMAT_VERSION = 1
_PREFIX = struct.Struct("<8sIIQ8x")
_HEADER_AT = 64
_REBUILD = "build and save it again"


def write_atomically(
    path: str | os.PathLike[str], chunks: Iterable[bytes | memoryview], *, durable: bool = True, mode: int = 0o666
) -> None:
    """Write `chunks` to `path` so that readers see the old file or the complete new one, with `durable` also after a
    system crash.

    A pipe or a device, such as /dev/null, is written to and not replaced. Raises `OSError`.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        with open_output(target) as file:
            file.writelines(chunks)
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    try:
        with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode), "wb") as file:
            file.writelines(chunks)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def open_output(path: str | os.PathLike[str]) -> BinaryIO:
    """Return a file opened for writing in place, created if necessary. Raises `OSError`, also for a pipe that
    nobody reads.
    """
    flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o666)
    os.set_blocking(descriptor, True)
    return open(descriptor, "wb")


def write_container(path: str | os.PathLike[str], header: dict[str, Any], blobs: Sequence[bytes | memoryview]) -> None:
    """Write `header` and `blobs`; the header gets a field `blobs` of their offsets and sizes. Raises `OSError`.

    Offsets count from the end of the header (rounded up to 64), so that they do not depend on its size.
    """
    offsets: list[tuple[int, int]] = []
    end = 0
    for blob in blobs:
        offsets.append((end, len(blob)))
        end = _round_up(end + len(blob))
    text = json.dumps(header | {"blobs": offsets}, separators=(",", ":"), allow_nan=False).encode()
    start = _round_up(_HEADER_AT + len(text))
    prefix = _PREFIX.pack(MAGIC, FORMAT_VERSION, len(text), start + end)
    body = [text, bytes(start - _HEADER_AT - len(text))]
    for blob in blobs:
        body += [blob, bytes(_round_up(len(blob)) - len(blob))]
    digest = hashlib.sha256(prefix)
    for chunk in body:
        digest.update(chunk)
    write_atomically(path, [prefix, digest.digest(), *body])


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the header and the blobs (read-only uint8 arrays, aligned to 64) of a file written by `write_container`.

    Raises `OSError`, `ForeignFileError`, `NewerFileError`, `IncompatibleFileError` (older format), `DamagedFileError`.
    """
    data = _read(path)
    name = os.fspath(path)
    header_size = _check_prefix(name, data, len(data))
    digest = hashlib.sha256(data.data[:32])
    digest.update(data.data[_HEADER_AT:])
    if digest.digest() != data[32:_HEADER_AT].tobytes():
        raise DamagedFileError(f"{name} is damaged: its checksum does not match", hint=_REBUILD)
    start = _round_up(_HEADER_AT + header_size)
    text = data[_HEADER_AT : _HEADER_AT + header_size].tobytes()
    header = read_json(text, f"{name} is damaged: its header", DamagedFileError)
    try:
        return header, [_blob(data, start + offset, size) for offset, size in header["blobs"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{name} is damaged: its header is malformed", hint=_REBUILD) from error


def _read(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the file read into memory: a mapped one would crash the process if somebody truncated it later."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            _check_prefix(os.fspath(path), np.frombuffer(file.read(_HEADER_AT), np.uint8), size)
            file.seek(0)
            data = empty(size, "uint8")
            size = file.readinto(data.data)
        except (MemoryError, OSError) as error:
            raise DamagedFileError(f"{path} cannot be read into memory: {error}", found=f"{size} bytes") from error
    data.flags.writeable = False
    return np.asarray(data[:size])


def _check_prefix(name: str, data: np.ndarray, there: int) -> int:
    """Return the size of the header of a file of `there` bytes that begins with `data`."""
    start = data[: len(MAGIC)].tobytes()
    if start != MAGIC[: len(start)] or not start:
        raise ForeignFileError(f"{name} is not an executable of tirax", expected=MAGIC, found=start)
    if len(data) < _HEADER_AT:
        raise DamagedFileError(f"{name} is truncated", expected=f"at least {_HEADER_AT} bytes", found=len(data))
    _, version, header_size, size = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if version > FORMAT_VERSION:
        hint = "use the tirax that wrote it, or a newer one"
        raise NewerFileError(f"{name} has a newer format", expected=FORMAT_VERSION, found=version, hint=hint)
    if version < FORMAT_VERSION:
        raise IncompatibleFileError(f"{name} has an old format", expected=FORMAT_VERSION, found=version, hint=_REBUILD)
    if size != there:
        what = "truncated" if there < size else "damaged: it is too long"
        raise DamagedFileError(f"{name} is {what}", expected=f"{size} bytes", found=there, hint=_REBUILD)
    return header_size


def _blob(data: np.ndarray, start: int, size: int) -> np.ndarray:
    if not 0 <= start <= start + size <= len(data):
        raise ValueError("blob out of bounds")
    return data[start : start + size]


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
