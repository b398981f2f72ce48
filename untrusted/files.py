"""Open files that untrusted input names: only regular files, only where they may be."""

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
"""Limit on the bytes of each name in a path, as in Linux."""


class FileError(TiraxError, OSError):
    """Raised for an invalid path and for anything but a regular file. `errno` and `filename` give details."""

    def __init__(self, problem: str, path: str, code: int, **details: Any):
        super().__init__(f"cannot read '{brief(path)}': {problem}", **details)
        self.errno, self.strerror, self.filename = code, problem, brief(path)


class MissingFileError(FileError, FileNotFoundError):
    """Raised for a file that does not exist."""


class FolderError(FileError, IsADirectoryError):
    """Raised for a folder in place of a file."""


_FILE_ERRORS: dict[int, type[FileError]] = {errno.ENOENT: MissingFileError, errno.EISDIR: FolderError}


def checked_path(path: Path, folder: Path | None = None, *, missing: bool = False) -> str:
    """Return the path of an existing regular file, following symbolic links; with `missing`, it need not exist.

    `folder` is for a path that a file names: it must be relative, without `..`, and stay inside the folder
    after all links are followed. Raises `FileError`; nothing is opened.
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
    """Return the path if the file system can represent it, whether or not it exists. Raises `FileError`."""
    if not isinstance(name, str):
        raise FileError("its path is not a text", brief(name), errno.EINVAL, found=type(name).__name__)
    if not name:
        raise FileError("its path is empty", name, errno.EINVAL)
    if "\0" in name:
        raise FileError("its path has a zero byte", name, errno.EINVAL)
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise FileError("its path is not UTF-8 text", name, errno.EILSEQ) from None
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
    """Open a regular file for reading; the arguments are those of `checked_path`. Raises `FileError`.

    The path may change between check and open: a pipe in its place is rejected without waiting for a writer.
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
    """Map a file into memory; its pages are read on access. Raises `FileError`."""
    with open_file(path, folder) as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            _refuse(os.fspath(path), error.errno or errno.EIO)


def read_file(path: Path, most: int, error: type[TiraxError] = TiraxError) -> bytes:
    """Return the bytes of a file. Raises `FileError`, and `error` if it has more than `most` bytes."""
    with open_file(path) as file:
        try:
            data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)
        except OSError as problem:
            _refuse(os.fspath(path), problem.errno or errno.EIO)
    if len(data) > most:
        raise error(f"'{brief(os.fspath(path))}' is too large", expected=f"at most {most} bytes")
    return data
