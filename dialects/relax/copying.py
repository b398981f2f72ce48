"""Large arrays are copied by threads, while the compiler goes on: most of such a copy is waiting for memory.

The system gives new memory page by page when it is first written to, which takes longer than the bytes themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...hardware import build_threads

if TYPE_CHECKING:
    import numpy as np

_LARGE = 1 << 20
"""Bytes. A thread costs more than a smaller copy."""

Write = Callable[["np.ndarray[Any, Any]", bool], object]

_order = threading.Lock()
_last: threading.Thread | None = None


class Copy:
    """What `write` puts into an array, now or by a thread: it gets the array, and whether the compiler goes on.

    Then few calls of numpy should do it: between these it waits for the compiler, which gives way every 5 ms. Copies
    are made one after the other: they share the one core that is not busy with compiling.
    """

    def __init__(self, target: np.ndarray[Any, Any], write: Write):
        global _last
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        if target.nbytes < _LARGE or build_threads() == 1:
            write(target, False)
            return
        with _order:
            before = _last if _last is not None and _last.is_alive() else None
            self._thread = _last = threading.Thread(target=self._write, args=(target, write, before), name="tirax-copy")
            self._thread.start()

    def wait(self) -> None:
        """Until it is done. Raises what `write` raised."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self, target: np.ndarray[Any, Any], write: Write, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        try:
            write(target, True)
        except Exception as error:  # noqa: BLE001 (raised where the array is looked at, which has no contents)
            self._error = error
