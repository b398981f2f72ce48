"""Locks that are safe across fork and interrupts.

A forked child has only the thread that forked, so a lock that another thread held would stay locked for
ever: the child resets these locks. A fork also waits for LLVM, whose state a child could not repair.

An interrupt comes between any two lines of Python. Where `with` enters and leaves a lock by methods of Python, or by a
generator, one that comes right after the lock is taken or before it is released leaves it locked as long as somebody
holds the traceback, as a notebook does. So both kinds of locks are entered and left in C.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from typing import IO, Any
from weakref import WeakSet


class Lock(RLock):  # pyright: ignore[reportGeneralTypeIssues] (final in typeshed, a base class in CPython)
    """A reentrant lock for `with`. After a fork, the child resets it unless the forking thread holds it.

    Guarded state must be consistent after every statement: each changes it by one assignment or dict update.
    """

    def __init__(self) -> None:
        _locks.add(self)

    def open_in_child(self) -> None:
        """Reset the lock if a thread that does not exist in this process holds it."""
        if self.acquire(blocking=False):
            self.release()
        else:
            self._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue] (as logging's locks)


def locked_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file that nobody else has locked, in this process or another, after waiting for them: `with` closes it."""
    import fcntl  # Windows has none

    file = open(path, "ab")  # noqa: SIM115 (the caller closes it)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        return file
    except BaseException:  # an interrupt
        file.close()
        raise


_locks: WeakSet[Lock] = WeakSet()
_entered: list[Any] = []
"""LLVM's lock, between the hooks of a fork."""


def _enter_llvm() -> None:
    ffi = sys.modules.get("llvmlite.binding.ffi")
    if ffi is not None:
        lock: Any = ffi.lib._lock
        lock.__enter__()
        _entered.append(lock)


def _leave_llvm() -> None:
    if _entered:
        _entered.pop().__exit__(None, None, None)


def _in_child() -> None:
    _leave_llvm()
    for lock in list(_locks):
        lock.open_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_enter_llvm, after_in_parent=_leave_llvm, after_in_child=_in_child)
