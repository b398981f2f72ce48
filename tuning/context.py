"""A tuning task: the module, the target, the source of candidates, and the search."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import TiraxError
from ..handles.module import IRModule
from ..hardware import usable_cores
from ..schedule import Schedule
from ..schedule.random import Random
from ..target import Target
from .search import SearchStrategy
from .space import SpaceGenerator
from .types import MeasureCandidate, RunnerResult


@dataclass
class TuneContext:
    """A module to tune for a target.

    `space_generator` provides the design space and `search_strategy` chooses from it; each is an object or an
    argument of its class's `create`, and may be None if not needed. `rand_state` -1 draws a seed from the
    system. `num_threads` is the number of threads that tuning itself may use.
    """

    mod: IRModule | None = None
    target: Target | str | None = None
    space_generator: SpaceGenerator | None = None
    search_strategy: SearchStrategy | None = None
    task_name: str = "main"
    rand_state: int = -1
    num_threads: int = field(default_factory=usable_cores)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("tirax.tuning"))

    def __post_init__(self) -> None:
        self.target = Target(self.target) if isinstance(self.target, str) else self.target or Target("llvm")
        self.random = Random(self.rand_state)
        if self.rand_state == -1:
            self.rand_state = self.random.state
        if self.space_generator is not None:
            self.space_generator = SpaceGenerator.create(self.space_generator)
        if self.search_strategy is not None:
            self.search_strategy = SearchStrategy.create(self.search_strategy)
        for part in (self.space_generator, self.search_strategy):
            if part is not None:
                part.initialize(self)

    @property
    def cores(self) -> int:
        """The number of cores of the target."""
        assert isinstance(self.target, Target)
        return self.target.cores

    def clone(self) -> TuneContext:
        """Return a new context for the same module, with its own search strategy."""
        strategy = None if self.search_strategy is None else self.search_strategy.clone()
        return TuneContext(
            self.mod,
            self.target,
            copy.copy(self.space_generator),
            strategy,
            self.task_name,
            self.random.fork(),
            self.num_threads,
            self.logger,
        )

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin the search, with the design spaces of the generator unless `design_spaces` is passed."""
        spaces = self.generate_design_space() if design_spaces is None else design_spaces
        self._strategy.pre_tuning(max_trials, num_trials_per_iter, spaces, database, cost_model)

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Return the next candidates of the search, or None if there are no more."""
        return self._strategy.generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Report the measured results to the search."""
        self._strategy.notify_runner_results(measure_candidates, results)

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy.post_tuning()

    @property
    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise TiraxError("the task has no search strategy", hint="TuneContext(…, search_strategy=…)")
        return self.search_strategy

    def generate_design_space(self) -> list[Any]:
        """Return the schedules that the space generator creates for the module."""
        if self.space_generator is None or self.mod is None:
            return []
        return self.space_generator.generate_design_space(self.mod)
