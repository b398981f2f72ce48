"""Small decoders with random weights, one for each thing in which families differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tirax.llm.checkpoints import Rope, TransformerConfig, Weight, expected_shapes

LLAMA = TransformerConfig("llama", 67, 16, 24, 2, 4, 2, 4, 256, Rope(10000.0, 4), 1e-5)
_GEMMA = replace(LLAMA, activation="gelu_tanh", tied_embeddings=True, norm_offset=1.0, embedding_scale=4.0)
_WINDOW = {"sliding_window": 5, "sliding_layers": (True, False)}

TINY = {
    "llama": LLAMA,
    "llama_pairs": replace(LLAMA, rope=Rope(10000.0, 4, "pairs", (1.0, 8.0))),
    "llama_yarn": replace(LLAMA, rope=Rope(10000.0, 4, factors=(1.0, 4.0), magnitude=1.2)),
    "smollm3": replace(LLAMA, architecture="smollm3", rope_layers=(True, False)),
    "mistral": replace(LLAMA, architecture="mistral", sliding_window=5, sliding_layers=(True, True)),
    "qwen2": replace(LLAMA, architecture="qwen2", attention_bias=True, tied_embeddings=True),
    "qwen3": replace(LLAMA, architecture="qwen3", qk_norm=True, head_size=8, rope=Rope(1e6, 8)),
    "gemma": replace(_GEMMA, architecture="gemma"),
    "gemma2": replace(
        _GEMMA,
        architecture="gemma2",
        post_norms=True,
        attention_softcap=2.0,
        logit_softcap=3.0,
        attention_scale=0.3,
        **_WINDOW,
    ),
    "gemma3": replace(
        _GEMMA, architecture="gemma3", post_norms=True, qk_norm=True, rope=Rope(1e6, 4, local_theta=100.0), **_WINDOW
    ),
    "biased": replace(LLAMA, attention_bias=True, attention_output_bias=True, mlp_bias=True, rope=Rope(10000.0, 2)),
}


def random_weights(config, seed=0):
    """Weights as files have them, in f32."""
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in expected_shapes(config).items():
        values = random.normal(size=shape) * (0.3 if len(shape) == 2 else 0.1)
        weights[name] = (values + (1 - config.norm_offset) * name.endswith("norm.weight")).astype(np.float32)
    return weights


def as_file_has(weights):
    """What the reader of a file gives of plain weights."""
    return {name: Weight(value.shape, "f32", value) for name, value in weights.items()}
