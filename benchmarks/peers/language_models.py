"""A language model of tirax and of llama.cpp, which answer by the same methods; each library is imported when used."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tirax:
    """A model of tirax with a cache of `context` positions; `options` are those of `LanguageModel.load`."""

    def __init__(self, path: str, context: int, **options: Any):
        from tirax.llm import LanguageModel

        self.model = LanguageModel.load(path, **options)
        self.session = self.model.session(context)
        self.sequence = self.session.begin()

    def tokens(self, text: str) -> list[int]:
        """The tokens of a prompt."""
        return self.model.tokenizer.prompt(text)

    def restart(self) -> None:
        """Forget what was read."""
        self.session.end(self.sequence)
        self.sequence = self.session.begin()

    def read(self, tokens: list[int]) -> np.ndarray:
        """The logits behind further tokens: (vocabulary,) float32."""
        return self.session.read(self.sequence, tokens)


class LlamaCpp:
    """The same model of llama.cpp; `options` are those of `Llama`."""

    def __init__(self, path: str, context: int, **options: Any):
        import llama_cpp

        self.library = llama_cpp
        self.model = llama_cpp.Llama(path, n_ctx=context, verbose=False, **options)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a prompt."""
        return self.model.tokenize(text.encode(), add_bos=True, special=False)

    def restart(self) -> None:
        """Forget what was read."""
        self.model.reset()

    def read(self, tokens: list[int]) -> np.ndarray:
        """The logits behind further tokens: (vocabulary,) float32."""
        self.model.eval(tokens)
        logits = self.library.llama_get_logits_ith(self.model.ctx, -1)
        return np.ctypeslib.as_array(logits, (self.model.n_vocab(),)).copy()
