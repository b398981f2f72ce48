"""Convolutions, pools and resizing of images, beside ONNX Runtime, at several sizes of one build."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import compile_model, model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.frontend.importing.errors import ModelError, UnsupportedOperators  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402

rng = np.random.default_rng(0)


def images(*shape: int) -> list[np.ndarray]:
    return [rng.standard_normal(shape, np.float32)]


def one(op: str, weights: dict[str, np.ndarray] | None = None, outputs: int = 1, opset: int = 20, **attrs: object):
    """A model of one node on an image of symbolic batch, height and width."""
    names = ["y", "z"][:outputs]
    node = helper.make_node(op, ["x", *(weights or {})], names, **attrs)
    return model_of([node], {"x": ["n", 4, "h", "w"]}, names, weights, opset)


WEIGHT = rng.standard_normal((6, 2, 3, 3), np.float32)
FRACTIONS = np.array([1, 1, 1.5, 0.6], np.float32)
SIZES = [(1, 4, 7, 8), (2, 4, 5, 5)]

CASES = {
    "conv": one("Conv", {"w": WEIGHT, "b": WEIGHT[:, 0, 0, 0]}, group=2, pads=[1, 0, 2, 1], strides=[2, 1]),
    "conv_same": one("Conv", {"w": WEIGHT}, group=2, auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv_same_lower": one("Conv", {"w": WEIGHT}, group=2, auto_pad="SAME_LOWER", strides=[2, 3]),
    "transposed": one("ConvTranspose", {"w": WEIGHT[:4]}, strides=[2, 1], output_padding=[1, 0], pads=[0, 1, 1, 0]),
    "max": one("MaxPool", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1),
    "max_places": one("MaxPool", outputs=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    "average": one("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 0, 1], count_include_pad=1),
    "global": one("GlobalMaxPool"),
    "lrn": one("LRN", size=3, alpha=0.5),
    "upsampled": one("Resize", {"roi": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 2], np.float32)}),
    "resized": one("Resize", {"roi": np.zeros(0, np.float32), "s": FRACTIONS}, mode="linear"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_at_several_sizes(name):
    assert_like_ort(CASES[name], *(images(*s) for s in SIZES))


@pytest.mark.parametrize("name", ["conv", "max", "average"])
def test_no_images(name):
    shapes = [t.numpy().shape for t in [compile_model(CASES[name])(*images(0, 4, 6, 6))]]
    assert shapes[0][0] == 0


def test_integers():
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 1, 1])
    weights = {
        "w": rng.integers(0, 255, (3, 2, 3, 3), np.uint8),
        "xz": np.uint8(7),
        "wz": np.array([1, 2, 3], np.uint8),
    }
    model = model_of([node], {"x": (onnx.TensorProto.UINT8, ["n", 2, 5, 5])}, ["y"], weights)
    x = rng.integers(0, 255, (2, 2, 5, 5), np.uint8)
    (actual,) = [compile_model(model)(x).numpy()]
    shifted = x.astype(np.int32) - 7, weights["w"].astype(np.int32) - np.array([1, 2, 3]).reshape(3, 1, 1, 1)
    padded = np.pad(shifted[0], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    np.testing.assert_array_equal(actual, np.einsum("nchwij,ocij->nohw", windows, shifted[1]))


def test_refusals():
    with pytest.raises(ModelError, match="strides has another length"):
        from_onnx(one("MaxPool", kernel_shape=[2, 2], strides=[1]))
    with pytest.raises(UnsupportedOperators, match="windows over 4 dimensions"):
        node = helper.make_node("GlobalAveragePool", ["x"], ["y"])
        pool = helper.make_node("MaxPool", ["y"], ["z"], kernel_shape=[1] * 4)
        from_onnx(model_of([node, pool], {"x": [1, 1, 2, 2, 2, 2]}, ["z"]))
    with pytest.raises(ModelError, match="neither scales nor sizes"):
        from_onnx(one("Resize"))
