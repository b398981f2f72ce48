"""Profiling of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from ..module import Module
from .limits import Limits, measured_limits
from .recorder import recording
from .report import Report
from .sites import Site


def profile(
    module: Module,
    sites: Sequence[Site],
    func_name: str,
    *args: Any,
    warmup: int = 1,
    repeat: int = 1,
    limits: Limits | None = None,
) -> Report:
    """Return the profile of the fastest of `repeat` calls, after `warmup` others.

    `module` is instrumented, `sites` are those of its executable. `limits` defaults to this machine's, measured. Raises
    whatever the function raises, `NameLookupError`, and `ArgumentError` for invalid counts.
    """
    if warmup < 0 or repeat < 1:
        raise ArgumentError("how often to call", expected="warmup ≥ 0, repeat ≥ 1", found=f"{warmup}, {repeat}")
    function = module[func_name]
    with recording(module.rows) as recorder:
        for _ in range(warmup):
            recorder.record(function, *args)
        recordings = (recorder.record(function, *args) for _ in range(repeat))
        best = min(recordings, key=lambda r: r.end - r.begin)
    return Report(func_name, tuple(sites), best, limits or measured_limits())
