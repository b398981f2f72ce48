"""Runners: call artifacts with random arguments, check the results, and measure the time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..diagnostics import UnsupportedError, unknown_name
from .processes import Limits, answer_of, submit
from .types import RunnerFuture, RunnerInput, RunnerResult
from .worker import encode

_CACHE_BYTES = 64 * 2**20
"""More than the caches of one processor hold."""


@dataclass(frozen=True)
class EvaluatorConfig:
    """The settings of a measurement.

    After one warm-up call there are `repeat` measurements of `number` calls each; `number` grows until a
    measurement takes `min_repeat_ms`. The median counts. With `enable_cpu_cache_flush` the caches are flushed
    before each measurement, which requires single calls (`number=1`, `min_repeat_ms=0`) to be meaningful.
    """

    number: int = 3
    repeat: int = 5
    min_repeat_ms: int = 10
    enable_cpu_cache_flush: bool = False

    def as_options(self) -> dict[str, Any]:
        """Return the options of `runtime.timing.Evaluator`."""
        options = asdict(self)
        flush = options.pop("enable_cpu_cache_flush")
        return {**options, "cache_flush_bytes": _CACHE_BYTES if flush else 0}


class Runner:
    """Measures artifacts. Subclass it, or use `LocalRunner`."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Return a future for each input, in order; a failed measurement has an `error_msg`."""
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def create(kind: Runner | str = "local", **options: Any) -> Runner:
        """Return `kind` if it is a runner, or a `LocalRunner` for `local`.

        Raises `NameLookupError`, and `UnsupportedError` for `rpc`.
        """
        if isinstance(kind, Runner):
            return kind
        if kind == "rpc":
            raise UnsupportedError("a runner of kind 'rpc'", hint="LocalRunner(executor=…) measures on other machines")
        if kind != "local":
            raise unknown_name("runner", kind, ["local"])
        return LocalRunner(**options)


PyRunner = Runner


class LocalRunner(Runner):
    """Measures in a fresh subprocess, with a time and memory limit, on `cores` processors.

    Only one measurement runs on a machine at a time. `executor` runs the measurements, by default a thread of
    this process; with an executor on other machines they run there. If the input has a reference, the results
    must agree with those of the unscheduled function within `tolerance`, relative to the largest result (None:
    depends on the dtype).
    """

    def __init__(
        self,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
        alloc_repeat: int = 1,
        memory_bytes: int | None = None,
        cores: int = 1,
        tolerance: float | None = None,
        executor: Executor | None = None,
    ):
        self.limits = Limits(timeout_sec, memory_bytes, alone=True, cores=cores)
        self.evaluator_config = evaluator_config or EvaluatorConfig()
        self.alloc_repeat = alloc_repeat
        self.tolerance = tolerance
        self.executor = executor or ThreadPoolExecutor(1, "tirax-runner")

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Same as `Runner.run`."""
        return [_future(submit(self.executor, "measure", self._payload(i), self.limits)) for i in runner_inputs]

    def _payload(self, runner_input: RunnerInput) -> dict[str, Any]:
        reference = runner_input.reference_path
        return {
            "artifact": encode(Path(runner_input.artifact_path).read_bytes()),
            "reference": None if reference is None else encode(Path(reference).read_bytes()),
            "args": [info.as_json() for info in runner_input.args_info],
            "alloc_repeat": self.alloc_repeat,
            "evaluator": self.evaluator_config.as_options(),
            "tolerance": self.tolerance,
        }


def _future(future: Future[dict[str, Any]]) -> RunnerFuture:
    return RunnerFuture(future.done, lambda: _result(answer_of(future)), future.cancel)


def _result(answer: dict[str, Any]) -> RunnerResult:
    if "error" in answer:
        return RunnerResult(None, f"{answer['kind']}: {answer['error']}")
    return RunnerResult(answer["run_secs"], None)
