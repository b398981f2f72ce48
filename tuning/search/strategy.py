"""What a search strategy is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import TiraxError, unknown_name
from ...ir.equality import structural_hash
from ...schedule import Schedule, ScheduleError
from ..arg_info import args_info
from ..context import TuneContext
from ..types import MeasureCandidate, RunnerResult, TensorInfo


@dataclass
class Trials:
    """How far a search is: `max_trials` candidates at most, `per_round` at a time; what was proposed already."""

    max_trials: int
    per_round: int
    design_spaces: list[Schedule]
    database: Any = None
    cost_model: Any = None
    proposed: int = 0
    seen: set[int] = field(default_factory=set[int])
    args: list[TensorInfo] = field(default_factory=list[TensorInfo])

    @property
    def next_count(self) -> int:
        """How many candidates the next round has."""
        return max(0, min(self.per_round, self.max_trials - self.proposed))

    def is_new(self, sch: Schedule) -> bool:
        """Whether a schedule's result was never seen before; it is from now on."""
        key = structural_hash(sch.mod.op)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


class SearchStrategy:
    """Proposes candidates round by round.

    `pre_tuning`, then `generate_measure_candidates` and `notify_runner_results` in turns until there are no candidates
    (None), then `post_tuning`.
    """

    def __init__(self) -> None:
        self.context: TuneContext | None = None
        self._trials: Trials | None = None

    @staticmethod
    def create(kind: SearchStrategy | str = "evolutionary", **options: Any) -> SearchStrategy:
        """A strategy itself, or a new one: `evolutionary`, `replay-trace`, `replay-func`. Raises `NameLookupError`."""
        from .evolutionary import EvolutionarySearch
        from .replay import ReplayFunc, ReplayTrace

        if isinstance(kind, SearchStrategy):
            return kind
        kinds = {"evolutionary": EvolutionarySearch, "replay-trace": ReplayTrace, "replay-func": ReplayFunc}
        if kind not in kinds:
            raise unknown_name("search strategy", kind, kinds)
        return kinds[kind](**options)

    def initialize(self, context: TuneContext) -> None:
        """Get to know the task; called before `pre_tuning`."""
        self.context = context
        self.random = context.random

    def clone(self) -> SearchStrategy:
        """A strategy with the same options for another task."""
        out = copy.copy(self)
        out.context = out._trials = None
        return out

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin. Raises `TiraxError` where there is no task, no design space, or tuning has begun already."""
        if self.context is None or self.context.mod is None or self.context.space_generator is None:
            raise TiraxError("the strategy has no task", hint="give it to a TuneContext with a module and a space")
        if self._trials is not None:
            raise TiraxError("tuning has begun already", hint="call post_tuning first, or clone the strategy")
        if not design_spaces:
            raise TiraxError("there is no design space", hint="generate_design_space gives one")
        self._trials = Trials(max_trials, num_trials_per_iter, list(design_spaces), database, cost_model)
        self._trials.args = args_info(self.context.mod)

    def post_tuning(self) -> None:
        """End; `pre_tuning` may follow."""
        self._trials = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The candidates of the next round, None where there are no more. Raises `TiraxError` before `pre_tuning`."""
        trials = self.trials
        if trials.next_count == 0:
            return None
        found = self._propose(trials.next_count)
        trials.proposed += len(found)
        return [MeasureCandidate(sch, trials.args) for sch in found] or None

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn what measuring gave."""

    def _propose(self, count: int) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)

    @property
    def trials(self) -> Trials:
        """How far the search is. Raises `TiraxError` before `pre_tuning`."""
        if self._trials is None:
            raise TiraxError("tuning has not begun", hint="call pre_tuning first")
        return self._trials

    @property
    def task(self) -> TuneContext:
        """The task. Raises `TiraxError` where there is none."""
        if self.context is None:
            raise TiraxError("the strategy has no task", hint="give it to a TuneContext")
        return self.context

    def finished(self, make: Callable[[], Schedule]) -> Schedule | None:
        """A schedule with all postprocessors applied; None where a step or a postprocessor refuses."""
        generator = self.task.space_generator
        try:
            sch = make()
            sch.enter_postproc()
            fits = generator is None or all(post.apply(sch) for post in generator.postprocs)
        except ScheduleError:
            return None
        return sch if fits else None

    def collect(self, count: int, max_fail_count: int, make: Callable[[], Schedule]) -> list[Schedule]:
        """Up to `count` new schedules; it ends after `max_fail_count` failures in a row."""
        found: list[Schedule] = []
        failures = 0
        while len(found) < count and failures < max_fail_count:
            sch = self.finished(make)
            if sch is not None and self.trials.is_new(sch):
                found.append(sch)
                failures = 0
            else:
                failures += 1
        return found
