"""Locks that a child of fork can take.

A child has one thread, the one that forked. What any other thread held at that moment nobody lets go of there, so that
the child opens these locks; and a fork waits for LLVM, whose state no child could mend.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Any
from weakref import WeakSet


class Lock:
    """For `with`. A thread may take it again; the child of a fork finds it open unless its own thread holds it.

    What it guards is whole after every statement: an assignment, or one change of a dict.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def open_in_child(self) -> None:
        """Make it anew where a thread holds it that this process does not have."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: WeakSet[Lock] = WeakSet()
_entered: list[Any] = []
"""LLVM's lock between the hooks of a fork."""


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
