"""Large arrays are copied by threads, while the compiler goes on: most of such a copy is waiting for memory.

The system gives new memory page by page when it is first written to, which takes longer than the bytes themselves.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ...hardware import build_threads

if TYPE_CHECKING:
    import numpy as np

_LARGE = 1 << 20
"""Bytes. A thread costs more than a smaller copy."""

_order = threading.Lock()
_last: threading.Thread | None = None


class Copy:
    """What `source` holds is written to `target`, an array of the same shape and dtype, now or by a thread.

    Copies are made one after the other: they share the one core that is not busy with compiling.
    """

    def __init__(self, target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]):
        global _last
        assert target.shape == source.shape and target.dtype == source.dtype
        self._thread: threading.Thread | None = None
        if target.nbytes < _LARGE or build_threads() == 1:
            target[...] = source
            return
        with _order:
            before = _last if _last is not None and _last.is_alive() else None
            self._thread = _last = threading.Thread(target=_copy, args=(target, source, before), name="tirax-copy")
            self._thread.start()

    def wait(self) -> None:
        """Until it is done."""
        if self._thread is not None:
            self._thread.join()


def _copy(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], before: threading.Thread | None) -> None:
    if before is not None:
        before.join()
    target[...] = source
