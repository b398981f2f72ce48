"""GPT-2: tokens to the scores of the next ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tirax.tvm_api.relax.frontend import nn

from . import numpy_layers as np_layers
from .layers import PreNormBlock, attention_flop, first_rows, op
from .workload import Array, Size, Workload, token_ids


@dataclass(frozen=True)
class Gpt2(Workload):
    """GPT-2 small; `(batch, length)` tokens -> `(batch, length, vocabulary)`, by the table that embeds them."""

    name: ClassVar[str] = "gpt2"
    default_length: ClassVar[int | None] = 128
    vocabulary: int = 50257
    positions: int = 1024
    hidden: int = 768
    heads: int = 12
    layers: int = 12
    epsilon: float = 1e-5

    def module(self) -> nn.Module:
        return Model(self)

    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        return {"tokens": nn.spec.Tensor((batch, length), "int64")}

    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        return [token_ids(self.vocabulary, batch, length, seed)]

    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        (tokens,) = inputs
        x = weights["tokens.weight"][tokens] + weights["places"][: tokens.shape[1]]
        for i in range(self.layers):
            name, activation = f"blocks.{i}", np_layers.gelu_tanh
            x = np_layers.pre_norm_block(weights, name, x, self.heads, self.epsilon, True, activation)
        return np_layers.layer_norm(weights, "norm", x, self.epsilon) @ weights["tokens.weight"].T

    def flop(self, batch: int, length: int | None) -> int:
        assert length is not None
        blocks = 2 * batch * length * 12 * self.hidden**2 + attention_flop(batch, length, self.hidden)
        return self.layers * blocks + 2 * batch * length * self.hidden * self.vocabulary


class Model(nn.Module):
    """The embeddings, the blocks, and the embedding again."""

    def __init__(self, config: Gpt2):
        super().__init__()
        hidden = config.hidden
        self.tokens = nn.Embedding(config.vocabulary, hidden)
        self.places = nn.Parameter((config.positions, hidden))
        blocks = [
            PreNormBlock(hidden, config.heads, 4 * hidden, config.epsilon, causal=True, approximate="tanh")
            for _ in range(config.layers)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(hidden, config.epsilon)

    def forward(self, tokens: Any) -> Any:
        """`(batch, length)` -> `(batch, length, vocabulary)`."""
        x = self.tokens(tokens) + first_rows(self.places, tokens.shape[1])
        x = self.norm(self.blocks(x))
        return op.matmul(x, op.permute_dims(self.tokens.weight))
