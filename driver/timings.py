"""Where the time of a build goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Timings:
    """Seconds by stage, in order: `with timings: build(mod)`; then `timings.stages`, `str(timings)`.

    A stage that runs more than once is added up.
    """

    stages: dict[str, float] = field(default_factory=dict[str, float])

    def __enter__(self) -> Timings:
        _watching().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching().pop()

    def started(self, name: str) -> None:
        """Called where a stage begins."""

    @property
    def total(self) -> float:
        """Seconds of all stages together."""
        return sum(self.stages.values())

    def __str__(self) -> str:
        width = max(map(len, self.stages), default=0)
        lines = [f"{name:{width}} {seconds * 1e3:9.2f} ms" for name, seconds in self.stages.items()]
        return "\n".join([*lines, f"{'total':{width}} {self.total * 1e3:9.2f} ms"])


class _Local(threading.local):
    def __init__(self) -> None:
        self.timings: list[Timings] = []


_local = _Local()


def _watching() -> list[Timings]:
    """The timings that this thread's builds report to."""
    return _local.timings


@contextmanager
def stage(name: str) -> Generator[None]:
    """Time what is inside as a stage, for whoever watches."""
    watching = _watching()
    if not watching:
        yield
        return
    for timings in watching:
        timings.started(name)
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - start
        for timings in watching:
            timings.stages[name] = timings.stages.get(name, 0.0) + seconds


def add_stages(stages: Mapping[str, float]) -> None:
    """Add seconds that were spent elsewhere for a build of this thread."""
    for timings in _watching():
        for name, seconds in stages.items():
            timings.stages[name] = timings.stages.get(name, 0.0) + seconds
