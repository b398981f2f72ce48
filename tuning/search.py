"""Search strategies: choose which schedules of a design space are measured."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..diagnostics import TiraxError, unknown_name
from ..ir.equality import structural_hash
from ..schedule import Schedule, ScheduleError, Trace
from .types import MeasureCandidate, RunnerResult, Task, TensorInfo, args_info


@dataclass
class Trials:
    """The progress of a search: at most `max_trials` candidates, `per_round` at a time, and those already proposed."""

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
        """The number of candidates in the next round."""
        return max(0, min(self.per_round, self.max_trials - self.proposed))

    def is_new(self, sch: Schedule) -> bool:
        """Return whether a schedule produces a new module, and remember it."""
        key = structural_hash(sch.mod.op)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


class SearchStrategy:
    """Proposes candidates in rounds.

    Call `pre_tuning`, then `generate_measure_candidates` and `notify_runner_results` alternately until there
    are no candidates (None), then `post_tuning`.
    """

    may_repeat: ClassVar[bool] = False
    """True if a candidate may be proposed again."""

    def __init__(self) -> None:
        self.context: Task | None = None
        self._trials: Trials | None = None

    @staticmethod
    def create(kind: SearchStrategy | str = "evolutionary", **options: Any) -> SearchStrategy:
        """Return `kind` if it is a strategy, or a new one.

        The kinds are `evolutionary`, `replay-trace` and `replay-func`. Raises `NameLookupError`.
        """

        if isinstance(kind, SearchStrategy):
            return kind
        kinds = {"evolutionary": EvolutionarySearch, "replay-trace": ReplayTrace, "replay-func": ReplayFunc}
        if kind not in kinds:
            raise unknown_name("search strategy", kind, kinds)
        return kinds[kind](**options)

    def initialize(self, context: Task) -> None:
        """Bind the strategy to a task; called before `pre_tuning`."""
        self.context = context
        self.random = context.random

    def clone(self) -> SearchStrategy:
        """Return a strategy with the same options for another task."""
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
        """Begin the search. Raises `TiraxError` without a task or design space, or if the search has begun already."""
        if self.context is None or self.context.mod is None or self.context.space_generator is None:
            raise TiraxError("the strategy has no task", hint="give it to a TuneContext with a module and a space")
        if self._trials is not None:
            raise TiraxError("tuning has begun already", hint="call post_tuning first, or clone the strategy")
        if not design_spaces:
            raise TiraxError("there is no design space", hint="generate_design_space gives one")
        self._trials = Trials(max_trials, num_trials_per_iter, list(design_spaces), database, cost_model)
        self._trials.args = args_info(self.context.mod)

    def post_tuning(self) -> None:
        """End the search; `pre_tuning` may start another."""
        self._trials = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """Return the candidates of the next round, or None if there are no more. Raises `TiraxError` before
        `pre_tuning`.
        """
        trials = self.trials
        if trials.next_count == 0:
            return None
        schedules = self._propose(trials.next_count)
        trials.proposed += len(schedules)
        return [MeasureCandidate(sch, trials.args) for sch in schedules] or None

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn from the measured results."""

    def _propose(self, count: int) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)

    @property
    def trials(self) -> Trials:
        """The progress of the search. Raises `TiraxError` before `pre_tuning`."""
        if self._trials is None:
            raise TiraxError("tuning has not begun", hint="call pre_tuning first")
        return self._trials

    @property
    def task(self) -> Task:
        """The task. Raises `TiraxError` if there is none."""
        if self.context is None:
            raise TiraxError("the strategy has no task", hint="give it to a TuneContext")
        return self.context

    def postprocessed(self, make: Callable[[], Schedule]) -> Schedule | None:
        """Make a schedule and apply all postprocessors, or return None if a step or a postprocessor fails."""
        generator = self.task.space_generator
        try:
            sch = make()
            sch.enter_postproc()
            fits = generator is None or all(post.apply(sch) for post in generator.postprocs)
        except ScheduleError:
            return None
        return sch if fits else None

    def collect(self, count: int, max_fail_count: int, make: Callable[[], Schedule]) -> list[Schedule]:
        """Return up to `count` schedules, stopping after `max_fail_count` failures in a row; one that is known counts
        as a failure, unless the strategy `may_repeat` them.
        """
        schedules: list[Schedule] = []
        failures = 0
        while len(schedules) < count and failures < max_fail_count:
            sch = self.postprocessed(make)
            if sch is not None and (self.may_repeat or self.trials.is_new(sch)):
                schedules.append(sch)
                failures = 0
            else:
                failures += 1
        return schedules


