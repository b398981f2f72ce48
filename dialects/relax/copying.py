"""Asynchronous copies of large arrays: a thread copies while the compiler continues, as most of the time is spent
waiting for memory.

The system maps new memory page by page on first write, which takes longer than copying the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ...hardware import build_threads

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import numpy as np

_LARGE = 1 << 20
"""Bytes from which a copy is worth a thread."""

Write = Callable[["np.ndarray[Any, Any]", bool], object]


class Copy:
    """The contents that `write` puts into an array, synchronously or on a thread; it gets the array, and whether it
    runs on a thread.

    On a thread it should make few numpy calls: between them it waits for the compiler, which releases the GIL every 5
    ms. Copies run one after the other: they share the one core that is not busy with compiling.
    """

    def __init__(self, target: np.ndarray[Any, Any], write: Write):
        self._done: Future[object] | None = None
        if target.nbytes < _LARGE or build_threads() == 1:
            write(target, False)
        else:
            self._done = _copier(os.getpid()).submit(write, target, True)

    def wait(self) -> None:
        """Wait until the copy is done. Raises the exception of `write`."""
        if self._done is not None:
            self._done.result()


@cache
def _copier(_process: int) -> ThreadPoolExecutor:
    """Return the copy thread of a process (a fork does not inherit its parent's): starting a thread per copy
    would take longer than it saves.
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "tirax-copy")
