"""Operators of ONNX Runtime, beside it, at several sizes of one build."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.frontend.onnx import from_onnx  # noqa: E402

rng = np.random.default_rng(0)
T = onnx.TensorProto
HEADS, SIZE = 2, 4
WIDE = HEADS * SIZE


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def one(op: str, inputs: dict, weights: dict | None = None, outputs: int = 1, names: list | None = None, **attrs):
    """A model of one node of the contributed domain; `names` are its inputs in order, "" for one that is absent."""
    results = ["y", "z", "u", "v"][:outputs]
    node = helper.make_node(op, names or [*inputs, *(weights or {})], results, domain="com.microsoft", **attrs)
    model = model_of([node], inputs, results, weights, 20)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def test_attention_of_one_input():
    model = one(
        "Attention",
        {"x": ["b", "s", 5], "m": (T.INT32, ["b", "s"])},
        {"w": uniform(5, 3 * WIDE), "c": uniform(3 * WIDE)},
        names=["x", "w", "c", "m"],
        num_heads=HEADS,
    )
    feeds = [[uniform(b, s, 5), np.tril(np.ones((b, s), np.int32), s - b)] for b, s in ((1, 1), (2, 5))]
    assert_like_ort(model, *feeds)


def test_attention_of_several_heads():
    shape = ["b", "s", WIDE]
    inputs = {"q": shape, "k": ["b", "t", WIDE], "v": ["b", "t", WIDE], "a": [1, HEADS, "s", "t"]}
    model = one(
        "MultiHeadAttention", inputs, {"c": uniform(3 * WIDE)}, names=["q", "k", "v", "c", "", "a"], num_heads=2
    )
    feeds = [
        [uniform(b, s, WIDE), uniform(b, t, WIDE), uniform(b, t, WIDE), uniform(1, HEADS, s, t)]
        for b, s, t in ((1, 1, 1), (2, 3, 5))
    ]
    assert_like_ort(model, *feeds)


@pytest.mark.parametrize("window", [-1, 2])
def test_attention_with_a_cache(window):
    inputs = {
        "q": ["b", "s", 4 * 16], "k": ["b", "s", 2 * 16], "v": ["b", "s", 2 * 16],
        "pk": ["b", 2, "p", 16], "pv": ["b", 2, "p", 16], "l": (T.INT32, ["b"]), "t": (T.INT32, []),
    }  # fmt: skip
    tables = {"cos": np.cos(uniform(16, 8)), "sin": np.sin(uniform(16, 8))}
    model = one(
        "GroupQueryAttention", inputs, tables, 3, num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=window
    )
    for b, s, p in ((1, 4, 0), (2, 1, 5)):
        total = s + p
        assert_like_ort(model, [
            uniform(b, s, 64), uniform(b, s, 32), uniform(b, s, 32), uniform(b, 2, p, 16), uniform(b, 2, p, 16),
            np.full(b, total - 1, np.int32), np.array(total, np.int32),
        ])  # fmt: skip


def test_norms_of_sums():
    weights = {"g": uniform(6), "c": uniform(6), "d": uniform(6)}
    feeds = [[uniform(n, m, 6), uniform(n, m, 6)] for n, m in ((1, 1), (2, 3))]
    inputs = {"x": ["n", "m", 6], "s": ["n", "m", 6]}
    assert_like_ort(one("SkipLayerNormalization", inputs, weights, names=["x", "s", "g", "c", "d"]), *feeds)
    assert_like_ort(one("SkipSimplifiedLayerNormalization", inputs, {"g": weights["g"]}), *feeds)


def test_products():
    a, b = [uniform(2, 3, 4)], [uniform(2, 5, 4)]
    model = one("FusedMatMul", {"a": ["n", "m", 4], "b": ["n", "k", 4]}, transB=1, alpha=0.5)
    assert_like_ort(model, a + b, [uniform(1, 1, 4), uniform(1, 1, 4)])
    for bits in (4, 8):
        blocks = {
            "w": rng.integers(0, 255, (5, 2, 16 * bits // 8), np.uint8),
            "s": uniform(5 * 2),
            "z": rng.integers(0, 255, 5 * (1 if bits == 4 else 2), np.uint8),
        }
        model = one("MatMulNBits", {"a": ["m", 32]}, blocks, K=32, N=5, bits=bits, block_size=16)
        assert_like_ort(model, [uniform(1, 32)], [uniform(3, 32)], rtol=1e-3, atol=1e-4)
        assert "matmul_blocks" in str(from_onnx(model))


def test_products_of_blocks_that_are_incomplete():
    weights = {"w": rng.integers(0, 255, (8, 2, 16), np.uint8), "s": uniform(8 * 2)}
    attrs = {"K": 40, "N": 8, "bits": 4, "block_size": 32}
    feeds = [uniform(1, 40)], [uniform(3, 40)]
    assert_like_ort(one("MatMulNBits", {"a": ["m", 40]}, weights, **attrs), *feeds, rtol=1e-3, atol=1e-4)
    # bytes are off by half a 127th of the largest x, a sum of 40 of them with weights of up to 8 scales
    rounded = one("MatMulNBits", {"a": ["m", 40]}, weights, accuracy_level=4, **attrs)
    assert_like_ort(rounded, *feeds, rtol=0, atol=40 * 8 / 127)


INTEGERS = rng.integers(0, 255, (6, 5), np.uint8)
SCALE, ZERO = np.float32(0.02), np.uint8(120)
X = {"x": (T.UINT8, ["n", 6])}
QUANTIZED = {
    "QLinearAdd": (["x", "s", "z", "x", "s", "z", "t", "o"], {}),
    "QLinearMul": (["x", "s", "z", "x", "s", "z", "t", "o"], {}),
    "QLinearSigmoid": (["x", "s", "z", "t", "o"], {}),
    "QLinearLeakyRelu": (["x", "s", "z", "t", "o"], {"alpha": 0.2}),
    "QLinearConcat": (["t", "o", "x", "s", "z", "x", "t", "o"], {"axis": 1}),
    "QGemm": (["x", "s", "z", "w", "s", "z", "", "t", "o"], {}),
}


@pytest.mark.parametrize("op", QUANTIZED)
def test_quantized(op):
    names, attrs = QUANTIZED[op]
    weights = {"s": SCALE, "z": ZERO, "t": np.float32(0.03), "o": np.uint8(10), "w": INTEGERS}
    model = one(op, X, {n: weights[n] for n in dict.fromkeys(names) if n in weights}, names=names, **attrs)
    feeds = [[rng.integers(0, 255, (n, 6), np.uint8)] for n in (1, 4)]
    assert_like_ort(model, *feeds, atol=1.01)  # a half may be rounded to either side


def test_quantized_when_it_runs():
    weights = {"w": INTEGERS, "s": np.full(5, 0.01, np.float32)}
    model = one("DynamicQuantizeMatMul", {"a": ["n", 6]}, weights)
    assert_like_ort(model, [uniform(1, 6)], [uniform(4, 6)], rtol=1e-3, atol=1e-3)
