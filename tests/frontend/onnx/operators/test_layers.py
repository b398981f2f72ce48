"""Recurrent layers, attention, quantization, signals and boxes, beside ONNX Runtime, at several sizes of one build."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402
from strength import thinned  # noqa: E402

from tirax.frontend.importing.errors import ModelError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402

rng = np.random.default_rng(0)
T = onnx.TensorProto


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


LAYERS = {
    "lstm": ("LSTM", 4, "bidirectional", "xhcpl", {}),
    "lstm_reverse": ("LSTM", 4, "reverse", "x", {"clip": 0.5}),
    "gru": ("GRU", 3, "bidirectional", "xhl", {"linear_before_reset": 1}),
    "gru_forward": ("GRU", 3, "forward", "x", {}),
    "rnn": ("RNN", 1, "bidirectional", "xh", {"activations": ["Relu", "Tanh"]}),
}


def recurrent(kind: str, gates: int, direction: str, operands: str, attrs: dict):
    """A layer from 3 to 4 features, of symbolic length and batch, and how it is fed."""
    count, hidden = (2 if direction == "bidirectional" else 1), 4
    weights = {"w": uniform(count, gates * hidden, 3), "r": uniform(count, gates * hidden, hidden)}
    weights |= {"b": uniform(count, 2 * gates * hidden)} | (
        {"p": uniform(count, 3 * hidden)} if "p" in operands else {}
    )
    typed = {"x": ["t", "n", 3], "l": (T.INT32, ["n"]), "h": [count, "n", hidden], "c": [count, "n", hidden]}
    names = [n if n in operands or n in "wrb" else "" for n in "xwrblhcp"][: 8 if kind == "LSTM" else 6]
    outputs = ["y", "yh", "yc"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, names, outputs, hidden_size=hidden, direction=direction, **attrs)
    model = model_of([node], {n: typed[n] for n in names if n in typed and n in operands}, outputs, weights, 17)

    def feed(t: int, n: int) -> list[np.ndarray]:
        values = {"x": uniform(t, n, 3), "l": rng.integers(1, t + 1, n).astype(np.int32)}
        values |= {"h": uniform(count, n, hidden), "c": uniform(count, n, hidden)}
        return [values[v.name] for v in model.graph.input]

    return model, feed


@thinned("name", LAYERS, 3)
def test_recurrent(name):
    model, feed = recurrent(*LAYERS[name])
    assert_like_ort(model, feed(1, 1), feed(7, 2))


def test_attention_at_several_sizes():
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=1, q_num_heads=4, kv_num_heads=2)
    shapes = {"q": ["b", "s", 32], "k": ["b", "s", 16], "v": ["b", "s", 16]}
    model = model_of([node], shapes, ["y"], opset=23)
    assert_like_ort(model, *([uniform(b, s, 32), uniform(b, s, 16), uniform(b, s, 16)] for b, s in ((1, 1), (2, 5))))


def test_integers_there_and_back():
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        helper.make_node("QuantizeLinear", ["x", "scales", "zeros"], ["r"], axis=1),
    ]
    weights = {"scales": np.array([0.1, 0.02, 0.3], np.float32), "zeros": np.array([0, -5, 7], np.int8)}
    model = model_of(nodes, {"x": ["n", 3]}, ["y", "r"], weights, 21)
    assert_like_ort(model, [uniform(1, 3)], [uniform(6, 3)], [np.zeros((2, 3), np.float32)], atol=1e-4)


def test_spectrum_of_frames():
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"])
    weights = {"step": np.int64(3), "window": np.hanning(8).astype(np.float32)}
    model = model_of([node], {"x": ["b", "n", 1]}, ["y"], weights, 17)
    assert_like_ort(model, [uniform(1, 8, 1)], [uniform(2, 23, 1)], atol=1e-4)


def test_boxes():
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"])
    weights = {"most": np.array([4]), "overlap": np.array([0.4], np.float32), "least": np.array([0.2], np.float32)}
    model = model_of([node], {"boxes": ["b", "n", 4], "scores": ["b", 2, "n"]}, ["kept"], weights, 11)
    feeds = [[rng.uniform(0, 1, (b, n, 4)).astype(np.float32), rng.uniform(0, 1, (b, 2, n)).astype(np.float32)]
             for b, n in ((1, 1), (2, 12), (1, 0))]  # fmt: skip
    assert_like_ort(model, *feeds)
    align = helper.make_node("RoiAlign", ["x", "rois", "which"], ["y"], output_height=3, output_width=2)
    shapes = {"x": ["n", 2, "h", "w"], "rois": ["r", 4], "which": (T.INT64, ["r"])}
    rois = np.array([[0, 0, 5, 4], [1.5, 2, 7, 6.5], [-2, 3, 4, 30]], np.float32)
    model = model_of([align], shapes, ["y"], opset=16)
    assert_like_ort(
        model, [uniform(2, 2, 8, 9), rois, np.array([0, 1, 1])], [uniform(1, 2, 4, 4), rois[:0], np.zeros(0, np.int64)]
    )


def test_what_is_wrong():
    model, _ = recurrent(*LAYERS["rnn"])
    model.graph.node[0].attribute.append(helper.make_attribute("activations", ["Tanh"]))
    del model.graph.node[0].attribute[-2]
    with pytest.raises(ModelError, match="activations are not so many"):
        from_onnx(model)
