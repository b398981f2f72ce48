"""Models of folders: settings and weights, and all that may be wrong of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_language_models import TINY, huggingface_name, random_weights, tiny, write_tiny_folder

from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.frontend.importing.errors import ModelError
from tirax.llm.checkpoints import Rope, expected_shapes, load_language_model
from tirax.runtime.safetensors import write_weights

FOLDER = replace(TINY, rope=Rope(10_000.0, 8))


@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_comes_back(tmp_path: Path, shards: int) -> None:
    model = load_language_model(write_tiny_folder(tmp_path, FOLDER, shards))
    assert model.config == FOLDER
    for name, array in random_weights(FOLDER).items():
        np.testing.assert_array_equal(model.weights[name].data, array)
        assert model.weights[name].format == "f32"


SETTINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"rope_scaling": {"type": "linear", "factor": 4.0}}, {"rope": Rope(1e4, 8, factors=(4.0,) * 4)}),
    ({"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, {"rope": Rope(5e5, 8)}),
    ({"rope_theta": 5e5, "rope_parameters": {"rope_theta": 2e4}}, {"rope": Rope(2e4, 8)}),
    ({"rope_scaling": {"type": "dynamic", "factor": 4.0}}, {}),  # stretches what is longer than the context
    ({"sliding_window": 4, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 3}, {}),  # others' entries
    (
        {"model_type": "mistral", "sliding_window": 4},
        {"architecture": "mistral", "sliding_window": 4, "sliding_layers": (True, True)},
    ),
    ({"model_type": "mistral", "sliding_window": None}, {"architecture": "mistral"}),
    (
        {"model_type": "mistral"},  # what transformers means by it
        {"architecture": "mistral", "sliding_window": 4096, "sliding_layers": (True, True)},
    ),
    ({"model_type": "qwen2", "sliding_window": 4}, {"architecture": "qwen2", "attention_bias": True}),
    (
        {"model_type": "qwen2", "sliding_window": 4, "use_sliding_window": True, "max_window_layers": 1},
        {"architecture": "qwen2", "attention_bias": True, "sliding_window": 4, "sliding_layers": (False, True)},
    ),
    (
        {"model_type": "mistral", "sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]},
        {"architecture": "mistral", "sliding_window": 4, "sliding_layers": (False, True)},
    ),
]  # fmt: skip


@pytest.mark.parametrize("settings, fields", SETTINGS, ids=range(len(SETTINGS)))
def test_settings(tmp_path: Path, settings: dict[str, Any], fields: dict[str, Any]) -> None:
    expected = replace(FOLDER, **fields)
    assert load_language_model(write_tiny_folder(tmp_path, expected, **settings)).config == expected


def test_all_that_is_wrong_of_settings_is_reported(tmp_path: Path) -> None:
    wrong = {
        "vocab_size": True,
        "hidden_size": "many",
        "num_hidden_layers": [],
        "num_attention_heads": -1,
        "rms_norm_eps": 0,
        "hidden_act": "relu2",
        "tie_word_embeddings": "no",
        "max_position_embeddings": None,
        "rope_scaling": {"rope_type": "longrope"},
    }
    with pytest.raises(ModelError) as error:
        load_language_model(write_tiny_folder(tmp_path, FOLDER, **wrong))
    assert all(f"'{key}' is" in str(error.value) for key in wrong if key != "rope_scaling")
    assert "'rope_scaling.rope_type' is none of default, linear, dynamic, llama3, yarn" in str(error.value)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"model_type": "mamba"}, "an unsupported model family"),
        ({"model_type": 3}, "an unsupported model family"),
        ({"quantization_config": {"bits": 4}}, "has a 'quantization_config' of another method"),
        ({"rope_scaling": 4}, "'rope_scaling' is no mapping"),
        (
            {"rope_scaling": {"type": "linear", "factor": 1e-300}},
            "'rope_scaling.factor' is no finite number above 0.01",
        ),
        ({"rope_scaling": {"type": "llama3", "factor": 2}}, "'rope_scaling.low_freq_factor' is missing"),
        ({"model_type": "mistral", "layer_types": ["full_attention"]}, "'layer_types' is not"),
        ({"model_type": "mistral", "layer_types": [[], {}]}, "'layer_types' is not"),
        ({"partial_rotary_factor": 0.5}, "'partial_rotary_factor' is other than 1"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "'rope_parameters.partial_rotary_factor' is other"),
        ({"use_bidirectional_attention": True}, "tokens see later ones"),
        ({"model_type": "smollm3", "no_rope_layers": [1]}, "'no_rope_layers' is not 0 or 1 for each layer"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}, "rope_theta": 1.0}, "cannot be stretched by YaRN"),
        (
            {
                "model_type": "mistral",
                "rope_parameters": {"full_attention": {}, "sliding_attention": {"rope_type": "linear"}},
            },
            "'rope_parameters.sliding_attention.rope_type' is none of default",
        ),
        ({"attention_bias": True}, "'layers.0.attention.output.bias' is missing: [32]"),
        ({"model_type": "qwen3"}, "'layers.1.attention.key_norm.weight' is missing: [8]"),
        ({"head_dim": 16}, "'layers.0.attention.query.weight' has the shape [32, 32], not [64, 32]"),
        ({"tie_word_embeddings": True, "vocab_size": 41}, "'embedding.weight' has the shape"),
    ],
)
def test_what_is_no_such_model(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ModelError, UnsupportedError)) as error:
        load_language_model(write_tiny_folder(tmp_path, FOLDER, **settings))
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"model_type": "llama"}'])
def test_settings_that_are_none(tmp_path: Path, text: str) -> None:
    write_tiny_folder(tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError):
        load_language_model(tmp_path)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a language model folder"):
        load_language_model(tmp_path)


@pytest.mark.parametrize(
    "index",
    [
        {},
        {"weight_map": 3},
        {"weight_map": {"x": "../model.safetensors"}},
        {"weight_map": {"x": "model-0.safetensors"}},
    ],
)
def test_an_index_that_lies(tmp_path: Path, index: Any) -> None:
    write_tiny_folder(tmp_path, FOLDER, 2)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(TiraxError):
        load_language_model(tmp_path)


def test_the_output_of_tied_embeddings_is_left_out(tmp_path: Path) -> None:
    config = tiny(rope=FOLDER.rope, tied_embeddings=True)
    write_tiny_folder(tmp_path, config)
    weights = {huggingface_name(n): w for n, w in random_weights(FOLDER).items()}
    write_weights(
        tmp_path / "model.safetensors", weights | {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(4)}
    )
    assert load_language_model(tmp_path).weights.keys() == expected_shapes(config).keys()


KINDS = {
    "llama": {
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        }
    },
    "mistral": {"sliding_window": 16}, "qwen2": {}, "qwen3": {}, "gemma": {}, "gemma2": {}, "gemma3_text": {},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_transformers_saves(tmp_path: Path, kind: str, transformers: Any) -> None:
    """Its own models: all weights have a name and the shape that is expected, and frequencies are what it computes."""
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 7, "head_dim": 8}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "pad_token_id": 0}
    settings = transformers.AutoConfig.for_model(kind, **sizes, **KINDS[kind])
    network = transformers.AutoModelForCausalLM.from_config(settings)
    network.save_pretrained(tmp_path)
    model = load_language_model(tmp_path)
    assert model.config.architecture == kind.removesuffix("_text")
    kinds = getattr(settings, "layer_types", None)
    if kinds is not None and model.config.sliding_window:
        assert model.config.sliding_layers == tuple(kind == "sliding_attention" for kind in kinds)
    rope = model.config.rope
    factors = np.ones(4) if rope.factors is None else np.array(rope.factors)
    rotary = network.model.rotary_emb
    frequencies = getattr(rotary, "full_attention_inv_freq", None) if kind == "gemma3_text" else rotary.inv_freq
    np.testing.assert_allclose(rope.theta ** (-np.arange(4) / 4) / factors, frequencies, rtol=1e-6)
