"""Operators of ONNX Runtime: beside it where it has them for processors, else beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

rng = np.random.default_rng(0)
UINT8, INT32 = onnx.TensorProto.UINT8, onnx.TensorProto.INT32


def uniform(*shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def numbers(*shape):
    return rng.integers(0, 255, shape, np.uint8)


def model(op, names, feeds, weights, outputs=1, **attributes):
    """A model of one node; `names` are its inputs in order. The first dimensions of feeds are symbolic."""
    results = [f"result{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    inputs = {
        n: (helper.np_dtype_to_tensor_dtype(a.dtype), [f"n{len(a)}", *a.shape[1:]] if a.ndim else [])
        for n, a in feeds.items()
    }
    result = model_of([node], inputs, results, weights, 20)
    result.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return result


SCALE = {"s": np.float32(0.02), "z": np.uint8(120), "t": np.float32(0.03), "o": np.uint8(10)}
ATTENTION = {"w": numbers(5, 24), "c": uniform(24), **SCALE}
TABLES = {n: numbers(*shape) for n, shape in {"a": (9, 8), "p": (6, 8), "g": (2, 8), "m": (8,), "b": (8,)}.items()}
EXPERTS = {
    "f": uniform(3, 6, 4), "a": uniform(3, 6), "h": uniform(3, 12, 4), "d": uniform(3, 12), "g": uniform(3, 4, 6),
    "b": uniform(3, 4),
}  # fmt: skip
BESIDE_ORT = {
    "Trilu": (["x"], {"x": uniform(3, 4)}, {}, {}),
    "Trilu by a number": (["x", "k"], {"x": uniform(3, 4)}, {"k": np.int64(-1)}, {"upper": 0}),
    "Inverse": (["x"], {"x": uniform(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)}, {}, {}),
    "CDist": (["x", "y2"], {"x": uniform(4, 3), "y2": uniform(2, 3)}, {}, {"metric": "euclidean"}),
    "CDist squared": (["x", "y2"], {"x": uniform(4, 3), "y2": uniform(2, 3)}, {}, {"metric": "sqeuclidean"}),
    "GridSample": (["x", "g"], {"x": uniform(2, 3, 4, 5), "g": uniform(2, 3, 3, 2)}, {}, {}),
    "ExpandDims": (["x", "a"], {"x": uniform(2, 3)}, {"a": np.int32(-1)}, {}),
    "GatherND": (["x", "i"], {"x": uniform(3, 4)}, {"i": np.array([[0, 1], [2, 3]])}, {}),
    "Pad": (["x", "p"], {"x": uniform(2, 3)}, {"p": np.array([0, 1, 0, 2])}, {}),
    "Pad reflected": (["x", "p"], {"x": uniform(2, 3)}, {"p": np.array([0, 1, 0, 2])}, {"mode": "reflect"}),
    "Range": (["a", "b"], {}, {"a": np.float32(1), "b": np.float32(5)}, {}),
    "Unique": (["x"], {"x": np.array([2, 1, 1, 3, 4, 3], np.float32)}, {}, {"outputs": 3}),
    "UnfoldTensor": (["x"], {"x": uniform(2, 7)}, {}, {"size": 3, "step": 2}),
    "NhwcMaxPool": (["x"], {"x": numbers(2, 5, 6, 3)}, {}, {"kernel_shape": [2, 2], "strides": [2, 1]}),
    "QLinearConv": (
        ["x", "s", "z", "w", "s", "z", "t", "o"],
        {"x": numbers(2, 5, 6, 3)}, {"w": numbers(4, 3, 2, 2), **SCALE}, {"channels_last": 1},
    ),
    "QLinearWhere": (
        ["c", "x", "s", "z", "y2", "t", "o", "t", "z"],
        {"c": uniform(4, 5) > 0, "x": numbers(4, 5), "y2": numbers(4, 5)}, SCALE, {},
    ),
    "QAttention": (
        ["x", "w", "c", "s", "s", "", "z", "z"], {"x": numbers(2, 3, 5)}, ATTENTION, {"num_heads": 2},
    ),
    "QAttention, unidirectional, masked": (
        ["x", "w", "c", "s", "s", "m", "z", "z"], {"x": numbers(2, 3, 5), "m": np.tril(np.ones((2, 3), np.int32), 1)},
        ATTENTION, {"num_heads": 2, "unidirectional": 1},
    ),
    "QEmbedLayerNormalization": (
        ["i", "j", *TABLES, "", *["s"] * 5, *["z"] * 5],
        {"i": rng.integers(0, 9, (2, 4)).astype(np.int32), "j": rng.integers(0, 2, (2, 4)).astype(np.int32)},
        {**TABLES, **SCALE}, {"outputs": 2, "epsilon": 1e-5},
    ),
    "GatherBlockQuantized": (
        ["d", "i", "w"], {"i": np.array([0, -1, 3])}, {"d": numbers(5, 32), "w": uniform(5, 2)},
        {"bits": 8, "block_size": 16, "quantize_axis": 1},
    ),
    "GatherBlockQuantized of halves of bytes": (
        ["d", "i", "w", "v"], {"i": np.array([[0, 2], [4, 1]])},
        {"d": numbers(5, 16), "w": uniform(5, 2), "v": numbers(5, 1)},
        {"bits": 4, "block_size": 16, "quantize_axis": 1},
    ),
    "MatMulBnb4": (
        ["x", "b", "m"], {"x": uniform(3, 32)}, {"b": numbers(32 * 5 // 2), "m": abs(uniform(10))},
        {"K": 32, "N": 5, "block_size": 16, "quant_type": 1},
    ),
    "MatMulBnb4 of FP4": (
        ["x", "b", "m"], {"x": uniform(3, 32)}, {"b": numbers(32 * 5 // 2), "m": abs(uniform(10))},
        {"K": 32, "N": 5, "block_size": 16, "quant_type": 0},
    ),
    "MoE": (
        ["x", "r", "f", "a", "g", "b"], {"x": uniform(5, 4), "r": uniform(5, 3)}, EXPERTS, {"k": 2},
    ),
    "MoE of normalized weights": (
        ["x", "r", "f", "", "g"], {"x": uniform(5, 4), "r": uniform(5, 3)}, EXPERTS,
        {"k": 2, "normalize_routing_weights": 1, "activation_type": "gelu"},
    ),
    "MoE of interleaved halves": (
        ["x", "r", "h", "d", "g", "b"], {"x": uniform(2, 3, 4), "r": uniform(6, 3)}, EXPERTS,
        {"k": 1, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.5, "activation_beta": 1.0,
         "swiglu_limit": 0.5},
    ),
    "MoE of silu": (
        ["x", "r", "f", "a", "g", "b"], {"x": uniform(5, 4), "r": uniform(5, 3)}, EXPERTS,
        {"k": 3, "activation_type": "silu"},
    ),
    "ScaledSiLU": (["x"], {"x": uniform(2, 3)}, {}, {"alpha": 1.5}),
    "ScaledSiLU by a scalar": (["x", "c"], {"x": uniform(2, 3)}, {"c": np.float32(0.5)}, {}),
    "GatedAdd": (["x", "y2", "g"], {"x": uniform(2, 3, 4), "y2": uniform(2, 3, 4), "g": uniform(2, 3, 1)}, {}, {}),
    "GatedRMSNorm": (
        ["x", "c", "g"], {"x": uniform(2, 3, 8), "g": uniform(2, 3, 8)}, {"c": uniform(4)},
        {"activation": "silu", "epsilon": 1e-6},
    ),
    "GatedRMSNorm by sigmoid": (
        ["x", "c", "g"], {"x": uniform(2, 3, 8), "g": uniform(2, 3, 8)}, {"c": uniform(8)}, {"activation": "sigmoid"},
    ),
    "BranchwiseRMSNorm": (["x"], {"x": uniform(2, 3, 8)}, {}, {}),
    "BranchwiseRMSNorm of parts": (["x", "c"], {"x": uniform(2, 3, 8)}, {"c": uniform(8)}, {"num_branches": 2}),
    "LinearAttentionGate": (
        ["a", "c", "d", "b"], {"a": uniform(2, 3, 4), "b": uniform(2, 3, 4)}, {"c": uniform(4), "d": uniform(4)},
        {"outputs": 2},
    ),
}  # fmt: skip
"""Inputs, feeds, weights and attributes."""


@pytest.mark.parametrize("row", BESIDE_ORT)
def test_operators_are_like_those_of_onnx_runtime(row):
    names, feeds, weights, attributes = BESIDE_ORT[row]
    used = {n: np.asarray(a) for n, a in weights.items() if n in names}
    onnx_model = model(row.split()[0].rstrip(","), names, feeds, used, **attributes)
    quantized = row.startswith("QLinear")
    assert_like_ort(onnx_model, list(feeds.values()), rtol=1e-3, atol=1.01 if quantized else 1e-4)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("each", [False, True])
def test_lstm_with_quantized_weights(direction, each):
    """ONNX Runtime rounds x and the states to bytes, too."""
    count = 2 if direction == "bidirectional" else 1
    shape = (count, 12) if each else (count,)
    weights = {
        "w": rng.integers(-127, 128, (count, 5, 12)).astype(np.int8),
        "r": rng.integers(-127, 128, (count, 3, 12)).astype(np.int8),
        "b": uniform(count, 24), "s": np.full(shape, 0.005, np.float32), "z": np.zeros(shape, np.int8),
    }  # fmt: skip
    names = ["x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"]
    attributes = {"hidden_size": 3, "direction": direction}
    onnx_model = model("DynamicQuantizeLSTM", names, {"x": uniform(4, 2, 5)}, weights, 3, **attributes)
    assert_like_ort(onnx_model, [uniform(4, 2, 5)], atol=0.02)


def erf(x):
    from math import erf

    return np.vectorize(erf)(x)


def gelu(x):
    return x * 0.5 * (1 + erf(x / np.sqrt(2)))


def softmax(x, axes):
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


def grouped(x, groups, scale, shift):
    y = x.reshape(*x.shape[:-1], groups, -1)
    axes = (*range(1, x.ndim - 1), x.ndim)
    y = (y - y.mean(axes, keepdims=True)) / np.sqrt(y.var(axes, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * scale + shift


def product(a, b):
    z = (a[..., 0] + 1j * a[..., 1]) * b
    return np.stack([z.real, z.imag], axis=-1)


def normalized(x, scale, shift):
    y = grouped(x, 2, scale, shift)
    return y / (1 + np.exp(-y))


def pairs(z):
    return np.stack([z.real, z.imag], -1)


X = uniform(2, 3, 4)
IMAGE, C, D = uniform(2, 3, 5, 4), uniform(4), uniform(4)
ADDED = uniform(2, 4)
WIDE = X + C + X
Z = uniform(2, 3, 4, 2)
COMPLEX = Z[..., 0] + 1j * Z[..., 1]
INTEGERS = numbers(3, 4)
TABLE = uniform(5, 3)
BESIDE_NUMPY = {
    "BiasAdd": ([X, C, X], {}, [WIDE]),
    "BiasSoftmax": ([X, X[:, :1]], {"axis": 2, "is_inner_broadcast": 1}, [softmax(X + X[:, :1], -1)]),
    "BiasSoftmax of all": ([X, C], {"axis": 1, "is_inner_broadcast": 0}, [softmax(X + C, (1, 2))]),
    "BiasDropout": ([X, C, X], {}, [WIDE, np.ones(X.shape, bool)]),
    "BiasSplitGelu": ([X, C], {}, [(X + C)[..., :2] * gelu((X + C)[..., 2:])]),
    "GroupNorm": ([IMAGE, C, D], {"groups": 2, "activation": 1}, [normalized(IMAGE, C, D)]),
    "SkipGroupNorm": (
        [IMAGE, C, D, ADDED, C], {"groups": 2, "activation": 0},
        [grouped(IMAGE + ADDED[:, None, None] + C, 2, C, D), IMAGE + ADDED[:, None, None] + C],
    ),
    "TorchEmbedding": ([TABLE, np.array([[0, -1], [2, 1]])], {}, [TABLE[[[0, -1], [2, 1]]]]),
    "MatMulInteger16": ([np.int16([[300, -2]]), np.int16([[4], [5]])], {}, [np.int32([[1190]])]),
    "MulInteger": ([INTEGERS, np.uint8(3), INTEGERS], {}, [(INTEGERS.astype("int32") - 3) * INTEGERS]),
    "ReduceSumInteger": ([INTEGERS], {"axes": [1], "keepdims": 0}, [INTEGERS.sum(1).astype("int32")]),
    "QLinearReduceMean": (
        [INTEGERS, np.float32(0.5), np.uint8(3), np.float32(0.25), np.uint8(7)], {"axes": [1], "keepdims": 1},
        [np.clip(np.round((INTEGERS.astype("float32") - 3).mean(1, keepdims=True) * 2) + 7, 0, 255).astype("uint8")],
    ),
    "Rfft": ([X], {"signal_ndim": 1}, [pairs(np.fft.rfft(X))]),
    "Irfft": ([Z], {"signal_ndim": 1}, [np.fft.irfft(COMPLEX)]),
    "ComplexMul": ([Z, Z[::-1]], {}, [product(Z, COMPLEX[::-1])]),
    "ComplexMulConj": ([Z, Z[::-1]], {}, [product(Z, COMPLEX[::-1].conj())]),
}  # fmt: skip
"""Inputs, attributes and results, of operators that ONNX Runtime has for other devices alone."""


@pytest.mark.parametrize("row", BESIDE_NUMPY)
def test_operators_are_like_numpy(row):
    inputs, attributes, expected = BESIDE_NUMPY[row]
    feeds = {f"x{i}": np.ascontiguousarray(x) for i, x in enumerate(inputs)}
    onnx_model = model(row.split()[0], list(feeds), feeds, {}, outputs=len(expected), **attributes)
    outputs = interpret(from_onnx(onnx_model), "main", list(feeds.values()))
    for actual, value in zip(outputs if isinstance(outputs, tuple) else [outputs], expected, strict=True):
        assert np.asarray(actual).shape == value.shape
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-5)


def test_convolutions_with_channels_last():
    filters = uniform(6, 2, 3, 4)
    parts = [(IMAGE[:, i : i + 2, j : j + 3], filters[:, i, j]) for i in range(2) for j in range(3)]
    expected = sum(np.einsum("nhwc,oc->nhwo", x, w) for x, w in parts)
    onnx_model = model("NhwcConv", ["x", "w"], {"x": IMAGE}, {"w": filters})
    np.testing.assert_allclose(interpret(from_onnx(onnx_model), "main", [IMAGE]), expected, rtol=1e-4, atol=1e-5)


def test_gelu_of_a_product():
    x, w = uniform(2, 3), uniform(3, 4)
    y = x @ w + C
    expected = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
    onnx_model = model("GemmFastGelu", ["x", "w", "c"], {"x": x}, {"w": w, "c": C})
    np.testing.assert_allclose(interpret(from_onnx(onnx_model), "main", [x]), expected, rtol=1e-4, atol=1e-5)
