"""`tirax inspect` of GGUF files, with any kind of model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..diagnostics import TiraxError
from ..llm.gguf import GgufFile, Texts, open_gguf

EXTENSION = ".gguf"
_MOST_TEXT = 60
"""Limit on the characters of a value."""


def gguf_text(path: str) -> str:
    """Describe the version, the architecture, metadata, tensors by format, and whether the model is supported.

    Texts of the file are quoted, so that control characters are not printed. Raises `OSError`, `GgufError`.
    """
    file = open_gguf(path)
    total = sum(tensor.nbytes for tensor in file.tensors.values())
    lines = [f"GGUF version {file.version}, architecture {file.architecture!r}", f"metadata: {len(file.metadata)}"]
    lines += [f"  {_shortened(key)}: {_shown(value)}" for key, value in file.metadata.items()]
    lines += [f"tensors: {len(file.tensors)}, {total} bytes", *_formats(file), _verdict(path)]
    return "\n".join(lines)


def _formats(file: GgufFile) -> list[str]:
    """Return a line for each format: the numbers of tensors, of elements and of bytes."""
    counts: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in file.tensors.values():
        counts[tensor.format] += 1
        numbers[tensor.format] += int(np.prod(tensor.shape, dtype=np.float64))
        sizes[tensor.format] += tensor.nbytes
    return [
        f"  {name}: {count} tensors, {numbers[name]} numbers, {sizes[name]} bytes"
        for name, count in counts.most_common()
    ]


def _verdict(path: str) -> str:
    """Describe the language model in a file, or why it is not supported."""
    from ..llm.checkpoints import load_language_model

    try:
        config = load_language_model(path).config
    except TiraxError as error:
        return f"no language model that runs: {error.message}" + "".join(f"\n  {note}" for note in error.notes)
    heads = f"{config.heads} heads of {config.head_size}, {config.kv_heads} of keys and values"
    sizes = f"hidden size {config.hidden_size}, intermediate size {config.intermediate_size}"
    return f"language model: {config.layers} layers, {sizes}, {heads}, vocabulary {config.vocabulary_size}"


def _shown(value: Any) -> str:
    if isinstance(value, tuple | Texts):
        return f"{len(value)} texts: {', '.join(_shortened(text) for text in value[:3])}{', …' * (len(value) > 3)}"
    if isinstance(value, np.ndarray):
        return f"{len(value)} numbers ({value.dtype.name})"
    return _shortened(value) if isinstance(value, str) else repr(value)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…")
