"""Operators of ONNX Runtime with states, caches, streams and quantized experts: one build at two sizes, beside it."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle of these operators")

from beside_ort import assert_like_ort, ort_session  # noqa: E402
from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

rng = np.random.default_rng(0)


def u(*shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def ids(*shape):
    return rng.integers(0, 9, shape)


def bits(*shape):
    return rng.integers(0, 255, shape, np.uint8)


def model(op, names, feeds, weights, outputs=1, **attributes):
    """A model of one node; dimensions in which the two feeds differ are symbolic."""
    results = [f"result{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    inputs = {
        n: (
            helper.np_dtype_to_tensor_dtype(a.dtype),
            [d if d == e else f"n{d}_{e}" for d, e in zip(a.shape, feeds[1][n].shape, strict=True)],
        )
        for n, a in feeds[0].items()
    }
    result = model_of([node], inputs, results, {n: w for n, w in weights.items() if n in names}, 20)
    result.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return result


def mix(q=8, k=8, v=6, g=2, b=2):
    """Queries, keys, values, decays and rates of so many elements."""

    def feeds(n, t):
        return {"q": u(n, t, q), "k": 0.4 * u(n, t, k), "v": u(n, t, v), "g": -abs(u(n, t, g)), "b": abs(u(n, t, b))}

    return feeds


def only(names, feeds):
    return lambda n, t: {k: v for k, v in feeds(n, t).items() if k in names}


KERNEL = {"w": u(3, 1, 4), "c": u(3)}
HEADS = {"num_heads": 2}
EXPERTS = {
    "f": bits(3, 16, 16), "fs": 0.1 * u(3, 16), "fb": u(3, 16),
    "g": bits(3, 32, 8), "gs": 0.1 * u(3, 32), "gb": u(3, 32),
    "fs2": 0.1 * u(3, 16, 2), "gs2": 0.1 * u(3, 32, 1), "fz": bits(3, 16, 1), "gz": bits(3, 32, 1),
    "h": bits(3, 32, 32), "hs": 0.02 * u(3, 32), "i": bits(3, 32, 16), "is": 0.02 * u(3, 32),
}  # fmt: skip


def tokens(n, t):
    return {"x": u(n * t, 32), "r": u(n * t, 3)}


def one(n, t, past=True, value=8):
    cache = {"pk": u(n, 2, t, 4), "pv": u(n, 2, t, 4)} if past else {}
    return {"q": u(n, 1, 8), "k": u(n, 1, 8), "v": u(n, 1, value), **cache}


ROWS = {
    "CausalConvWithState": (
        ["x", "w", "c", "p"], lambda n, t: {"x": u(n, 3, t), "p": u(n, 3, 3)}, KERNEL, {"outputs": 2},
    ),
    "CausalConvWithState dilated": (
        ["x", "w"], lambda n, t: {"x": u(n, 3, t)}, KERNEL, {"outputs": 2, "dilation": 2, "activation": "silu"},
    ),
    "CausalConvWithState with channels last": (
        ["x", "w", "c", "p"], lambda n, t: {"x": u(n, t, 3), "p": u(n, 3, 3)}, KERNEL,
        {"outputs": 2, "channels_last": 1},
    ),
    **{
        f"LinearAttention {rule}": (names, only(names, mix()), {}, {"update_rule": rule, **both})
        for rule, names in {
            "linear": ["q", "k", "v"], "gated": ["q", "k", "v", "", "g"], "delta": ["q", "k", "v", "", "", "b"],
            "gated_delta": ["q", "k", "v", "", "g", "b"],
        }.items()
        for both in [{"outputs": 2, "q_num_heads": 2, "kv_num_heads": 2}]
    },
    "LinearAttention of shared heads": (
        ["q", "k", "v", "s", "g", "b"], lambda n, t: {**mix(k=4, v=3, g=4, b=1)(n, t), "s": u(n, 1, 4, 3)}, {},
        {"outputs": 2, "q_num_heads": 2, "kv_num_heads": 1, "scale": 0.3},
    ),
    "LinearAttention of shared queries": (
        ["q", "k", "v"], only("qkv", mix(q=4)), {},
        {"outputs": 2, "q_num_heads": 1, "kv_num_heads": 2, "update_rule": "linear"},
    ),
    **{
        f"GatedDeltaNet {rule}": (
            ["q", "k", "v", "", "g" if "gated" in rule else "", "b" if "delta" in rule else "", "s"],
            lambda n, t, rule=rule: {
                "q": u(n * t, 2, 4), "k": u(n * t, 2, 4) / 4, "v": u(n * t, 4, 3),
                **({"g": -abs(u(n * t, 4))} if "gated" in rule else {}),
                **({"b": abs(u(n * t, 4))} if "delta" in rule else {}), "s": u(n, 4, 3, 4),
            },
            {}, {"outputs": 2, "update_rule": rule, "qk_l2_norm": norm},
        )
        for rule, norm in [("linear", 0), ("gated", 0), ("delta", 1), ("gated_delta", 1)]
    },
    **{
        f"GatedDeltaNet of packed tokens, {gate}": (
            ["q", "", "", "", "g", "b", "s", "a", "d"],
            lambda n, t, more=more: {
                "q": u(n * t, 2 * 2 * 4 + 2 * 3), "g": u(n * t, 2, *more), "b": u(n * t, 2), "s": u(n, 2, 3, 4),
            },
            {"a": u(2), "d": u(2, *more)},
            {"outputs": 2, "gate_activation": gate, "beta_activation": "sigmoid", "qk_l2_norm": 1, "scale": 0.3},
        )
        for gate, more in [("softplus", ()), ("sigmoid", (4,))]
    },
    "GatedDeltaNet of a batch": (
        ["q", "k", "v", "", "g", "b"],
        lambda n, t: {
            "q": u(n, t, 2, 4), "k": u(n, t, 2, 4), "v": u(n, t, 2, 3), "g": -abs(u(n, t, 2)), "b": abs(u(n, t, 2)),
        },
        {}, {"outputs": 2, "qk_l2_norm": 1},
    ),
    **{
        f"DynamicTimeWarping of rank {2 + len(more)}": (
            ["x"], lambda n, t, more=more: {"x": rng.integers(0, 4, (*more, n + 3, t)).astype(np.float32)}, {}, {},
        )
        for more in ((), (1,))
    },
    **{
        f"MurmurHash3 of {dtype}": (
            ["x"], lambda n, t, d=dtype: {"x": (100 * u(n, t)).astype(d)}, {}, {"seed": seed, "positive": seed % 2},
        )
        for seed, dtype in enumerate(["int32", "int64", "float32", "float64"])
    },
    **{
        f"MRotaryEmbedding {name}": (
            ["x", "p", "c", "s"], lambda n, t: {"x": u(n, t, 24), "p": ids(3, n, t)}, {"c": u(9, 6), "s": u(9, 6)},
            {"mrope_section": [3, 2, 1], **HEADS, **more},
        )
        for name, more in [("in sections", {}), ("interleaved", {"mrope_layout": 1}), ("of pairs", {"interleaved": 1})]
    },
    "EngramGate": (
        ["k", "q", "v", "a", "b", "c"], lambda n, t: {"k": u(n, t, 3, 8), "q": u(n, t, 3, 8), "v": u(n, t, 8)},
        {"a": u(3, 8), "b": u(3, 8), "c": u(3, 8)}, {"outputs": 2},
    ),
    "HyperConnectionPreMix": (["x", "g"], lambda n, t: {"x": u(n, t, 3, 8), "g": u(n, t, 3)}, {}, {}),
    "HyperConnectionPreMix, flat": (
        ["x", "g"], lambda n, t: {"x": u(n, t, 24), "g": u(n, t, 24)}, {}, {"num_branches": 3, "reduction_scale": 0.5},
    ),
    "HyperConnectionPostMix": (
        ["x", "y", "g", "m"],
        lambda n, t: {"x": u(n, t, 3, 8), "y": u(n, t, 8), "g": u(n, t, 3, 8), "m": u(n, t, 3, 3)}, {}, {},
    ),
    "HyperConnectionPostMix, flat": (
        ["x", "y", "g"], lambda n, t: {"x": u(n, t, 24), "y": u(n, t, 8), "g": u(n, t, 3, 1)}, {}, {"num_branches": 3},
    ),
    "MoEGroupRouter": (["r", "b"], lambda n, t: {"r": u(n * t, 8)}, {"b": u(8)}, {"top_k": 2}),
    "MoEGroupRouter of groups": (
        ["r", "b"], lambda n, t: {"r": u(n, t, 8)}, {"b": u(8)}, {"top_k": 2, "n_group": 4, "topk_group": 2},
    ),
    "NGramHashMapping": (
        ["i", "m", "v", "p", "o"], lambda n, t: {"i": ids(n, t), "p": ids(n, 2)},
        {"m": np.array([3, -5, 2**62]), "v": np.array([11, 13, 17, 19]), "o": np.array([0, 11, 24, 41])},
        {"outputs": 2, "pad_id": 1, "n_head_per_ngram": 2, "max_ngram_size": 3},
    ),
    "NGramHashMapping of the start": (
        ["i", "m", "v"], lambda n, t: {"i": ids(n, t).astype(np.int32)},
        {"m": np.array([3, 5], np.int32), "v": np.array([11, 13], np.int32)},
        {"outputs": 2, "pad_id": 1, "n_head_per_ngram": 2, "max_ngram_size": 2},
    ),
    **{
        f"CropAndResize {name}": (
            ["x", "r", "b", "s"],
            lambda n, t: {"x": u(n, 3, t, 7), "r": 1.2 * abs(u(t, 4)), "b": (ids(t) % n).astype(np.int32)},
            {"s": np.array([3, 4], np.int32)}, {"mode": name, "extrapolation_value": 0.5},
        )
        for name in ("bilinear", "nearest")
    },
    "ConvTransposeWithDynamicPads": (
        ["x", "w", "p", "c"], lambda n, t: {"x": u(n, 3, t, 6)},
        {"w": u(3, 4, 3, 3), "p": np.array([1, 0, 1, 1]), "c": u(4)}, {"strides": [2, 2]},
    ),
    "DecoderMaskedMultiHeadAttention, masked": (
        ["q", "k", "v", "m", "a", "pk", "pv", "n"],
        lambda n, t: {
            **one(n, t), "n": np.array([t - 3], np.int32), "a": u(n, 2, 1, t - 2),
            "m": (np.arange(t - 2) % 3 > 0).astype(np.int32)[None].repeat(n, 0),
        }, {}, {"outputs": 3, "past_present_share_buffer": 1, "scale": 0.3, **HEADS},
    ),
    "DecoderMaskedMultiHeadAttention in buffers": (
        ["q", "k", "v", "", "", "pk", "pv", "n"], lambda n, t: {**one(n, t), "n": np.array([t - 3], np.int32)}, {},
        {"outputs": 3, "past_present_share_buffer": 1, **HEADS},
    ),
    "DecoderMaskedMultiHeadAttention across": (
        ["q", "k", "v"], lambda n, t: {"q": u(n, 1, 8), "k": u(n, 2, t, 4), "v": u(n, 2, t, 4)}, {}, HEADS,
    ),
    "QMoE": (["x", "r", "f", "fs", "", "g", "gs"], tokens, EXPERTS, {"k": 2}),
    "QMoE with biases": (
        ["x", "r", "f", "fs", "fb", "g", "gs", "gb"], tokens, EXPERTS, {"k": 2, "normalize_routing_weights": 1},
    ),
    "QMoE of blocks": (
        ["x", "r", "f", "fs2", "", "g", "gs2", "", "", "", "", "fz", "gz"], tokens, EXPERTS,
        {"k": 1, "block_size": 16, "activation_type": "silu"},
    ),
    "QMoE of bytes": (
        ["x", "r", "h", "hs", "", "i", "is"], tokens, EXPERTS,
        {"k": 2, "expert_weight_bits": 8, "activation_type": "swiglu", "swiglu_fusion": 1},
    ),
    "QMoE with weights of its own": (
        ["x", "r", "f", "fs", "", "g", "gs", *[""] * 7, "o"], lambda n, t: {**tokens(n, t), "o": abs(u(n * t, 3))},
        EXPERTS, {"k": 2, "normalize_routing_weights": 1},
    ),
}  # fmt: skip
"""Inputs, feeds of a batch and a length, weights and attributes."""


COMPILED = (
    "LinearAttention gated_delta", "QMoE of blocks", "DecoderMaskedMultiHeadAttention in buffers",
    "DynamicTimeWarping of rank 2", "MurmurHash3 of float64",
)  # fmt: skip
"""Rows that are compiled, too: with a loop, with rows grouped by experts, with caches, with a path, with words."""


def made(row):
    names, feeds_of, weights, attributes = ROWS[row]
    feeds = [feeds_of(2, 5), feeds_of(3, 7)]
    return model(row.split()[0].rstrip(","), names, feeds, weights, **attributes), [list(f.values()) for f in feeds]


@pytest.mark.parametrize("row", ROWS)
def test_operators_are_like_those_of_onnx_runtime(row):
    onnx_model, feeds = made(row)
    imported, session = from_onnx(onnx_model), ort_session(onnx_model)
    for feed in feeds:
        expected = session.run(None, dict(zip((v.name for v in onnx_model.graph.input), feed, strict=True)))
        outputs = interpret(imported, "main", feed)
        for actual, value in zip(outputs if isinstance(outputs, tuple) else [outputs], expected, strict=True):
            assert (np.asarray(actual).shape, np.asarray(actual).dtype) == (value.shape, value.dtype)
            np.testing.assert_allclose(actual, value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("row", COMPILED)
def test_they_are_so_compiled(row):
    onnx_model, feeds = made(row)
    assert_like_ort(onnx_model, *feeds, rtol=1e-3, atol=1e-4)


REFUSED = {
    "CausalConvWithState": (["x", "w"], lambda n, t: {"x": u(n, 3, t)}, KERNEL, {"state_window": 2}, "state_window"),
    "LinearAttention": (
        ["q", "k", "v"], only("qkv", mix()), {}, {"q_num_heads": 2, "kv_num_heads": 2}, "takes an input more",
    ),
    "QMoE": (["x", "r", "f", "fs", "", "g", "gs"], tokens, EXPERTS, {"expert_weight_bits": 3}, "weights of 3 bits"),
}  # fmt: skip


@pytest.mark.parametrize("op", REFUSED)
def test_other_forms_are_refused(op):
    names, feeds_of, weights, attributes, text = REFUSED[op]
    with pytest.raises(TiraxError, match=text):
        from_onnx(model(op, names, [feeds_of(2, 5), feeds_of(3, 7)], weights, outputs=2, **attributes))
