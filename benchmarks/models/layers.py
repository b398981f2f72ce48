"""Layers that several models have, and operators that the nn front end has no name for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend import nn

op: Any = nn.op


class SelfAttention(nn.Module):
    """Attention over its input, `(batch, length, hidden)`, with one projection for queries, keys and values."""

    def __init__(self, hidden: int, heads: int, causal: bool = False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, x: Any) -> Any:
        """The attended values, projected."""
        query, key, value = (split_heads(part, self.heads) for part in op.split(self.qkv(x), 3, axis=-1))
        result = op.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.out(merge_heads(result))


class FeedForward(nn.Module):
    """Two linear maps with a gelu between them, by tanh where `approximate` says so."""

    def __init__(self, hidden: int, inner: int, approximate: str | None = None):
        super().__init__()
        self.up, self.down, self.approximate = nn.Linear(hidden, inner), nn.Linear(inner, hidden), approximate

    def forward(self, x: Any) -> Any:
        """`(…, hidden)` -> the same shape."""
        return self.down(op.gelu(self.up(x), self.approximate))


class PreNormBlock(nn.Module):
    """A block of GPT-2 and ViT: norms come first, and what they see is added to what came in."""

    def __init__(
        self, hidden: int, heads: int, inner: int, epsilon: float, causal: bool = False, approximate: str | None = None
    ):
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden, epsilon)
        self.attention = SelfAttention(hidden, heads, causal)
        self.inner_norm = nn.LayerNorm(hidden, epsilon)
        self.inner = FeedForward(hidden, inner, approximate)

    def forward(self, x: Any) -> Any:
        """`(batch, length, hidden)` -> the same shape."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.inner(self.inner_norm(x))


def split_heads(x: Any, heads: int) -> Any:
    """(batch, length, heads * size) -> (batch, length, heads, size)"""
    batch, length, hidden = x.shape
    return op.reshape(x, [batch, length, heads, hidden // heads])


def merge_heads(x: Any) -> Any:
    """(batch, length, heads, size) -> (batch, length, heads * size)"""
    batch, length, heads, size = x.shape
    return op.reshape(x, [batch, length, heads * size])


def first_rows(table: Any, count: Any) -> Any:
    """The first rows of a table; `count` may be symbolic, and there must be as many."""
    return op.wrap_nested(relax.op.strided_slice(table.expr_handle, [0], [0], [count], assume_inbound=True), "rows")


def mean(x: Any, axes: Sequence[int]) -> Any:
    """The mean over axes."""
    return op.wrap_nested(relax.op.mean(x.expr_handle, list(axes)), "mean")


def attention_flop(batch: int, length: int, hidden: int) -> int:
    """Operations of scores and weighted sums of all heads of one layer."""
    return 4 * batch * length * length * hidden
