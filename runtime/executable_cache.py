"""The cache of executables on disk: a program that was built before is available at once, also in other processes.

    32 bytes  the code (`cache.py`) over all up to the blobs
     8 bytes  size of the header (little endian)
    header    JSON: `Executable.to_json`; offset, size and checksum of each blob; which constants lie where
    blobs     the code and the constants, each at a multiple of 64

Constants are mapped instead of read, and those of the input program are not stored again: the key identifies them. Each
blob is compared with its checksum (`checksum.py`), because a file that a crash has cut off may have its full size.
"""

from __future__ import annotations

import hmac
import json
import mmap
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cache import DIGEST, Cache, cache_enabled, secret
from .checksum import checksum
from .executable import Cached, Executable, constant_bytes
from .ndarray import ALIGNMENT

_SIZE = 8
_LARGE = 1 << 24
_PART_OF_FREE = 4
"""A file may take at most this fraction (1 / n) of the free disk space."""

Mapped = tuple[dict[str, Any], list[np.ndarray]]
"""A header, and the blobs: read-only bytes of the mapped file."""


class ExecutableCache(Cache[Mapped]):
    """Executables by key."""

    name, suffix, limit = "executables", ".x", 4 * 2**30
    _writer: threading.Thread | None = None

    def get(self, key: str, constants: Mapping[int, np.ndarray]) -> Executable | None:
        """Return the executable stored under `key`, or None if it is absent or damaged, or the cache is off.

        `constants` are the bytes of the program's constants by their numbers for `put`; None, too, if one is missing.
        """
        mapped = self.load(key)
        if mapped is None:
            return None
        header, blobs = mapped
        places = tuple(at if own is None else None for own, at in header["contents"])
        if not constants.keys() >= {at for at in places if at is not None}:
            return None
        contents = [constants[at] if own is None else blobs[own] for own, at in header["contents"]]
        executable = Executable.from_json(header, blobs[0], contents)
        executable.cached = Cached(key, places)
        return executable

    def put(self, key: str, executable: Executable, constants: Sequence[np.ndarray]) -> None:
        """Store an executable without external functions and sites."""
        if not cache_enabled(self.name):
            return
        known = {(b.ctypes.data, b.nbytes): at for at, b in enumerate(constants) if b.nbytes}
        blobs: list[memoryview] = [memoryview(executable.code)]
        contents: list[tuple[int | None, int]] = []
        for constant in executable.constants:
            at = known.get((constant.ctypes.data, constant.nbytes))
            contents.append((len(blobs), 0) if at is None else (None, at))
            blobs += [constant_bytes(constant)] if at is None else []
        executable.cached = Cached(key, tuple(at if own is None else None for own, at in contents))
        self.put_blobs(key, executable.to_json() | {"contents": contents}, blobs)

    def put_blobs(self, key: str, header: dict[str, Any], blobs: Sequence[memoryview]) -> None:
        """Write a file; a large one on a thread, so that the caller need not wait for the disk."""
        size = sum(map(len, blobs))
        if size > self._room():
            return
        chunks = self._chunks(key, header, blobs)
        if size < _LARGE:
            self.store(key, size, chunks)
        else:
            self._writer = threading.Thread(target=self.store, args=(key, size, chunks), name="tirax-cache")
            self._writer.start()  # Python waits for it before it ends

    def finish(self) -> None:
        """Wait until the last file is written."""
        if self._writer is not None:
            self._writer.join()

    def _room(self) -> int:
        """Return the maximum size of a file in bytes."""
        try:
            there = next(p for p in (self.directory, *self.directory.parents) if p.exists())
            return shutil.disk_usage(there).free // _PART_OF_FREE
        except (OSError, RuntimeError):
            return 0

    def _chunks(self, key: str, header: dict[str, Any], blobs: Sequence[memoryview]) -> Iterator[bytes | memoryview]:
        rows: list[tuple[int, int, str]] = []
        end, own = 0, secret()
        for blob in blobs:
            rows.append((end, len(blob), checksum(blob, own).hex()))
            end = _aligned(end + len(blob))
        text = json.dumps(header | {"blobs": rows}, separators=(",", ":")).encode()
        text += b" " * (_aligned(DIGEST + _SIZE + len(text)) - DIGEST - _SIZE - len(text))
        size = len(text).to_bytes(_SIZE, "little")
        yield from (self.code(key, size + text), size, text)
        for blob in blobs:
            yield blob
            yield bytes(_aligned(len(blob)) - len(blob))

    def read(self, key: str, path: Path) -> Mapped | None:
        """Return the mapped file, or None if it is damaged. Raises `OSError`.

        A file is never truncated while it is in use: it is replaced or removed.
        """
        with open(path, "rb") as file:
            try:
                data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
            except ValueError:  # it is empty
                return None
        start = DIGEST + _SIZE + int.from_bytes(data[DIGEST : DIGEST + _SIZE].tobytes(), "little")
        head = data[DIGEST:start].tobytes()
        if not hmac.compare_digest(self.code(key, head), data[:DIGEST].tobytes()):
            return None
        header = json.loads(head[_SIZE:])
        blobs = [data[start + at : start + at + size] for at, size, _ in header["blobs"]]
        own = secret()
        sound = all(checksum(b, own).hex() == row[2] for b, row in zip(blobs, header["blobs"], strict=True))
        return (header, blobs) if sound else None


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
