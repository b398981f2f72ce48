"""Search strategies: their protocol, what they propose, and that a seed repeats it."""

from __future__ import annotations

import numpy as np
import pytest
from spaces import CHAIN, SMALL, SPACES, context_of, module_of
from strength import only_full, thinned

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.ir.equality import structural_hash
from tirax.tuning.cost_model import CostModel
from tirax.tuning.database import Database
from tirax.tuning.postprocessors import Postproc
from tirax.tuning.search import EvolutionarySearch, ReplayFunc, ReplayTrace, SearchStrategy
from tirax.tuning.space import PostOrderApply
from tirax.tuning.types import RunnerResult, TensorInfo, TuningRecord

KINDS = ["evolutionary", "replay-trace", "replay-func"]
FEW = {
    "evolutionary": {"population_size": 8, "init_min_unmeasured": 4, "genetic_num_iters": 1, "max_fail_count": 6},
    "replay-trace": {"max_fail_count": 6},
    "replay-func": {"max_fail_count": 6},
}


def strategy_of(kind: str) -> SearchStrategy:
    return SearchStrategy.create(kind, **FEW[kind])


def begun(strategy: SearchStrategy, trials: int, per_round: int, source: str = SMALL, **options):
    context = context_of(source, strategy, options.pop("seed", 1), options.pop("space", None))
    strategy.pre_tuning(trials, per_round, context.generate_design_space(), **options)
    return context


class Lanes(CostModel):
    """Likes schedules with many lanes; counts what it was asked for."""

    def __init__(self) -> None:
        self.calls = 0

    def predict(self, context, candidates):
        self.calls += len(candidates)
        return np.asarray([liking(c.sch) for c in candidates])


def liking(sch) -> float:
    return float(sum(1 for line in sch.mod.script().split("\n") if "T.vectorized(16)" in line))


@only_full
@pytest.mark.parametrize("kind", KINDS)
def test_rounds_until_the_trials_are_used_up(kind: str) -> None:
    strategy = strategy_of(kind)
    context = begun(strategy, 7, 3)
    rounds = []
    while (batch := strategy.generate_measure_candidates()) is not None:
        strategy.notify_runner_results(batch, [RunnerResult([1.0], None) for _ in batch])
        rounds.append(batch)
    strategy.post_tuning()
    assert [len(r) for r in rounds] == [3, 3, 1]
    every = [c for r in rounds for c in r]
    assert len({structural_hash(c.sch.mod.op) for c in every}) == 7
    for candidate in every[:2]:
        assert_same_meaning(context.mod.op, candidate.sch.mod.op)
    for candidate in every:
        shapes = [(4, 12), (12, 16), (4, 16)]
        assert candidate.args_info == [TensorInfo("float32", shape) for shape in shapes]


@thinned("kind", KINDS, 1)
def test_a_seed_gives_the_same_candidates(kind: str) -> None:
    def proposed(seed: int) -> list[str]:
        strategy = strategy_of(kind)
        begun(strategy, 4, 4, CHAIN, seed=seed)
        return [str(c.sch.trace) for c in strategy.generate_measure_candidates()]

    assert proposed(3) == proposed(3)
    assert proposed(3) != proposed(4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_space_is_used_up(kind: str) -> None:
    strategy = strategy_of(kind)
    begun(strategy, 10, 5, SPACES["add_one"]["source"])
    assert len(strategy.generate_measure_candidates()) == 1
    assert strategy.generate_measure_candidates() is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_postprocessors_reject_is_not_proposed(kind: str) -> None:
    class Never(Postproc):
        def apply(self, sch):
            return False

    strategy = strategy_of(kind)
    begun(strategy, 4, 4, space=PostOrderApply(postprocs=[Never()]))
    assert strategy.generate_measure_candidates() is None


def test_the_order_of_calls_is_checked() -> None:
    strategy = ReplayTrace()
    with pytest.raises(TiraxError, match="has no task"):
        strategy.pre_tuning(1, 1, [])
    context = context_of(SMALL, strategy)
    with pytest.raises(TiraxError, match="has not begun"):
        strategy.generate_measure_candidates()
    with pytest.raises(TiraxError, match="no design space"):
        strategy.pre_tuning(1, 1, [])
    spaces = context.generate_design_space()
    strategy.pre_tuning(1, 1, spaces)
    with pytest.raises(TiraxError, match="has begun already"):
        strategy.pre_tuning(1, 1, spaces)
    strategy.post_tuning()
    strategy.pre_tuning(1, 1, spaces)


def test_strategies_by_name() -> None:
    assert isinstance(SearchStrategy.create(), EvolutionarySearch)
    assert isinstance(SearchStrategy.create("replay-func"), ReplayFunc)
    with pytest.raises(NameLookupError, match="replay-traces"):
        SearchStrategy.create("replay-traces")
    with pytest.raises(TiraxError, match="eps_greedy"):
        EvolutionarySearch(eps_greedy=1.5)


def test_a_clone_has_the_options_and_no_task() -> None:
    strategy = EvolutionarySearch(population_size=9)
    begun(strategy, 1, 1)
    clone = strategy.clone()
    assert (clone.population_size, clone.context) == (9, None)
    with pytest.raises(TiraxError, match="has not begun"):
        clone.generate_measure_candidates()


def test_a_context_hands_on_to_its_strategy() -> None:
    context = context_of(SMALL, ReplayTrace())
    context.pre_tuning(3, 2)
    batch = context.generate_measure_candidates()
    context.notify_runner_results(batch, [RunnerResult(None, "it crashed")] * 2)
    assert [len(batch), len(context.generate_measure_candidates())] == [2, 1]
    other = context.clone()
    assert other.search_strategy is not context.search_strategy
    assert other.space_generator.context is other
    assert context.space_generator.context is context
    context.post_tuning()
    with pytest.raises(TiraxError, match="has not begun"):
        context.generate_measure_candidates()
    with pytest.raises(TiraxError, match="no search strategy"):
        context_of(SMALL).generate_measure_candidates()


@only_full
def test_evolution_follows_the_cost_model() -> None:
    def best(options: dict, model: CostModel | None) -> float:
        strategy = EvolutionarySearch(population_size=16, eps_greedy=0.0, **options)
        begun(strategy, 8, 8, cost_model=model)
        return float(np.mean([liking(c.sch) for c in strategy.generate_measure_candidates()]))

    model = Lanes()
    evolved = best({"genetic_num_iters": 2}, model)
    assert evolved > best({"genetic_num_iters": 0}, None)
    assert evolved >= best({"genetic_num_iters": 0}, Lanes())
    assert model.calls > 16


@only_full
def test_evolution_begins_with_the_best_of_the_database() -> None:
    mod = module_of(SMALL)
    database = Database.create("memory")
    strategy = EvolutionarySearch(population_size=8, init_measured_ratio=0.5, init_min_unmeasured=2)
    context = begun(strategy, 8, 4, database=database)
    first = strategy.generate_measure_candidates()
    workload = database.commit_workload(mod)
    for k, candidate in enumerate(first):
        trace = candidate.sch.trace.simplified(remove_postproc=True)
        record = TuningRecord(trace, workload, [1e-3 * (k + 1)], context.target, candidate.args_info)
        database.commit_tuning_record(record)
    measured = strategy._measured(2)
    assert [one.key for one in measured] == [structural_hash(c.sch.mod.op) for c in first[:2]]
    known = {structural_hash(c.sch.mod.op) for c in first}
    again = strategy.generate_measure_candidates()
    assert again
    assert not known & {structural_hash(c.sch.mod.op) for c in again}
