"""`LanguageModel`: a compiled model from a file that reads and generates text."""

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
"""Default limit on the positions of a context."""


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
        """Load a model from a GGUF file, or from a folder with `config.json` and weights in safetensors.

        `cache_dtype` is the dtype of cached keys and values, float16 or float32, and `page_size` the positions in a
        page. With `activation` "int8", operands of products with block-quantized weights are first rounded to int8,
        which is faster. `dequantize` converts blocks and halves to float32, which takes more memory. Steps are
        compiled on first use. Raises what `llm.checkpoints.load_language_model` raises, `DTypeError` for another
        cache dtype, and `UnsupportedError` for weights in a format that is not in `BLOCK_FORMATS`.
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
        """The configuration of the model."""
        return self.file.config

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the file. Raises as `LanguageModelFile.tokenizer`."""
        return self.file.tokenizer

    def session(self, context: int | None = None, sequences: int = 1) -> Session:
        """Return a session for `sequences` of `context` tokens each (default: 8192, or fewer if the model has fewer).

        Raises `ContextOverflowError` for more positions than the model was trained for.
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
        """Yield the continuation of a prompt as it is generated, in pieces of whole characters.

        It stops after `max_tokens` tokens, at the model's end token, before one of the texts of `stop`, or when the
        context is full. With `special`, texts of special tokens in the prompt are read as these tokens. Raises
        `ContextOverflowError` for a prompt longer than the context, `TokenizerError`, and `TiraxError` for an empty
        stop text.
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
        """As `generate` for several prompts at once: yield (index of the prompt, next piece of its text).

        Each result equals that of `generate`, except that with a temperature every prompt has its own random
        numbers.
        """
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
        """Return the logits after each token of a text: `(tokens, vocabulary)`, float32."""
        session = self.session()
        return session.score(session.begin(), self.tokenizer.prompt(text, special))

    def export_library(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        weights: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a C library with `prefill` and `decode` for one sequence (docs/deploying.md).

        The weights are part of the library, or go into the file `weights`. The arguments are those of
        `llm.nn.decoder.Decoder`. Raises as `Executable.export_library` does.
        """
        self.decoder.bound().export_library(path, header=header, weights=weights)
