"""A model like Llama: RMS norms, rotary positions, grouped heads, gated feed-forward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tirax.tvm_api.relax.frontend import nn

from . import numpy_layers as np_layers
from .layers import attention_flop, first_rows, merge_heads, op, split_heads
from .workload import Array, Size, Workload, token_ids


@dataclass(frozen=True)
class Llama(Workload):
    """Four layers of Llama, narrow; `(batch, length)` tokens -> `(batch, length, vocabulary)`."""

    name: ClassVar[str] = "llama"
    default_length: ClassVar[int | None] = 64
    vocabulary: int = 32000
    positions: int = 2048
    hidden: int = 512
    heads: int = 8
    groups: int = 4
    """Heads of keys and values, each for `heads // groups` of queries."""
    inner: int = 1536
    layers: int = 4
    epsilon: float = 1e-5
    theta: float = 10000.0

    def module(self) -> nn.Module:
        return Model(self)

    def spec(self, batch: Size, length: Size | None) -> dict[str, Any]:
        return {"tokens": nn.spec.Tensor((batch, length), "int64")}

    def inputs(self, batch: int, length: int | None, seed: int = 0) -> list[Array]:
        return [token_ids(self.vocabulary, batch, length, seed)]

    def angles(self) -> Array:
        """`(positions, size / 2)`: by how much each pair of elements is turned."""
        half = self.hidden // self.heads // 2
        return np.outer(np.arange(self.positions), self.theta ** -(np.arange(half) / half))

    def reference(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        (tokens,) = inputs
        w, eps = weights, self.epsilon
        angles = self.angles()[: tokens.shape[1], None]
        x = w["tokens.weight"][tokens]
        for i in range(self.layers):
            name = f"blocks.{i}"
            seen = np_layers.rms_norm(w, f"{name}.attention_norm", x, eps)
            counts = {"query": self.heads, "key": self.groups, "value": self.groups}
            parts = (np_layers.split_heads(np_layers.linear(w, f"{name}.{p}", seen), n) for p, n in counts.items())
            query, key, value = parts
            result = np_layers.attention(_turned(query, angles), _turned(key, angles), value, causal=True)
            x = x + np_layers.linear(w, f"{name}.out", np_layers.merge_heads(result))
            seen = np_layers.rms_norm(w, f"{name}.inner_norm", x, eps)
            gate = np_layers.silu(np_layers.linear(w, f"{name}.gate", seen))
            x = x + np_layers.linear(w, f"{name}.down", gate * np_layers.linear(w, f"{name}.up", seen))
        return np_layers.linear(w, "head", np_layers.rms_norm(w, "norm", x, eps))

    def flop(self, batch: int, length: int | None) -> int:
        assert length is not None
        projected = 2 * self.hidden**2 * (1 + self.groups / self.heads)
        weights = self.layers * (projected + 3 * self.hidden * self.inner) + self.hidden * self.vocabulary
        return int(2 * batch * length * weights) + self.layers * attention_flop(batch, length, self.hidden)


def _turned(x: Array, angles: Array) -> Array:
    first, second = np.split(x, 2, -1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


class Block(nn.Module):
    """Attention and a gated feed-forward network, norms before them."""

    def __init__(self, config: Llama):
        super().__init__()
        self.heads, self.groups = config.heads, config.groups
        hidden, inner = config.hidden, config.inner
        narrow = hidden // config.heads * config.groups
        self.attention_norm = nn.RMSNorm(hidden, -1, config.epsilon, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, narrow, bias=False)
        self.value = nn.Linear(hidden, narrow, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.inner_norm = nn.RMSNorm(hidden, -1, config.epsilon, bias=False)
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        """`(batch, length, hidden)` -> the same shape."""
        seen = self.attention_norm(x)
        query = _rotary(split_heads(self.query(seen), self.heads), cos, sin)
        key = _rotary(split_heads(self.key(seen), self.groups), cos, sin)
        value = split_heads(self.value(seen), self.groups)
        each = self.heads // self.groups
        key, value = op.repeat(key, each, axis=2), op.repeat(value, each, axis=2)
        result = op.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(merge_heads(result))
        seen = self.inner_norm(x)
        return x + self.down(op.silu(self.gate(seen)) * self.up(seen))


def _rotary(x: Any, cos: Any, sin: Any) -> Any:
    """The pairs of elements (i, i + size / 2) turned by the angles of their places."""
    first, second = op.split(x, 2, axis=-1)
    return op.concat([first * cos - second * sin, second * cos + first * sin], -1)


class Model(nn.Module):
    """The embedding, the blocks, and a linear map to the vocabulary."""

    def __init__(self, config: Llama):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.hidden, -1, config.epsilon, bias=False)
        self.head = nn.Linear(config.hidden, config.vocabulary, bias=False)

    def forward(self, tokens: Any) -> Any:
        """`(batch, length)` -> `(batch, length, vocabulary)`."""
        angles = self.config.angles()
        tables = (nn.Tensor.from_const(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
        cos, sin = (op.unsqueeze(first_rows(table, tokens.shape[1]), 1) for table in tables)
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))
