"""What the notebooks of the course share: listings, pictures, tables, times, and verdicts on answers."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import marimo as mo


class WrongSolutionError(Exception):
    """A solution of the course does not pass its own check."""


def listing(text: str, language: str = "python") -> Any:
    """A program as a listing; `language` is a name that pygments knows."""
    return mo.md(f"```{language}\n{text.strip()}\n```")


def before_and_after(before: str, after: str) -> Any:
    """Two programs, one below the other."""
    return mo.vstack([mo.md("before:"), listing(before), mo.md("after:"), listing(after)])


def picture(svg: str) -> Any:
    """An SVG as an image of its own, so that its style is nobody else's."""
    data = base64.b64encode(svg.encode()).decode()
    return mo.Html(f'<img alt="" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">')


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Any:
    """A table; numbers to the right."""
    rows = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    numbers = [i for i in range(len(head)) if all(row[i].replace(".", "").isdigit() for row in rows)]
    rule = ["--:" if i in numbers else "---" for i in range(len(head))]
    return mo.md("\n".join(f"| {' | '.join(row)} |" for row in [list(head), rule, *rows]))


def seconds(call: Callable[[], object], least: float = 0.05) -> float:
    """How long a call takes: the fastest one of as many as `least` seconds allow, since other programs disturb."""
    call()
    best, end = float("inf"), time.perf_counter() + least
    while (begin := time.perf_counter()) < end:
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def verdict(problem: str | None) -> Any:
    """What a check says of an answer: None where nothing is wrong with it."""
    if problem is None:
        return mo.callout(mo.md("**Right.**"), kind="success")
    return mo.callout(mo.md(problem), kind="warn")


def right(problem: str | None) -> Any:
    """The verdict on a solution. Raises `WrongSolutionError` where its check finds something wrong."""
    if problem is not None:
        raise WrongSolutionError(problem)
    return mo.callout(
        mo.md("**A solution is in this cell**, folded away. The check says that it is right."), kind="neutral"
    )
