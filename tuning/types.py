"""What the parts of tuning give each other: candidates, builds, measurements, records."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..handles.module import IRModule
from ..schedule import Schedule, Trace
from ..target import Target


@dataclass(frozen=True)
class TensorInfo:
    """An argument of a function that is measured: a tensor's dtype and shape."""

    dtype: str
    shape: tuple[int, ...]

    def as_json(self) -> list[Any]:
        """TVM's form: `["TENSOR", dtype, shape]`."""
        return ["TENSOR", self.dtype, list(self.shape)]

    @staticmethod
    def from_json(obj: Sequence[Any]) -> TensorInfo:
        return TensorInfo(str(obj[1]), tuple(int(d) for d in obj[2]))


@dataclass
class MeasureCandidate:
    """A schedule that is to be measured, and the arguments of its function."""

    sch: Schedule
    args_info: list[TensorInfo]


@dataclass
class BuilderInput:
    """A module to build for a target."""

    mod: IRModule
    target: Target
    params: dict[str, Any] | None = None


@dataclass
class BuilderResult:
    """What a build gave: something that a runner can load, or why there is nothing."""

    artifact_path: str | None
    error_msg: str | None


@dataclass
class RunnerInput:
    """A built module to measure; `reference_path` is the unscheduled one that its results are compared with."""

    artifact_path: str
    device_type: str
    args_info: list[TensorInfo]
    reference_path: str | None = None


@dataclass
class RunnerResult:
    """Seconds of each run, or why there are none."""

    run_secs: list[float] | None
    error_msg: str | None


@dataclass
class RunnerFuture:
    """A measurement that may still run."""

    done: Callable[[], bool]
    result: Callable[[], RunnerResult]


@dataclass(frozen=True)
class Workload:
    """A module to tune; `shash` is the hash of its structure."""

    mod: IRModule
    shash: str


@dataclass
class TuningRecord:
    """What was measured: how a workload was scheduled, for which target, and the seconds of each run."""

    trace: Trace
    workload: Workload
    run_secs: list[float] | None = None
    target: Target | None = None
    args_info: list[TensorInfo] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean of the seconds, infinite where there are none."""
        return sum(self.run_secs) / len(self.run_secs) if self.run_secs else float("inf")

    @property
    def median(self) -> float:
        """The median of the seconds, infinite where there are none."""
        return statistics.median(self.run_secs) if self.run_secs else float("inf")

    def as_measure_candidate(self) -> MeasureCandidate:
        """The record's trace applied to its workload. Raises `ScheduleError` where it does not fit."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch)
        return MeasureCandidate(sch, self.args_info)
