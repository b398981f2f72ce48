"""Task schedulers: choose the task that gets the next trials, and run its round: propose, build, measure, learn."""

from __future__ import annotations

import fcntl
import json
import logging
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import FileIO
from typing import Any

from ..diagnostics import TiraxError, unknown_name
from ..handles.module import IRModule
from ..target import Target
from .analysis import estimate_flops
from .builder import Builder, remove_artifact
from .context import TuneContext
from .database import Database
from .profiler import Profiler
from .runner import Runner
from .search import SearchStrategy
from .types import BuilderInput, BuilderResult, MeasureCandidate, RunnerFuture, RunnerInput, RunnerResult, TuningRecord

logger = logging.getLogger("tirax.tuning")
_HOPELESS = 3
"""The number of failed rounds after which other tasks take precedence."""


@dataclass
class TaskRecord:
    """The state of a task in tuning: trials spent and results so far."""

    context: TuneContext
    mod: IRModule
    target: Target
    strategy: SearchStrategy
    weight: float
    flop: float = 0.0
    trials: int = 0
    best: float = math.inf
    """The seconds of the fastest candidate."""
    latencies: list[float] = field(default_factory=list)
    """`best` after each round."""
    failures: Counter[str] = field(default_factory=Counter)
    """The number of failed candidates by kind: crash, timeout, memory, wrong, error, executor."""
    terminated: bool = False
    reference: BuilderResult | None = None

    @property
    def gflops(self) -> float:
        """The speed of the fastest candidate in GFLOP/s; 0 if none was measured."""
        return self.flop / self.best / 1e9 if 0 < self.best < math.inf else 0.0


