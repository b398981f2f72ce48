"""The search for a smaller case of which something still holds: runs of sites at once, long runs first."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class ReductionRule(Generic[T]):
    """A way to make a case smaller.

    `sites` counts the places where it may be done. `smaller` does it at `size` of them from `start` on, in a case of
    its own; None where that changes nothing. What it gives has fewer sites, or less that can be done at them. Where not
    in `runs`, places are tried one by one.
    """

    sites: Callable[[T], int]
    smaller: Callable[[T, int, int], T | None]
    runs: bool = True


Verdicts = Callable[[Sequence[T]], Sequence[bool]]
"""Whether something holds, of several cases at once."""


def shrunk(case: T, rules: Sequence[ReductionRule[T]], holds: Verdicts[T], seconds: float, ahead: int = 1) -> T:
    """A smaller case on which `holds` is true, as far as the time goes; the same each time where that suffices.

    `holds` must be true of `case`. Rules are followed in turn until none of them makes the case smaller. `holds` is
    asked of `ahead` cases at once, those that follow where the ones before do not hold: the result is the same.
    """
    deadline = time.monotonic() + seconds
    before: T | None = None
    while case is not before and time.monotonic() < deadline:
        before = case
        for rule in rules:
            case = _by_rule(case, rule, holds, deadline, ahead)
    return case


def _by_rule(case: T, rule: ReductionRule[T], holds: Verdicts[T], deadline: float, ahead: int) -> T:
    size = rule.sites(case) if rule.runs else min(1, rule.sites(case))
    while size:
        start = 0
        while start < (sites := rule.sites(case)):
            if time.monotonic() > deadline:
                return case
            candidates, end = _candidates(case, rule, range(start, sites, size), ahead)
            verdicts = holds([candidate for _, candidate in candidates])
            first = next((c for c, verdict in zip(candidates, verdicts, strict=True) if verdict), None)
            start, case = (end, case) if first is None else first
        size //= 2
    return case


def _candidates(case: T, rule: ReductionRule[T], starts: range, most: int) -> tuple[list[tuple[int, T]], int]:
    """The next smaller cases with where each begins, and where those behind them do."""
    candidates: list[tuple[int, T]] = []
    for start in starts:
        candidate = rule.smaller(case, start, starts.step)
        if candidate is not None:
            candidates.append((start, candidate))
        if len(candidates) == most:
            return candidates, start + starts.step
    return candidates, starts.stop


def gist(message: str) -> str:
    """What messages of one cause share: the first line without numbers and names that have any."""
    first = (message.strip().splitlines() or [""])[0]
    return re.sub(r"[%@]?\w*\d\w*", "#", first)[:80]
