"""Cost models: they learn from measurements what candidates that they have not seen take."""

from __future__ import annotations

import json

import numpy as np
import pytest
from spaces import DATA, SMALL, SPACES, candidates_of, context_of, module_of
from strength import only_full, thinned

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.schedule import Schedule, Trace
from tirax.tuning.cost_model import BoostingModel, CostModel, RandomModel, XGBModel
from tirax.tuning.features import ESTIMATE, feature_count, features_of
from tirax.tuning.trees import BoostedTrees
from tirax.tuning.types import MeasureCandidate, RunnerResult

MEASURED = json.loads((DATA / "matmul_128.json").read_text())
"""Candidates of a matmul, and the seconds that they once took on a Zen 4 core: instructions, decisions, seconds."""


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's: 1 where both order alike, about 0 by chance."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


@pytest.fixture(scope="module")
def measured():
    """The task, its candidates and their seconds."""
    context = context_of(SPACES["matmul"]["source"])
    mod = module_of(SPACES["matmul"]["source"])
    candidates, seconds = [], []
    for kind, decisions, took in MEASURED["measured"]:
        sch = Schedule(mod, error_render_level="none", restore=False)
        Trace.from_json([MEASURED["instructions"][kind], decisions]).apply_to_schedule(sch)
        sch.enter_postproc()
        assert all(post.apply(sch) for post in context.space_generator.postprocs)
        candidates.append(MeasureCandidate(sch, []))
        seconds.append(took)
    return context, candidates, np.asarray(seconds)


def learnt(model: CostModel, measured, order: np.ndarray) -> None:
    context, candidates, seconds = measured
    results = [RunnerResult([seconds[k]], None) for k in order]
    model.update(context, [candidates[k] for k in order], results)


def held_out(make, measured) -> tuple[float, float]:
    """The rank correlation on candidates that were held out, and how near the best the five proposed come; means."""
    context, candidates, seconds = measured
    results = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(seconds))
        model = make()
        learnt(model, measured, order[:60])
        rest = order[60:]
        scores = model.predict(context, [candidates[k] for k in rest])
        best = rest[np.argsort(-scores)[:5]]
        results.append((correlation(scores, -seconds[rest]), seconds[rest].min() / seconds[best].min()))
    first, second = np.mean(results, axis=0)
    return float(first), float(second)


@only_full
def test_boosting_ranks_what_it_has_not_seen(measured) -> None:
    rank, near = held_out(BoostingModel, measured)
    by_chance, near_by_chance = held_out(lambda: RandomModel(seed=1), measured)
    assert rank > 0.4 > by_chance + 0.2
    assert near > near_by_chance


def test_xgboost_ranks_what_it_has_not_seen(measured) -> None:
    pytest.importorskip("xgboost", reason="the optional package xgboost is not installed")
    rank, _ = held_out(XGBModel, measured)
    assert rank > 0.4


def test_without_xgboost_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    with pytest.raises(TiraxError, match=r"tirax\[xgboost\]"):
        XGBModel()


def test_what_was_learnt_is_saved(measured, tmp_path) -> None:
    context, candidates, seconds = measured
    model = BoostingModel()
    learnt(model, measured, np.arange(30))
    model.save(tmp_path / "model.npz")
    other = BoostingModel()
    other.load(tmp_path / "model.npz")
    assert np.array_equal(model.predict(context, candidates[30:]), other.predict(context, candidates[30:]))
    learnt(other, measured, np.arange(30, 60))
    assert not np.array_equal(model.predict(context, candidates[60:]), other.predict(context, candidates[60:]))
    np.savez(tmp_path / "other.npz", features=np.zeros((2, 3)), seconds=np.ones(2), tasks=np.asarray(["a", "a"]))
    with pytest.raises(TiraxError, match="other features"):
        other.load(tmp_path / "other.npz")


def test_measurements_are_passed_on(measured, tmp_path) -> None:
    context, candidates, seconds = measured
    model = BoostingModel()
    assert model.data == {} and model.data_size == 0
    results = [RunnerResult(None, "it crashed"), *(RunnerResult([t], None) for t in seconds[1:9])]
    model.update(context, candidates[:9], results)
    before = model.data
    (group,) = before.values()
    assert list(before) == [group.group_hash] and len(group.features) == model.data_size == 9
    assert group.costs.tolist() == [np.inf, *seconds[1:9]] and group.min_cost == seconds[1:9].min()
    assert np.array_equal(group.features[3], features_of(candidates[3].sch.mod))
    model.save(tmp_path / "model.npz")
    learnt(model, measured, np.arange(9, 12))
    assert model.data_size == 12 and len(group.features) == 9
    other = BoostingModel()
    other.load(tmp_path / "model.npz")
    (same,) = other.data.values()
    assert same.group_hash == group.group_hash and same.costs.tolist() == group.costs.tolist()
    assert np.array_equal(same.features, group.features)