class TaskScheduler:
    """Distributes trials among tasks; subclasses choose the next task (`next_task_id`)."""

    def __init__(self) -> None:
        self.tasks: list[TaskRecord] = []
        self.database: Database | None = None
        self.cost_model: Any = None
        self.max_trials = 0
        self._callbacks: list[MeasureCallback] = []
        self._watchers: list[Callable[[str], None]] = []

    @staticmethod
    def create(kind: TaskScheduler | str = "gradient", **options: Any) -> TaskScheduler:
        """Return `kind` if it is a scheduler, or a new `gradient` or `round-robin` one. Raises `NameLookupError`."""
        if isinstance(kind, TaskScheduler):
            return kind
        kinds = {"gradient": GradientBased, "round-robin": RoundRobin}
        if kind not in kinds:
            raise unknown_name("task scheduler", kind, kinds)
        return kinds[kind](**options)

    def next_task_id(self) -> int | None:
        """Return the task to continue with, or None if all are done."""
        raise NotImplementedError(type(self).__name__)

    @property
    def trials(self) -> int:
        """The number of trials of all tasks."""
        return sum(task.trials for task in self.tasks)

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Register `watcher(phase)` to be called on every change of state."""
        self._watchers.append(watcher)

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback] = (),
        database: Database | None = None,
        cost_model: Any = None,
    ) -> None:
        """Tune until the trials are used up, or no task has candidates left.

        A round is measured in full: the last one may exceed `max_trials_global`, as in TVM.
        """
        if len(tasks) != len(task_weights):
            raise TiraxError("each task has a weight", expected=len(tasks), found=len(task_weights))
        self.database, self.cost_model, self.max_trials = database, cost_model, max_trials_global
        self._callbacks, self.tasks = list(measure_callbacks), []
        self._limits = (max_trials_per_task, num_trials_per_iter)
        for context, weight in zip(tasks, task_weights, strict=True):
            self.tasks.append(self._initialized(context, weight))
        try:
            self._rounds(builder, runner)
        finally:
            for task in self.tasks:
                task.terminated = True
                task.strategy.post_tuning()
                if task.reference is not None:
                    remove_artifact(task.reference)

    def _initialized(self, context: TuneContext, weight: float) -> TaskRecord:
        per_task, per_iter = self._limits
        mod, target = context.mod, context.target
        strategy = context.search_strategy
        if mod is None or not isinstance(target, Target) or context.space_generator is None or strategy is None:
            raise TiraxError(
                f"task '{context.task_name}' is not complete",
                expected="a module, a space generator and a search strategy",
            )
        with Profiler.timeit("design space"):
            spaces = context.generate_design_space()
        logger.info("Initializing task %r: %d design space(s)", context.task_name, len(spaces))
        if self.database is not None:
            self.database.commit_workload(mod)
        strategy.pre_tuning(per_task, per_iter, spaces, self.database, self.cost_model)
        return TaskRecord(context, mod, target, strategy, weight, estimate_flops(mod))

    def _rounds(self, builder: Builder, runner: Runner) -> None:
        while self.trials < self.max_trials:
            chosen = self.next_task_id()
            if chosen is None:
                return
            self._round(chosen, builder, runner)

    def _round(self, task_id: int, builder: Builder, runner: Runner) -> None:
        task = self.tasks[task_id]
        strategy = task.strategy
        self._tell(f"searching {task.context.task_name}")
        with Profiler.timeit("search"):
            proposed = strategy.generate_measure_candidates()
        room = self._limits[0] - task.trials
        if proposed is None or room <= 0:
            task.terminated = True
            self._tell(f"{task.context.task_name} is done")
            return
        if not proposed:
            return  # this round has none, the next one may
        candidates = list(proposed)[:room]
        self._tell(f"building {len(candidates)} of {task.context.task_name}")
        with Profiler.timeit("build"):
            builds = self._build(task, builder, candidates)
        self._tell(f"measuring {len(candidates)} of {task.context.task_name}")
        results: list[RunnerResult] = []
        try:
            with Profiler.timeit("run"):
                for result in self._run(task, runner, candidates, builds):
                    at = len(results)
                    results.append(result)
                    self._on_result(Batch(self, task_id, candidates[at : at + 1], builds[at : at + 1], [result]))
        finally:  # what was measured counts, also where the rest is interrupted
            for build in builds[len(results) :]:
                remove_artifact(build)
            if results:
                self._learn(Batch(self, task_id, candidates[: len(results)], builds[: len(results)], results))
        self._tell("")

    def _learn(self, batch: Batch) -> None:
        self._count(batch.task, batch.builds, batch.results)
        with Profiler.timeit("learn"):
            batch.task.strategy.notify_runner_results(batch.candidates, batch.results)
            for callback in self._callbacks:
                callback.apply(self, batch.task_id, batch.candidates, batch.builds, batch.results)

    def _on_result(self, batch: Batch) -> None:
        for callback in self._callbacks:
            callback.on_result(batch)

    def _build(self, task: TaskRecord, builder: Builder, candidates: list[MeasureCandidate]) -> list[BuilderResult]:
        if task.reference is None:
            task.reference = builder.build_reference(BuilderInput(task.mod, task.target))
            if task.reference is not None and task.reference.error_msg is not None:
                logger.warning("results are not checked: %s", task.reference.error_msg)
        return builder.build([BuilderInput(c.sch.mod, task.target) for c in candidates])

    def _run(
        self, task: TaskRecord, runner: Runner, candidates: list[MeasureCandidate], builds: list[BuilderResult]
    ) -> Iterator[RunnerResult]:
        reference = None if task.reference is None else task.reference.artifact_path
        built = [
            RunnerInput(build.artifact_path, "llvm", list(candidate.args_info), reference)
            for candidate, build in zip(candidates, builds, strict=True)
            if build.artifact_path is not None
        ]
        futures = runner.run(built)
        running = iter(futures)
        try:
            for build in builds:
                yield _run_result(build, running)
        finally:
            for future in futures:
                future.cancel()

    def _count(self, task: TaskRecord, builds: Sequence[BuilderResult], results: Sequence[RunnerResult]) -> None:
        task.trials += len(results)
        for build, result in zip(builds, results, strict=True):
            error = build.error_msg or result.error_msg
            if error is not None:
                task.failures[error.partition(":")[0]] += 1
                logger.debug("%s: %s", task.context.task_name, error)
            elif result.run_secs:
                task.best = min(task.best, statistics.median(result.run_secs))
        task.latencies.append(task.best)
        logger.info(
            "%s: %d trials, %.2f GFLOP/s, %.3f us%s",
            task.context.task_name,
            task.trials,
            task.gflops,
            task.best * 1e6,
            "".join(f", {count} {kind}" for kind, count in task.failures.items()),
        )

    def _tell(self, phase: str) -> None:
        for watcher in self._watchers:
            watcher(phase)


def _run_result(build: BuilderResult, running: Any) -> RunnerResult:
    if build.artifact_path is None:
        return RunnerResult(None, build.error_msg)
    future: RunnerFuture = next(running)
    return future.result()


class RoundRobin(TaskScheduler):
    """Selects tasks in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -1

    def next_task_id(self) -> int | None:
        """Same as `TaskScheduler.next_task_id`."""
        count = len(self.tasks)
        for step in range(1, count + 1):
            at = (self._last + step) % count
            if not self.tasks[at].terminated:
                self._last = at
                return at
        return None


