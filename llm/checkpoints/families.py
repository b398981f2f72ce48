"""The supported model families, with the facts that their files leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .config import Activation, RopeOrder


@dataclass(frozen=True)
class Family:
    """A row of `FAMILIES`.

    `norm_offset` applies to files of Hugging Face; in GGUF it is already added to the norms. With
    `window_period` p, every p-th layer has no window (0: all layers have it, if there is one); with
    `rope_period` p, every p-th layer has no rotary embedding (0: all layers have it). A model of
    `reference_layers` layers scales attention by hidden size / heads even though its heads have another size,
    which its GGUF file does not record. `entries` are the entries of Hugging Face's `config.json` that the
    family has besides `COMMON`, with the defaults of those and of common ones.
    """

    gguf_rope: RopeOrder = "halves"
    activation: Activation = "silu"
    attention_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    norm_offset: float = 0.0
    scaled_embedding: bool = False
    window: int | None = None
    window_period: int = 0
    local_theta: float | None = None
    attention_softcap: float | None = None
    logit_softcap: float | None = None
    reference_layers: int | None = None
    rope_period: int = 0
    entries: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def embedding_scale(self, hidden_size: int) -> float:
        """Return the factor that embeddings of `hidden_size` numbers are multiplied by."""
        return hidden_size**0.5 if self.scaled_embedding else 1.0


COMMON = frozenset(
    {
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "hidden_act",
        "hidden_activation", "tie_word_embeddings", "rope_theta", "rope_scaling", "rope_parameters",
        "partial_rotary_factor", "use_bidirectional_attention",
    }
)  # fmt: skip
"""The entries of `config.json` that all families have. Other entries are read if the family's row names them."""

_GEMMA = {"activation": "gelu_tanh", "norm_offset": 1.0, "scaled_embedding": True}
_GEMMA_ENTRIES = {"head_dim": 256, "tie_word_embeddings": True, "attention_bias": False}
_GEMMA2_ENTRIES = _GEMMA_ENTRIES | {"query_pre_attn_scalar": 256, "sliding_window": 4096, "layer_types": None}
_QWEN_ENTRIES = {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28, "layer_types": None}

FAMILIES: dict[str, Family] = {
    "llama": Family(gguf_rope="pairs", entries={"attention_bias": False, "mlp_bias": False}),
    "smollm3": Family(
        gguf_rope="pairs",
        rope_period=4,
        entries={
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": True,
            "rope_theta": 2_000_000.0,
            "no_rope_layers": None,
            "no_rope_layer_interval": 4,
            "use_sliding_window": False,
            "sliding_window": None,
            "layer_types": None,
        },
    ),
    "mistral": Family(gguf_rope="pairs", entries={"sliding_window": 4096, "layer_types": None}),
    "qwen2": Family(attention_bias=True, entries=_QWEN_ENTRIES),
    "qwen3": Family(qk_norm=True, entries=_QWEN_ENTRIES | {"head_dim": 128, "attention_bias": False}),
    "gemma": Family(**_GEMMA, entries=_GEMMA_ENTRIES),  # type: ignore[arg-type]
    "gemma2": Family(
        **_GEMMA,  # type: ignore[arg-type]
        post_norms=True,
        window=4096,
        window_period=2,
        attention_softcap=50.0,
        logit_softcap=30.0,
        reference_layers=46,
        entries=_GEMMA2_ENTRIES | {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
    ),
    "gemma3": Family(
        **_GEMMA,  # type: ignore[arg-type]
        qk_norm=True,
        post_norms=True,
        window=1024,
        window_period=6,
        local_theta=10_000.0,
        reference_layers=62,
        entries=_GEMMA2_ENTRIES
        | {
            "vocab_size": 262_208,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "max_position_embeddings": 131_072,
            "rms_norm_eps": 1e-6,
            "rope_theta": 1_000_000.0,
            "rope_local_base_freq": 10_000.0,
            "sliding_window_pattern": 6,
            "attn_logit_softcapping": None,
            "final_logit_softcapping": None,
        },
    ),
}
"""The rows by family. Defaults of missing entries are those of transformers (each family's `configuration_*.py`)."""


def all_but_each(period: int, layers: int) -> tuple[bool, ...]:
    """Return True for all layers but every `period`-th one; for all layers if `period` is 0."""
    return tuple(period == 0 or i % period < period - 1 for i in range(layers))
