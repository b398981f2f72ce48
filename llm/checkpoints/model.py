"""A language model as loaded from its file or folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...frontend.importing.errors import ModelError
from ..chat import ChatTemplate
from ..tokenizers import Tokenizer, TokenizerError, gguf_tokenizer, huggingface_tokenizer
from .config import TransformerConfig
from .from_gguf import read_gguf_model
from .from_huggingface import huggingface_template, read_huggingface_model
from .weights import Weights

_TEMPLATE = "tokenizer.chat_template"


@dataclass(frozen=True, eq=False)
class LanguageModelFile:
    """The contents of a model's file or folder.

    `weights` are exactly the weights that `config` requires, by the names of `names.ROWS` and with the shapes
    of `expected_shapes(config)`: read-only, mapped into memory, in the format of the file.
    """

    path: str
    config: TransformerConfig
    weights: Weights
    metadata: Mapping[str, Any] | None = None
    """All metadata of a GGUF file; None for a folder."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, read on first use.

        Raises what `gguf_tokenizer` and `huggingface_tokenizer` raise, and `TokenizerError` if the model has no
        embedding for some tokens.
        """
        if self.metadata is not None:
            tokenizer = gguf_tokenizer(self.path, self.metadata)
        else:
            tokenizer = huggingface_tokenizer(self.path)
        if tokenizer.size > self.config.vocabulary_size:
            expected = f"at most {self.config.vocabulary_size} tokens"
            raise TokenizerError(
                f"'{self.path}' has more tokens than its model", expected=expected, found=tokenizer.size
            )
        return tokenizer

    @cached_property
    def chat_template(self) -> ChatTemplate:
        """The chat template of the model. Raises as `tokenizer` does, and `ModelError` for invalid settings."""
        text = huggingface_template(self.path) if self.metadata is None else self.metadata.get(_TEMPLATE)
        if text is not None and not isinstance(text, str):
            raise ModelError(f"'{_TEMPLATE}' of '{self.path}' is not a text", found=repr(text)[:80])
        return ChatTemplate(text, self.tokenizer)


def load_language_model(path: str | os.PathLike[str]) -> LanguageModelFile:
    """Load a model from a GGUF file, or from a folder with `config.json` and weights in safetensors.

    The weights are mapped, not read. Raises `OSError`; `ModelError` (`GgufError`, `WeightsError` of
    runtime.safetensors) for damaged or inconsistent files, with all problems of a kind; `UnsupportedError` for
    unsupported families.
    """
    name = os.fspath(path)
    if os.path.isdir(path):
        if not Path(path, "config.json").exists():
            raise ModelError(f"'{name}' is not a language model folder", expected="config.json and *.safetensors")
        return LanguageModelFile(name, *read_huggingface_model(path))
    config, weights, file = read_gguf_model(path)
    return LanguageModelFile(name, config, weights, file.metadata)
