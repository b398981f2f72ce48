"""The processor's time stamp counter as a clock."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

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
