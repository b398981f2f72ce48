"""The thread pool of parallel loops: one per process, in native code, without any library.

A parallel loop calls `tirax_parallel_for(function, context, begin, end, grain, limit)`, which calls `function(context,
from, to)` on disjoint ranges that cover `begin … end` and returns when all are done. The caller works, too. Each thread
has a share of adjacent iterations, so that adjacent memory is read by one thread. It takes its share chunk by chunk (a
fetch-and-add each), then steals what is left of the others', so a descheduled thread delays only its current chunk.
Fewer threads run if a share would be smaller than `grain` iterations, and only one (the caller, by a plain call) if

- the whole range is not longer than `grain`,
- threads were descheduled lately, so that the caller waited for them longer than they saved: for 16 times the loss, and
  twice as long each time that it happens again, a second at most, so that a busy machine costs little more than one
  thread,
- the caller is itself inside a parallel loop, or another Python thread is: the pool runs one loop at a time.

The number of threads is that of `set_num_threads`, else the environment's TIRAX_NUM_THREADS, TVM_NUM_THREADS or
OMP_NUM_THREADS, else the number of cores that this process may use. `limit` is the target's `-num-cores`, 0 for none.
Workers start with the first loop that needs them; idle ones spin for some microseconds, then sleep in the kernel (a
futex), and so does a waiting caller. After a fork the child starts without workers. Without futexes (not Linux on
x86-64 or AArch64) everything runs on the caller. The code is `native/thread_pool.ll`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

from ..hardware import usable_cores
from .errors import ArgumentError, TiraxError
from .jit import link_native, native_text

SYMBOL = "tirax_parallel_for"
"""The function that compiled objects call: void (ptr, ptr, i64 begin, i64 end, i64 grain, i64 limit)."""

_ENVIRONMENT = ("TIRAX_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS")
_MAX_THREADS = 1024


class ThreadCountError(TiraxError, ValueError):
    """An invalid number of threads."""


def num_threads() -> int:
    """Return the maximum number of threads of a parallel loop, including the caller."""
    return _pool().threads()


def set_num_threads(count: int | None) -> None:
    """Let parallel loops use `count` threads from now on; None: the environment's default.

    Raises `ArgumentError` if it is not an integer, `ThreadCountError` if it is not in 1 … 1024.
    """
    if count is None:
        count = default_threads()
    if not isinstance(count, int) or isinstance(count, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("the number of threads", expected="an integer", found=type(count).__name__)
    _pool().set_threads(_checked(count, "the number of threads"))


def parallel_for_address() -> int:
    """Return the address of `tirax_parallel_for`; the pool is compiled at the first call."""
    return _pool().parallel_for


def default_threads() -> int:
    """Return the number of threads set by the environment, else the number of cores that this process may use.

    Raises `ThreadCountError` if a variable is not a number from 1 to 1024.
    """
    for name in _ENVIRONMENT:
        value = os.environ.get(name, "").split(",")[0].strip()
        if value:
            return _checked(int(value) if value.isdecimal() else 0, f"environment variable {name}", value)
    return min(_MAX_THREADS, usable_cores())


def _checked(count: int, what: str, found: object = None) -> int:
    if not 1 <= count <= _MAX_THREADS:
        raise ThreadCountError(what, expected=f"an integer from 1 to {_MAX_THREADS}", found=repr(found or count))
    return count


_SYSTEMS = {("linux", "x86_64"): "linux_x86_64", ("linux", "aarch64"): "linux_aarch64"}
"""The native file linked with the pool, by system and machine."""


def pool_text(system: str = sys.platform, machine: str = platform.machine()) -> str:
    """Return the pool as LLVM text for a system (`linux`, `darwin`, …) and a machine (`x86_64`, `aarch64`, …)."""
    return native_text(*_files(system, machine))


def _files(system: str, machine: str) -> tuple[str, ...]:
    part = _SYSTEMS.get((system, machine))
    return ("thread_pool", part) if part else ("serial_loops",)


class _Pool:
    """The compiled pool. It is never unloaded: its workers run in it."""

    def __init__(self) -> None:
        names = (SYMBOL, "pool_set_threads", "pool_threads", "pool_reset")
        tracker, addresses = link_native(_files(sys.platform, platform.machine()), names)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.parallel_for: int = addresses[SYMBOL]
        self.set_threads: Any = ctypes.CFUNCTYPE(None, ctypes.c_int32)(addresses["pool_set_threads"])
        self.threads: Any = ctypes.CFUNCTYPE(ctypes.c_int32)(addresses["pool_threads"])
        self.set_threads(default_threads())
        reset = ctypes.CFUNCTYPE(None)(addresses["pool_reset"])
        os.register_at_fork(after_in_child=lambda: reset())


@functools.cache
def _pool() -> _Pool:
    return _Pool()
