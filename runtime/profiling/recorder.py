"""Recording what runs when.

Instrumented entry points (`convert-host-to-func{profile}`) call

    i64 tirax_enter(i64 site, row* row)     before = where a function begins; -2: its call is not measured
    i64 tirax_lap(i64 site, i64 operations, i64 bytes, i64 live)
    void tirax_leave(i64 before, row* row)  where it ends

and in calls that are measured a lap wherever something else begins to run: a site of the executable, or what ran
before. So the time of a call is divided without gaps, by one look at the clock for each change. How often sites run is
counted in all calls: each has a row in an array of the module. Parallel loops of an executable that is recorded run
through `profile_parallel_for`, which times their parts. The code: `native/profile.ll`.

Where many calls are recorded, marks are to cost little of all: of short calls most are left out, by chance, and each
that is measured says of how many (`calls`).

The clock is the processor's counter where the system itself tells the time by it: a look at it takes a few nanoseconds
(some 30 at the system's clock). `clock.py` makes nanoseconds of its ticks.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...locks import Lock
from .. import thread_pool
from ..errors import ArgumentError
from ..jit import link_native
from .clock import Ticks, counter_is_clock

LAP, ENTER, LEAVE = SYMBOLS = ("tirax_lap", "tirax_enter", "tirax_leave")
"""The functions that instrumented entry points call."""
NOT_MEASURED = -2
ROW = 4
"""Integers in the row of a site, of which the first one counts."""
FIELDS = ("time", "site", "operations", "bytes", "live", "busy", "available", "threads", "calls")
"""The columns of a recording: nanoseconds; an index; counts (-1: unknown); bytes; then of the parallel loops in an
event: nanoseconds that their threads were busy, that they would have been, had all been so as long as the last one, and
how many threads there were; where a call begins, of how many it was measured, else 0."""

MOST_EVENTS = 1 << 24
"""Events that are kept, of 72 bytes each; what comes later is counted alone."""
_PART = 400
"""Of short calls so few are measured that marks take one part of so many, by what they cost in a row; among other code
they take up to thrice as much."""

_lock = Lock()


@dataclass(frozen=True)
class Recording:
    """What ran when: `events` has a row for each change, its columns are `FIELDS`; a site of -1 ends a call."""

    events: np.ndarray
    lost: int
    """Events that there was no room for."""
    begin: int
    end: int
    """Nanoseconds by the same clock, before and after: the call from Python, or all that was done meanwhile."""
    counts: np.ndarray
    """How often each site ran."""
    calls: int = 1
    """Calls that were made, measured or not."""
    result: Any = None
    """What the call returned, of one."""
    single: bool = True
    """True if it is of one call."""

    def column(self, name: str) -> np.ndarray:
        """Return a column by its name."""
        return self.events[:, FIELDS.index(name)]


def imports() -> dict[str, int]:
    """What an instrumented executable is linked with, by address."""
    recorder = _recorder()
    return {**recorder.functions, thread_pool.SYMBOL: recorder.parallel_for}


def new_rows(sites: int) -> np.ndarray:
    """Return the rows of an instrumented module with so many sites."""
    return np.zeros((sites, ROW), np.int64)


def is_recording() -> bool:
    """Return whether calls are recorded now, by any thread."""
    return _recorder.cache_info().currsize > 0 and _recorder().on


@contextmanager
def recording(rows: np.ndarray) -> Generator[_Recorder]:
    """In the block, calls of the module with these rows are recorded; memory for events is kept until its end.

    One thread records at a time; others wait. Raises `ArgumentError` in a call that is recorded.
    """
    recorder = _recorder()
    with _lock:
        recorder.open(rows)
        try:
            yield recorder
        finally:
            recorder.close()


class _Recorder:
    """The compiled recorder. It is never unloaded."""

    def __init__(self) -> None:
        words = ("events", "count", "lost", "most", "pool", "part", "price", "calls", "owner")
        functions = ("reset", "release", "now", "try", "parallel_for")
        names = [f"profile_{name}" for name in (*functions, *words, "clock", "on")]
        tracker, addresses = link_native(["profile"], [*SYMBOLS, *names])
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.functions = {name: addresses[name] for name in SYMBOLS}
        self.parallel_for: int = addresses["profile_parallel_for"]
        self._reset, self._release = (
            ctypes.PYFUNCTYPE(None)(addresses[f"profile_{name}"]) for name in ("reset", "release")
        )
        now, attempt = (ctypes.PYFUNCTYPE(ctypes.c_int64)(addresses[f"profile_{name}"]) for name in ("now", "try"))
        clock = ctypes.c_int32.from_address(addresses["profile_clock"])
        clock.value = -1 if counter_is_clock() else time.CLOCK_MONOTONIC
        self._ticks = Ticks(now)
        self._words = {word: ctypes.c_int64.from_address(addresses[f"profile_{word}"]) for word in words}
        self._on = ctypes.c_bool.from_address(addresses["profile_on"])
        self._words["most"].value = MOST_EVENTS
        self._words["pool"].value = thread_pool.parallel_for_address()
        self._words["price"].value = sorted(attempt() for _ in range(15))[7]  # memory is new to each of them
        self._release()
        self._rows = new_rows(0)

    @property
    def on(self) -> bool:
        """True if calls are recorded."""
        return self._on.value

    def open(self, rows: np.ndarray) -> None:
        """Record calls of the module with these rows from now on."""
        if self._words["owner"].value or self._on.value:
            raise ArgumentError("a call is being profiled already", hint="profile what it calls by itself")
        self._rows = rows
        self._on.value = True

    def close(self) -> None:
        """Record no more, and give memory back: but where a call goes on in another thread, which still writes."""
        self._on.value = False
        if not self._words["owner"].value:
            self._release()

    def record(self, function: Callable[..., Any], *args: Any) -> Recording:
        """What runs when in a call. Raises what the function does."""
        self.reset(sampled=False)
        begin = time.monotonic_ns()
        result = function(*args)
        return self.recorded(begin, time.monotonic_ns(), result)

    def reset(self, sampled: bool) -> None:
        """Forget what was recorded. Where calls are `sampled`, short ones are left out for the most part."""
        self._words["part"].value = _PART if sampled else 0
        self._rows[:] = 0
        self._reset()

    def recorded(self, begin: int, end: int, result: Any = None, single: bool = True) -> Recording:
        """What was recorded since the last `reset`, which was at `begin`."""
        lost, calls = self._words["lost"].value, self._words["calls"].value
        return Recording(self._events(), lost, begin, end, self._rows[:, 0].copy(), calls, result, single)

    def _events(self) -> np.ndarray:
        """Return a copy of what was recorded, its times in nanoseconds."""
        count = self._words["count"].value
        data = ctypes.string_at(self._words["events"].value, 8 * len(FIELDS) * count) if count else b""
        events = np.frombuffer(data, np.int64).reshape(-1, len(FIELDS)).copy()
        moment, *durations = (events[:, FIELDS.index(name)] for name in ("time", "busy", "available"))
        self._ticks.to_nanoseconds(moment, *durations)
        return events


@functools.cache
def _recorder() -> _Recorder:
    return _Recorder()
