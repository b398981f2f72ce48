"""What the benchmarks share: a quiet process, interleaved timing, tables.

Import it before numpy: `quiet()` sets what a BLAS reads when it is loaded.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).resolve().parents[1] / "build" / "benchmarks"

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CHOSEN_BY_HAND = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""With these a machine's environment may hold numpy back to older kernels; a comparison has to be with its best."""


CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
"""The cores that this process was given."""


_settled: list[bool] = []
"""Whether `quiet` was called: benchmarks import one another."""


def quiet() -> None:
    """One thread on one core, and the kernels that numpy's BLAS chooses itself. Said again it changes nothing."""
    if _settled:
        return
    if "numpy" in sys.modules:
        raise RuntimeError("measure.quiet() must be called before numpy is imported")
    for name in CHOSEN_BY_HAND:
        os.environ.pop(name, None)
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    _settled.append(True)


@dataclass(frozen=True)
class Times:
    """Microseconds of one call."""

    median: float
    minimum: float


Clock = Callable[[], float]


def _calls_per_sample(function: Callable[[], object], seconds: float, clock: Clock) -> int:
    """How many calls take about `seconds`: enough that reading the clock does not count."""
    number = 1
    while True:
        start = clock()
        for _ in range(number):
            function()
        spent = clock() - start
        if spent >= seconds:
            return number
        number = max(2 * number, int(number * seconds / max(spent, 1e-9)))


def interleaved(
    functions: Mapping[str, Callable[[], object]],
    rounds: int = 101,
    sample: float = 5e-4,
    clock: Clock = time.perf_counter,
    longest: float = float("inf"),
) -> dict[str, Times]:
    """Time all functions in turns, `rounds` samples of about `sample` seconds each, so that noise meets all alike.

    What is on one thread may be timed by `time.process_time`, which stands still while others run. A function that has
    taken `longest` seconds sits out the rounds that are left, but for the first three.
    """
    numbers = {name: _calls_per_sample(function, sample, clock) for name, function in functions.items()}
    by_name: dict[str, list[float]] = {name: [] for name in functions}
    for at in range(rounds):
        for name, function in functions.items():
            if at >= 3 and sum(by_name[name]) * numbers[name] > longest * 1e6:
                continue
            repeats = range(numbers[name])
            start = clock()
            for _ in repeats:
                function()
            by_name[name].append((clock() - start) / len(repeats) * 1e6)
    return {name: Times(median(samples), min(samples)) for name, samples in by_name.items()}


def processor() -> str:
    """The name of the processor, as Linux gives it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(name: str, rows: object) -> Path:
    """Write `rows` with the processor and the versions beside them to build/benchmarks/<name>.json."""
    from importlib.metadata import version

    versions = {package: version(package) for package in ("tirax", "numpy", "llvmlite", "xdsl")}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"processor": processor(), "python": platform.python_version(), "versions": versions, "rows": rows}
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
