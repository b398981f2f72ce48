"""Timing of calls."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ArgumentError


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds per call, one value for each repeat, and their statistics."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the repeats, seconds."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Median of the repeats, seconds."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """Fastest repeat, seconds."""
        return min(self.results)

    @property
    def max(self) -> float:
        """Slowest repeat, seconds."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation over the repeats, seconds."""
        return statistics.pstdev(self.results)

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std})"
        )

    def __str__(self) -> str:
        columns = {"mean": self.mean, "median": self.median, "max": self.max, "min": self.min, "std": self.std}
        head = "".join(f"{name + ' (ms)':^14}" for name in columns)
        values = "".join(f"{value * 1e3:^14.4f}" for value in columns.values())
        return f"Execution time summary:\n{head.rstrip()}\n{values.rstrip()}"


@dataclass(frozen=True)
class Evaluator:
    """Calls `function` once to warm up, then `repeat` times `number` times; `number` grows until a repeat takes
    `min_repeat_ms`.

    A repeat without measurable time is retried up to `limit_zero_time_iterations` times. After every
    `repeats_to_cooldown` repeats it sleeps for `cooldown_interval_ms`. Before every repeat it writes
    `cache_flush_bytes` bytes of other memory.
    """

    function: Callable[..., Any]
    number: int = 10
    repeat: int = 1
    min_repeat_ms: int = 0
    limit_zero_time_iterations: int = 100
    cooldown_interval_ms: int = 0
    repeats_to_cooldown: int = 1
    cache_flush_bytes: int = 0

    def __post_init__(self) -> None:
        for name in ("number", "repeat", "repeats_to_cooldown"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"'{name}' is too small", expected="at least 1", found=getattr(self, name))

    def __call__(self, *args: Any) -> BenchmarkResult:
        """Time `function(*args)`; its exceptions are passed on."""
        self.function(*args)
        number, results = self.number, list[float]()
        for index in range(self.repeat):
            np.zeros(self.cache_flush_bytes, np.uint8).fill(1)
            number, seconds = self._one_repeat(number, args)
            results.append(seconds)
            if self.cooldown_interval_ms and (index + 1) % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
        return BenchmarkResult(tuple(results))

    def _one_repeat(self, number: int, args: tuple[Any, ...]) -> tuple[int, float]:
        """Return the final number of calls, and the seconds per call."""
        goal = self.min_repeat_ms / 1e3
        for _ in range(self.limit_zero_time_iterations + 1):
            elapsed = self._run(number, args)
            if elapsed > 0 and elapsed >= goal:
                break
            required = math.ceil(number * goal / elapsed) if elapsed > 0 else number * 2
            number = max(number + 1, min(required, number * 100)) if goal else number
        return number, elapsed / number

    def _run(self, number: int, args: tuple[Any, ...]) -> float:
        function = self.function
        start = time.perf_counter()
        for _ in itertools.repeat(None, number):
            function(*args)
        return time.perf_counter() - start
