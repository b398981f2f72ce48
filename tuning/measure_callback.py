"""What happens with measurements: they are stored, the cost model learns, files are removed, the user is told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..diagnostics import unknown_name
from .builder import remove_artifact
from .types import BuilderResult, MeasureCandidate, RunnerResult, TuningRecord

if TYPE_CHECKING:
    from .task_scheduler import TaskRecord, TaskScheduler


@dataclass(frozen=True)
class Batch:
    """Candidates of one task that were measured together; the sequences are of one length."""

    scheduler: TaskScheduler
    task_id: int
    candidates: Sequence[MeasureCandidate]
    builds: Sequence[BuilderResult]
    results: Sequence[RunnerResult]

    @property
    def task(self) -> TaskRecord:
        """The task that the candidates are of."""
        return self.scheduler.tasks[self.task_id]


class MeasureCallback:
    """Told of each batch of measurements. Subclasses define `apply`, or `told`."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Called after a batch, with what `Batch` has."""
        self.told(Batch(task_scheduler, task_id, measure_candidates, builder_results, runner_results))

    def told(self, batch: Batch) -> None:
        """Called by `apply`."""
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def create(kind: Any = "default") -> list[MeasureCallback]:
        """Callbacks themselves, or `default`: `AddToDatabase`, `RemoveBuildArtifact`, `UpdateCostModel`."""
        if isinstance(kind, MeasureCallback):
            return [kind]
        if not isinstance(kind, str):
            return list(kind or ())
        if kind != "default":
            raise unknown_name("measure callback", kind, ["default"])
        return [AddToDatabase(), RemoveBuildArtifact(), UpdateCostModel()]


PyMeasureCallback = MeasureCallback


class AddToDatabase(MeasureCallback):
    """Store each measurement, failures too: they need not be tried again."""

    def told(self, batch: Batch) -> None:
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

    def told(self, batch: Batch) -> None:
        for result in batch.builds:
            remove_artifact(result)


class UpdateCostModel(MeasureCallback):
    """Let the cost model learn from what could be built."""

    def told(self, batch: Batch) -> None:
        model = batch.scheduler.cost_model
        measured = zip(batch.candidates, batch.builds, batch.results, strict=True)
        built = [(candidate, result) for candidate, build, result in measured if build.error_msg is None]
        if model is not None and built:
            model.update(batch.task.context, [c for c, _ in built], [r for _, r in built])


class TrialLog(MeasureCallback):
    """One line of JSON for each trial: task, seconds (null for a failure), error, and when."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def told(self, batch: Batch) -> None:
        shared = {"task": batch.task.context.task_name, "flop": batch.task.flop, "time": time.time()}
        with open(self.path, "a") as file:
            for build, result in zip(batch.builds, batch.results, strict=True):
                row = {**shared, "run_secs": result.run_secs, "error": build.error_msg or result.error_msg}
                file.write(json.dumps(row) + "\n")
