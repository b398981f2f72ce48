"""What happens with measurements: they are stored, the cost model learns, files are removed, the user is told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import unknown_name
from .builder import remove_artifact
from .types import BuilderResult, MeasureCandidate, RunnerResult, TuningRecord

if TYPE_CHECKING:
    from .task_scheduler import TaskScheduler


class MeasureCallback:
    """Told of each batch of measurements."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Called after a batch; the sequences are of one length."""
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

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        database = task_scheduler.database
        if database is None:
            return
        task = task_scheduler.tasks[task_id]
        workload = database.commit_workload(task.mod)
        for candidate, result in zip(measure_candidates, runner_results, strict=True):
            trace = candidate.sch.trace.simplified(remove_postproc=False)
            record = TuningRecord(trace, workload, result.run_secs, task.target, list(candidate.args_info))
            database.commit_tuning_record(record)


class RemoveBuildArtifact(MeasureCallback):
    """Delete the files of the builds."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        for result in builder_results:
            remove_artifact(result)


class UpdateCostModel(MeasureCallback):
    """Let the cost model learn from what could be built."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        if task_scheduler.cost_model is None:
            return
        built = [
            (candidate, result)
            for candidate, build, result in zip(measure_candidates, builder_results, runner_results, strict=True)
            if build.error_msg is None
        ]
        if built:
            context = task_scheduler.tasks[task_id].context
            task_scheduler.cost_model.update(context, [c for c, _ in built], [r for _, r in built])


class TrialLog(MeasureCallback):
    """One line of JSON for each trial: task, seconds (null for a failure), error, and when."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        task = task_scheduler.tasks[task_id]
        with open(self.path, "a") as file:
            for build, result in zip(builder_results, runner_results, strict=True):
                row = {
                    "task": task.context.task_name,
                    "run_secs": result.run_secs,
                    "error": build.error_msg or result.error_msg,
                    "flop": task.flop,
                    "time": time.time(),
                }
                file.write(json.dumps(row) + "\n")
