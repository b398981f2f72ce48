"""Extractors of features, and models that learn from them."""

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.schedule import Schedule
from tirax.target import Target
from tirax.tuning.context import TuneContext
from tirax.tuning.cost_model import BoostingModel, XGBModel
from tirax.tuning.feature_extractors import FeatureExtractor, PerStoreFeature, RandomFeatureExtractor
from tirax.tuning.features import feature_count, features_of
from tirax.tuning.task_scheduler import TaskRecord
from tirax.tuning.types import MeasureCandidate, RunnerResult
from tirax.tuning.workloads import workload
from tirax.tvm_api import meta_schedule as ms


def candidates(count):
    return [MeasureCandidate(Schedule(workload("GMM")), []) for _ in range(count)]


def results(seconds):
    return [RunnerResult([s], None) for s in seconds]


def test_the_features_of_models_themselves():
    (inputs,) = candidates(1)
    (actual,) = PerStoreFeature().extract_from(TuneContext(), [inputs])
    assert actual.shape == (1, feature_count())
    np.testing.assert_array_equal(actual[0], features_of(inputs.sch.mod))


def test_random_features_go_on_where_they_stopped():
    extractor = RandomFeatureExtractor(feature_size=7, max_block_num=3, seed=1)
    state = extractor.random_state
    first = extractor.extract_from(TuneContext(), candidates(9))
    second = extractor.extract_from(TuneContext(), candidates(9))
    assert {m.shape[1] for m in first} == {7} and {m.shape[0] for m in first} == {1, 2, 3}
    assert any(a.shape != b.shape or (a != b).any() for a, b in zip(first, second, strict=True))
    extractor.random_state = state
    for a, b in zip(first, extractor.extract_from(TuneContext(), candidates(9)), strict=True):
        np.testing.assert_array_equal(a, b)


class Marked(FeatureExtractor):
    """Two rows that add up to the number that a candidate carries."""

    def extract_from(self, context, candidates):
        return [np.array([[c.number, 1.0], [0.0, 1.0]]) for c in candidates]


@pytest.mark.parametrize("model", [BoostingModel, XGBModel])
def test_a_model_learns_from_explicit_features(model, tmp_path):
    if model is XGBModel:
        pytest.importorskip("xgboost", reason="optional: tirax[xgboost]")
    inputs = candidates(24)
    for number, each in enumerate(inputs):
        each.number = float(number)
    learning = model(extractor=Marked(), min_samples=4)
    np.testing.assert_array_equal(learning.predict(TuneContext(), inputs), np.zeros(24))
    learning.update(TuneContext(), inputs, results([1.0 + 0.1 * n for n in range(24)]))
    scores = learning.predict(TuneContext(), inputs)
    assert scores[0] > scores[12] > scores[23]
    learning.save(tmp_path / "model.npz")
    again = model(extractor=Marked(), min_samples=4)
    again.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(TuneContext(), inputs), scores)


def test_an_extractor_gives_a_matrix_for_each():
    class Lazy(FeatureExtractor):
        def extract_from(self, context, candidates):
            return []

    with pytest.raises(TiraxError, match="Lazy gives a matrix for each candidate"):
        BoostingModel(extractor=Lazy()).predict(TuneContext(), candidates(2))


def test_objects_of_a_users_classes_print_as_tvms_do():
    @ms.derived_object
    class Own(ms.feature_extractor.PyFeatureExtractor):
        pass

    @ms.derived_object
    class Named(ms.mutator.PyMutator):
        def __str__(self):
            return "mine"

    assert str(Own()).startswith("meta_schedule.Own(0x") and str(Named()) == "mine"


def test_what_took_no_time_has_no_speed():
    context = TuneContext(workload("GMM"), "llvm --num-cores 4")
    record = TaskRecord(context, None, None, None, 1.0, flop=1e9, best=0.0)  # pyright: ignore[reportArgumentType]
    assert record.gflops == 0.0


def test_a_seed_that_is_drawn_is_known():
    assert TuneContext(target="llvm").rand_state != -1
    assert TuneContext(target="llvm", rand_state=7).rand_state == 7


@pytest.mark.parametrize("text", ["llvm --num-cores 4", "llvm -num-cores 4", "llvm --num-cores=4"])
def test_values_of_targets_after_a_space(text):
    assert Target(text) == Target("llvm -num-cores=4") and Target(text).cores == 4
