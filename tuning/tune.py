"""`tune_tasks`, the common implementation of all tuning entry points."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypedDict

from ..diagnostics import TiraxError
from ..target import Target
from .builder import Builder
from .context import TuneContext
from .cost_model import CostModel
from .database import Database
from .processes import close_idle
from .profiler import Profiler
from .progress import ProgressDisplay, best_text
from .runner import Runner
from .search import SearchStrategy
from .task_scheduler import MeasureCallback, TaskScheduler, TrialLog

logger = logging.getLogger("tirax.tuning")
TRIALS_FILE = "trials.jsonl"
LOG_FILE = "tuning.log"


class TuneOptions(TypedDict, total=False):
    """The options that all tuning entry points pass on to `tune_tasks`, which has the defaults."""

    max_trials_per_task: int | None
    num_trials_per_iter: int
    builder: Builder | str
    runner: Runner | str
    database: Database | str
    cost_model: Any
    measure_callbacks: Any
    task_scheduler: TaskScheduler | str
    executor: Executor | None
    progress: bool


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float] | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "sqlite",
    cost_model: Any = "default",
    measure_callbacks: Any = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    executor: Executor | None = None,
    progress: bool = True,
) -> Database:
    """Tune tasks with at most `max_trials_global` new measurements, and return the database with the results.

    `work_dir` stores the database (`sqlite`, or `json` in TVM's format), a log and the trials; another run
    continues from there with as many new measurements. Each measurement is stored at once; on Ctrl-C
    `TuningInterrupted` is raised. Without `work_dir` the database is in memory. `executor` runs builds and
    measurements (default: subprocesses of this machine).
    """
    folder = None if work_dir is None else Path(work_dir)
    store = Database.in_folder(folder, database)
    if progress and len(store):
        text = f"tuning goes on from {len(store)} measurements with up to {max_trials_global} further ones"
        print(text, file=sys.stderr)
    options: dict[str, Any] = {} if executor is None else {"executor": executor}
    scheduler = TaskScheduler.create(task_scheduler)
    callbacks = MeasureCallback.create(measure_callbacks)
    watching = Profiler.current()
    with _logs(folder) as logs:
        if logs is not None:
            callbacks = [*callbacks, TrialLog(logs / TRIALS_FILE)]
        with (
            nullcontext(watching) if watching is not None else Profiler() as profiler,
            ProgressDisplay(scheduler) if progress else nullcontext(),
            _interruptible(folder, scheduler),
        ):
            scheduler.tune(
                tasks,
                task_weights or [1.0] * len(tasks),
                max_trials_global,
                max_trials_global if max_trials_per_task is None else max_trials_per_task,
                num_trials_per_iter,
                Builder.create(builder, **(options if builder == "local" else {})),
                Runner.create(runner, **({**options, "cores": _cores(tasks)} if runner == "local" else {})),
                callbacks,
                store,
                CostModel.create(cost_model),
            )
        logger.info("Tuning time:\n%s", profiler.table())
    return store


class TuningInterrupted(KeyboardInterrupt, SystemExit):
    """Raised on Ctrl-C during tuning. If uncaught, the program exits with code 130 and without a traceback."""

    code = 130


@contextmanager
def _interruptible(folder: Path | None, scheduler: TaskScheduler) -> Generator[None]:
    """Report the results so far if tuning is interrupted, or stops because a file cannot be written."""

    def state() -> str:
        best = best_text(scheduler.tasks) or "; nothing was measured"
        kept = "" if folder is None else f"; kept in {folder}, where tuning goes on from it"
        return f"after {scheduler.trials} trials{best}{kept}"

    try:
        yield
    except KeyboardInterrupt as error:
        print(f"tuning was interrupted {state()}", file=sys.stderr)
        close_idle()
        raise TuningInterrupted(130) from error
    except OSError as error:
        close_idle()
        raise TiraxError(f"tuning was stopped {state()}", notes=[str(error)]) from error


def _cores(tasks: Sequence[TuneContext]) -> int:
    return max((t.target.cores for t in tasks if isinstance(t.target, Target)), default=1)


def strategy_of(strategy: SearchStrategy | str) -> SearchStrategy:
    """Return a search strategy for one task: a copy of `strategy`, or a new one of that kind."""
    return SearchStrategy.create(strategy).clone()


@contextmanager
def _logs(folder: Path | None) -> Generator[Path | None]:
    """Redirect log output to a folder below `folder`, and yield that folder."""
    if folder is None:
        yield None
        return
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(logs / LOG_FILE)
    handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    try:
        yield logs
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
