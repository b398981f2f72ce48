"""Profiling of calls that a program makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentError
from ..module import Module
from .limits import Limits, measured_limits
from .recorder import Recording, recording
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


class Session:
    """Functions whose calls are profiled: call `session["main"](x)` any number of times, then `session.report()`.

    Most short calls are not measured; the others represent them, so that calls become less than 2 % slower.
    """

    def __init__(self, module: Module, sites: Sequence[Site], look: Callable[[], Recording]):
        self._module = module
        self._sites = tuple(sites)
        self._look = look

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function by name. Raises `NameLookupError` with a suggestion."""
        return self._module[name]

    def report(self, limits: Limits | None = None) -> Report:
        """Return the profile since the session began, until its end or now. `limits` as for `profile`."""
        recorded = self._look()
        ran = [site for site, count in zip(self._sites, recorded.counts, strict=True) if count]
        functions = ", ".join(dict.fromkeys(site.function for site in ran if site.kind == "host"))
        return Report(functions, self._sites, recorded, limits or measured_limits())


@contextmanager
def profiling(module: Module, sites: Sequence[Site]) -> Iterator[Session]:
    """Open a `Session` of an instrumented module with these sites. Raises `ArgumentError` inside a profiled call."""
    with recording(module.rows) as recorder:
        recorder.reset(sampled=True)
        begin = time.monotonic_ns()
        ended: list[Recording] = []

        def look() -> Recording:
            return ended[0] if ended else recorder.recorded(begin, time.monotonic_ns(), single=False)

        try:
            yield Session(module, sites, look)
        finally:
            ended.append(look())
