"""Locks that are safe across fork.

A forked child has only the thread that forked, so a lock that another thread held would stay locked for
ever: the child resets these locks. A fork also waits for LLVM, whose state a child could not repair.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Any
from weakref import WeakSet


class Lock:
    """A reentrant lock for `with`. After a fork, the child resets it unless the forking thread holds it.

    Guarded state must be consistent after every statement: each changes it by one assignment or dict update.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def open_in_child(self) -> None:
        """Replace the lock if a thread that does not exist in this process holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


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
