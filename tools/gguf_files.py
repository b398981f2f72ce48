"""What `tirax inspect` says of a GGUF file, whatever kind of model is in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..diagnostics import TiraxError
from ..llm.gguf import GgufFile, Texts, open_gguf

EXTENSION = ".gguf"
_MOST_TEXT = 60
"""Characters of a value."""


def gguf_text(path: str) -> str:
    """The version, the architecture, metadata, tensors by their formats, and whether it can be run.

    Texts of the file are quoted, so that they print as themselves. Raises `OSError`, `GgufError`.
    """
    file = open_gguf(path)
    total = sum(tensor.nbytes for tensor in file.tensors.values())
    lines = [f"GGUF version {file.version}, architecture {file.architecture!r}", f"metadata: {len(file.metadata)}"]
    lines += [f"  {_shortened(key)}: {_shown(value)}" for key, value in file.metadata.items()]
    lines += [f"tensors: {len(file.tensors)}, {total} bytes", *_formats(file), _verdict(path)]
    return "\n".join(lines)


def _formats(file: GgufFile) -> list[str]:
    """A line for each format: how many tensors, how many numbers, bytes."""
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
    """Whether the language model of a file is one that runs, and what it consists of."""
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