def test_failures_are_worse_than_all(measured) -> None:
    context, candidates, seconds = measured
    model = BoostingModel(trees=BoostedTrees(rounds=300, smoothing=0.0))
    results = [
        RunnerResult([t], None) if k % 2 else RunnerResult(None, "it crashed") for k, t in enumerate(seconds[:40])
    ]
    model.update(context, candidates[:40], results)
    scores = model.predict(context, candidates[:40])
    assert scores[0::2].mean() < scores[1::2].mean() - 1


def test_before_anything_is_measured_the_estimate_counts(measured) -> None:
    """The best of all candidates of a matmul is among the first three, and the order is much better than by chance."""
    context, candidates, seconds = measured
    scores = BoostingModel().predict(context, candidates)
    assert correlation(scores, -seconds) > 0.5
    assert np.argmin(seconds) in np.argsort(-scores)[:3]
    assert BoostingModel().predict(context, []).shape == (0,)


@thinned("name", list(SPACES), 2)
def test_every_estimate_is_a_part_of_the_total(name: str) -> None:
    _, candidates = candidates_of(SPACES[name]["source"], 3)
    estimates = [features_of(candidate.sch.mod)[ESTIMATE] for candidate in candidates]
    assert all(-12 <= estimate <= 0 for estimate in estimates)


def test_what_is_kept_in_registers_is_estimated_to_be_faster() -> None:
    """A tile of 4 by 4 vectors, its loop over k around it: written out or not, into memory that may be another's."""
    plain = SPACES["matmul"]["source"]
    alone = plain.replace("        for i, j, k", '        T.func_attr({"tir.noalias": True})\n        for i, j, k', 1)

    def estimate(source: str, steps: int) -> float:
        sch = Schedule(module_of(source))
        i, j, k = sch.get_loops(sch.get_block("C"))
        (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 4]), sch.split(j, [None, 64])
        sch.reorder(i_0, j_0, k, i_1, j_1)
        sch.vectorize(j_1)
        sch.annotate(i_0, "pragma_auto_unroll_max_step", steps)
        return float(features_of(sch.mod)[ESTIMATE])

    assert estimate(alone, 16) > max(estimate(alone, 0), estimate(plain, 16)) + 1


def test_failures_only_are_nothing_to_learn_from() -> None:
    context, candidates = candidates_of(SMALL, 4)
    model = BoostingModel()
    model.update(context, candidates, [RunnerResult(None, "no") for _ in candidates])
    assert np.isfinite(model.predict(context, candidates)).all()


def test_random_repeats(tmp_path) -> None:
    context, candidates = candidates_of(SMALL, 3)
    model = RandomModel(seed=5, max_range=2)
    model.predict(context, candidates)
    model.save(tmp_path / "state.json")
    again = RandomModel()
    again.load(tmp_path / "state.json")
    scores = model.predict(context, candidates)
    assert np.array_equal(scores, again.predict(context, candidates))
    assert ((scores >= 0) & (scores <= 2)).all()


def test_models_by_name() -> None:
    assert isinstance(CostModel.create(), BoostingModel)
    assert isinstance(CostModel.create("random", seed=1), RandomModel)
    assert CostModel.create("none") is None
    model = RandomModel()
    assert CostModel.create(model) is model
    with pytest.raises(NameLookupError, match="randon"):
        CostModel.create("randon")


def test_trees_fit_a_step_and_an_interaction() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 6))
    y = np.where(x[:, 2] > 0.3, 1.0, 0.0) + np.where((x[:, 0] > 0) & (x[:, 4] > 0), 2.0, 0.0)
    trees = BoostedTrees()
    trees.fit(x[:300], y[:300])
    assert np.abs(trees.predict(x[300:]) - y[300:]).mean() < 0.2
    trees.fit(np.ones((5, 3)), np.arange(5.0))
    assert np.allclose(trees.predict(np.zeros((2, 3))), 2.0)


def test_features_distinguish_schedules() -> None:
    mod = module_of(SMALL)
    plain = features_of(mod)
    assert plain.shape == (feature_count(),)
    assert np.isfinite(plain).all()
    changed = []
    for step in ("vectorize", "parallel", "unroll"):
        sch = Schedule(mod)
        getattr(sch, step)(sch.get_loops(sch.get_block("C"))[1])
        changed.append(features_of(sch.mod))
    assert all(not np.array_equal(plain, f) for f in changed)
    assert len({f.tobytes() for f in changed}) == 3


def test_features_of_memory() -> None:
    """The first row of the matmul (4, 12) x (12, 16): 768 steps, each of a multiplication and an addition."""
    row = features_of(module_of(SMALL))
    assert row[0] == pytest.approx(np.log2(1 + 4 * 16 * 12))
    assert row[1] == pytest.approx(np.log2(1 + 12))
    sch = Schedule(module_of(SMALL))
    _, j, k = sch.get_loops(sch.get_block("C"))
    sch.reorder(k, j)
    assert features_of(sch.mod)[8] == pytest.approx(np.log2(1 + 16))
    assert row[8] == pytest.approx(np.log2(1 + 12))
