"""Failing allocations in native code, for tests: set TIRAX_FAIL_ALLOCATION before any code is loaded.

Kernels, arenas, large results and tensors for other frameworks allocate memory by `aligned_alloc` and `malloc`. If the
variable is set, native code is linked with functions that count these calls and make some fail: with a number n the
n-th and all later ones of the process, with 0 those selected by `failing_allocations`. The compiled code is the same.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .errors import ArgumentError

ENVIRONMENT = "TIRAX_FAIL_ALLOCATION"
_FUNCTIONS = {name: f"failing_{name}" for name in ("aligned_alloc", "malloc", "free")}
_CONTROLS = ("failing_set", "failing_calls", "failing_live")
_NEVER = -1


@dataclass(frozen=True)
class Counts:
    """Allocations of native code: `calls()` since the failures were set, `live()` blocks that are not freed."""

    calls: Callable[[], int]
    live: Callable[[], int]


@contextmanager
def failing_allocations(first: int, count: int | None = None) -> Generator[Counts]:
    """Make allocation number `first` (from 0) and all later ones fail inside the block; with `count` only that many.

    Raises `ArgumentError` if no native code was loaded yet, or without the variable.
    """
    if not _loaded:
        hint = f"set {ENVIRONMENT}=0 before, and load native code: build(…).jit()"
        raise ArgumentError("allocations cannot fail on demand", hint=hint)
    controls = _loaded[0][1]
    controls["failing_set"](first, _NEVER if count is None else first + count)
    try:
        yield Counts(controls["failing_calls"], controls["failing_live"])
    finally:
        controls["failing_set"](_NEVER, _NEVER)


@functools.cache
def is_active() -> bool:
    """Return whether native code of this process is linked with allocation functions that can fail."""
    return ENVIRONMENT in os.environ


def imports(load: Callable[[Sequence[str], Sequence[str]], tuple[object, dict[str, int]]]) -> Mapping[str, int]:
    """Return the replacements for functions of the C library, by address; `load` links the native files, like
    `jit.link_native`.
    """
    if not is_active():
        return {}
    if not _loaded:
        tracker, addresses = load(("failing_memory",), (*_FUNCTIONS.values(), *_CONTROLS))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))  # the code is never unloaded
        i64 = ctypes.c_int64
        controls: dict[str, Any] = {name: ctypes.CFUNCTYPE(i64)(addresses[name]) for name in _CONTROLS[1:]}
        controls["failing_set"] = ctypes.CFUNCTYPE(None, i64, i64)(addresses["failing_set"])
        controls["failing_set"](_first(), _NEVER)
        _loaded.append(({name: addresses[own] for name, own in _FUNCTIONS.items()}, controls))
    return _loaded[0][0]


_loaded: list[tuple[Mapping[str, int], Mapping[str, Any]]] = []
"""The addresses of the functions, and the controls."""


def _first() -> int:
    """Return the first call that fails according to the environment. Raises `ArgumentError` if that is no number."""
    value = os.environ.get(ENVIRONMENT, "").strip() or "0"
    if not value.isdecimal():
        raise ArgumentError(f"environment variable {ENVIRONMENT}", expected="a number", found=repr(value))
    return int(value) - 1
