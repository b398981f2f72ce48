"""The search for a smaller failing case: try runs of sites at once, long runs first."""

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

    `sites` counts the places where it applies. `smaller` applies it at `size` of them from `start` on and
    returns a new case, or None if nothing changes. The new case has fewer sites, or less to reduce at them.
    Without `runs`, sites are tried one by one.
    """

    sites: Callable[[T], int]
    smaller: Callable[[T, int, int], T | None]
    runs: bool = True


Verdicts = Callable[[Sequence[T]], Sequence[bool]]
"""Evaluates a predicate on several cases at once."""


def shrunk(case: T, rules: Sequence[ReductionRule[T]], holds: Verdicts[T], seconds: float, ahead: int = 1) -> T:
    """Return a smaller case on which `holds` is true, within a time limit; deterministic if the time suffices.

    `holds` must be true of `case`. The rules are applied in turn until none makes the case smaller. `holds` is
    evaluated on `ahead` cases at once, speculatively; the result does not depend on it.
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
    """Return the next smaller cases with the start of each, and the start that follows them."""
    candidates: list[tuple[int, T]] = []
    for start in starts:
        candidate = rule.smaller(case, start, starts.step)
        if candidate is not None:
            candidates.append((start, candidate))
        if len(candidates) == most:
            return candidates, start + starts.step
    return candidates, starts.stop


def gist(message: str) -> str:
    """Return the signature of a message: its first line without numbers and names that contain any."""
    first = (message.strip().splitlines() or [""])[0]
    return re.sub(r"[%@]?\w*\d\w*", "#", first)[:80]
