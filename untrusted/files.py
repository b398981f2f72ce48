"""Files that others name: regular ones, where they may be."""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
from typing import Any, NoReturn

from ..diagnostics import TiraxError
from .texts import brief

Path = str | os.PathLike[str]

MOST_PATH = 4096
MOST_NAME = 255
"""Bytes of a path and of each name in it, as Linux has them."""


class FileError(TiraxError, OSError):
    """A file that cannot be read: it is no file of data, or its path is none. `errno` and `filename` say more."""

    def __init__(self, problem: str, path: str, code: int, **details: Any):
        super().__init__(f"cannot read '{brief(path)}': {problem}", **details)
        self.errno, self.strerror, self.filename = code, problem, brief(path)


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class FolderError(FileError, IsADirectoryError):
    """A folder where a file belongs."""


_FILE_ERRORS: dict[int, type[FileError]] = {errno.ENOENT: MissingFileError, errno.EISDIR: FolderError}


def checked_path(path: Path, folder: Path | None = None, *, missing: bool = False) -> str:
    """The path of a regular file that is there, symbolic links followed; with `missing`, it need not be there.

    With `folder`, a path that a file names: it is relative, has no `..`, and stays in that folder whatever links there
    are. Raises `FileError`; nothing is opened.
    """
    name = os.fspath(path)
    check_name(name)
    if folder is not None:
        _check_relative(name)
        name = os.path.join(os.fspath(folder), name)
    try:
        status = _status(name)
    except MissingFileError:
        if missing:
            return name
        raise
    if stat.S_ISDIR(status.st_mode):
        _refuse(name, errno.EISDIR)
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"it is {_kind(status.st_mode)}", name, errno.EINVAL, expected="a regular file")
    real = os.path.realpath(name)
    if folder is not None and not _is_below(real, os.path.realpath(folder)):
        raise FileError("it is a link that leaves the folder", name, errno.EACCES)
    return real if folder is not None else name


def check_name(name: str) -> str:
    """A path that there can be, whatever is there. Raises `FileError`."""
    if not isinstance(name, str):
        raise FileError("its path is no text", brief(name), errno.EINVAL, found=type(name).__name__)
    if not name:
        raise FileError("its path is empty", name, errno.EINVAL)
    if "\0" in name:
        raise FileError("its path has a zero byte", name, errno.EINVAL)
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise FileError("its path is no text in UTF-8", name, errno.EILSEQ) from None
    if size >= MOST_PATH or any(len(os.fsencode(part)) > MOST_NAME for part in name.split("/")):
        expected = f"at most {MOST_NAME} bytes in a name, {MOST_PATH - 1} in a path"
        raise FileError("its path is too long", name, errno.ENAMETOOLONG, expected=expected)
    return name


def _check_relative(name: str) -> None:
    if os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
        raise FileError(
            "its path leaves the folder of the file that names it",
            name,
            errno.EACCES,
            expected="a relative path without '..'",
        )


def _status(name: str) -> os.stat_result:
    try:
        return os.stat(name)
    except OSError as error:
        _refuse(name, error.errno or errno.EIO)


def _refuse(name: str, code: int) -> NoReturn:
    raise _FILE_ERRORS.get(code, FileError)(os.strerror(code), name, code)


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"))
    return next((text for test, text in kinds if test(mode)), "a device of blocks")


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder and path != folder


def open_file(path: Path, folder: Path | None = None) -> io.BufferedReader:
    """The regular file of a path, for `checked_path`'s arguments, open for reading. Raises `FileError`.

    What the path names may have changed since it was looked at: a pipe in its place is refused, not waited for.
    """
    name = checked_path(path, folder)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        _refuse(name, error.errno or errno.EIO)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise FileError(f"it is {_kind(mode)}", name, errno.EINVAL, expected="a regular file")
    return os.fdopen(descriptor, "rb")


def mapped_file(path: Path, folder: Path | None = None) -> memoryview:
    """The bytes of a file, mapped into memory and read when they are looked at. Raises `FileError`."""
    with open_file(path, folder) as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            _refuse(os.fspath(path), error.errno or errno.EIO)


def read_file(path: Path, most: int, error: type[TiraxError] = TiraxError) -> bytes:
    """The bytes of a file of at most so many. Raises `FileError`, and `error` for a larger one."""
    with open_file(path) as file:
        try:
            data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)
        except OSError as problem:
            _refuse(os.fspath(path), problem.errno or errno.EIO)
    if len(data) > most:
        raise error(f"'{brief(os.fspath(path))}' is too large", expected=f"at most {most} bytes")
    return data
