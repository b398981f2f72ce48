"""What a decoder-only transformer consists of, whatever file said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ARCHITECTURES = ("llama", "smollm3", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3")
"""The families that are read. Files of Mistral in GGUF call themselves `llama`, which it is but for the window."""

Activation = Literal["silu", "gelu_tanh"]
RopeOrder = Literal["halves", "pairs"]


@dataclass(frozen=True)
class Rope:
    """Rotary embedding of the first `size` numbers of each head of queries and keys.

    At position p the i-th of `size / 2` planes is turned by p * theta**(-2i / size) / factor_i. In the order "halves"
    its coordinates are the numbers i and i + size / 2 (Hugging Face), in "pairs" 2i and 2i + 1 (Llama in GGUF, whose
    rows of query and key are permuted for it); a model means the same by both, with its own weights.
    """

    theta: float
    size: int
    order: RopeOrder = "halves"
    factors: tuple[float, ...] | None = None
    """For each plane what its frequency is divided by (linear scaling, Llama 3's, YaRN's); None: by 1."""
    magnitude: float = 1.0
    """What the turned numbers are multiplied by (YaRN)."""
    local_theta: float | None = None
    """Of layers with a window (Gemma 3), which also have no factors and no magnitude; None: as in the others."""


@dataclass(frozen=True)
class TransformerConfig:
    """A model: embedding, `layers` times attention and a gated MLP with residuals around both, norm, output.

    A layer is `x += post_norm(attention(norm(x)))`, then `x += post_norm(down(activation(gate(h)) * up(h)))` of
    `h = norm(x)`, with the identity in the place of `post_norm` unless `post_norms`. Norms are root mean squares:
    `x / sqrt(mean(x**2) + norm_epsilon) * (weight + norm_offset)`, over a head in `query_norm` and `key_norm`.
    Sizes count numbers, not bytes.
    """

    architecture: str
    vocabulary_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    """Heads of keys and values; each serves heads / kv_heads neighbouring heads of queries."""
    head_size: int
    """Of queries, keys and values; heads * head_size may be other than hidden_size."""
    context_length: int
    """Positions that the model was made for."""
    rope: Rope
    norm_epsilon: float
    rope_layers: tuple[bool, ...] = ()
    """For each layer whether queries and keys are turned (SmolLM3); empty where they are in all."""
    activation: Activation = "silu"
    tied_embeddings: bool = False
    """There is no `output.weight`: it is `embedding.weight`."""
    attention_bias: bool = False
    """query, key and value have a bias."""
    attention_output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    """query and key are normed over each head, before they are turned."""
    post_norms: bool = False
    norm_offset: float = 0.0
    embedding_scale: float = 1.0
    """What embeddings are multiplied by before the first layer; not when they are the output's weights."""
    attention_scale: float | None = None
    """What products of queries and keys are multiplied by; None: head_size**-0.5."""
    sliding_window: int | None = None
    """In layers of `sliding_layers` a position sees itself and so many - 1 before it."""
    sliding_layers: tuple[bool, ...] = ()
    """For each layer whether it has the window; empty where there is none."""
    attention_softcap: float | None = None
    """c: scores s become c * tanh(s / c) before the mask."""
    logit_softcap: float | None = None
    """c: the same for the logits."""