# Random candidates, without learning from measurements.


class ReplayTrace(SearchStrategy):
    """Replay the traces of the design spaces with newly sampled decisions.

    A round ends after `max_fail_count` successive candidates that failed or are known already.
    """

    def __init__(self, max_fail_count: int = 100):
        super().__init__()
        self.max_fail_count = max_fail_count

    def _propose(self, count: int) -> list[Schedule]:
        spaces = [space.trace.simplified(remove_postproc=True) for space in self.trials.design_spaces]
        return self.collect(count, self.max_fail_count, lambda: self._sample(spaces))

    def _sample(self, spaces: list[Trace]) -> Schedule:
        return replay_trace(self, spaces[self.random.integer(0, len(spaces))], keep_decisions=False)


class ReplayFunc(SearchStrategy):
    """Generate the design space again for each candidate, with newly sampled decisions."""

    def __init__(self, max_fail_count: int = 100):
        super().__init__()
        self.max_fail_count = max_fail_count

    def _propose(self, count: int) -> list[Schedule]:
        return self.collect(count, self.max_fail_count, self._sample)

    def _sample(self) -> Schedule:
        spaces = self.task.generate_design_space()
        return spaces[self.random.integer(0, len(spaces))]


def replay_trace(strategy: SearchStrategy, trace: Trace, *, keep_decisions: bool) -> Schedule:
    """Apply a trace to the task's module. Raises `ScheduleError` if a step fails.

    The schedule has no rollback: it cannot be used after an error.
    """
    sch = Schedule(strategy.task.mod, seed=strategy.random.fork(), error_render_level="none", restore=False)
    provider = None if keep_decisions else (lambda *_: None)
    trace.apply_to_schedule(sch, remove_postproc=True, decision_provider=provider)
    return sch


# Evolution: mutate the candidates with the best measurements or scores, and select again.

_ROUNDS, _FEWEST = 3, 8
"""The minimal number of rounds, if there are enough trials, and the minimal number of trials per round."""


@dataclass
class _Individual:
    """A schedule, the hash of its module, and its score by the cost model."""

    sch: Schedule
    key: int
    score: float = 0.0


