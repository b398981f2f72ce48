"""Read a language model from a Hugging Face folder: `config.json` and one or more safetensors files."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnostics import UnsupportedError
from ...frontend.importing.errors import ModelError
from ...runtime.safetensors import read_weights
from ..gguf import FORMATS
from .config import Activation, Rope, TransformerConfig
from .families import COMMON, FAMILIES, Family, all_but_each
from .fields import MOST_HIDDEN, MOST_LAYERS, Fields
from .group_quantization import Scheme, scheme_of, with_matrices
from .names import HUGGINGFACE, HUGGINGFACE_POST_NORMED, renamed
from .rope_scaling import rope_stretch
from .settings import read_object, read_text
from .shapes import check_heads, check_weights, expected_shapes
from .weights import Weight, Weights

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_TEXT_OF = {"gemma3": "text_config"}
"""Multimodal families, and the entry that may hold the settings of the language model."""
_FAMILY_OF = {"gemma3_text": "gemma3"} | {name: name for name in FAMILIES}
_ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_tanh": "gelu_tanh",
}
_IGNORED = ("rotary_emb.inv_freq", "vision_tower.", "multi_modal_projector.")
"""Parts of the names of tensors that do not belong to the language model."""
_FORMAT_OF = {str(row.dtype): row.name for row in FORMATS.values() if row.dtype is not None}


def read_huggingface_model(folder: str | os.PathLike[str]) -> tuple[TransformerConfig, Weights]:
    """Return the configuration of a folder's model and its mapped weights.

    Raises `OSError`, `WeightsError`, `ModelError` with all problems of the settings or of the weights, and
    `UnsupportedError` for unsupported families, mixtures of experts, and quantization other than GPTQ's and
    AWQ's.
    """
    path = Path(folder)
    entries = read_object(path / "config.json")
    name = _family(path, entries)
    scheme = scheme_of(os.fspath(path), entries)
    weights, unknown = _weights(path, FAMILIES[name], scheme)
    config = _config(path, name, entries)
    if config.tied_embeddings:
        weights.pop("output.weight", None)
    if scheme is not None:
        weights = _without_empty_biases(weights, expected_shapes(config))
    check_weights(os.fspath(path), config, weights, unknown)
    return config, weights


def huggingface_template(folder: str | os.PathLike[str]) -> str | None:
    """Return the chat template of a folder: a file of its own, or an entry of the tokenizer's settings.

    Of several templates it is the one called `default`; None if there is none. Raises `OSError`, `ModelError`.
    """
    file, settings = Path(folder, "chat_template.jinja"), Path(folder, "tokenizer_config.json")
    if file.exists():
        return read_text(file)
    entry = read_object(settings).get("chat_template") if settings.exists() else None
    if isinstance(entry, list):
        named = [each for each in entry if isinstance(each, dict) and each.get("name") == "default"]
        entry = named[0].get("template") if named else entry
    if entry is not None and not isinstance(entry, str):
        raise ModelError(f"'chat_template' of '{settings}' is not a text", found=repr(entry)[:80])
    return entry


def _family(path: Path, entries: Mapping[str, Any]) -> str:
    kind = entries.get("model_type")
    if not isinstance(kind, str) or kind not in _FAMILY_OF:
        raise UnsupportedError(
            f"'{path}' belongs to an unsupported model family", expected=", ".join(_FAMILY_OF), found=repr(kind)[:80]
        )
    if entries.get("num_local_experts") is not None:
        raise UnsupportedError(f"'{path}' has 'num_local_experts'", expected="one MLP a layer")
    return _FAMILY_OF[kind]


def _weights(path: Path, family: Family, scheme: Scheme | None) -> tuple[dict[str, Weight], list[str]]:
    """Return the tensors with a known name, and the names of the others."""
    arrays: Mapping[str, Any] = _arrays(path)
    if scheme is not None:
        arrays = with_matrices(os.fspath(path), arrays, scheme)
    table = HUGGINGFACE_POST_NORMED if family.post_norms else HUGGINGFACE
    weights: dict[str, Weight] = {}
    unknown: list[str] = []
    for name, array in arrays.items():
        if any(part in name for part in _IGNORED):
            continue
        one = renamed(_without_prefix(name), table)
        if one is None or one in weights:
            unknown.append(name)
        elif isinstance(array, Weight):
            weights[one] = array
        else:
            weights[one] = Weight(array.shape, _FORMAT_OF.get(str(array.dtype), str(array.dtype)), array)
    return weights, unknown


def _without_empty_biases(weights: Mapping[str, Weight], expected: Container[str]) -> dict[str, Weight]:
    """Drop all-zero biases that the model does not have; GPTQ's tools write one for every matrix."""
    return {
        name: weight
        for name, weight in weights.items()
        if name in expected or not name.endswith(".bias") or weight.data.any()
    }


