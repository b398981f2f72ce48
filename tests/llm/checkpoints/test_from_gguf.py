"""Models of GGUF files: their configurations, and all that may be wrong of them, told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_language_models import TINY, gguf_metadata, gguf_name, random_weights, tiny, write_tiny_gguf

from tirax.diagnostics import UnsupportedError
from tirax.frontend.importing.errors import ModelError
from tirax.llm.checkpoints import Rope, expected_shapes, load_language_model
from tirax.llm.gguf import open_gguf, write_gguf

GEMMA: dict[str, Any] = {"activation": "gelu_tanh", "tied_embeddings": True, "embedding_scale": 32**0.5}
HALVES = Rope(10_000.0, 8)
CONFIGS = [
    TINY,
    tiny(tied_embeddings=True, head_size=16, rope=Rope(5e5, 8, "pairs")),
    tiny(attention_output_bias=True, attention_bias=True, mlp_bias=True),
    tiny(architecture="qwen2", rope=HALVES, attention_bias=True),
    tiny(architecture="qwen3", rope=HALVES, qk_norm=True),
    tiny(architecture="gemma", rope=HALVES, **GEMMA),
    tiny(
        architecture="gemma2", rope=HALVES, layers=3, post_norms=True, sliding_window=16,
        sliding_layers=(True, False, True), attention_softcap=50.0, logit_softcap=30.0, **GEMMA,
    ),
    tiny(
        architecture="gemma3", rope=Rope(1e6, 8, local_theta=1e4), layers=7, post_norms=True, qk_norm=True,
        sliding_window=16, sliding_layers=(True,) * 5 + (False, True), **GEMMA,
    ),
]  # fmt: skip


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.architecture)
def test_a_model_of_each_family_comes_back(tmp_path: Path, config: Any) -> None:
    model = load_language_model(write_tiny_gguf(tmp_path / "m.gguf", config))
    assert model.config.norm_epsilon == np.float32(config.norm_epsilon)
    assert model.config == tiny(**{**vars(config), "norm_epsilon": model.config.norm_epsilon})
    expected = random_weights(config)
    assert model.weights.keys() == expected.keys() == expected_shapes(config).keys()
    for name, weight in model.weights.items():
        assert weight.format == "f32" and weight.shape == expected[name].shape
        np.testing.assert_array_equal(weight.data, expected[name])


def changed(tmp_path: Path, metadata: dict[str, Any], **tensors: Any) -> Path:
    """A tiny Llama with other metadata (None: without the entry) and tensors."""
    entries = {k: v for k, v in (gguf_metadata(TINY) | metadata).items() if v is not None}
    weights: dict[str, Any] = {gguf_name(n): w for n, w in random_weights(TINY).items()}
    weights |= {name.replace("__", "."): tensor for name, tensor in tensors.items()}
    path = tmp_path / "m.gguf"
    write_gguf(path, entries, {n: w for n, w in weights.items() if w is not None})
    return path


def test_what_files_need_not_say(tmp_path: Path) -> None:
    left_out = ("key_length", "value_length", "head_count_kv")
    metadata = dict.fromkeys(f"llama.attention.{key}" for key in left_out) | {"llama.attention.head_count": 2}
    metadata |= dict.fromkeys(("llama.vocab_size", "llama.rope.dimension_count", "llama.rope.freq_base"))
    keys = {
        f"blk__{i}__attn_{k}__weight": np.zeros((32, 32), "float32")
        for i in range(2)
        for k in ("q", "k", "v", "output")
    }
    config = load_language_model(changed(tmp_path, metadata, **keys)).config
    assert (config.head_size, config.kv_heads, config.vocabulary_size, config.rope) == (
        16,
        2,
        40,
        Rope(1e4, 16, "pairs"),
    )


def test_frequencies_that_are_stretched(tmp_path: Path) -> None:
    linear = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0}
    factors = np.array([1, 1, 2, 8], "float32")
    assert load_language_model(changed(tmp_path, linear)).config.rope.factors == (2.0,) * 4
    unnamed = {"llama.rope.scaling.factor": 2.0}  # is linear, as llama.cpp takes it
    assert load_language_model(changed(tmp_path, unnamed)).config.rope.factors == (2.0,) * 4
    assert load_language_model(changed(tmp_path, {"llama.rope.scale_linear": 2.0})).config.rope.factors == (2.0,) * 4
    none = linear | {"llama.rope.scaling.type": "none"}
    assert load_language_model(changed(tmp_path, none)).config.rope.factors is None
    path = changed(tmp_path, linear, rope_freqs__weight=factors)
    assert load_language_model(path).config.rope.factors == (2.0, 2.0, 4.0, 16.0)


def test_frequencies_that_are_stretched_by_yarn(tmp_path: Path) -> None:
    """Planes 0 to 3 of a base of 10,000 turn 2.5, 0.25, 0.025 and 0.0025 times in 16 positions: between twice and
    0.1 times, the planes 0 and 2, frequencies are mixed."""
    yarn = {
        "llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0,
        "llama.rope.scaling.original_context_length": 16, "llama.rope.scaling.yarn_beta_fast": 2.0,
        "llama.rope.scaling.yarn_beta_slow": 0.1, "llama.rope.scaling.attn_factor": 2.0,
    }  # fmt: skip
    rope = load_language_model(changed(tmp_path, yarn)).config.rope
    np.testing.assert_allclose(rope.factors, [1, 1 / (0.5 / 4 + 0.5), 4, 4])
    assert rope.magnitude == pytest.approx(2 * (1 + 0.1 * np.log(4)))


def test_all_that_is_wrong_of_metadata_is_reported(tmp_path: Path) -> None:
    metadata = {
        "llama.block_count": None,
        "llama.embedding_length": "many",
        "llama.feed_forward_length": np.array([64, 64], "int32"),
        "llama.attention.head_count": 0,
        "llama.context_length": 1 << 40,
        "llama.rope.freq_base": float("nan"),
        "llama.rope.scaling.type": "longrope",
        "llama.rope.dimension_count": 7,
        "llama.attention.value_length": 16,
    }
    with pytest.raises(ModelError) as error:
        load_language_model(changed(tmp_path, metadata))
    text = str(error.value)
    for key, value in metadata.items():
        assert f"'{key}' is" in text or key in ("llama.rope.dimension_count", "llama.attention.value_length"), value
    assert "7 numbers of a head of 8 cannot be turned" in text and "heads of other sizes each" in text


def test_all_that_is_wrong_of_weights_is_reported(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        {},
        token_embd__weight=np.zeros((40, 31), "float32"),
        output_norm__weight=None,
        blk__1__attn_q__weight=np.zeros((32, 32), "int8"),
        blk__2__attn_q__weight=np.zeros((32, 32), "float32"),
        blk__0__ffn_gate_exps__weight=np.zeros(3, "float32"),
    )
    with pytest.raises(ModelError) as error:
        load_language_model(path)
    assert error.value.notes == (
        "'norm.weight' is missing: [32]",
        "'blk.0.ffn_gate_exps.weight' belongs to no part of the model",
        "'layers.2.attention.query.weight' belongs to no part of the model",
        "'embedding.weight' has the shape [40, 31], not [40, 32]",
        "'layers.1.attention.query.weight' is stored as i8, not as numbers with a fraction",
    )


@pytest.mark.parametrize(
    "metadata, tensors, message",
    [
        ({"general.architecture": "mamba"}, {}, "an unsupported model family"),
        ({"general.architecture": None}, {}, "an unsupported model family"),
        ({"general.architecture": np.array([1])}, {}, "an unsupported model family"),
        ({"llama.expert_count": 8}, {}, "a mixture of experts"),
        ({"llama.attention.head_count_kv": 3}, {}, "4 heads of queries cannot share 3"),
        ({"llama.rope.dimension_count": 10}, {}, "10 numbers of a head of 8"),
        ({}, {"rope_freqs__weight": np.ones(3, "float32")}, "'rope_freqs.weight' of"),
        ({}, {"rope_freqs__weight": np.zeros(4, "float32")}, "not above 0"),
        ({"llama.block_count": 4096}, {}, "and 36826 more"),
        (
            {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 2.0, "llama.rope.freq_base": 1.0},
            {},
            "YaRN",
        ),
    ],
)
def test_what_is_no_such_model(tmp_path: Path, metadata: Any, tensors: Any, message: str) -> None:
    with pytest.raises((ModelError, UnsupportedError)) as error:
        load_language_model(changed(tmp_path, metadata, **tensors))
    assert message in str(error.value)


def test_blocks_stay_blocks(tmp_path: Path) -> None:
    from tirax.llm.gguf import GgufTensor

    rows = np.arange(40 * 18, dtype="int64").astype("uint8").reshape(40, 18)
    path = changed(tmp_path, {}, token_embd__weight=GgufTensor("", (40, 32), "q4_0", rows))
    weight = load_language_model(path).weights["embedding.weight"]
    assert (weight.shape, weight.format) == ((40, 32), "q4_0")
    np.testing.assert_array_equal(weight.data, open_gguf(path).tensors["token_embd.weight"].data)
    np.testing.assert_array_equal(weight.data, rows)


def test_vectors_are_no_blocks(tmp_path: Path) -> None:
    from tirax.llm.gguf import GgufTensor

    norm = GgufTensor("", (32,), "q8_0", np.zeros(34, "uint8"))
    with pytest.raises(ModelError, match="'norm.weight' is stored as q8_0"):
        load_language_model(changed(tmp_path, {}, output_norm__weight=norm))
