"""What a decoder computes, in numpy and float64, without a cache, as `TransformerConfig` says it."""

from __future__ import annotations

import numpy as np


def logits_of(config, weights, tokens):
    """The logits behind each of the tokens, `(length, vocabulary)`; weights by the names of files, numbers."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = w["embedding.weight"][tokens] * config.embedding_scale
    for i in range(config.layers):
        x = x + _post(config, w, f"layers.{i}.attention_post_norm", _attention(config, w, i, x))
        x = x + _post(config, w, f"layers.{i}.mlp_post_norm", _mlp(config, w, f"layers.{i}.", x))
    x = _norm(config, x, w["norm.weight"])
    out = x @ w["embedding.weight" if config.tied_embeddings else "output.weight"].T
    cap = config.logit_softcap
    return out if cap is None else cap * np.tanh(out / cap)


def _norm(config, x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + config.norm_epsilon) * (weight + config.norm_offset)


def _post(config, w, name, x):
    return _norm(config, x, w[f"{name}.weight"]) if config.post_norms else x


def _linear(w, name, x):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def _mlp(config, w, layer, x):
    x = _norm(config, x, w[f"{layer}mlp_norm.weight"])
    gate = _linear(w, f"{layer}mlp.gate", x)
    if config.activation == "silu":
        gate = gate / (1 + np.exp(-gate))
    else:
        gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    return _linear(w, f"{layer}mlp.down", gate * _linear(w, f"{layer}mlp.up", x))


def _attention(config, w, i, x):
    layer, length = f"layers.{i}.", len(x)
    sliding = config.sliding_window is not None and config.sliding_layers[i]
    x = _norm(config, x, w[f"{layer}attention_norm.weight"])
    q, k, v = (
        _linear(w, f"{layer}attention.{n}", x).reshape(length, -1, config.head_size) for n in ("query", "key", "value")
    )
    if config.qk_norm:
        q = _norm(config, q, w[f"{layer}attention.query_norm.weight"])
        k = _norm(config, k, w[f"{layer}attention.key_norm.weight"])
    if not config.rope_layers or config.rope_layers[i]:
        q, k = _turned(config.rope, q, sliding), _turned(config.rope, k, sliding)
    scale = config.head_size**-0.5 if config.attention_scale is None else config.attention_scale
    rows, columns = np.indices((length, length))
    hidden = (columns > rows) | (columns <= rows - config.sliding_window if sliding else False)
    heads = []
    for h in range(config.heads):
        group = h // (config.heads // config.kv_heads)
        scores = q[:, h] @ k[:, group].T * scale
        if config.attention_softcap is not None:
            scores = config.attention_softcap * np.tanh(scores / config.attention_softcap)
        powers = np.where(hidden, 0, np.exp(scores - np.where(hidden, -np.inf, scores).max(-1, keepdims=True)))
        heads.append(powers / powers.sum(-1, keepdims=True) @ v[:, group])
    return _linear(w, f"{layer}attention.output", np.concatenate(heads, -1))


def _turned(rope, x, sliding):
    """Each plane of each head turned by its position."""
    local = sliding and rope.local_theta is not None
    planes = rope.size // 2
    divisors = np.ones(planes) if rope.factors is None or local else np.array(rope.factors)
    frequencies = (rope.local_theta if local else rope.theta) ** -(np.arange(planes) / planes) / divisors
    out = x.copy()
    for p, frequency in enumerate(frequencies):
        a, b = (2 * p, 2 * p + 1) if rope.order == "pairs" else (p, p + planes)
        angle = np.arange(len(x))[:, None] * frequency
        out[..., a] = x[..., a] * np.cos(angle) - x[..., b] * np.sin(angle)
        out[..., b] = x[..., a] * np.sin(angle) + x[..., b] * np.cos(angle)
    out[..., : 2 * planes] *= 1.0 if local else rope.magnitude
    return out
