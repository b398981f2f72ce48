"""The layers in numpy, in the precision of what they are given: what the compiled models are compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

Array = np.ndarray
Weights = Mapping[str, Array]

_erf = np.frompyfunc(math.erf, 1, 1)


def linear(w: Weights, name: str, x: Array) -> Array:
    """x @ weight.T + bias, where there is a bias."""
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def layer_norm(w: Weights, name: str, x: Array, epsilon: float) -> Array:
    """Normalization of the last dimension, scaled and shifted."""
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon)
    return centred * scale * w[f"{name}.weight"] + w[f"{name}.bias"]


def rms_norm(w: Weights, name: str, x: Array, epsilon: float) -> Array:
    """Division by the root of the mean square of the last dimension, scaled."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w[f"{name}.weight"]


def gelu(x: Array) -> Array:
    """The Gaussian error linear unit."""
    return 0.5 * x * (1 + _erf(x * math.sqrt(0.5)).astype(x.dtype))


def gelu_tanh(x: Array) -> Array:
    """gelu by tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Array) -> Array:
    """x * sigmoid(x)"""
    return x / (1 + np.exp(-x))


def attention(query: Array, key: Array, value: Array, causal: bool = False) -> Array:
    """softmax(query @ key.T / sqrt(size)) @ value of `(batch, length, heads, size)`; a later key is not seen if causal.

    Heads of keys and values may be fewer: each then serves as many queries as there are of them.
    """
    groups = query.shape[2] // key.shape[2]
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (query, key.repeat(groups, 2), value.repeat(groups, 2)))
    scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return (powers / powers.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def split_heads(x: Array, heads: int) -> Array:
    """(batch, length, heads * size) -> (batch, length, heads, size)"""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads)


def merge_heads(x: Array) -> Array:
    """(batch, length, heads, size) -> (batch, length, heads * size)"""
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])


def pre_norm_block(
    w: Weights, name: str, x: Array, heads: int, epsilon: float, causal: bool = False, activation=gelu
) -> Array:
    """`layers.PreNormBlock`."""
    seen = layer_norm(w, f"{name}.attention_norm", x, epsilon)
    qkv = np.split(linear(w, f"{name}.attention.qkv", seen), 3, -1)
    actual = attention(*(split_heads(part, heads) for part in qkv), causal)
    x = x + linear(w, f"{name}.attention.out", merge_heads(actual))
    inner = linear(w, f"{name}.inner.up", layer_norm(w, f"{name}.inner_norm", x, epsilon))
    return x + linear(w, f"{name}.inner.down", activation(inner))


def convolution(x: Array, weight: Array, stride: int, padding: int) -> Array:
    """NCHW by OIHW, padded with zeros."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def max_pool(x: Array, size: int, stride: int, padding: int) -> Array:
    """The greatest of each window of NCHW."""
    edge = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(x, edge, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    return windows[:, :, ::stride, ::stride].max((4, 5))
