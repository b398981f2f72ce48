"""Evolution: the best candidates, by what is known of them, are changed and selected again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...diagnostics import TiraxError
from ...ir.equality import structural_hash
from ...schedule import Schedule, Trace
from ..types import MeasureCandidate
from .replay import replayed
from .strategy import SearchStrategy

_ROUNDS, _FEWEST = 3, 8
"""At least so many rounds where there are trials enough, and at least so many trials in each."""


@dataclass
class _Individual:
    """A schedule, its result's hash, and its score by the cost model."""

    sch: Schedule
    key: int
    score: float = 0.0


class EvolutionarySearch(SearchStrategy):
    """Genetic search with a cost model (Zheng et al., Ansor, OSDI 2020, section 5.1).

    A round begins with `population_size` schedules: up to `init_measured_ratio` of them the best of the database, at
    least `init_min_unmeasured` (fewer only where `max_fail_count` draws in a row fail) drawn from the design spaces. In
    each of `genetic_num_iters` generations schedules are chosen, the better the more often, and changed by one of the
    task's mutators with probability `genetic_mutate_prob`; `genetic_max_fail_count` tries are made for each. The best
    of all generations are measured, but for a part `eps_greedy`, which is drawn at random.

    A round has at most a third of all trials (but eight), so that something is learnt from the others.
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
        """As `SearchStrategy.pre_tuning`."""
        per_round = min(num_trials_per_iter, max(_FEWEST, -(-max_trials // _ROUNDS)))
        super().pre_tuning(max_trials, per_round, design_spaces, database, cost_model)

    def _propose(self, count: int) -> list[Schedule]:
        measured = self._measured(int(self.population_size * self.init_measured_ratio))
        wanted = max(self.population_size - len(measured), self.init_min_unmeasured)
        fresh = self._fresh(wanted)
        if not fresh and not measured:
            return []
        self._score(fresh)
        self._score(measured)
        every = {one.key: one for one in [*measured, *fresh]}
        generation = [*measured, *fresh]
        for _ in range(self.genetic_num_iters):
            generation = self._next(generation, every)
        return self._picked(list(every.values()), fresh, count)

    # the first generation

    def _measured(self, count: int) -> list[_Individual]:
        """The best of the database."""
        database, task = self.trials.database, self.task
        if database is None or task.mod is None or count == 0 or not database.has_workload(task.mod):
            return []
        records: Sequence[Any] = database.get_top_k(database.commit_workload(task.mod), count, task.target)
        found = [self._individual(record.trace, keep_decisions=True) for record in records]
        out = [one for one in found if one is not None]
        self.trials.seen.update(one.key for one in out)
        return out

    def _fresh(self, count: int) -> list[_Individual]:
        """Schedules drawn from the design spaces, none twice."""
        spaces = [space.trace.simplified(remove_postproc=True) for space in self.trials.design_spaces]
        found: dict[int, _Individual] = {}
        failures = 0
        while len(found) < count and failures < self.max_fail_count:
            one = self._individual(spaces[self.random.integer(0, len(spaces))], keep_decisions=False)
            if one is None or one.key in found:
                failures += 1
            else:
                failures = 0
                found[one.key] = one
        return list(found.values())

    def _individual(self, trace: Trace, *, keep_decisions: bool) -> _Individual | None:
        sch = self.finished(lambda: replayed(self, trace, keep_decisions=keep_decisions))
        return None if sch is None else _Individual(sch, structural_hash(sch.mod.op))

    # the next ones

    def _next(self, parents: Sequence[_Individual], every: dict[int, _Individual]) -> list[_Individual]:
        """As many children of `parents`; those not known yet are added to `every`, with their score."""
        weights = _weights([one.score for one in parents])
        children = [self._child(parents[self.random.index(weights)]) for _ in range(self.population_size)]
        new = {one.key: one for one in children if one.key not in every}
        self._score(list(new.values()))
        every.update(new)
        return [every[one.key] for one in children]

    def _child(self, parent: _Individual) -> _Individual:
        """A parent, changed; the parent itself where it is not to be, or nothing that was tried fits."""
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
        """Let the cost model judge; without one all are equal."""
        model, args = self.trials.cost_model, self.trials.args
        if model is None or not individuals:
            return
        scores = model.predict(self.task, [MeasureCandidate(one.sch, args) for one in individuals])
        for one, score in zip(individuals, np.asarray(scores, dtype=float).tolist(), strict=True):
            one.score = score if math.isfinite(score) else 0.0

    # the choice

    def _picked(self, every: list[_Individual], fresh: Sequence[_Individual], count: int) -> list[Schedule]:
        """The best that were not measured yet, and some at random of those drawn first."""
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
    """Positive weights in proportion to the scores; equal where all scores are."""
    values = np.asarray(scores, dtype=float)
    shifted = values - values.min()
    return (shifted + max(float(shifted.mean()) * 0.1, 1e-9)).tolist()
