"""Recording of what runs when.

Instrumented entry points (`convert-host-to-func{profile}`) call

    i64 tirax_enter(i64 site, row* row)     before = where a function begins; -2: its call is not measured
    i64 tirax_lap(i64 site, i64 operations, i64 bytes, i64 live)
    void tirax_leave(i64 before, row* row)  where it ends

and, in measured calls, a lap whenever something else begins to run: a site of the executable, or what ran before. So
the time of a call is divided without gaps, with one clock reading per change. Executions of sites are counted in all
calls: each site has a row in an array of the module. Parallel loops of a recorded executable run through
`profile_parallel_for`, which times their parts. The code is `native/profile.ll`.

When many calls are recorded, the marks must stay cheap: most short calls are skipped at random, and each measured one
records how many it stands for (`calls`).

The clock is the processor's counter if the system itself uses it: reading it takes a few nanoseconds (some 30 for the
system's clock). `clock.py` converts its ticks to nanoseconds.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...locks import Lock
from .. import thread_pool
from ..errors import ArgumentError
from ..jit import link_native

_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_SHORTEST = 10_000_000
"""Nanoseconds between the two readings of both clocks that determine the length of a tick: readings are accurate
to about 50.
"""


def counter_is_clock() -> bool:
    """Return whether the counter is constant-rate and synchronized across cores: if Linux uses it as its clock."""
    try:
        return platform.machine() == "x86_64" and _SOURCE.read_text(encoding="ascii").strip() == "tsc"
    except OSError:
        return False


class Ticks:
    """Converts readings of `now`, whatever its constant rate, to nanoseconds of `time.monotonic_ns`."""

    def __init__(self, now: Callable[[], int]):
        self._now = now
        self._first = self._look()

    def to_nanoseconds(self, moments: np.ndarray, *durations: np.ndarray) -> None:
        """Convert arrays of int64, in place: recent moments, and durations."""
        rest = _SHORTEST - (time.monotonic_ns() - self._first[1])
        if rest > 0:
            time.sleep(rest / 1e9)
        tick, nanosecond = self._look()
        length = (nanosecond - self._first[1]) / (tick - self._first[0])
        moments[:] = nanosecond - np.rint((tick - moments) * length).astype(np.int64)
        for duration in durations:
            duration[:] = np.rint(duration * length).astype(np.int64)

    def _look(self) -> tuple[int, int]:
        """Return the same moment by both clocks: the fastest of several readings."""
        looks = [(time.monotonic_ns(), self._now(), time.monotonic_ns()) for _ in range(10)]
        before, tick, after = min(looks, key=lambda look: look[2] - look[0])
        return tick, (before + after) // 2


LAP, ENTER, LEAVE = SYMBOLS = ("tirax_lap", "tirax_enter", "tirax_leave")
"""The functions that instrumented entry points call."""
NOT_MEASURED = -2
ROW = 4
"""Integers per row of a site; the first one is its count."""
FIELDS = ("time", "site", "operations", "bytes", "live", "busy", "available", "threads", "calls")
"""The columns of a recording: time in nanoseconds; site index; counts (-1: unknown); bytes; then, for the
parallel loops in an event, nanoseconds that their threads were busy, nanoseconds they would have been busy if
all had run as long as the last one, and the number of threads; at the begin of a call the number of calls that
it stands for, else 0.
"""

MOST_EVENTS = 1 << 24
"""Maximum number of stored events, of 72 bytes each; later ones are only counted."""
_PART = 400
"""Short calls are sampled so that marks take one part in this many of the time, by their cost in a tight loop;
between other code they cost up to three times as much.
"""

_lock = Lock()


@dataclass(frozen=True)
class Recording:
    """What ran when: `events` has a row for each change, its columns are `FIELDS`; site -1 ends a call."""

    events: np.ndarray
    lost: int
    """Events dropped for lack of space."""
    begin: int
    end: int
    """End in nanoseconds by the same clock: of the call from Python, or of the recording."""
    counts: np.ndarray
    """How often each site ran."""
    calls: int = 1
    """Number of calls, measured or not."""
    result: Any = None
    """The result of the call, for a single one."""
    single: bool = True
    """True for the recording of a single call."""

    def column(self, name: str) -> np.ndarray:
        """Return a column by its name."""
        return self.events[:, FIELDS.index(name)]


def imports() -> dict[str, int]:
    """Return the symbols that an instrumented executable is linked with, by address."""
    recorder = _recorder()
    return {**recorder.functions, thread_pool.SYMBOL: recorder.parallel_for}


def new_rows(sites: int) -> np.ndarray:
    """Return the rows of an instrumented module with `sites` sites."""
    return np.zeros((sites, ROW), np.int64)


def is_recording() -> bool:
    """Return whether calls are being recorded, by any thread."""
    return _recorder.cache_info().currsize > 0 and _recorder().on


@contextmanager
def recording(rows: np.ndarray) -> Generator[_Recorder]:
    """Record calls of the module with these rows inside the block; memory for events is kept until its end.

    Only one thread records at a time; others wait. Raises `ArgumentError` inside a recorded call.
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
        """Stop recording and free the memory, unless a call in another thread still writes to it."""
        self._on.value = False
        if not self._words["owner"].value:
            self._release()

    def record(self, function: Callable[..., Any], *args: Any) -> Recording:
        """Record a call. Raises whatever the function raises."""
        self.reset(sampled=False)
        begin = time.monotonic_ns()
        result = function(*args)
        return self.recorded(begin, time.monotonic_ns(), result)

    def reset(self, sampled: bool) -> None:
        """Discard what was recorded. With `sampled`, most short calls are skipped."""
        self._words["part"].value = _PART if sampled else 0
        self._rows[:] = 0
        self._reset()

    def recorded(self, begin: int, end: int, result: Any = None, single: bool = True) -> Recording:
        """Return the recording since the last `reset`, which was at `begin`."""
        lost, calls = self._words["lost"].value, self._words["calls"].value
        return Recording(self._events(), lost, begin, end, self._rows[:, 0].copy(), calls, result, single)

    def _events(self) -> np.ndarray:
        """Return a copy of the recorded events, with times in nanoseconds."""
        count = self._words["count"].value
        data = ctypes.string_at(self._words["events"].value, 8 * len(FIELDS) * count) if count else b""
        events = np.frombuffer(data, np.int64).reshape(-1, len(FIELDS)).copy()
        moment, *durations = (events[:, FIELDS.index(name)] for name in ("time", "busy", "available"))
        self._ticks.to_nanoseconds(moment, *durations)
        return events


@functools.cache
def _recorder() -> _Recorder:
    return _Recorder()
