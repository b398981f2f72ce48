"""The weights that a model requires, with their shapes, and the check of a file against them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...frontend.importing.errors import ModelError
from .config import TransformerConfig
from .families import Family
from .fields import Fields
from .weights import Weight, Weights

_NUMBERS = frozenset(("f32", "f16", "bf16", "f64"))
_MOST_NOTES = 20


def expected_shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """Return the weights that a model requires, with their shapes."""
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.weight": (config.vocabulary_size, config.hidden_size),
        "norm.weight": (config.hidden_size,),
    }
    if not config.tied_embeddings:
        shapes["output.weight"] = (config.vocabulary_size, config.hidden_size)
    layer = _layer_shapes(config)
    return shapes | {f"layers.{i}.{name}": shape for i in range(config.layers) for name, shape in layer.items()}


def _layer_shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.heads * config.head_size, config.kv_heads * config.head_size
    matrices = {
        "attention.query": (queries, hidden),
        "attention.key": (keys, hidden),
        "attention.value": (keys, hidden),
        "attention.output": (hidden, queries),
        "mlp.gate": (inner, hidden),
        "mlp.up": (inner, hidden),
        "mlp.down": (hidden, inner),
    }
    biased = [*matrices][:3] * config.attention_bias + [*matrices][4:] * config.mlp_bias
    biased += ["attention.output"] * config.attention_output_bias
    norms = ["attention_norm", "mlp_norm"] + ["attention_post_norm", "mlp_post_norm"] * config.post_norms
    return (
        {f"{name}.weight": shape for name, shape in matrices.items()}
        | {f"{name}.bias": matrices[name][:1] for name in biased}
        | {f"{name}.weight": (hidden,) for name in norms}
        | {f"attention.{name}_norm.weight": (config.head_size,) for name in ("query", "key") if config.qk_norm}
    )


def check_weights(path: str, config: TransformerConfig, weights: Weights, unknown: Sequence[str] = ()) -> None:
    """Raise `ModelError` with all weights that are missing, unexpected, or of another shape or format than the model's.

    Matrices may have any format except integers; vectors must be plain. `unknown` are tensor names that map to
    no weight.
    """
    shapes = expected_shapes(config)
    problems = [f"'{name}' is missing: {list(shape)}" for name, shape in shapes.items() if name not in weights]
    problems += [
        f"'{name}' belongs to no part of the model" for name in (*unknown, *(n for n in weights if n not in shapes))
    ]
    problems += [
        p for name, weight in weights.items() if name in shapes and (p := _mismatch(name, weight, shapes[name]))
    ]
    if problems:
        more = len(problems) - _MOST_NOTES
        notes = problems[:_MOST_NOTES] + [f"and {more} more"] * (more > 0)
        raise ModelError(f"the weights of '{path}' are not those of its model", notes=notes)


def _mismatch(name: str, weight: Weight, shape: tuple[int, ...]) -> str | None:
    if weight.shape != shape:
        return f"'{name}' has the shape {list(weight.shape)}, not {list(shape)}"
    plain = weight.data.dtype.name != "uint8"
    fits = weight.format in _NUMBERS if plain or len(shape) == 1 else True
    return None if fits else f"'{name}' is stored as {weight.format}, not as numbers with a fraction"


def parts_of(weights: Weights, family: Family) -> dict[str, Any]:
    """Return the config fields that follow from the weights of the first layer and from the family."""
    layer = "layers.0."
    return {
        "tied_embeddings": "output.weight" not in weights,
        "attention_bias": family.attention_bias or f"{layer}attention.query.bias" in weights,
        "attention_output_bias": f"{layer}attention.output.bias" in weights,
        "mlp_bias": f"{layer}mlp.gate.bias" in weights,
        "qk_norm": family.qk_norm or f"{layer}attention.query_norm.weight" in weights,
    }


def check_heads(config: TransformerConfig, fields: Fields) -> None:
    """Record inconsistencies between heads and rotary embedding as problems."""
    if config.heads % config.kv_heads:
        fields.problems.append(f"{config.heads} heads of queries cannot share {config.kv_heads} of keys and values")
    if config.rope.size > config.head_size or config.rope.size % 2:
        fields.problems.append(f"{config.rope.size} numbers of a head of {config.head_size} cannot be turned in pairs")
