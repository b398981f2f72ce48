"""Ensembles of trees of ai.onnx.ml: every mode, aggregate and transform, beside ONNX's reference and ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from classical_cases import (  # noqa: E402
    FEATURES,
    ROWS,
    assert_like,
    by_ort,
    by_reference,
    classic_forest,
    features,
    model_of,
)
from onnx import numpy_helper  # noqa: E402
from strength import thinned  # noqa: E402

from tirax.frontend.importing.errors import ModelError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
TESTS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
CASES = {
    **{f"{mode}": ([mode], {}) for mode in MODES},
    "all modes": (MODES, {}),
    **{f"aggregate {name}": (["LEQ"], {"aggregate_function": name}) for name in ("SUM", "AVERAGE", "MIN", "MAX")},
    "base values": (["LEQ"], {"base_values": [0.5, -1.0, 2.0]}),
}


def regressor(rng, modes, x, targets=3, trees=5, depth=4, tracks=True, **attributes):
    forest = classic_forest(rng, trees, depth, modes, targets, "target", tracks)
    return model_of("TreeEnsembleRegressor", x, n_targets=targets, **forest, **attributes)


@pytest.mark.parametrize("case", CASES)
def test_regressors_are_like_the_reference(case):
    modes, attributes = CASES[case]
    rng = np.random.default_rng(len(case))
    for dtype in ("float32", "float64"):
        feeds = [features(rng, n, dtype, missing) for n in ROWS for missing in (False, True)]
        assert_like(regressor(rng, modes, feeds[0], **attributes), by_reference, *feeds)


@pytest.mark.parametrize("trees, depth", [(1, 0), (1, 3), (8, 6), (20, 2)])
def test_many_rows_run_as_native_code(trees, depth):
    rng = np.random.default_rng(trees)
    feeds = [features(rng, n, missing=True) for n in (0, 1, 7, 16, 100)]
    assert_like(regressor(rng, MODES, feeds[0], 2, trees, depth), by_reference, *feeds, native=True)


FORMS = {
    "one target": (20, 4, 1, "float32", {}),
    "64 leaves": (9, 6, 1, "float32", {}),
    "64 leaves of float64": (9, 6, 1, "float64", {}),
    "more leaves than bits": (3, 8, 1, "float32", {}),
    "more leaves than bits, of float64": (3, 8, 2, "float64", {}),
    "several targets": (9, 3, 3, "float32", {}),
    "many targets": (9, 3, 70, "float32", {}),
    "MIN": (5, 4, 1, "float32", {"aggregate_function": "MIN"}),
    "MAX of several targets": (5, 4, 2, "float64", {"aggregate_function": "MAX"}),
    "AVERAGE": (5, 8, 1, "float32", {"aggregate_function": "AVERAGE"}),
}
"""Trees, depth, targets, dtype and attributes: all layouts of tables, for few rows and for blocks of rows."""


@thinned("form", FORMS, 3)
def test_layouts_run_as_native_code(form):
    trees, depth, targets, dtype, attributes = FORMS[form]
    rng = np.random.default_rng(len(form))
    feeds = [features(rng, n, dtype, missing=True) for n in (1, 3, 16, 41)]
    model = regressor(rng, ["LEQ", "LT", "GT"], feeds[0], targets, trees, depth, **attributes)
    assert_like(model, by_reference, *feeds, native=True)


def test_weights_that_float32_does_not_hold():
    rng = np.random.default_rng(8)
    x = features(rng, 20)
    forest = classic_forest(rng, 3, 3, ["LEQ"], 1, "target", False)
    rounded = by_reference(model_of("TreeEnsembleRegressor", x, n_targets=1, **forest))  # which takes no tensors
    weights = np.array(forest.pop("target_weights")) + 1e-12
    forest["target_weights_as_tensor"] = numpy_helper.from_array(weights)
    assert_like(model_of("TreeEnsembleRegressor", x, n_targets=1, **forest), lambda _: rounded, x, x[:1])


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_classifiers_of_several_classes(post):
    rng = np.random.default_rng(3)
    x = features(rng, 7, missing=True)
    forest = classic_forest(rng, 5, 3, MODES[:5], 3, "class", True)
    if post == "PROBIT":
        forest["class_weights"] = [(w + 2.1) / 50 for w in forest["class_weights"]]
    model = model_of(
        "TreeEnsembleClassifier", x, 2, classlabels_int64s=[10, 20, 5], post_transform=post, **forest,
        base_values=[0.1, 0.2, 0.15],
    )  # fmt: skip
    assert_like(model, by_ort, x)


@pytest.mark.parametrize("post, positive", [(p, q) for p in ("NONE", "LOGISTIC", "SOFTMAX") for q in (False, True)])
def test_classifiers_of_two_classes_by_one_score(post, positive):
    rng = np.random.default_rng(4)
    x = features(rng, 7)
    forest = classic_forest(rng, 3, 3, ["LEQ"], 1, "class", False)
    if positive:
        forest["class_weights"] = [abs(w) / 8 for w in forest["class_weights"]]
    # ONNX Runtime leaves out some transforms of a single score, the reference takes all weights for probabilities
    oracle = by_ort if post == "NONE" else by_reference
    model = model_of("TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 7], post_transform=post, **forest)
    assert_like(model, oracle, x)


def of_leaves(dtype, **attributes):
    """A tree of two branches, the first of them a test of membership, and a tree that is a leaf."""
    tensor = lambda values, kind=dtype: numpy_helper.from_array(np.array(values, kind))  # noqa: E731
    return {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_modes": tensor([6, attributes.pop("mode", 0), 0], "uint8"),
        "nodes_featureids": [0, 1, 0],
        "nodes_splits": tensor([0, 0.5, 0]),
        "nodes_truenodeids": [1, 0, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [2, 1, 3],
        "nodes_falseleafs": [1, 1, 1],
        "membership_values": tensor([1.5, -1.0, 2.5, 0.5, np.nan]),
        "leaf_targetids": [0, 1, 0, 1],
        "leaf_weights": tensor([1.25, 2.5, -3.0, 0.5]),
        **attributes,
    }


def expected_of_leaves(x, mode):
    """What the model above gives."""
    split = np.array(0.5, x.dtype)
    passed = TESTS[mode](x[:, 1], split) & ~np.isnan(x[:, 1])
    member = np.isin(x[:, 0], [1.5, -1.0, 2.5, 0.5])
    y = np.zeros((len(x), 2), x.dtype)
    y[:, 0] = np.where(member, np.where(passed, 1.25, 0), -3.0)
    y[:, 1] = np.where(member & ~passed, 2.5, 0) + 0.5
    return [y]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("mode", range(6))
def test_membership_and_all_modes_of_trees_of_leaves(dtype, mode):
    rng = np.random.default_rng(5)
    feeds = [features(rng, n, dtype, missing=True) for n in (0, 1, 50)]
    model = model_of("TreeEnsemble", feeds[0], version=5, **of_leaves(dtype, mode=mode))
    assert_like(model, lambda _: lambda x: expected_of_leaves(x, mode), *feeds)


@pytest.mark.parametrize("function", range(4))
def test_aggregates_of_trees_of_leaves(function):
    rng = np.random.default_rng(6)
    x = features(rng, 7)
    trees = of_leaves("float32", aggregate_function=function, leaf_targetids=[0, 0, 0, 0], n_targets=1)

    def expected(x):
        passed = ~(x[:, 1] > 0.5)
        first = np.where(np.isin(x[:, 0], [1.5, -1, 2.5, 0.5]), np.where(passed, 1.25, 2.5), -3.0)
        both = np.stack([first, np.full(len(x), 0.5)])
        return [[np.mean, np.sum, np.min, np.max][function](both, axis=0)[:, None]]

    assert_like(model_of("TreeEnsemble", x, version=5, **trees), lambda _: expected, x)


def test_splits_between_the_numbers_of_the_input_compare_exactly():
    rng = np.random.default_rng(7)
    near = np.float32(0.1)
    x = np.repeat(np.array([[near], [np.nextafter(near, np.float32(0))], [0.5]], np.float32), FEATURES, axis=1)
    for mode, test in zip(MODES, TESTS, strict=True):
        for split in (0.1, 0.5, 1e300):
            forest = classic_forest(rng, 1, 1, [mode], 1, "target", False)
            values = np.full(len(forest.pop("nodes_values")), split)
            forest["nodes_values_as_tensor"] = numpy_helper.from_array(values)
            forest["target_weights_as_tensor"] = numpy_helper.from_array(np.array([1.0, 2.0]))
            del forest["target_weights"]
            model = model_of("TreeEnsembleRegressor", x, n_targets=1, **forest)
            expected = np.where(test(x[:, :1].astype("float64"), split), 1.0, 2.0)
            if forest["target_nodeids"] == [2, 1]:
                expected = 3 - expected
            assert_like(model, lambda _, y=expected: lambda _: [y], x)


BAD = {
    "a cycle": ({"nodes_truenodeids": [0, 0, 0]}, ModelError, "cycle"),
    "no such node": ({"nodes_truenodeids": [7, 0, 0]}, ModelError, "does not exist"),
    "no such feature": ({"nodes_featureids": [9, 0, 0]}, ModelError, "lacks"),
    "no such target": ({"target_ids": [0, 5]}, ModelError, "target"),
    "no such mode": ({"nodes_modes": ["BRANCH_ODD", "LEAF", "LEAF"]}, ModelError, "mode"),
    "no such aggregate": ({"aggregate_function": "MEDIAN"}, ModelError, "MEDIAN"),
    "a split that is NaN": ({"nodes_values": [float("nan"), 0.0, 0.0]}, ModelError, "NaN"),
    "lists that differ": ({"nodes_values": [0.0]}, ModelError, "shorter"),
    "no lists": ({"nodes_values": None}, ModelError, "nodes_values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_trees_are_refused(case):
    change, kind, text = BAD[case]
    good = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    x = np.zeros((1, FEATURES), np.float32)
    attributes = {k: v for k, v in {**good, **change}.items() if v is not None}
    with pytest.raises(kind, match=text):
        from_onnx(model_of("TreeEnsembleRegressor", x, n_targets=1, **attributes))


def test_labels_that_are_strings():
    rng = np.random.default_rng(1)
    forest = classic_forest(rng, 2, 2, ["LEQ"], 2, "class", False)
    x = features(rng, 9)
    labels, scores = interpret(
        from_onnx(model_of("TreeEnsembleClassifier", x, 2, classlabels_strings=["a", "b"], **forest)), "main", [x]
    )
    assert labels.tolist() == [["a", "b"][i] for i in scores.argmax(axis=1)]
    assert len({*labels.tolist()}) == 2


def test_votes_that_are_even_stay_so():
    forest = classic_forest(np.random.default_rng(0), 20, 0, ["LEQ"], 1, "class", False)
    forest["class_weights"] = [0.05 if tree % 2 else 0.0 for tree in range(20)]
    x = np.zeros((1, FEATURES), np.float32)
    model = model_of("TreeEnsembleClassifier", x, 2, classlabels_int64s=[0, 1], **forest)
    assert_like(model, lambda _: lambda _: [np.array([0]), np.array([[0.5, 0.5]])], x, rtol=0)
