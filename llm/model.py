"""`LanguageModel`: a model from a file, which reads and writes text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .cache import PAGE_SIZE, PagedKVCache
from .checkpoints import LanguageModelFile, TransformerConfig, load_language_model
from .compiled import CompiledDecoder
from .sampling import Sampling
from .session import ContextOverflowError, Session
from .stopping import Writer
from .subprocess_compile import Settings, compile_in_subprocess, decoder_of
from .tokenizers import Tokenizer
from .weights import prepared

Array = np.ndarray[Any, Any]
GREEDY = Sampling()
MOST_CONTEXT = 8192
"""Positions of a context, where nobody says how many."""


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model, compiled, and its tokenizer.

    model = LanguageModel.load("model.gguf")
    for text in model.generate("Once upon a time", max_tokens=50):
        print(text, end="", flush=True)
    """

    file: LanguageModelFile
    decoder: CompiledDecoder

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        *,
        cache_dtype: str = "float16",
        activation: str = "int8",
        dequantize: bool = False,
        page_size: int = PAGE_SIZE,
        target: str | None = None,
    ) -> LanguageModel:
        """A model from a GGUF file, or from a folder with `config.json` and weights in safetensors.

        `cache_dtype` is that of keys and values, float16 or float32, `page_size` the positions of a page of them. With
        `activation` "int8" what is multiplied by weights in blocks is rounded to bytes first, which is faster;
        `dequantize` makes float32 of blocks and halves, which takes memory. Steps are compiled when
        they are first used. Raises what `llm.checkpoints.load_language_model` does, `DTypeError` for another dtype,
        `UnsupportedError` for weights of a format that is none of `BLOCK_FORMATS`.
        """
        settings = Settings(cache_dtype, activation, dequantize, page_size, target)
        file = load_language_model(path)
        decoder = decoder_of(file, settings)
        weights = prepared(file.config, file.weights, decoder.formats)
        return LanguageModel(
            file, CompiledDecoder(decoder, weights, target, partial(compile_in_subprocess, file.path, settings))
        )

    @property
    def config(self) -> TransformerConfig:
        """What the model consists of."""
        return self.file.config

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the file. Raises as `LanguageModelFile.tokenizer`."""
        return self.file.tokenizer

    def session(self, context: int | None = None, sequences: int = 1) -> Session:
        """A cache for `sequences` of `context` tokens each, by default of 8192, or of as many as the model has.

        Raises `ContextOverflowError` for more than the model was made for.
        """
        most = self.config.context_length
        length = min(most, MOST_CONTEXT) if context is None else context
        if length > most:
            message = "a context of more positions than the model was made for"
            raise ContextOverflowError(message, expected=f"at most {most}", found=length)
        cache = PagedKVCache.create(self.decoder.decoder.layout, sequences * length)
        return Session(self.decoder, cache, length)

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int | None = None,
        sampling: Sampling = GREEDY,
        context: int | None = None,
        special: bool = False,
        stop: Sequence[str] = (),
    ) -> Iterator[str]:
        """What comes after a text, as it is written: parts of whole characters.

        It ends behind `max_tokens` tokens, where the model ends it, before one of the texts of `stop`, or with the
        context. Special tokens in the prompt are taken for such where `special`. Raises `ContextOverflowError` for a
        prompt that is longer than the context, `TokenizerError`, and `TiraxError` for an empty text to stop at.
        """
        for _, text in self.generate_batch(
            [prompt], max_tokens=max_tokens, sampling=sampling, context=context, special=special, stop=stop
        ):
            yield text

    def generate_batch(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int | None = None,
        sampling: Sampling = GREEDY,
        context: int | None = None,
        special: bool = False,
        stop: Sequence[str] = (),
    ) -> Iterator[tuple[int, str]]:
        """As `generate`, of several texts at once: (which one, what comes next of it). Each is what it is alone, but
        that with a temperature each has random numbers of its own."""
        writers = [Writer(self.tokenizer, stop) for _ in prompts]
        session = self.session(context, max(1, len(prompts)))
        writing: dict[int, tuple[int, Writer]] = {}
        logits: dict[int, Array] = {}
        for number, (prompt, writer) in enumerate(zip(prompts, writers, strict=True)):
            sequence = session.begin()
            writing[sequence] = number, writer
            logits[sequence] = session.read(sequence, self.tokenizer.prompt(prompt, special))
        ends, size, ended = self.tokenizer.special.stop, self.tokenizer.size, set[int]()
        for sequence, token in session.generate(logits, sampling, ends, max_tokens, size, ended):
            number, writer = writing[sequence]
            text = writer.push(token)
            if writer.is_ended:
                ended.add(sequence)
            if text:
                yield number, text
        for number, writer in writing.values():
            rest = writer.finish()
            if rest:
                yield number, rest

    def logits(self, text: str, special: bool = False) -> Array:
        """The logits behind each token of a text: `(tokens, vocabulary)`, float32."""
        session = self.session()
        return session.score(session.begin(), self.tokenizer.prompt(text, special))

    def export_library(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        weights: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a library for C with `prefill` and `decode` of one sequence: docs/deploying.md.

        Weights lie in it, or in the file `weights`. Arguments are those of `llm.nn.decoder.Decoder`. Raises as
        `Executable.export_library`.
        """
        self.decoder.bound().export_library(path, header=header, weights=weights)
