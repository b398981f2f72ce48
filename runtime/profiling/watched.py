"""Functions whose first calls are profiled, in the place of the calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .recorder import is_recording
from .report import Report

CALLS = 5
"""Of each function so many are profiled; the fastest one is told last."""

Profile = Callable[..., Report]
Tell = Callable[[Report, tuple[Any, ...]], None]
"""Takes the profile of a call, and what it was called with."""


def watched(name: str, function: Callable[..., Any], profile: Profile, tell: Tell) -> Callable[..., Any]:
    """`function`, whose first calls go through `profile`, once each, and are told where they are the fastest so far."""
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
