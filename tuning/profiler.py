"""A profile of the time spent in tuning."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[tuple[Profiler, ...]] = ContextVar("tirax_profilers", default=())


class Profiler:
    """Sums seconds by name: `with Profiler() as profiler: …`, then `profiler.get()` or `profiler.table()`."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._start = 0.0

    def get(self) -> dict[str, float]:
        """Return the seconds by name, and their `Total`."""
        return dict(self._seconds)

    def table(self) -> str:
        """Format the seconds as text, largest first."""
        total = self._seconds.get("Total") or sum(self._seconds.values()) or 1.0
        rows = sorted(self._seconds.items(), key=lambda row: -row[1])
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:{width}} {seconds:10.3f} s {seconds / total:7.1%}" for name, seconds in rows)

    def __enter__(self) -> Profiler:
        self._start = time.perf_counter()
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.set(_current.get()[:-1])
        self._seconds["Total"] = time.perf_counter() - self._start

    @staticmethod
    def current() -> Profiler | None:
        """Return the innermost profiler, or None if there is none."""
        entered = _current.get()
        return entered[-1] if entered else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Generator[None]:
        """Add the seconds spent in the body to `name`, for all active profilers."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            for profiler in _current.get():
                profiler._seconds[name] = profiler._seconds.get(name, 0.0) + seconds
