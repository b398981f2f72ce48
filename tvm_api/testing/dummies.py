"""`tvm.meta_schedule.testing.dummy_object`: a builder and a runner that do nothing, for tests of tuning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ...schedule.trace import Trace
from ...tuning.builder import Builder
from ...tuning.mutators import Mutator
from ...tuning.runner import Runner
from ...tuning.types import BuilderInput, BuilderResult, PyRunnerFuture, RunnerInput, RunnerResult


class DummyRunnerFuture(PyRunnerFuture):
    """A measurement that is done, of random seconds."""

    def done(self) -> bool:
        return True

    def result(self) -> RunnerResult:
        return RunnerResult([random.uniform(5, 30) for _ in range(random.randint(1, 10))], None)


class DummyBuilder(Builder):
    """Builds nothing."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        return [BuilderResult("test_path", None) for _ in build_inputs]


class DummyRunner(Runner):
    """Measures nothing."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[Any]:
        return [DummyRunnerFuture() for _ in runner_inputs]


class DummyMutator(Mutator):
    """Forgets the decisions of a trace."""

    def apply(self, trace: Trace, random: Any = None) -> Trace | None:
        return trace.copy()


__all__ = ["DummyBuilder", "DummyMutator", "DummyRunner", "DummyRunnerFuture"]
