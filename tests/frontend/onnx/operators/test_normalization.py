"""Norms, softmax and products of matrices, beside ONNX Runtime, at several sizes of one build."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import compile_model, model_of  # noqa: E402
from onnx import helper  # noqa: E402

rng = np.random.default_rng(0)
FOUR = {n: rng.uniform(0.5, 1.5, 4).astype(np.float32) for n in ("a", "b", "c", "d")}


def one(op: str, *weights: str, shape: tuple = ("n", 4, "m"), opset: int = 20, outputs: int = 1, **attrs: object):
    """A model of one node on data of symbolic batch and length."""
    names = ["y", "z", "u"][:outputs]
    node = helper.make_node(op, ["x", *weights], names, **attrs)
    return model_of([node], {"x": list(shape)}, names, {w: FOUR[w] for w in weights}, opset)


LAST = ("n", "m", 4)
CASES = {
    "batch": one("BatchNormalization", "a", "b", "c", "d"),
    "batch_training": one("BatchNormalization", "a", "b", "c", "d", outputs=3, training_mode=1),
    "instance": one("InstanceNormalization", "a", "b"),
    "layer": one("LayerNormalization", "a", "b", shape=LAST),
    "layer_statistics": one("LayerNormalization", "a", shape=LAST, outputs=3),
    "lp": one("LpNormalization", axis=1, p=1),
    "hardmax": one("Hardmax", axis=2),
    "softmax_flattened": one("Softmax", opset=11, axis=1),
    "log_softmax": one("LogSoftmax", axis=1),
}


@pytest.mark.parametrize("name", CASES)
def test_at_several_sizes(name):
    last = CASES[name].graph.input[0].type.tensor_type.shape.dim[-1].dim_value == 4
    sizes = [(2, 3, 4), (1, 1, 4)] if last else [(2, 4, 3), (1, 4, 5)]
    assert_like_ort(CASES[name], *([rng.standard_normal(s, np.float32)] for s in sizes))


def test_groups_of_both_versions():
    two = {"a": np.array([1, 2], np.float32), "b": np.array([0, 3], np.float32)}
    nodes = [helper.make_node("GroupNormalization", ["x", "a", "b"], ["y"], num_groups=2)]
    old = model_of(nodes, {"x": ["n", 4, "m"]}, ["y"], two, 18)
    new = model_of(nodes, {"x": ["n", 4, "m"]}, ["y"], {n: np.repeat(v, 2) for n, v in two.items()}, 21)
    for n, m in ((2, 3), (1, 6)):
        x = rng.standard_normal((n, 4, m), np.float32)
        assert_like_ort(new, [x])
        grouped = x.reshape(n, 2, -1)
        norm = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
        expected = (norm * two["a"].reshape(1, 2, 1) + two["b"].reshape(1, 2, 1)).reshape(x.shape)
        np.testing.assert_allclose(compile_model(old)(x).numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attrs", [{"transA": 1, "alpha": 0.5}, {"transB": 1, "beta": 2.0}])
def test_gemm(attrs):
    shapes = {"a": ["k", "m"] if "transA" in attrs else ["m", "k"], "b": [5, "k"] if "transB" in attrs else ["k", 5]}
    model = model_of([helper.make_node("Gemm", ["a", "b", "c"], ["y"], **attrs)], {**shapes, "c": [5]}, ["y"])
    for m, k in ((1, 1), (3, 7)):
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, 5), np.float32)
        feed = [a.T.copy() if "transA" in attrs else a, b.T.copy() if "transB" in attrs else b]
        assert_like_ort(model, [*feed, rng.standard_normal(5, np.float32)])


def test_determinants():
    model = model_of([helper.make_node("Det", ["x"], ["y"])], {"x": ["b", "n", "n"]}, ["y"])
    x = rng.standard_normal((3, 5, 5), np.float32)
    x[1, 2] = x[1, 3]  # no inverse
    x[2, 0, 0] = 0.0  # a row below has to come first
    assert_like_ort(model, [x], [x[:, :1, :1].copy()], [x[:0]], rtol=1e-3, atol=1e-4)


def test_dropout_is_the_identity():
    assert_like_ort(model_of([helper.make_node("Dropout", ["x"], ["y", "m"])], {"x": ["n"]}, ["y", "m"]), [
        rng.standard_normal(3, np.float32)
    ])  # fmt: skip