def _without_prefix(name: str) -> str:
    """Return a weight's name without the prefix `language_model` of multimodal models."""
    if name.startswith("model.language_model."):
        return "model." + name.removeprefix("model.language_model.")
    return name.removeprefix("language_model.")


def _arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if not (path / _INDEX).exists():
        return read_weights(path / _WEIGHTS)
    shards = read_object(path / _INDEX, 1 << 28).get("weight_map")
    if not isinstance(shards, dict) or not all(_is_name(shard) for shard in shards.values()):
        raise ModelError(
            f"'{path / _INDEX}' is damaged", expected="weight_map: names of weights and of files beside it"
        )
    absent = [shard for shard in sorted(set(shards.values())) if not (path / shard).exists()]
    if absent:
        problem = f"{len(absent)} files of weights are missing in '{path}'"
        raise ModelError(problem, expected=", ".join(absent[:5]), hint="download the folder again, all of it")
    files = {shard: read_weights(path / shard) for shard in sorted(set(shards.values()))}
    missing = [f"'{name}' is not in '{shard}'" for name, shard in shards.items() if name not in files[shard]]
    if missing:
        raise ModelError(f"'{path / _INDEX}' names weights that are not there", notes=missing[:20])
    return {name: files[shard][name] for name, shard in shards.items()}


def _is_name(shard: object) -> bool:
    """Return whether `shard` is the name of a file in the same folder."""
    return isinstance(shard, str) and shard.endswith(".safetensors") and not {"/", "\\", "\0"} & set(shard)


