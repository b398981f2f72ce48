"""Random numbers of ONNX: laws, seeds, and dropout in training."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from graphs import model_of  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.importing.errors import InputError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.runtime import manual_seed  # noqa: E402

ONES = np.ones((200, 300), np.float32)
# An operator with its attributes: the mean and the variance.
DRAWN = {
    "RandomUniform": ([], {"shape": [200, 300], "low": 2.0, "high": 5.0}, 3.5, 9 / 12),
    "RandomNormal": ([], {"shape": [200, 300], "mean": 2.0, "scale": 3.0, "dtype": TensorProto.DOUBLE}, 2, 9),
    "RandomUniformLike": (["x"], {}, 1 / 2, 1 / 12),
    "RandomNormalLike": (["x"], {"dtype": TensorProto.FLOAT16}, 0, 1),
    "Bernoulli": (["p"], {"dtype": TensorProto.INT32}, 1 / 4, 3 / 16),
}


def drawn(name: str, **more: object):
    inputs, attrs, *_ = DRAWN[name]
    extra = {"p": np.full((200, 300), 0.25, np.float32)} if "p" in inputs else {}
    node = helper.make_node(name, inputs, ["y"], **attrs, **more)
    return model_of([node, helper.make_node("Identity", ["x"], ["z"])], {"x": ["a", "b"]}, ["y", "z"], extra)


@pytest.mark.parametrize("name", DRAWN)
def test_laws_and_seeds(name):
    _, _, mean, variance = DRAWN[name]
    main = build(from_onnx(drawn(name)))["main"]
    manual_seed(3)
    first, second = (np.array(main(ONES)[0]) for _ in range(2))
    assert abs(first.astype(float).mean() - mean) < 5 * np.sqrt(variance / ONES.size)
    assert abs(first.astype(float).var() / variance - 1) < 0.05
    assert not np.array_equal(first, second)
    manual_seed(3)
    np.testing.assert_array_equal(first, main(ONES)[0])
    fixed = build(from_onnx(drawn(name, seed=5.0)))["main"]
    np.testing.assert_array_equal(np.array(fixed(ONES)[0]), fixed(ONES)[0])


def test_multinomial():
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=2000, dtype=TensorProto.INT64)
    main = build(from_onnx(model_of([node], {"x": ["n", 3]}, ["y"]), seed=1))["main"]
    y = main(np.log(np.tile(np.float32([1, 2, 1]), (20, 1))))
    assert y.shape == (20, 2000) and y.dtype == np.int64
    assert np.all(np.abs(np.bincount(y.ravel()) / y.size - [0.25, 0.5, 0.25]) < 5 * 0.5 / np.sqrt(y.size))


def test_dropout_in_training():
    node = helper.make_node("Dropout", ["x", "r", "t"], ["y", "m"])
    inputs = {"x": ["a", "b"]}
    known = model_of([node], inputs, ["y", "m"], {"r": np.float32(0.3), "t": np.bool_(True)})
    y, mask = build(from_onnx(known))["main"](ONES)
    np.testing.assert_allclose(y, np.where(mask, ONES / 0.7, 0), rtol=1e-6)
    assert abs(mask.mean() - 0.7) < 5 * np.sqrt(0.21 / ONES.size)
    for weights in ({"r": np.float32(0.0), "t": np.bool_(True)}, {"r": np.float32(0.5), "t": np.bool_(False)}):
        y, mask = build(from_onnx(model_of([node], inputs, ["y", "m"], weights)))["main"](ONES)
        np.testing.assert_array_equal(y, ONES)
        assert mask.all()


def test_dropout_whose_mode_the_run_computes():
    node = helper.make_node("Dropout", ["x", "r", "t"], ["y", "m"])
    flag = helper.make_node("Greater", ["f", "zero"], ["t"])
    model = model_of(
        [flag, node], {"x": ["a", "b"], "f": []}, ["y", "m"], {"r": np.float32(0.3), "zero": np.float32(0)}
    )
    main = build(from_onnx(model))["main"]
    y, mask = main(ONES, np.float32(-1))
    np.testing.assert_array_equal(y, ONES)
    assert mask.all()
    y, mask = main(ONES, np.float32(1))
    np.testing.assert_allclose(y, np.where(mask, ONES / 0.7, 0), rtol=1e-6)
    assert abs(mask.mean() - 0.7) < 0.01


def test_wrong_seed():
    with pytest.raises(InputError, match="integer of 64 bits"):
        from_onnx(drawn("RandomUniformLike"), seed="x")
