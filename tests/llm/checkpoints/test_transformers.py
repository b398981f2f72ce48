"""Logits of folders that transformers saves, beside its own: prefill, then token by token from the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoder_reader import Reader

from tirax.llm.checkpoints import load_language_model
from tirax.llm.weights import formats_of
from tirax.target import Target

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SIZES = {
    "vocab_size": 67, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "head_dim": 8,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
LENGTH, READ = 20, 18
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama, one head of keys, wide heads": ("llama", {"num_key_value_heads": 1, "head_dim": 12}),
    "llama, tied, biases": ("llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    "llama, linear": ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}}),
    "llama, llama3": ("llama", {"rope_parameters": LLAMA3}),
    "llama, yarn": ("llama", {"rope_parameters": YARN}),
    "llama, yarn of DeepSeek": ("llama", {"rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 0.7}}),
    "llama, yarn, untruncated": (
        "llama",
        {"rope_parameters": YARN | {"truncate": False, "beta_fast": 4, "beta_slow": 0.5, "attention_factor": 1.3}},
    ),
    "llama, dynamic": ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}),
    "smollm3": ("smollm3", {"num_hidden_layers": 4}),
    "smollm3, window": ("smollm3", {"use_sliding_window": True, "sliding_window": 7, "no_rope_layers": [1, 0]}),
    "mistral": ("mistral", {"sliding_window": 7}),
    "mistral, no window": ("mistral", {"sliding_window": None}),
    "qwen2": ("qwen2", {}),
    "qwen2, window": ("qwen2", {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "qwen3, biases, yarn": ("qwen3", {"attention_bias": True, "rope_parameters": YARN}),
    "gemma": ("gemma", {}),
    "gemma2": ("gemma2", {"sliding_window": 7, "query_pre_attn_scalar": 5}),
    "gemma2, soft caps": ("gemma2", {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3": ("gemma3_text", {"sliding_window": 7, "num_hidden_layers": 7}),
    "gemma3, stretched": (
        "gemma3_text",
        {
            "sliding_window": 7,
            "num_hidden_layers": 7,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
            },
        },
    ),
}  # fmt: skip


def network(kind: str, dtype: str, **settings: Any) -> Any:
    """A model of random numbers in which no weight is what it would be without one: norms and biases, too."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **(SIZES | settings))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.to(getattr(torch, dtype))


def assert_same_logits(folder: Path, model: Any) -> None:
    """What is read at once, and what is read behind it, token by token; transformers reads all at once."""
    model.save_pretrained(folder)
    tokens = np.random.default_rng(0).integers(0, SIZES["vocab_size"], LENGTH).astype(np.int32)
    widened = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = widened(torch.tensor(tokens)[None].long(), use_cache=False).logits[0].numpy()
    file = load_language_model(folder)
    reader = Reader(file.config, file.weights, formats=formats_of(file.weights, "float32", Target.host()))
    logits = [reader.read(tokens[:READ]), *(reader.read(tokens[i : i + 1]) for i in range(READ, LENGTH))]
    np.testing.assert_allclose(np.array(logits), expected[READ - 1 :], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    kind, settings = MODELS[name]
    assert_same_logits(tmp_path, network(kind, "float32", **settings))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_weights_of_halves(tmp_path: Path, kind: str, dtype: str) -> None:
    """transformers computes with them in float32 here, so that only products tell them apart from float32's."""
    assert_same_logits(tmp_path, network(kind, dtype))
