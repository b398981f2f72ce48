"""`tvm.meta_schedule.runner`."""

from ...tuning.runner import EvaluatorConfig, LocalRunner, PyRunner, Runner
from ...tuning.types import RunnerFuture, RunnerInput, RunnerResult

create = Runner.create

__all__ = [
    "EvaluatorConfig",
    "LocalRunner",
    "PyRunner",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
    "create",
]
