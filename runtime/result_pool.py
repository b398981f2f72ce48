"""Memory for large results and arenas: what was freed is kept for the next one of about its size.

A large array that is new to the process costs more than many a kernel: the system has to find its pages and to clear
them. So native code takes memory for results from 256 KiB on, and for arenas, from a pool, and gives it back when the
last array over it is gone: the array's base is a capsule that owns the block, so that views keep it alive. Smaller
results are allocated by numpy, as ever.

    void* tirax_take(i64 size)       at least `size` bytes, aligned to 64, not cleared; null where there is none
    void tirax_give(void* memory)    what was taken; null is nothing
    PyObject* tirax_new_result(PyArray_Descr* stolen, i32 nd, i64* dims, i64 size)
                                     an NDArray of `size` bytes over such memory; null with an exception set

A block is taken again for a size that fills at least four fifths of it; the smallest that fits is. What is kept is at
most `set_held_memory`'s, else the environment's TIRAX_POOL_MIB (0: nothing), else 256 MiB; beyond that the block that
was freed longest ago goes first. Blocks from 4 MiB on lie in huge pages where the system has them. Everything here runs
with the GIL held, which is the lock; a child of fork has a pool of its own, a copy.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

from .errors import ArgumentError, TiraxError

TAKE, GIVE, NEW_RESULT = "tirax_take", "tirax_give", "tirax_new_result"
SYMBOLS = (TAKE, GIVE, NEW_RESULT)
"""The functions that compiled objects call."""
LARGE = 1 << 18
"""Bytes from which a result lies in the pool's memory."""

_ENVIRONMENT = "TIRAX_POOL_MIB"
_DEFAULT_LIMIT = 256 << 20
_MOST = 1 << 62


class PoolSizeError(TiraxError, ValueError):
    """An amount of memory that cannot be."""


def held_memory() -> int:
    """How many bytes are kept for the next results at the moment."""
    return _pool().held()


