"""Timings of the stages of a build."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

IN_SUBPROCESS = "compile in a subprocess"
"""The stage of a build in another process, whose result the cache keeps."""


@dataclass
class Timings:
    """Seconds by stage, in order: `with timings: build(mod)`; then `timings.stages`, `str(timings)`.

    The times of a stage that runs more than once are added up.
    """

    stages: dict[str, float] = field(default_factory=dict[str, float])

    def __enter__(self) -> Timings:
        _watching().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching().pop()

    def started(self, name: str) -> None:
        """Hook that is called when a stage begins."""

    def passed(self, number: int, count: int) -> None:
        """Hook that is called when pass `number` (from 1) of `count` begins, before its stage does."""

    @property
    def total(self) -> float:
        """Total seconds of all stages."""
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
    """Return the timings that are active for this thread's builds."""
    return _local.timings


@contextmanager
def stage(name: str) -> Generator[None]:
    """Time the enclosed code as a stage, for all active timings."""
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


def at_pass(number: int, count: int) -> None:
    """Tell all active timings which pass of a pipeline begins."""
    for timings in _watching():
        timings.passed(number, count)


def add_stages(stages: Mapping[str, float]) -> None:
    """Add the seconds of stages that ran elsewhere for a build of this thread."""
    for timings in _watching():
        for name, seconds in stages.items():
            timings.stages[name] = timings.stages.get(name, 0.0) + seconds
