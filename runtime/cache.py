"""Caches on disk: compiled code is loaded the next time, also by other processes.

A file consists of a code over its key and its content (HMAC-SHA-256), and the content. Native code is loaded from here,
so the directory must belong to the user alone; one that others can write to is not used. The secret of the code is the
user's, `$XDG_CONFIG_HOME/tirax/cache.key`: an object stored by somebody else, or under another key, counts as absent.
Objects are cached here, whole executables in `executable_cache.py`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import pwd
import secrets
import stat
import time
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from .container import write_atomically

DEFAULT_LIMIT = 256 * 2**20
DIGEST = 32
"""Size of an authentication code in bytes."""

_UNFINISHED = 86400
"""Seconds after which a temporary file counts as abandoned."""
_SKEW = 86400
"""Seconds by which the clocks of machines that share a folder may differ."""

T = TypeVar("T")


def cache_key(*parts: str | bytes) -> str:
    """Return a key over texts that together determine an object (IR, target, versions); distinct lists of parts
    have distinct keys.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def default_directory(name: str = "objects") -> Path:
    """Return `$XDG_CACHE_HOME/tirax/objects`, by default below `~/.cache`. Raises `RuntimeError` if there is no
    home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else _home() / ".cache") / "tirax" / name


def secret_file() -> Path:
    """Return `$XDG_CONFIG_HOME/tirax/cache.key`, by default below `~/.config`. Raises `RuntimeError` without a home."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else _home() / ".config") / "tirax" / "cache.key"


def _home() -> Path:
    """Return the user's home. An empty or relative path, which depends on the current folder, does not count.

    Raises `RuntimeError` if there is none.
    """
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        with contextlib.suppress(KeyError):  # the system does not know the user, as in a container
            home = pwd.getpwuid(os.getuid()).pw_dir
    if not os.path.isabs(home):
        raise RuntimeError("there is no home directory")
    return Path(home)


def secret() -> bytes:
    """Return the user's secret, created on first use. One that others can read is replaced. Raises `OSError`."""
    return _secret(secret_file())


@cache
def _secret(path: Path) -> bytes:
    known = _read_secret(path)
    if known is None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (path.is_file() or path.is_dir()):
            path.unlink(missing_ok=True)  # a pipe or a device
        write_atomically(path, [secrets.token_bytes(DIGEST)], mode=0o600)
        known = _read_secret(path)  # where another process did so meanwhile, its own: one of them compiles again
    if known is None:
        raise OSError(errno.EINVAL, "no secret can be kept in this file", os.fspath(path))
    return known