def set_held_memory(limit: int | None) -> None:
    """Keep at most `limit` bytes from now on; None: what the environment says.

    Raises `ArgumentError` where it is no integer, `PoolSizeError` where it is negative or beyond all measure.
    """
    if limit is None:
        limit = default_limit()
    if not isinstance(limit, int) or isinstance(limit, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("the memory that is kept", expected="an integer of bytes", found=type(limit).__name__)
    if not 0 <= limit <= _MOST:
        raise PoolSizeError("the memory that is kept", expected=f"0 to {_MOST} bytes", found=str(limit))
    _pool().set_limit(limit)


def release_memory() -> None:
    """Return everything that is kept to the system; what arrays use stays."""
    _pool().release()


def addresses() -> dict[str, int]:
    """The addresses of `SYMBOLS`; the pool is compiled at the first call."""
    return _pool().addresses


def default_limit() -> int:
    """How many bytes are kept by the environment, else 256 MiB. Raises `PoolSizeError` for what is no number."""
    value = os.environ.get(_ENVIRONMENT, "").strip()
    if not value:
        return _DEFAULT_LIMIT
    if not value.isdecimal() or int(value) << 20 > _MOST:
        raise PoolSizeError(f"environment variable {_ENVIRONMENT}", expected="a number of MiB", found=repr(value))
    return int(value) << 20


_POOL = """
; A block: its whole size (i64), the next block that is free (ptr); behind 64 bytes what is handed out.
@first = internal global ptr null              ; the free blocks, the one that was freed last first
@held = internal global i64 0                  ; the bytes in them
@limit = internal global i64 0

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @PyErr_NoMemory()
declare void @Py_DecRef(ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)

; Take the block that %link points at out of the list.
define internal ptr @unlink(ptr %link) {
  %block = load ptr, ptr %link
  %place = getelementptr i8, ptr %block, i64 8
  %rest = load ptr, ptr %place
  store ptr %rest, ptr %link
  %size = load i64, ptr %block
  %held = load i64, ptr @held
  %less = sub i64 %held, %size
  store i64 %less, ptr @held
  ret ptr %block
}

; The link to the smallest free block of at least %least bytes and at most a quarter more, or null.
define internal ptr @find(i64 %least) {
entry:
  %quarter = lshr i64 %least, 2
  %most = add i64 %least, %quarter
  %beyond = add i64 %most, 1
  br label %look
look:
  %link = phi ptr [@first, %entry], [%next, %compare]
  %best = phi ptr [null, %entry], [%best1, %compare]
  %bound = phi i64 [%beyond, %entry], [%bound1, %compare]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %compare
compare:
  %size = load i64, ptr %block
  %fits = icmp uge i64 %size, %least
  %smaller = icmp ult i64 %size, %bound
  %better = and i1 %fits, %smaller
  %best1 = select i1 %better, ptr %link, ptr %best
  %bound1 = select i1 %better, i64 %size, i64 %bound
  %next = getelementptr i8, ptr %block, i64 8
  br label %look
done:
  ret ptr %best
}

; Free blocks, the oldest first, until at most %most bytes are held.
define internal void @shrink(i64 %most) {
entry:
  br label %check
check:
  %held = load i64, ptr @held
  %enough = icmp ule i64 %held, %most
  br i1 %enough, label %done, label %last
last:
  %link = phi ptr [@first, %check], [%next, %last]
  %block = load ptr, ptr %link
  %next = getelementptr i8, ptr %block, i64 8
  %after = load ptr, ptr %next
  %more = icmp ne ptr %after, null
  br i1 %more, label %last, label %drop
drop:
  %oldest = call ptr @unlink(ptr %link)
  call void @free(ptr %oldest)
  br label %check
done:
  ret void
}

define ptr @tirax_take(i64 %size) {
entry:
  %huge = icmp uge i64 %size, 4194304
  %alignment = select i1 %huge, i64 ALIGNMENT, i64 64
  %more = add i64 %size, 4159                  ; the head, rounded up to pages
  %whole = and i64 %more, -4096
  %link = call ptr @find(i64 %whole)
  %found = icmp ne ptr %link, null
  br i1 %found, label %reuse, label %fresh
reuse:
  %free = call ptr @unlink(ptr %link)
  br label %done
fresh:
  %tried = call ptr @aligned_alloc(i64 %alignment, i64 %whole)
  %failed = icmp eq ptr %tried, null
  br i1 %failed, label %again, label %made
again:                                         ; what is held may be what is missing
  call void @shrink(i64 0)
  %retried = call ptr @aligned_alloc(i64 %alignment, i64 %whole)
  %none = icmp eq ptr %retried, null
  br i1 %none, label %nothing, label %made
nothing:
  ret ptr null
made:
  %new = phi ptr [%tried, %fresh], [%retried, %again]
  br i1 %huge, label %advise, label %label
advise:
  ADVISE
  br label %label
label:
  store i64 %whole, ptr %new
  br label %done
done:
  %block = phi ptr [%free, %reuse], [%new, %label]
  %memory = getelementptr i8, ptr %block, i64 64
  ret ptr %memory
}

define void @tirax_give(ptr %memory) {
entry:
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %look
look:
  %block = getelementptr i8, ptr %memory, i64 -64
  %size = load i64, ptr %block
  %limit = load i64, ptr @limit
  %small = icmp ult i64 %size, LARGE
  %large = icmp ugt i64 %size, %limit
  %other = or i1 %small, %large
  br i1 %other, label %drop, label %keep
drop:
  call void @free(ptr %block)
  ret void
keep:
  %next = getelementptr i8, ptr %block, i64 8
  %rest = load ptr, ptr @first
  store ptr %rest, ptr %next
  store ptr %block, ptr @first
  %held = load i64, ptr @held
  %more = add i64 %held, %size
  store i64 %more, ptr @held
  call void @shrink(i64 %limit)
  br label %done
done:
  ret void
}

; The destructor of a capsule, which is the base of an array.
define internal void @drop(ptr %capsule) {
  %memory = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @tirax_give(ptr %memory)
  ret void
}

define ptr @tirax_new_result(ptr %descr, i32 %nd, ptr %dims, i64 %size) {
entry:
  %memory = call ptr @tirax_take(i64 %size)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %full, label %own
full:
  call ptr @PyErr_NoMemory()
  call void @Py_DecRef(ptr %descr)
  ret ptr null
own:
  %capsule = call ptr @PyCapsule_New(ptr %memory, ptr null, ptr @drop)
  %lost = icmp eq ptr %capsule, null
  br i1 %lost, label %back, label %make
back:
  call void @tirax_give(ptr %memory)
  call void @Py_DecRef(ptr %descr)
  ret ptr null
make:
  %array = call ptr NEW_FROM_DESCR(
      ptr TIRAX_NDARRAY_TYPE, ptr %descr, i32 %nd, ptr %dims, ptr null, ptr %memory, i32 FLAGS, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %undo, label %bind
undo:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
bind:
  %status = call i32 SET_BASE_OBJECT(ptr %array, ptr %capsule)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %away, label %done
away:
  call void @Py_DecRef(ptr %array)
  ret ptr null
done:
  ret ptr %array
}

define i64 @pool_held() {
  %held = load i64, ptr @held
  ret i64 %held
}

define void @pool_set_limit(i64 %limit) {
  store i64 %limit, ptr @limit
  call void @shrink(i64 %limit)
  ret void
}

define void @pool_release() {
  call void @shrink(i64 0)
  ret void
}
"""
_HUGE_PAGES = {
    "linux": ("2097152", "call i32 @madvise(ptr %new, i64 %whole, i32 14)", "declare i32 @madvise(ptr, i64, i32)\n")
}
"""By system: how large huge pages are, the call that asks for them, and its declaration."""


def pool_text(system: str = sys.platform) -> str:
    """The pool as LLVM text for this process, with the addresses of what it calls of numpy."""
    from .abi import OUTPUT_FLAGS, Slot, fixed_slots

    text, slots = _POOL, fixed_slots()
    page, advise, declaration = _HUGE_PAGES.get(system, ("4096", "", ""))
    words = {"ADVISE": advise, "ALIGNMENT": page, "LARGE": str(LARGE), "FLAGS": str(OUTPUT_FLAGS)}
    for slot in (Slot.NEW_FROM_DESCR, Slot.SET_BASE_OBJECT, Slot.TIRAX_NDARRAY_TYPE):
        words[slot.name] = f"inttoptr (i64 {slots[slot]} to ptr)"
    for name, value in words.items():
        text = text.replace(name, value)
    return text + declaration


class _Pool:
    """The compiled pool. It is never unloaded: arrays that outlive everything else are freed by it."""

    def __init__(self) -> None:
        from .engine import link_text

        tracker, found = link_text(pool_text(), (*SYMBOLS, "pool_held", "pool_set_limit", "pool_release"))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.addresses: dict[str, int] = {name: found[name] for name in SYMBOLS}
        # PYFUNCTYPE: the GIL is held
        self.held: Any = ctypes.PYFUNCTYPE(ctypes.c_int64)(found["pool_held"])
        self.set_limit: Any = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(found["pool_set_limit"])
        self.release: Any = ctypes.PYFUNCTYPE(None)(found["pool_release"])
        self.set_limit(default_limit())


@functools.cache
def _pool() -> _Pool:
    return _Pool()
