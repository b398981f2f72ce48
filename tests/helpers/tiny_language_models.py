"""Language models of a few thousand random numbers, as files of GGUF and as folders of Hugging Face."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tirax.llm.checkpoints import Rope, TransformerConfig, expected_shapes
from tirax.llm.checkpoints.names import ROWS
from tirax.llm.gguf import write_gguf
from tirax.runtime.safetensors import write_weights

TINY = TransformerConfig(
    architecture="llama",
    vocabulary_size=40,
    hidden_size=32,
    intermediate_size=64,
    layers=2,
    heads=4,
    kv_heads=2,
    head_size=8,
    context_length=64,
    rope=Rope(10_000.0, 8, "pairs"),
    norm_epsilon=1e-5,
)

SPEAKING = replace(TINY, vocabulary_size=300, context_length=512)
"""With as many tokens as the tokenizers below: the one shape that tests compile, since kernels are cached by it."""


def tiny(**changes: Any) -> TransformerConfig:
    """`TINY` with other fields."""
    return replace(TINY, **changes)


def random_weights(config: TransformerConfig, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """float32 weights of a model by the one names, small enough that nothing overflows."""
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(shape) * 0.2 + ("norm" in name)).astype("float32")
        for name, shape in expected_shapes(config).items()
    }


def gguf_name(name: str) -> str:
    """What GGUF calls a weight."""
    parts = name.split(".")
    number = parts[1] if parts[0] == "layers" else ""
    row = ".".join(["layers", "*", *parts[2:]] if number else parts)
    return next(r.gguf or "" for r in ROWS if r.name == row).replace("*", number)


def huggingface_name(name: str) -> str:
    """What Hugging Face calls a weight, in models without norms behind their parts."""
    parts = name.split(".")
    number = parts[1] if parts[0] == "layers" else ""
    row = ".".join(["layers", "*", *parts[2:]] if number else parts)
    return next(r.huggingface or "" for r in ROWS if r.name == row).replace("*", number)


def gguf_metadata(config: TransformerConfig) -> dict[str, Any]:
    """What a file says of the model."""
    entries = {
        "block_count": config.layers,
        "context_length": config.context_length,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.heads,
        "attention.head_count_kv": config.kv_heads,
        "attention.key_length": config.head_size,
        "attention.value_length": config.head_size,
        "attention.layer_norm_rms_epsilon": config.norm_epsilon,
        "rope.freq_base": config.rope.theta,
        "rope.dimension_count": config.rope.size,
        "vocab_size": config.vocabulary_size,
    }
    if config.sliding_window is not None:
        entries["attention.sliding_window"] = config.sliding_window
    named = {f"{config.architecture}.{key}": value for key, value in entries.items()}
    return {"general.architecture": config.architecture} | named


def write_tiny_gguf(
    path: Path, config: TransformerConfig = TINY, extra: Mapping[str, Any] | None = None, seed: int = 0
) -> Path:
    """A file of the model with float32 weights; `extra` is metadata besides (a tokenizer's)."""
    weights = random_weights(config, seed)
    write_gguf(path, gguf_metadata(config) | dict(extra or {}), {gguf_name(n): w for n, w in weights.items()})
    return path


def huggingface_settings(config: TransformerConfig) -> dict[str, Any]:
    """The `config.json` of a model of the family of Llama."""
    return {
        "model_type": config.architecture,
        "vocab_size": config.vocabulary_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_size,
        "max_position_embeddings": config.context_length,
        "rms_norm_eps": config.norm_epsilon,
        "rope_theta": config.rope.theta,
        "tie_word_embeddings": config.tied_embeddings,
        "hidden_act": "silu",
    }


def write_tiny_folder(folder: Path, config: TransformerConfig = TINY, shards: int = 1, **settings: Any) -> Path:
    """A folder of the model, its weights in so many files; `settings` are entries of `config.json` besides."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(huggingface_settings(config) | settings))
    weights = {huggingface_name(n): w for n, w in random_weights(config).items()}
    if shards == 1:
        write_weights(folder / "model.safetensors", weights)
        return folder
    place = {name: f"model-{i % shards}.safetensors" for i, name in enumerate(weights)}
    for file in set(place.values()):
        write_weights(folder / file, {n: w for n, w in weights.items() if place[n] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": place}))
    return folder


MERGES = ("h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld", "Ã ¤", "1 2")


def byte_pair_metadata(pre: str = "smollm", **entries: Any) -> dict[str, Any]:
    """The tokenizer of a file: 3 special tokens, one of a user's, 256 bytes and what `MERGES` make of them."""
    from tirax.llm.tokenizers.byte_pairs import byte_characters

    texts = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<own>", *byte_characters()]
    texts += [merge.replace(" ", "") for merge in MERGES]
    kinds = np.ones(len(texts), "int32")
    kinds[:4] = 3, 3, 3, 4
    named = {
        "model": "gpt2",
        "pre": pre,
        "tokens": tuple(texts),
        "token_type": kinds,
        "merges": MERGES,
        "bos_token_id": 1,
        "eos_token_id": 2,
    } | entries
    return {f"tokenizer.ggml.{key}": value for key, value in named.items() if value is not None}


def sentence_piece_metadata(**entries: Any) -> dict[str, Any]:
    """The tokenizer of a file: unknown, begin and end, 256 bytes, a few letters and pieces of "hello world"."""
    pieces = {"▁": -9, "h": -8, "e": -7, "l": -6, "o": -5, "w": -10, "r": -11, "d": -12, "he": -4, "ll": -3, "▁w": -2}
    pieces |= {"llo": -1.5, "hello": -1, "or": -3.5, "▁hello": -0.5, "ä": -20}
    texts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces, "<end_of_turn>", "\n\n"]
    kinds = np.array([2, 3, 3, *[6] * 256, *[1] * len(pieces), 3, 4], "int32")
    named = {
        "model": "llama",
        "tokens": tuple(texts),
        "token_type": kinds,
        "scores": np.array([0.0] * 259 + [*pieces.values(), 0.0, 0.0], "float32"),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    } | entries
    return {f"tokenizer.ggml.{key}": value for key, value in named.items() if value is not None}
