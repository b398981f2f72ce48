"""A language model as its file has it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..importing.errors import ModelError
from .config import TransformerConfig
from .from_gguf import read_gguf_model
from .from_huggingface import read_huggingface_model
from .weights import Weights


@dataclass(frozen=True, eq=False)
class LanguageModelFile:
    """What a file, or a folder, says of a model.

    `weights` are all that `config` asks for and no others, by the names of `names.ROWS` and of the shapes that
    `expected_shapes(config)` has, mapped into memory: read-only, in the format of the file.
    """

    path: str
    config: TransformerConfig
    weights: Weights


def load_language_model(path: str | os.PathLike[str]) -> LanguageModelFile:
    """A model from a GGUF file, or from a folder with `config.json` and weights in safetensors.

    Nothing of the weights is read. Raises `OSError`; `ModelError` (`GgufError`, `WeightsError` of runtime.safetensors)
    for what is damaged or contradicts itself, with all problems of a kind; `UnsupportedError` for other families.
    """
    name = os.fspath(path)
    if os.path.isdir(path):
        if not Path(path, "config.json").exists():
            raise ModelError(f"'{name}' is no folder of a language model", expected="config.json and *.safetensors")
        return LanguageModelFile(name, *read_huggingface_model(path))
    config, weights, _ = read_gguf_model(path)
    return LanguageModelFile(name, config, weights)
