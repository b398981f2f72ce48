"""The configuration of a decoder-only transformer, independent of the file format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ARCHITECTURES = ("llama", "smollm3", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3")
"""The supported families. GGUF files of Mistral call themselves `llama`, from which they differ only in the window."""

Activation = Literal["silu", "gelu_tanh"]
RopeOrder = Literal["halves", "pairs"]


@dataclass(frozen=True)
class Rope:
    """Rotary embedding of the first `size` numbers of each head of queries and keys.

    At position p, plane i of the `size / 2` planes is rotated by p * theta**(-2i / size) / factor_i. In the
    order "halves" its coordinates are the numbers i and i + size / 2 (Hugging Face), in "pairs" 2i and 2i + 1
    (Llama in GGUF, whose rows of query and key are permuted accordingly). Both orders compute the same, each
    with its own weights.
    """

    theta: float
    size: int
    order: RopeOrder = "halves"
    factors: tuple[float, ...] | None = None
    """The divisor of the frequency of each plane (linear scaling, Llama 3's, YaRN's); None: 1 for all."""
    magnitude: float = 1.0
    """The factor that the rotated numbers are multiplied by (YaRN)."""
    local_theta: float | None = None
    """The `theta` of layers with a sliding window (Gemma 3), which have no factors and no magnitude; None: `theta`."""


@dataclass(frozen=True)
class TransformerConfig:
    """A decoder-only transformer: embedding, `layers` layers of attention and a gated MLP with residuals, norm, output.

    A layer is `x += post_norm(attention(norm(x)))`, then `x += post_norm(down(activation(gate(h)) * up(h)))`
    with `h = norm(x)`; `post_norm` is the identity unless `post_norms`. Norms are RMS norms: `x /
    sqrt(mean(x**2) + norm_epsilon) * (weight + norm_offset)`; `query_norm` and `key_norm` normalize over a
    head. Sizes count numbers, not bytes.
    """

    architecture: str
    vocabulary_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    """The heads of keys and values; each serves heads / kv_heads consecutive query heads."""
    head_size: int
    """The size of a head of queries, keys and values; heads * head_size may differ from hidden_size."""
    context_length: int
    """The number of positions that the model was trained for."""
    rope: Rope
    norm_epsilon: float
    rope_layers: tuple[bool, ...] = ()
    """For each layer, whether queries and keys are rotated (SmolLM3); empty: in all layers."""
    activation: Activation = "silu"
    tied_embeddings: bool = False
    """True if the output projection reuses `embedding.weight` and there is no `output.weight`."""
    attention_bias: bool = False
    """True if query, key and value have a bias."""
    attention_output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    """True if query and key are normalized over each head, before the rotation."""
    post_norms: bool = False
    norm_offset: float = 0.0
    embedding_scale: float = 1.0
    """The factor applied to embeddings before the first layer, but not to tied output weights."""
    attention_scale: float | None = None
    """The factor applied to the products of queries and keys; None: head_size**-0.5."""
    sliding_window: int | None = None
    """In the layers of `sliding_layers`, a position attends to itself and the `sliding_window - 1` positions before it.
    """
    sliding_layers: tuple[bool, ...] = ()
    """For each layer, whether it has the window; empty if the model has none."""
    attention_softcap: float | None = None
    """The cap c of attention scores: s becomes c * tanh(s / c) before the mask. None: no cap."""
    logit_softcap: float | None = None
    """The cap of the logits, applied in the same way."""
