"""Functions whose first calls are profiled transparently."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .recorder import is_recording
from .report import Report

CALLS = 5
"""Number of calls of each function that are profiled; the last report is for the fastest one."""

Profile = Callable[..., Report]
Tell = Callable[[Report, tuple[Any, ...]], None]
"""Receives the profile of a call, and its arguments."""


def watched(name: str, function: Callable[..., Any], profile: Profile, tell: Tell) -> Callable[..., Any]:
    """Return `function` with its first calls profiled by `profile`; each that is the fastest so far is passed to
    `tell`.
    """
    left, fastest = CALLS, float("inf")

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        nonlocal left, fastest
        if left == 0 or is_recording():
            return function(*args)
        left -= 1
        report = profile(name, *args, warmup=0)
        if report.seconds < fastest:
            fastest = report.seconds
            tell(report, args)
        return report.result

    return call
