"""The errors of the runtime: each is a `TiraxError` (message, expected, found, hint, notes) and a built-in error."""

from __future__ import annotations

from ..diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError, UnsupportedError, unknown_name

__all__ = [
    "AbiError", "ArgumentDeviceError", "ArgumentError", "AssertionFailedError", "DTypeError", "DamagedFileError",
    "DeviceError",
    "ExecutableFileError", "ForeignFileError", "IncompatibleFileError", "LibraryError", "LoadError", "NameLookupError",
    "NewerFileError", "OutOfMemoryError", "OutsideError", "RegistryError", "ShapeError", "StackError", "TiraxError",
    "UnsupportedError", "unknown_name",
]  # fmt: skip


class ArgumentError(TiraxError, TypeError):
    """Wrong number or kind of arguments."""


class OutsideError(TiraxError, IndexError):
    """An index from data or a computation is out of bounds."""


class OutOfMemoryError(TiraxError, MemoryError):
    """The system lacks memory that a compiled function needs."""


class StackError(TiraxError, RecursionError):
    """The thread's stack is exhausted by recursion."""


class AssertionFailedError(TiraxError, AssertionError):
    """An assertion of a program does not hold."""


class DeviceError(TiraxError, RuntimeError):
    """A device that is not available, or data on another device."""


class ArgumentDeviceError(ArgumentError, DeviceError):
    """An argument lies on another device."""


class RegistryError(TiraxError, ValueError):
    """A function cannot be registered under its name."""


class LoadError(TiraxError, RuntimeError):
    """Native code cannot be loaded."""


class LibraryError(TiraxError, RuntimeError):
    """A library for programs without Python cannot be built, or was not built by tirax."""


class AbiError(LoadError):
    """Native code is incompatible with the running Python, numpy or tirax."""


class ExecutableFileError(TiraxError, ValueError):
    """A file is not a usable executable; subclasses give the reason."""


class ForeignFileError(ExecutableFileError):
    """The file has another format."""


class DamagedFileError(ExecutableFileError):
    """The file was truncated or altered."""


class NewerFileError(ExecutableFileError):
    """The file was written by a newer version of tirax."""


class IncompatibleFileError(ExecutableFileError):
    """The file was built for another processor, operating system, Python or numpy."""