class EvolutionarySearch(SearchStrategy):
    """Genetic search with a cost model (Zheng et al., Ansor, OSDI 2020, section 5.1).

    A round begins with `population_size` schedules: up to a fraction `init_measured_ratio` are the best of the
    database, and at least `init_min_unmeasured` are sampled from the design spaces (fewer only if
    `max_fail_count` samples in a row fail). Each of `genetic_num_iters` generations selects schedules in
    proportion to their scores and changes them, with probability `genetic_mutate_prob`, by one of the task's
    mutators, with `genetic_max_fail_count` attempts each. The best of all generations are measured, except for
    a fraction `eps_greedy` that is chosen at random.

    A round has at most a third of all trials (but at least eight), so that later rounds can learn from it.
    """

    def __init__(
        self,
        *,
        population_size: int = 96,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 32,
        max_fail_count: int = 10,
        genetic_num_iters: int = 2,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ):
        super().__init__()
        for name, value in (
            ("init_measured_ratio", init_measured_ratio),
            ("genetic_mutate_prob", genetic_mutate_prob),
            ("eps_greedy", eps_greedy),
        ):
            if not 0 <= value <= 1:
                raise TiraxError(f"{name} is a part of the whole", expected="0 to 1", found=value)
        self.population_size = population_size
        self.init_measured_ratio = init_measured_ratio
        self.init_min_unmeasured = init_min_unmeasured
        self.max_fail_count = max_fail_count
        self.genetic_num_iters = genetic_num_iters
        self.genetic_mutate_prob = genetic_mutate_prob
        self.genetic_max_fail_count = genetic_max_fail_count
        self.eps_greedy = eps_greedy

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Same as `SearchStrategy.pre_tuning`."""
        per_round = min(num_trials_per_iter, max(_FEWEST, -(-max_trials // _ROUNDS)))
        super().pre_tuning(max_trials, per_round, design_spaces, database, cost_model)

    def _propose(self, count: int) -> list[Schedule]:
        measured = self._measured(int(self.population_size * self.init_measured_ratio))
        required = max(self.population_size - len(measured), self.init_min_unmeasured)
        fresh = self._fresh(required)
        if not fresh and not measured:
            return []
        self._score(fresh)
        self._score(measured)
        every = {one.key: one for one in [*measured, *fresh]}
        generation = [*measured, *fresh]
        for _ in range(self.genetic_num_iters):
            generation = self._next(generation, every)
        return self._pick_candidates(list(every.values()), fresh, count)

    # the first generation

    def _measured(self, count: int) -> list[_Individual]:
        """Return the best individuals of the database."""
        database, task = self.trials.database, self.task
        if database is None or task.mod is None or count == 0 or not database.has_workload(task.mod):
            return []
        records: Sequence[Any] = database.get_top_k(database.commit_workload(task.mod), count, task.target)
        individuals = [self._individual(record.trace, keep_decisions=True) for record in records]
        out = [one for one in individuals if one is not None]
        self.trials.seen.update(one.key for one in out)
        return out

    def _fresh(self, count: int) -> list[_Individual]:
        """Sample schedules from the design spaces, without duplicates."""
        spaces = [space.trace.simplified(remove_postproc=True) for space in self.trials.design_spaces]
        individuals: dict[int, _Individual] = {}
        failures = 0
        while len(individuals) < count and failures < self.max_fail_count:
            one = self._individual(spaces[self.random.integer(0, len(spaces))], keep_decisions=False)
            if one is None or one.key in individuals:
                failures += 1
            else:
                failures = 0
                individuals[one.key] = one
        return list(individuals.values())

    def _individual(self, trace: Trace, *, keep_decisions: bool) -> _Individual | None:
        sch = self.postprocessed(lambda: replay_trace(self, trace, keep_decisions=keep_decisions))
        return None if sch is None else _Individual(sch, structural_hash(sch.mod.op))

    # the next ones

    def _next(self, parents: Sequence[_Individual], every: dict[int, _Individual]) -> list[_Individual]:
        """Return as many children as there are `parents`; new ones are scored and added to `every`."""
        weights = _weights([one.score for one in parents])
        children = [self._child(parents[self.random.index(weights)]) for _ in range(self.population_size)]
        new = {one.key: one for one in children if one.key not in every}
        self._score(list(new.values()))
        every.update(new)
        return [every[one.key] for one in children]

    def _child(self, parent: _Individual) -> _Individual:
        """Return a mutated parent, or the parent if it is not to be mutated or no mutation succeeds."""
        mutators = self._mutators()
        if not mutators or self.random.uniform() >= self.genetic_mutate_prob:
            return parent
        for _ in range(self.genetic_max_fail_count):
            mutator = mutators[self.random.index([weight for _, weight in mutators])][0]
            trace = mutator.apply(parent.sch.trace.simplified(remove_postproc=True), self.random)
            one = None if trace is None else self._individual(trace, keep_decisions=True)
            if one is not None:
                return one
        return parent

    def _mutators(self) -> list[tuple[Any, float]]:
        generator = self.task.space_generator
        return [] if generator is None else list(generator.mutator_probs.items())

    def _score(self, individuals: Sequence[_Individual]) -> None:
        """Score individuals with the cost model; without one all scores are equal."""
        model, args = self.trials.cost_model, self.trials.args
        if model is None or not individuals:
            return
        scores = model.predict(self.task, [MeasureCandidate(one.sch, args) for one in individuals])
        for one, score in zip(individuals, np.asarray(scores, dtype=float).tolist(), strict=True):
            one.score = score if math.isfinite(score) else 0.0

    # the choice

    def _pick_candidates(self, every: list[_Individual], fresh: Sequence[_Individual], count: int) -> list[Schedule]:
        """Return the best unmeasured candidates, and some random ones of the initial samples."""
        rest = [one for one in fresh if one.key not in self.trials.seen]
        chosen: list[_Individual] = []
        for _ in range(min(round(count * self.eps_greedy), len(rest))):
            chosen.append(rest.pop(self.random.integer(0, len(rest))))
        taken = {one.key for one in chosen} | self.trials.seen
        best = sorted((one for one in every if one.key not in taken), key=lambda one: -one.score)
        picked = [*best[: count - len(chosen)], *chosen]
        self.trials.seen.update(one.key for one in picked)
        return [one.sch for one in picked]


def _weights(scores: Sequence[float]) -> list[float]:
    """Return positive weights in proportion to the scores, or equal ones if all scores are equal."""
    values = np.asarray(scores, dtype=float)
    shifted = values - values.min()
    return (shifted + max(float(shifted.mean()) * 0.1, 1e-9)).tolist()
