"""Data exchanged between the parts of tuning: candidates, builds, measurements, records."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_name
from ..handles.module import IRModule
from ..ir.equality import fingerprint
from ..schedule import Schedule, Trace
from ..schedule.random import Random
from ..target import Target
from ..transforms.tir.walk import functions
from ..untrusted import brief, checked_shape


class Task(Protocol):
    """The interface of `TuneContext` that rules, searches and cost models use."""

    mod: IRModule | None
    target: Target | str | None
    space_generator: Any
    task_name: str
    random: Random

    @property
    def cores(self) -> int:
        """The number of cores of the target."""
        ...

    def generate_design_space(self) -> list[Any]:
        """Return the schedules that the space generator creates for the module."""
        ...


class ArgInfo:
    """An argument of a measured function."""

    @staticmethod
    def from_json(json_obj: Sequence[Any]) -> TensorInfo:
        """Parse `["TENSOR", dtype, shape]`."""
        return TensorInfo(str(json_obj[1]), checked_shape(json_obj[2], 8, "the argument of a record", TiraxError))

    @staticmethod
    def from_prim_func(func: Any) -> list[TensorInfo]:
        """Return the arguments of a tensor function. Raises `TiraxError` for non-tensors and symbolic shapes."""
        return args_info(IRModule({"main": func}))

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[TensorInfo]:
        """Return the arguments of the entry function; `remove_preproc` is accepted for compatibility with TVM."""
        return args_info(mod)


@dataclass(frozen=True)
class TensorInfo(ArgInfo):
    """The dtype and shape of a tensor argument."""

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(d) for d in self.shape))

    def __str__(self) -> str:
        return f'TensorInfo("{self.dtype}", {list(self.shape)})'

    def as_json(self) -> list[Any]:
        """Return TVM's form: `["TENSOR", dtype, shape]`."""
        return ["TENSOR", self.dtype, list(self.shape)]


@dataclass
class MeasureCandidate:
    """A schedule to measure, and the arguments of its function."""

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
    """The result of a build: an artifact that a runner can load, or an error message."""

    artifact_path: str | None
    error_msg: str | None


@dataclass
class RunnerInput:
    """An artifact to measure; `reference_path` is the unscheduled one that its results are compared with."""

    artifact_path: str
    device_type: str
    args_info: list[TensorInfo]
    reference_path: str | None = None


@dataclass
class RunnerResult:
    """The seconds of each run, or an error message."""

    run_secs: list[float] | None
    error_msg: str | None


class RunnerFuture:
    """A pending measurement."""

    def __init__(
        self,
        f_done: Callable[[], bool],
        f_result: Callable[[], RunnerResult] | None = None,
        cancel: Callable[[], object] = lambda: False,
    ):
        """`cancel` cancels the measurement if it has not begun; called when its result is no longer needed."""
        self.done, self.cancel = f_done, cancel
        self.result: Callable[[], RunnerResult] = f_result or (lambda: RunnerResult(None, "no result"))


class PyRunnerFuture:
    """Base class for futures of user-defined runners, with the methods of `RunnerFuture`."""

    def done(self) -> bool:
        """Return whether the result is available."""
        raise NotImplementedError(type(self).__name__)

    def result(self) -> RunnerResult:
        """Wait for the result and return it."""
        raise NotImplementedError(type(self).__name__)

    def cancel(self) -> object:
        """Cancel the measurement; called when its result is no longer needed."""
        return False


@dataclass(frozen=True)
class Workload:
    """A module to tune; `shash` is the hash of its structure."""

    mod: IRModule
    shash: str = ""

    def __post_init__(self) -> None:
        if not self.shash:
            object.__setattr__(self, "shash", stable_hash(self.mod))


# Structural hashes that are stable across processes and machines.


def stable_hash(mod: IRModule) -> str:
    """Return a hexadecimal hash that structurally equal modules share."""
    digest = hashlib.sha256()
    _update_digest(digest, fingerprint(mod.op))
    return digest.hexdigest()[:32]


