"""A memory pool for large results and arenas: freed blocks are kept for the next request of similar size.

A large array in new memory costs more than many kernels: the system has to map and clear its pages. So native code
takes memory for results from 256 KiB on, and for arenas, from a pool, and returns it when the last array over it is
gone: the array's base is a capsule that owns the block, so that views keep it alive. Smaller results are allocated by
numpy.

    void* tirax_take(i64 size)       at least `size` bytes, aligned to 64, not cleared; null where there is none
    void tirax_give(void* memory)    what was taken; null is nothing
    PyObject* tirax_new_result(PyArray_Descr* stolen, i32 nd, i64* dims, i64 size)
                                     an NDArray of `size` bytes over such memory; null with an exception set

A block is reused for a size that fills at least four fifths of it (best fit). The pool holds at most the limit of
`set_held_memory`, else the environment's TIRAX_POOL_MIB (0: nothing), else 256 MiB; beyond that the least recently
freed block is released first. Blocks from 4 MiB on use huge pages if the system has them. Everything here runs with the
GIL held, which serves as the lock; a child of fork has its own copy of the pool. The code is `native/result_pool.ll`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

from .abi import OUTPUT_FLAGS, Slot, fixed_slots
from .errors import ArgumentError, OutOfMemoryError, TiraxError
from .jit import link_native, native_text

TAKE, GIVE, NEW_RESULT = "tirax_take", "tirax_give", "tirax_new_result"
SYMBOLS = (TAKE, GIVE, NEW_RESULT)
"""The functions that compiled objects call."""
LARGE = 1 << 18
"""Bytes from which a result uses the pool's memory."""

_ENVIRONMENT = "TIRAX_POOL_MIB"
_DEFAULT_LIMIT = 256 << 20
_MOST = 1 << 62


class PoolSizeError(TiraxError, ValueError):
    """An invalid amount of memory."""


def held_memory() -> int:
    """Return the number of bytes currently held for later results."""
    return _pool().held()


def set_held_memory(limit: int | None) -> None:
    """Hold at most `limit` bytes from now on; None: the environment's default.

    Raises `ArgumentError` if it is not an integer, `PoolSizeError` if it is negative or absurdly large.
    """
    if limit is None:
        limit = default_limit()
    if not isinstance(limit, int) or isinstance(limit, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("the memory that is kept", expected="an integer of bytes", found=type(limit).__name__)
    if not 0 <= limit <= _MOST:
        raise PoolSizeError("the memory that is kept", expected=f"0 to {_MOST} bytes", found=str(limit))
    _pool().set_limit(limit)


def release_memory() -> None:
    """Return all held memory to the system, including malloc's free memory; memory of live arrays stays."""
    _pool().release()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Any:
    """Return glibc's function that releases free pages; None if there is none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def addresses() -> dict[str, int]:
    """Return the addresses of `SYMBOLS`; the pool is compiled at the first call."""
    return _pool().addresses


def default_limit() -> int:
    """Return the limit in bytes from the environment, else 256 MiB. Raises `PoolSizeError` if it is not a number."""
    value = os.environ.get(_ENVIRONMENT, "").strip()
    if not value:
        return _DEFAULT_LIMIT
    if not value.isdecimal() or int(value) << 20 > _MOST:
        raise PoolSizeError(f"environment variable {_ENVIRONMENT}", expected="a number of MiB", found=repr(value))
    return int(value) << 20


def pool_text(system: str = sys.platform) -> str:
    """Return the pool as LLVM text for a system (`linux`, `darwin`, …)."""
    return native_text(*_files(system))


def _files(system: str) -> tuple[str, ...]:
    return "result_pool", "huge_pages" if system == "linux" else "plain_pages"


class _Pool:
    """The compiled pool. It is never unloaded: it frees arrays that outlive everything else."""

    def __init__(self) -> None:
        controls = ("pool_bind", "pool_held", "pool_set_limit", "pool_release")
        tracker, addresses = link_native(_files(sys.platform), (*SYMBOLS, *controls))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.addresses: dict[str, int] = {name: addresses[name] for name in SYMBOLS}
        # PYFUNCTYPE: the GIL is held
        self.held: Any = ctypes.PYFUNCTYPE(ctypes.c_int64)(addresses["pool_held"])
        self.set_limit: Any = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(addresses["pool_set_limit"])
        self.release: Any = ctypes.PYFUNCTYPE(None)(addresses["pool_release"])
        self.set_limit(default_limit())
        pointer, slots = ctypes.c_void_p, fixed_slots()
        bind = ctypes.PYFUNCTYPE(None, pointer, pointer, pointer, pointer, ctypes.c_int32, ctypes.c_int64)(
            addresses["pool_bind"]
        )
        numpy = (slots[slot] for slot in (Slot.NEW_FROM_DESCR, Slot.SET_BASE_OBJECT, Slot.TIRAX_NDARRAY_TYPE))
        bind(*numpy, id(OutOfMemoryError), OUTPUT_FLAGS, LARGE)


@functools.cache
def _pool() -> _Pool:
    return _Pool()
