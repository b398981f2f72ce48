"""A call that is profiled."""

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
    """Where the time of a call goes: of `repeat` calls behind `warmup` others the fastest one is told.

    `module` is instrumented, `sites` are those of its executable. `limits` are this machine's, measured, by default.
    Raises what the function does, `NameLookupError`, and `ArgumentError` for counts that are none.
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
