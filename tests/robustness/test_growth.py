"""Memory over many programs: what is gone is not kept, and a process that only compiles collects its garbage."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from strength import only_full, thinned

from tirax.ir.passes import transform
from tirax.ir.passes.transform import no_gc

GROWING = Path(__file__).parents[1] / "helpers" / "growing.py"
BUILT = ["equal programs", "programs with extents of their own", "tensor expressions"]
STRUCTURES = ["schedules", "statements", "bindings", "expressions that are simplified", "programs that are refused"]
_COUNT = 8


def growing(*arguments: str) -> object:
    environment = {**os.environ, "TIRAX_CACHE": "0", "TIRAX_BUILD_THREADS": "1"}
    command = [sys.executable, str(GROWING), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@thinned("kinds", [STRUCTURES, BUILT], 1, " ".join)
def test_programs_that_are_gone_leave_nothing(kinds):
    """Less than an object a program, and less than two blocks of memory: a leak keeps them in each process."""

    def leaks(kinds):
        kept = growing(str(_COUNT), *kinds)
        return {kind: row for kind, row in kept.items() if row[0] >= _COUNT or row[1] >= 2 * _COUNT}

    first = leaks(kinds)
    assert not first or not leaks(first), first


@only_full
@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/statm")
def test_a_process_that_only_builds_does_not_grow():
    """A build has 340 KB of garbage; where memory is used again, some round takes next to nothing."""
    assert min(growing("--pages", "50", BUILT[0])) < 50 * 60


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(("seconds", "on", "collected"), [(60, True, True), (0, True, False), (60, False, False)])
def test_what_was_compiled_is_collected(monkeypatch, seconds, on, collected):
    """Once it has taken long enough; never where the user has turned the collector off."""
    times = iter(range(0, 1000, seconds) if seconds else [0] * 9)
    monkeypatch.setattr(transform.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(transform, "_collections", transform._Collections())
    thresholds = gc.get_threshold()
    gc.set_threshold(thresholds[0] if on else 0, *thresholds[1:])
    try:
        with no_gc():
            left = weakref.ref(Cycle())
        assert (left() is None) == collected and gc.isenabled()
    finally:
        gc.set_threshold(*thresholds)
