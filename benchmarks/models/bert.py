"""BERT: tokens and their segments to the states of the last layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tirax.tvm_api.relax.frontend import nn

from . import numpy_layers as np_layers
from .layers import FeedForward, attention_flop, first_rows, merge_heads, op, split_heads
from .workload import Array, Size, Workload, token_ids


@dataclass(frozen=True)
class Bert(Workload):
    """BERT-base; `(batch, length)` tokens and segments -> `(batch, length, hidden)`."""

    name: ClassVar[str] = "bert"
    default_length: ClassVar[int | None] = 128
    vocabulary: int = 30522
    positions: int = 512
    segments: int = 2
    hidden: int = 768
    heads: int = 12
    inner: int = 3072
    layers: int = 12
    epsilon: float = 1e-12

    def module(self) -> nn.Module:
        return Model(self)

    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        ids = nn.spec.Tensor((batch, length), "int64")
        return {"tokens": ids, "segments": ids}

    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        sizes = (self.vocabulary, self.segments)
        return [token_ids(size, batch, length, seed + i) for i, size in enumerate(sizes)]

    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        tokens, segments = inputs
        w, eps = weights, self.epsilon
        x = w["tokens.weight"][tokens] + w["segments.weight"][segments] + w["places"][: tokens.shape[1]]
        x = np_layers.layer_norm(w, "norm", x, eps)
        for i in range(self.layers):
            name = f"blocks.{i}"
            parts = (np_layers.linear(w, f"{name}.{part}", x) for part in ("query", "key", "value"))
            result = np_layers.attention(*(np_layers.split_heads(part, self.heads) for part in parts))
            attended = np_layers.linear(w, f"{name}.out", np_layers.merge_heads(result))
            x = np_layers.layer_norm(w, f"{name}.attention_norm", x + attended, eps)
            inner = np_layers.gelu(np_layers.linear(w, f"{name}.inner.up", x))
            x = np_layers.layer_norm(w, f"{name}.inner_norm", x + np_layers.linear(w, f"{name}.inner.down", inner), eps)
        return x

    def flop(self, batch: int, length: int | None) -> int:
        assert length is not None
        linear = 2 * batch * length * (4 * self.hidden**2 + 2 * self.hidden * self.inner)
        return self.layers * (linear + attention_flop(batch, length, self.hidden))


class Block(nn.Module):
    """Attention and two linear maps, a norm behind each of them."""

    def __init__(self, config: Bert):
        super().__init__()
        hidden, self.heads = config.hidden, config.heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, config.epsilon)
        self.inner = FeedForward(hidden, config.inner)
        self.inner_norm = nn.LayerNorm(hidden, config.epsilon)

    def forward(self, x: Any) -> Any:
        """`(batch, length, hidden)` -> the same shape."""
        parts = (split_heads(part(x), self.heads) for part in (self.query, self.key, self.value))
        x = self.attention_norm(x + self.out(merge_heads(op.scaled_dot_product_attention(*parts))))
        return self.inner_norm(x + self.inner(x))


class Model(nn.Module):
    """The embeddings and the blocks."""

    def __init__(self, config: Bert):
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.segments = nn.Embedding(config.segments, config.hidden)
        self.places = nn.Parameter((config.positions, config.hidden))
        self.norm = nn.LayerNorm(config.hidden, config.epsilon)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])

    def forward(self, tokens: Any, segments: Any) -> Any:
        """`(batch, length)`, twice -> `(batch, length, hidden)`."""
        x = self.tokens(tokens) + self.segments(segments) + first_rows(self.places, tokens.shape[1])
        return self.blocks(self.norm(x))