def _config(path: Path, name: str, entries: Mapping[str, Any]) -> TransformerConfig:
    family, fields = FAMILIES[name], _fields(name, entries)
    hidden = fields.integer("hidden_size", high=MOST_HIDDEN)
    heads = fields.integer("num_attention_heads")
    layers = fields.integer("num_hidden_layers", high=MOST_LAYERS)
    head_size = fields.integer("head_dim", max(1, hidden // heads), high=MOST_HIDDEN)
    context = fields.integer("max_position_embeddings")
    window = _window(fields)
    turning = _rope_layers(fields, family, layers)
    biased = fields.flag("attention_bias", False)
    config = TransformerConfig(
        architecture=name,
        vocabulary_size=fields.integer("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=fields.integer("num_key_value_heads", heads),
        head_size=head_size,
        context_length=context,
        rope=_rope(fields, head_size, context),
        rope_layers=turning,
        norm_epsilon=fields.number("rms_norm_eps"),
        activation=_activation(fields, family),
        tied_embeddings=fields.flag("tie_word_embeddings", False),
        attention_bias=biased or family.attention_bias,
        attention_output_bias=biased and not family.attention_bias,
        mlp_bias=fields.flag("mlp_bias", False),
        qk_norm=family.qk_norm,
        post_norms=family.post_norms,
        norm_offset=family.norm_offset,
        embedding_scale=family.embedding_scale(hidden),
        attention_scale=_attention_scale(fields, head_size),
        sliding_window=window,
        sliding_layers=_sliding_layers(fields, family, layers, turning) if window else (),
        attention_softcap=fields.number("attn_logit_softcapping", None),
        logit_softcap=fields.number("final_logit_softcapping", None),
    )
    if fields.flag("use_bidirectional_attention", False):
        fields.problems.append(f"'{fields.prefix}use_bidirectional_attention': tokens see later ones")
    check_heads(config, fields)
    fields.finish(f"'{path / 'config.json'}'")
    return config


def _fields(name: str, entries: Mapping[str, Any]) -> Fields:
    """Return the entries of a family, with the family's defaults for missing ones."""
    fields, default = Fields(entries), FAMILIES[name].entries
    if fields.has(_TEXT_OF.get(name, "")):
        fields = fields.below(_TEXT_OF[name])
    known = {key: value for key, value in fields.entries.items() if key in COMMON or key in default}
    return Fields({**default, **known}, fields.prefix, fields.problems)


def _window(fields: Fields) -> int | None:
    """Return the size of the sliding window, or None if no layer has one. Qwen's files name one that is not used."""
    return fields.integer("sliding_window", None) if fields.flag("use_sliding_window", True) else None


def _rope_layers(fields: Fields, family: Family, layers: int) -> tuple[bool, ...]:
    """Return for each layer whether it rotates queries and keys; empty if all do."""
    if not family.rope_period:
        return ()
    turning = fields.entries.get("no_rope_layers")  # 0 where there is none, in spite of its name
    if turning is None:
        return all_but_each(fields.integer("no_rope_layer_interval", family.rope_period), layers)
    if not isinstance(turning, Sequence) or len(turning) < layers or any(each not in (0, 1) for each in turning):
        fields.problems.append(f"'{fields.prefix}no_rope_layers' is not 0 or 1 for each layer")
        return ()
    return tuple(bool(each) for each in turning[:layers])


def _sliding_layers(fields: Fields, family: Family, layers: int, turning: Sequence[bool]) -> tuple[bool, ...]:
    kinds = fields.entries.get("layer_types")
    if kinds is not None:
        known = ("sliding_attention", "full_attention")
        if not isinstance(kinds, Sequence) or len(kinds) != layers or any(kind not in known for kind in kinds):
            fields.problems.append(f"'layer_types' is not {' or '.join(known)} for each layer")
            return ()
        return tuple(kind == known[0] for kind in kinds)
    if turning:
        return tuple(not each for each in turning)
    if fields.has("max_window_layers"):
        first = fields.integer("max_window_layers", low=0)
        return tuple(i >= first for i in range(layers))
    return all_but_each(fields.integer("sliding_window_pattern", family.window_period, low=0), layers)


def _activation(fields: Fields, family: Family) -> Activation:
    """Return the activation. Gemma's first files call gelu_pytorch_tanh `gelu`."""
    key = "hidden_activation" if fields.has("hidden_activation") else "hidden_act"
    if family.scaled_embedding and fields.entries.get(key) == "gelu":
        return family.activation
    name = fields.choice(key, tuple(_ACTIVATIONS), None)
    return family.activation if name is None else _ACTIVATIONS[name]


def _attention_scale(fields: Fields, head_size: int) -> float | None:
    scalar = fields.number("query_pre_attn_scalar", None)
    return None if scalar is None or scalar == head_size else scalar**-0.5


def _rope(fields: Fields, head_size: int, context: int) -> Rope:
    """Return the rotary embedding. Newer files keep it in `rope_parameters`, per kind of layer if these differ."""
    scaling = fields.below("rope_scaling" if fields.entries.get("rope_scaling") else "rope_parameters")
    local = fields.number("rope_local_base_freq", None)
    if scaling.has("full_attention"):
        inner = scaling.below("sliding_attention")
        inner.choice("rope_type", ("default",), "default")
        local = inner.number("rope_theta", local)
        scaling = scaling.below("full_attention")
    theta = scaling.number("rope_theta", fields.number("rope_theta", 10_000.0))
    for part in (fields, scaling):
        if part.number("partial_rotary_factor", 1.0) != 1.0:
            part.problems.append(f"'{part.prefix}partial_rotary_factor' is other than 1, which these families are not")
    stretch = rope_stretch(scaling, theta, head_size, context)
    return Rope(theta, head_size, "halves", stretch.factors, stretch.magnitude, local)
