"""Tuning progress on a terminal: results, failures and durations; and a plot of them afterwards."""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..diagnostics import TiraxError

if TYPE_CHECKING:
    from .task_scheduler import TaskRecord, TaskScheduler

_COLUMNS = ("ID", "Name", "FLOP", "Weight", "GFLOP/s", "Latency (us)", "Trials", "Failures", "Done")


class ProgressDisplay:
    """A live table of a scheduler's progress: `with ProgressDisplay(scheduler): …`.

    If `console` (default: standard error) is not a terminal, a line of text reports the state after each round.
    """

    def __init__(self, scheduler: TaskScheduler, console: Console | None = None):
        self.scheduler = scheduler
        self.console = console or Console(stderr=True)
        self._phase = ""
        self._start = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> ProgressDisplay:
        self._start = time.monotonic()
        self.scheduler.watch(self._changed)
        if self.console.is_terminal:
            self._live = Live(get_renderable=self.render, console=self.console, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _changed(self, phase: str) -> None:
        self._phase = phase
        if not phase and self._live is None:
            self.console.print(
                f"tuning: {self._status()}{best_text(self.scheduler.tasks)}", highlight=False, soft_wrap=True
            )

    def render(self) -> Group:
        """Return the renderable table and status."""
        return Group(table(self.scheduler.tasks), Text(self._status()))

    def _status(self) -> str:
        elapsed = time.monotonic() - self._start
        done, most = self.scheduler.trials, self.scheduler.max_trials
        left = f", about {_time(elapsed / done * (most - done))} left" if done and most > done else ""
        phase = f" ({self._phase})" if self._phase else ""
        return f"{done} of {most} trials in {_time(elapsed)}{left}{phase}"


def best_text(tasks: list[TaskRecord]) -> str:
    """Summarize the fastest candidates so far, one part for each task that has one."""
    return "".join(f"; {t.context.task_name}: {t.best * 1e6:.3f} us" for t in tasks if math.isfinite(t.best))


def table(tasks: list[TaskRecord]) -> Table:
    """Return a table of the state of all tasks."""
    out = Table(*_COLUMNS, title=None)
    for k, task in enumerate(tasks):
        measured = math.isfinite(task.best)
        out.add_row(
            str(k),
            task.context.task_name,
            f"{task.flop:.0f}",
            f"{task.weight:g}",
            f"{task.gflops:.2f}" if measured else "-",
            f"{task.best * 1e6:.3f}" if measured else "-",
            str(task.trials),
            ", ".join(f"{count} {kind}" for kind, count in task.failures.items()) or "-",
            "yes" if task.terminated else "",
        )
    return out


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def best_so_far(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Return the best speed after each trial in GFLOP/s, by task, from a file written by `TrialLog`."""
    curves: dict[str, list[float]] = {}
    with open(path) as file:
        for line in file:
            if not line.endswith("\n"):  # its writer was stopped in the middle
                break
            row: dict[str, Any] = json.loads(line)
            curve = curves.setdefault(row["task"], [])
            speed = row["flop"] / statistics.median(row["run_secs"]) / 1e9 if row["run_secs"] else 0.0
            curve.append(max(speed, curve[-1] if curve else 0.0))
    return curves


def plot_trials(path: str | os.PathLike[str], image: str | os.PathLike[str]) -> None:
    """Plot `best_so_far` to a file (`.png`, `.svg`, …). Raises `TiraxError` if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise TiraxError("matplotlib is not installed", hint="pip install 'tirax[plot]'") from error
    figure = Figure()
    axes = figure.subplots()
    for task, curve in best_so_far(path).items():
        axes.plot(range(1, len(curve) + 1), curve, drawstyle="steps-post", label=task)
    axes.set_xlabel("trials")
    axes.set_ylabel("GFLOP/s")
    axes.legend()
    figure.savefig(image)
