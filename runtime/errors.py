"""The errors of the runtime: each is a `TiraxError` (message, expected, found, hint, notes) and a built-in error."""

from __future__ import annotations

from ..diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError, UnsupportedError, unknown_name

__all__ = [
    "AbiError", "ArgumentError", "AssertionFailedError", "DTypeError", "DamagedFileError", "DeviceError",
    "ExecutableFileError", "ForeignFileError", "IncompatibleFileError", "LibraryError", "LoadError", "NameLookupError",
    "NewerFileError", "OutOfMemoryError", "OutsideError", "RegistryError", "ShapeError", "StackError", "TiraxError",
    "UnsupportedError", "unknown_name",
]  # fmt: skip


class ArgumentError(TiraxError, TypeError):
    """Arguments of a wrong number or kind."""


class OutsideError(TiraxError, IndexError):
    """An index that was computed or given as data is outside of its tensor."""


class OutOfMemoryError(TiraxError, MemoryError):
    """Memory that a compiled function needs and the system does not have."""


class StackError(TiraxError, RecursionError):
    """Functions that call each other so deep that the thread's stack is full."""


class AssertionFailedError(TiraxError, AssertionError):
    """A condition that a program asserts does not hold."""


class DeviceError(TiraxError, RuntimeError):
    """A device that is not there, or data that lies on another one."""


class RegistryError(TiraxError, ValueError):
    """A function that cannot be registered under its name."""


class LoadError(TiraxError, RuntimeError):
    """Native code that cannot be loaded."""


class LibraryError(TiraxError, RuntimeError):
    """A library for programs without Python that cannot be built, or that is none of tirax."""


class AbiError(LoadError):
    """Native code and the running Python, numpy or tirax that do not fit together."""


class ExecutableFileError(TiraxError, ValueError):
    """A file that is not a usable executable; its subclasses say in what way."""


class ForeignFileError(ExecutableFileError):
    """A file of another kind."""


class DamagedFileError(ExecutableFileError):
    """A file that was truncated or altered."""


class NewerFileError(ExecutableFileError):
    """A file written by a newer version of tirax."""


class IncompatibleFileError(ExecutableFileError):
    """A file made for another processor, operating system, Python or numpy."""
