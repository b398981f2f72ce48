"""Recording what runs when.

Instrumented entry points (`convert-host-to-func{profile}`) call

    i64 tirax_lap(i64 site, i64 operations, i64 bytes, i64 live)

wherever something else begins to run: a site of the executable, or what ran before, which the call returned. So the
time of a call is divided without gaps, by one look at the clock for each change. Parallel loops of an executable that
is recorded run through `profile_parallel_for`, which times their parts. The code: `native/profile.ll`.

The clock is the processor's counter where the system itself tells the time by it: a look at it takes a few nanoseconds
(some 30 at the system's clock). `clock.py` makes nanoseconds of its ticks.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import thread_pool
from ..jit import link_text, native_text
from .clock import Ticks, counter_is_clock

LAP = "tirax_lap"
"""The function that instrumented entry points call."""
FIELDS = ("time", "site", "operations", "bytes", "live", "busy", "available", "threads")
"""The columns of a recording: nanoseconds; an index; counts (-1: unknown); bytes; then of the parallel loops in an
event: nanoseconds that their threads were busy, that they would have been, had all been so as long as the last one, and
how many threads there were."""

MOST_EVENTS = 1 << 24
"""Events that are kept of a call, of 64 bytes each; what comes later is counted alone."""

_lock = threading.RLock()


@dataclass(frozen=True)
class Recording:
    """What ran when: `events` has a row for each change, its columns are `FIELDS`; the last one ends the call."""

    events: np.ndarray
    lost: int
    """Events that there was no room for."""
    begin: int
    end: int
    """Nanoseconds by the same clock, before and after the call from Python."""
    result: Any
    """What the call returned."""

    def column(self, name: str) -> np.ndarray:
        """A column by its name."""
        return self.events[:, FIELDS.index(name)]


def imports() -> dict[str, int]:
    """What an instrumented executable is linked with, by address."""
    recorder = _recorder()
    return {LAP: recorder.lap, thread_pool.SYMBOL: recorder.parallel_for}


@contextmanager
def recording() -> Generator[Callable[..., Recording]]:
    """`record(function, *args)` in the block calls an instrumented function; memory for events is kept between calls.

    One thread records at a time; others wait.
    """
    recorder = _recorder()
    with _lock:
        try:
            yield recorder.record
        finally:
            recorder.release()


class _Recorder:
    """The compiled recorder. It is never unloaded."""

    def __init__(self) -> None:
        words = ("profile_events", "profile_count", "profile_lost", "profile_most", "profile_pool")
        functions = ("profile_parallel_for", "profile_reset", "profile_release", "profile_now")
        symbols = (LAP, *functions, "profile_clock", *words)
        tracker, addresses = link_text(native_text("profile"), symbols)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.lap: int = addresses[LAP]
        self.parallel_for: int = addresses["profile_parallel_for"]
        self.reset: Any = ctypes.PYFUNCTYPE(None)(addresses["profile_reset"])
        self.release: Any = ctypes.PYFUNCTYPE(None)(addresses["profile_release"])
        clock = ctypes.c_int32.from_address(addresses["profile_clock"])
        clock.value = -1 if counter_is_clock() else time.CLOCK_MONOTONIC
        self._ticks = Ticks(ctypes.PYFUNCTYPE(ctypes.c_int64)(addresses["profile_now"]))
        address, count, self.lost, most, pool = (ctypes.c_int64.from_address(addresses[word]) for word in words)
        self._address, self._count = address, count
        most.value = MOST_EVENTS
        pool.value = thread_pool.parallel_for_address()

    def record(self, function: Callable[..., Any], *args: Any) -> Recording:
        """What runs when in a call. Raises what the function does."""
        self.reset()
        begin = time.monotonic_ns()
        result = function(*args)
        end = time.monotonic_ns()
        return Recording(self._events(), self.lost.value, begin, end, result)

    def _events(self) -> np.ndarray:
        """A copy of what was recorded, its times in nanoseconds."""
        count = self._count.value
        data = ctypes.string_at(self._address.value, 8 * len(FIELDS) * count) if count else b""
        events = np.frombuffer(data, np.int64).reshape(-1, len(FIELDS)).copy()
        moment, *durations = (events[:, FIELDS.index(name)] for name in ("time", "busy", "available"))
        self._ticks.to_nanoseconds(moment, *durations)
        return events


@functools.cache
def _recorder() -> _Recorder:
    return _Recorder()