def _update_digest(digest: Any, item: Any) -> None:
    if isinstance(item, tuple | list | frozenset):
        digest.update(b"(")
        for part in item:
            _update_digest(digest, part)
        digest.update(b")")
        return
    text = str(item) if isinstance(item, Attribute) else item.__name__ if isinstance(item, type) else repr(item)
    digest.update(text.encode() + b"\0")


class Seconds(float):
    """A number of seconds with the attribute `value`, like TVM's numbers."""

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self)

    def __repr__(self) -> str:
        return float.__repr__(self)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked_seconds(seconds: Any) -> list[float] | None:
    """Return the seconds of a record: non-negative numbers, or None. Raises `TiraxError` for anything else."""
    wrong = not isinstance(seconds, list) or not all(_is_number(s) and s >= 0 for s in seconds)
    if seconds is not None and wrong:
        raise TiraxError("the seconds of a record are no numbers from 0", found=brief(seconds))
    return seconds


NEVER = 1e10
"""The seconds that TVM records for a failure."""


@dataclass
class TuningRecord:
    """A measurement: the schedule of a workload, its target, and the seconds of each run."""

    trace: Trace
    workload: Workload
    run_secs: list[float] | None = None
    target: Target | None = None
    args_info: list[TensorInfo] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.run_secs is not None:
            self.run_secs = [Seconds(s) for s in self.run_secs]

    @property
    def valid(self) -> bool:
        """Return whether the record was measured and did not fail."""
        return bool(self.run_secs) and min(self.run_secs or ()) < NEVER

    def as_json(self) -> list[Any]:
        """Return TVM's form: the trace, the seconds, the target and the arguments."""
        return [
            self.trace.as_json(),
            self.run_secs or [NEVER],
            None if self.target is None else self.target.export(),
            [info.as_json() for info in self.args_info],
        ]

    @staticmethod
    def from_json(json_obj: Sequence[Any], workload: Workload) -> TuningRecord:
        """Return the record of a workload from the result of `as_json`."""
        trace, seconds, config, args = json_obj
        checked_seconds(seconds)
        failed = not seconds or min(seconds) >= NEVER
        infos = [TensorInfo.from_json(info) for info in args]
        target = None if config is None else Target(config)
        return TuningRecord(Trace.from_json(trace), workload, None if failed else seconds, target, infos)

    @property
    def mean(self) -> float:
        """The mean of the seconds, infinite if there are none."""
        return sum(self.run_secs) / len(self.run_secs) if self.run_secs else float("inf")

    @property
    def median(self) -> float:
        """The median of the seconds, infinite if there are none."""
        return statistics.median(self.run_secs) if self.run_secs else float("inf")

    def as_measure_candidate(self) -> MeasureCandidate:
        """Apply the record's trace to its workload. Raises `ScheduleError` if it does not apply."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch)
        return MeasureCandidate(sch, self.args_info)


# Arguments of measured functions.


def entry_of(mod: IRModule) -> tir.FuncOp:
    """Return the function to tune: `main`, or the only one. Raises `TiraxError` if there is neither."""
    by_name = {f.sym_name.data: f for f in functions(mod.op)}
    if "main" in by_name:
        return by_name["main"]
    if len(by_name) != 1:
        raise TiraxError("a module that is tuned has one tensor function", expected="main", found=sorted(by_name))
    return next(iter(by_name.values()))


def args_info(mod: IRModule) -> list[TensorInfo]:
    """Return the tensor parameters of a module's function. Raises `TiraxError` for other parameters and symbolic
    shapes.
    """
    out: list[TensorInfo] = []
    for value in entry_of(mod).body.block.args:
        kind = value.type
        if not isinstance(kind, tir.BufferType):
            raise TiraxError("only functions of tensors are tuned", expected="a buffer", found=kind)
        shape = [d.constant for d in kind.dims]
        sizes = [d for d in shape if d is not None]
        if len(sizes) != len(shape):
            raise TiraxError("only functions of known sizes are tuned", found=[str(d) for d in kind.dims])
        out.append(TensorInfo(dtype_name(kind.dtype), tuple(sizes)))
    return out
