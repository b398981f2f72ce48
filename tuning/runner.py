"""Runners: artifacts are called with random arguments, checked, and measured."""

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
"""Larger than the caches that one processor has."""


@dataclass(frozen=True)
class EvaluatorConfig:
    """How a candidate is measured.

    After one call to warm up there are `repeat` measurements of `number` calls each; `number` grows until one takes
    `min_repeat_ms`. The median of the measurements counts. With `enable_cpu_cache_flush` other memory is written
    before each measurement, then one call (`number=1`, `min_repeat_ms=0`) is what makes sense.
    """

    number: int = 3
    repeat: int = 5
    min_repeat_ms: int = 10
    enable_cpu_cache_flush: bool = False

    def as_options(self) -> dict[str, Any]:
        """The options of `runtime.timing.Evaluator`."""
        options = asdict(self)
        flush = options.pop("enable_cpu_cache_flush")
        return {**options, "cache_flush_bytes": _CACHE_BYTES if flush else 0}


class Runner:
    """Measures artifacts. Subclass it, or take `LocalRunner`."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """A future for each input, in order; what cannot be measured has an `error_msg`."""
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def create(kind: Runner | str = "local", **options: Any) -> Runner:
        """A runner itself, or `local`. Raises `NameLookupError`, and `UnsupportedError` for `rpc`."""
        if isinstance(kind, Runner):
            return kind
        if kind == "rpc":
            raise UnsupportedError("a runner of kind 'rpc'", hint="LocalRunner(executor=…) measures on other machines")
        if kind != "local":
            raise unknown_name("runner", kind, ["local"])
        return LocalRunner(**options)


PyRunner = Runner


class LocalRunner(Runner):
    """Measures in a process that is started afresh, with a limit of time and memory, on `cores` processors.

    One measurement runs on a machine at a time. `executor` runs them, a thread of this process by default; one on
    other machines measures there. Results are compared with those of the unscheduled function where the input has
    one, to within `tolerance` (relative to the largest result; by the dtype where it is None).
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
        """As `Runner.run`."""
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