class GradientBased(TaskScheduler):
    """Selects the task with the largest expected gain (Zheng et al., Ansor, OSDI 2020, section 6).

    After one round for each task, the expected gain is `alpha` times the gain of its last `window_size` rounds
    plus 1 - `alpha` times the remaining gain if gains continue as 1/n, times the task's weight.
    """

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1):
        """`seed` is accepted for compatibility with TVM: nothing is random."""
        super().__init__()
        self.alpha = alpha
        self.window_size = window_size

    def next_task_id(self) -> int | None:
        """Same as `TaskScheduler.next_task_id`."""
        left = [k for k, task in enumerate(self.tasks) if not task.terminated]
        if not left:
            return None
        new = [k for k in left if not self.tasks[k].latencies]
        return new[0] if new else max(left, key=lambda k: self._gain(self.tasks[k]))

    def _gain(self, task: TaskRecord) -> float:
        history = task.latencies
        last = history[-1]
        rounds = len(history)
        if not math.isfinite(last):
            return math.inf if rounds < _HOPELESS else 0.0
        window = min(self.window_size, rounds - 1)
        before = history[rounds - 1 - window]
        recent = (before - last) / window if window and math.isfinite(before) else 0.0
        return task.weight * (self.alpha * recent + (1 - self.alpha) * last / rounds)


# Callbacks for measurements: store them, train the cost model, remove files, report progress.


@dataclass(frozen=True)
class Batch:
    """The measured candidates of one task; all sequences have the same length."""

    scheduler: TaskScheduler
    task_id: int
    candidates: Sequence[MeasureCandidate]
    builds: Sequence[BuilderResult]
    results: Sequence[RunnerResult]

    @property
    def task(self) -> TaskRecord:
        """The task of the candidates."""
        return self.scheduler.tasks[self.task_id]


class MeasureCallback:
    """Receives measurements. Override `apply` or `on_batch` for batches, or `on_result` to be called at once."""

    def on_result(self, batch: Batch) -> None:
        """Handle a single measurement as soon as it is available, before its batch."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Handle a batch; TVM's interface, which calls `on_batch`."""
        self.on_batch(Batch(task_scheduler, task_id, measure_candidates, builder_results, runner_results))

    def on_batch(self, batch: Batch) -> None:
        """Handle a batch of measurements; called by `apply`."""
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def create(kind: Any = "default") -> list[MeasureCallback]:
        """Return callbacks as a list, or those of `default`: `AddToDatabase`, `RemoveBuildArtifact`,
        `UpdateCostModel`.
        """
        if isinstance(kind, MeasureCallback):
            return [kind]
        if not isinstance(kind, str):
            return list(kind or ())
        if kind != "default":
            raise unknown_name("measure callback", kind, ["default"])
        return [AddToDatabase(), RemoveBuildArtifact(), UpdateCostModel()]


PyMeasureCallback = MeasureCallback


class AddToDatabase(MeasureCallback):
    """Store each measurement at once, including failures, so that they are not tried again."""

    def on_result(self, batch: Batch) -> None:
        self.on_batch(batch)

    def on_batch(self, batch: Batch) -> None:
        database, task = batch.scheduler.database, batch.task
        if database is None:
            return
        workload = database.commit_workload(task.mod)
        for candidate, result in zip(batch.candidates, batch.results, strict=True):
            trace = candidate.sch.trace.simplified(remove_postproc=False)
            record = TuningRecord(trace, workload, result.run_secs, task.target, list(candidate.args_info))
            database.commit_tuning_record(record)


class RemoveBuildArtifact(MeasureCallback):
    """Delete the files of the builds."""

    def on_batch(self, batch: Batch) -> None:
        for result in batch.builds:
            remove_artifact(result)


class UpdateCostModel(MeasureCallback):
    """Train the cost model on the candidates that were built."""

    def on_batch(self, batch: Batch) -> None:
        model = batch.scheduler.cost_model
        measured = zip(batch.candidates, batch.builds, batch.results, strict=True)
        built = [(candidate, result) for candidate, build, result in measured if build.error_msg is None]
        if model is not None and built:
            model.update(batch.task.context, [c for c, _ in built], [r for _, r in built])


class TrialLog(MeasureCallback):
    """Writes a line of JSON for each trial: task, seconds (null for a failure), error, and time."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def on_batch(self, batch: Batch) -> None:
        shared = {"task": batch.task.context.task_name, "flop": batch.task.flop, "time": time.time()}
        rows = [
            {**shared, "run_secs": result.run_secs, "error": build.error_msg or result.error_msg}
            for build, result in zip(batch.builds, batch.results, strict=True)
        ]
        with open(self.path, "ab+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _add_lines(file, "".join(json.dumps(row) + "\n" for row in rows).encode())


_LONGEST_LINE = 1 << 20


def _add_lines(file: FileIO, data: bytes) -> None:
    """Append lines to a file, all or none, after removing an incomplete line of a killed writer."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - _LONGEST_LINE))
    end = start + file.read().rfind(b"\n") + 1
    file.truncate(end)
    try:
        while data:
            data = data[file.write(data) :]
    except OSError:
        file.truncate(end)
        raise
