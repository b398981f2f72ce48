"""Read a language model from a GGUF file: its configuration and its tensors under our names."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from ...diagnostics import UnsupportedError
from ...frontend.importing.errors import ModelError
from ..gguf import GgufFile, open_gguf
from .config import ARCHITECTURES, Rope, TransformerConfig
from .families import FAMILIES, Family, all_but_each
from .fields import MOST_HIDDEN, MOST_LAYERS, Fields
from .names import GGUF, renamed
from .rope_scaling import Stretch, yarn_factors, yarn_magnitude
from .shapes import check_heads, check_weights, parts_of
from .weights import Weight, Weights

_SCALINGS = ("none", "linear", "yarn")
_FACTORS = "rope.factors"
_LEAST_FACTOR = 0.01


def read_gguf_model(path: str | os.PathLike[str]) -> tuple[TransformerConfig, Weights, GgufFile]:
    """Return the configuration, the mapped weights, and the file itself, which also holds the tokenizer.

    Raises `OSError`, `GgufError`, `ModelError` with all problems of the metadata or of the weights, and
    `UnsupportedError` for unsupported families.
    """
    file = open_gguf(path)
    if file.architecture not in ARCHITECTURES:
        expected = ", ".join(ARCHITECTURES)
        raise UnsupportedError(
            f"'{file.path}' belongs to an unsupported model family", expected=expected, found=file.architecture
        )
    weights, unknown = _weights(file)
    factors = weights.pop(_FACTORS, None)
    config = _config(file, weights)
    if factors is not None:
        config = replace(config, rope=replace(config.rope, factors=_factors(file.path, factors, config.rope)))
    check_weights(file.path, config, weights, unknown)
    return config, weights, file


def _weights(file: GgufFile) -> tuple[dict[str, Weight], list[str]]:
    """Return the tensors with a known name, and the names of the others."""
    weights: dict[str, Weight] = {}
    unknown: list[str] = []
    for name, tensor in file.tensors.items():
        one = renamed(name, GGUF)
        if one is None:
            unknown.append(name)
        else:
            weights[one] = Weight(tensor.shape, tensor.format, tensor.data)
    return weights, unknown


def _config(file: GgufFile, weights: Weights) -> TransformerConfig:
    name = file.architecture or ""
    family = FAMILIES[name]
    fields = Fields(
        {k.removeprefix(f"{name}."): v for k, v in file.metadata.items() if k.startswith(f"{name}.")}, f"{name}."
    )
    if fields.integer("expert_count", 0, low=0):
        raise UnsupportedError(f"'{file.path}' is a mixture of experts", expected="one MLP a layer")
    hidden = fields.integer("embedding_length", high=MOST_HIDDEN)
    heads = fields.integer("attention.head_count")
    layers = fields.integer("block_count", high=MOST_LAYERS)
    head_size = fields.integer("attention.key_length", max(1, hidden // heads), high=MOST_HIDDEN)
    if fields.integer("attention.value_length", head_size) != head_size:
        fields.problems.append("keys and values have heads of other sizes each")
    window = fields.integer("attention.sliding_window", family.window, low=0) or None
    config = TransformerConfig(
        architecture=name,
        vocabulary_size=fields.integer("vocab_size", _rows(weights)),
        hidden_size=hidden,
        intermediate_size=fields.integer("feed_forward_length"),
        layers=layers,
        heads=heads,
        kv_heads=fields.integer("attention.head_count_kv", heads),
        head_size=head_size,
        context_length=fields.integer("context_length"),
        rope=_rope(fields, family, head_size),
        rope_layers=all_but_each(family.rope_period, layers) if family.rope_period else (),
        norm_epsilon=fields.number("attention.layer_norm_rms_epsilon"),
        activation=family.activation,
        post_norms=family.post_norms,
        embedding_scale=family.embedding_scale(hidden),
        attention_scale=(hidden / heads) ** -0.5 if layers == family.reference_layers else None,
        sliding_window=window,
        sliding_layers=all_but_each(family.window_period, layers) if window else (),
        attention_softcap=fields.number("attn_logit_softcapping", family.attention_softcap),
        logit_softcap=fields.number("final_logit_softcapping", family.logit_softcap),
        **parts_of(weights, family),
    )
    check_heads(config, fields)
    fields.finish(f"'{file.path}'")
    return config


def _rows(weights: Weights) -> int:
    embedding = weights.get("embedding.weight")
    return embedding.shape[0] if embedding is not None and embedding.shape else 1


def _rope(fields: Fields, family: Family, head_size: int) -> Rope:
    size = fields.integer("rope.dimension_count", head_size, high=MOST_HIDDEN)
    theta = fields.number("rope.freq_base", 10_000.0)
    stretch = _stretch(fields, theta, size)
    return Rope(theta, size, family.gguf_rope, stretch.factors, stretch.magnitude, family.local_theta)


def _stretch(fields: Fields, theta: float, size: int) -> Stretch:
    """Return the rope scaling. A factor without a type means linear scaling, as in llama.cpp."""
    kind = fields.choice("rope.scaling.type", _SCALINGS, "linear")
    legacy = fields.number("rope.scale_linear", 1.0, low=_LEAST_FACTOR)
    factor = fields.number("rope.scaling.factor", legacy, low=_LEAST_FACTOR)
    if kind == "none" or factor == 1.0:
        return Stretch()
    if kind == "linear":
        return Stretch((factor,) * (size // 2))
    original = fields.integer("rope.scaling.original_context_length", fields.integer("context_length"))
    fast, slow = (fields.number(f"rope.scaling.yarn_beta_{n}", d) for n, d in (("fast", 32.0), ("slow", 1.0)))
    magnitude = fields.number("rope.scaling.attn_factor", 1.0) * yarn_magnitude(factor)
    if theta <= 1.0:
        fields.problems.append(f"frequencies of a base of {theta:g} cannot be stretched by YaRN")
        return Stretch()
    return Stretch(yarn_factors(theta, size, factor, original, fast, slow), magnitude)


def _factors(path: str, weight: Weight, rope: Rope) -> tuple[float, ...]:
    """Return the frequency divisors that Llama 3.1 and later store as a tensor."""
    if weight.shape != (rope.size // 2,) or weight.format != "f32":
        expected = f"f32 {[rope.size // 2]}"
        raise ModelError(
            f"'rope_freqs.weight' of '{path}' does not fit",
            expected=expected,
            found=f"{weight.format} {list(weight.shape)}",
        )
    if not (np.isfinite(weight.data) & (weight.data > 0)).all():
        raise ModelError(f"'rope_freqs.weight' of '{path}' has numbers that are not above 0")
    outer = (1.0,) * (rope.size // 2) if rope.factors is None else rope.factors
    return tuple(float(factor) * other for factor, other in zip(weight.data, outer))
