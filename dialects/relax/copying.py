"""Large arrays are copied by a thread, while the compiler goes on: most of such a copy is waiting for memory.

The system gives new memory page by page when it is first written to, which takes longer than the bytes themselves.
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
"""Bytes. A thread costs more than a smaller copy."""

Write = Callable[["np.ndarray[Any, Any]", bool], object]


class Copy:
    """What `write` puts into an array, now or by a thread: it gets the array, and whether the compiler goes on.

    Then few calls of numpy should do it: between these it waits for the compiler, which gives way every 5 ms. Copies
    are made one after the other: they share the one core that is not busy with compiling.
    """

    def __init__(self, target: np.ndarray[Any, Any], write: Write):
        self._done: Future[object] | None = None
        if target.nbytes < _LARGE or build_threads() == 1:
            write(target, False)
        else:
            self._done = _copier(os.getpid()).submit(write, target, True)

    def wait(self) -> None:
        """Until it is done. Raises what `write` raised."""
        if self._done is not None:
            self._done.result()


@cache
def _copier(_process: int) -> ThreadPoolExecutor:
    """Return the thread of a process (a fork has none of its parent's): starting one for each copy, and waiting until
    it runs, would take longer than to go on.
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "tirax-copy")