def _read_secret(path: Path) -> bytes | None:
    """Return the content of a file that is certainly a secret: a regular file private to the user, of the right
    size. Never blocks.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or not _is_of_user(status, stat.S_IRWXG | stat.S_IRWXO):
            return None
        content = os.read(number, DIGEST + 1)
    except OSError:
        return None
    finally:
        os.close(number)
    return content if len(content) == DIGEST else None


def cache_enabled(name: str = "objects") -> bool:
    """Return False if the environment sets `TIRAX_CACHE=0`, or names only other caches: `TIRAX_CACHE=objects`."""
    value = os.environ.get("TIRAX_CACHE", "1").lower()
    return value not in ("0", "off", "false", "no") and (value != "objects" or name == "objects")


class Cache(Generic[T]):
    """Files by key. It never fails: unreadable files count as absent, and failed writes emit a warning."""

    name = ""
    """The name of its directory."""
    suffix = ""
    limit = 0

    def __init__(self, directory: str | os.PathLike[str] | None = None, limit: int | None = None):
        """`limit` is the size in bytes above which the least recently used files are removed."""
        self._directory = None if directory is None else Path(directory)
        self.limit = self.limit if limit is None else limit
        self._warned = False
        self._unchecked = 0

    @property
    def directory(self) -> Path:
        """The directory of the files."""
        return self._directory or default_directory(self.name)

    def load(self, key: str) -> T | None:
        """Return what is stored under `key`, or None if it is absent or damaged, or the cache is off."""
        if not cache_enabled(self.name):
            return None
        try:
            path = self._path(key)
            if not _is_private(path.parent):
                return None
            content = self.read(key, path)
            if content is None:
                path.unlink()
                return None
            with contextlib.suppress(OSError):  # a file system that is not written to
                os.utime(path)
        except (OSError, RuntimeError):  # RuntimeError: there is no home directory
            return None  # absent or unreadable: both mean that it has to be compiled
        return content

    def store(self, key: str, size: int, chunks: Iterable[bytes | memoryview]) -> None:
        """Write a file of `size` bytes, unless it is larger than a quarter of the limit."""
        if not cache_enabled(self.name) or size > self.limit // 4:
            return
        try:
            path = self._path(key)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(path.parent):
                self._warn(f"{path.parent} is not used: others can write to it, or it is not yours")
                return
            write_atomically(path, chunks, durable=False)  # the code of a truncated file does not match
            self._evict(size)
        except (OSError, RuntimeError) as error:
            self._warn(str(error))

    def read(self, key: str, path: Path) -> T | None:
        """Return the content of a file, or None if it is damaged. Raises `OSError`."""
        raise NotImplementedError

    @staticmethod
    def code(key: str, content: bytes) -> bytes:
        """Return the code that proves that the user wrote `content` for `key`."""
        return hmac.digest(secret(), key.encode() + b"\0" + content, "sha256")

    def clear(self) -> None:
        """Remove every file."""
        self._remove_down_to(0)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{self.suffix}"

    def _evict(self, size: int) -> None:
        """Shrink the cache to three quarters of its limit if it is exceeded, but not at every `put`.

        The directory, which may hold thousands of files, is only scanned after a fraction of the space left at the last
        scan has been filled; other processes may have filled as much each.
        """
        self._unchecked -= size
        if self._unchecked > 0:
            return
        self._remove_unfinished()
        total = sum(size for _, size, _ in self._entries())
        if total > self.limit:
            self._remove_down_to(self.limit * 3 // 4)
        self._unchecked = max(self.limit - total, 0) // 8

    def _remove_down_to(self, limit: int) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= limit:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _remove_unfinished(self) -> None:
        """Remove temporary files left more than a day ago by processes that were killed."""
        for path in self.directory.glob(f".*{self.suffix}.*"):
            with contextlib.suppress(OSError):
                if time.time() - path.lstat().st_mtime > _UNFINISHED:
                    path.unlink()

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Return time of last use, size and path of every file; other processes may remove some meanwhile.

        A time in the future comes from a wrong clock and counts as long ago.
        """
        entries: list[tuple[float, int, Path]] = []
        latest = time.time() + _SKEW
        for path in self.directory.glob(f"*{self.suffix}"):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            used = status.st_mtime if status.st_mtime < latest else 0.0
            entries.append((used, status.st_size, path))
        return entries

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"the cache of {self.name} cannot be written: {reason}", RuntimeWarning, stacklevel=3)


class ObjectCache(Cache[bytes]):
    """Objects by key."""

    name, suffix, limit = "objects", ".o", DEFAULT_LIMIT

    def get(self, key: str) -> bytes | None:
        """Return the object stored under `key`, or None if it is absent or damaged, or the cache is off."""
        return self.load(key)

    def put(self, key: str, content: bytes) -> None:
        """Store `content`; an object larger than a quarter of the limit is not stored."""
        self.store(key, len(content), self._chunks(key, content))

    def _chunks(self, key: str, content: bytes) -> Iterator[bytes]:
        yield self.code(key, content)
        yield content

    def read(self, key: str, path: Path) -> bytes | None:
        """Return the object in a file, or None if it is damaged. Raises `OSError`."""
        data = path.read_bytes()
        content = data[DIGEST:]
        return content if hmac.compare_digest(self.code(key, content), data[:DIGEST]) else None


class SilentCache(ObjectCache):
    """Cache of the runtime's own objects. If they cannot be stored they are compiled at each start, without a
    warning: programs that only run compiled code need no writable directory.
    """

    def _warn(self, reason: str) -> None:
        """Do nothing."""


def _is_private(path: Path) -> bool:
    return _is_of_user(path.stat(), stat.S_IWGRP | stat.S_IWOTH)


def _is_of_user(status: os.stat_result, refused: int) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & refused
