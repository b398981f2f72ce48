"""Token sequences that a compiled model reads and continues, with their KV cache."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diagnostics import TiraxError
from ..runtime.result_pool import release_memory
from .cache import PagedKVCache
from .compiled import CompiledDecoder
from .sampling import Sampler, Sampling

Array = np.ndarray[Any, Any]
CHUNK = 512
"""Tokens of a prompt processed at once: a compromise between memory and speed."""


class ContextOverflowError(TiraxError, ValueError):
    """Raised for more tokens than the model, or its cache, has positions for."""


@dataclass
class _Running:
    """A sequence that is being generated."""

    sequence: int
    sampler: Sampler
    logits: Array
    count: int = 0


@dataclass
class Session:
    """Sequences in one cache: `read` tokens, `fork` a sequence, `generate` the continuation."""

    decoder: CompiledDecoder
    cache: PagedKVCache
    context: int
    """The maximum number of positions of a sequence."""
    _next: int = field(default=0)

    def begin(self) -> int:
        """Return a new, empty sequence."""
        self._next += 1
        self.cache.add_sequence(self._next)
        return self._next

    def fork(self, sequence: int, position: int = -1) -> int:
        """Return a new sequence that starts with `position` tokens of another one (-1: with all of them)."""
        self._next += 1
        self.cache.fork_sequence(sequence, self._next, position)
        return self._next

    def rollback(self, sequence: int, count: int) -> None:
        """Remove the last `count` tokens of a sequence."""
        self.cache.popn(sequence, count)

    def end(self, sequence: int) -> None:
        """Remove a sequence."""
        self.cache.remove_sequence(sequence)

    def read(self, sequence: int, tokens: Sequence[int]) -> Array:
        """Append tokens to a sequence and return the next logits, `(vocabulary,)`.

        Raises `ContextOverflowError` for too many tokens, `TiraxError` for none or unknown ones.
        """
        self._check_tokens(sequence, tokens)
        logits: Array | None = None
        for begin in range(0, len(tokens), CHUNK):
            part = np.asarray(tokens[begin : begin + CHUNK], np.int32)
            logits = self.decoder.step(self.cache, [sequence], part[None])[0]
        assert logits is not None
        if len(tokens) > 1:
            release_memory()  # writing needs a hundredth of what reading a prompt does
        return logits

    def score(self, sequence: int, tokens: Sequence[int]) -> Array:
        """As `read`, but return the logits after each token, `(tokens, vocabulary)`."""
        self._check_tokens(sequence, tokens)
        parts = [np.asarray(tokens[i : i + CHUNK], np.int32)[None] for i in range(0, len(tokens), CHUNK)]
        return np.concatenate([self.decoder.score(self.cache, [sequence], part)[0] for part in parts])

    def generate(
        self,
        logits: Mapping[int, Array],
        sampling: Sampling,
        stop: frozenset[int] = frozenset(),
        max_tokens: int | None = None,
        size: int | None = None,
        ended: Container[int] = frozenset(),
    ) -> Iterator[tuple[int, int]]:
        """Continue several sequences at once from the logits of their next tokens; yield (sequence, token).

        A sequence stops at a token of `stop`, which is not yielded, after `max_tokens` tokens, at the end of the
        context, and when the caller adds it to `ended`. The last token of each sequence is not read. Only tokens
        below `size` are drawn: models may have more embeddings than tokens. Raises `CacheFullError` if the cache is
        full.
        """
        running = [_Running(s, Sampler(sampling, i), each) for i, (s, each) in enumerate(logits.items())]
        while running:
            going: list[_Running] = []
            tokens: list[int] = []
            for each in running:
                if max_tokens is not None and each.count >= max_tokens:
                    continue
                token = each.sampler(each.logits[:size])
                if token in stop:
                    continue
                each.count += 1
                yield each.sequence, token
                if each.sequence in ended:
                    continue
                if self.cache.length(each.sequence) < self.context and each.count != max_tokens:
                    going.append(each)
                    tokens.append(token)
            running = going
            if running:
                self._advance(running, tokens)

    def _advance(self, running: Sequence[_Running], tokens: Sequence[int]) -> None:
        """Read one token of each sequence."""
        each = self.decoder.step(self.cache, [r.sequence for r in running], np.asarray(tokens, np.int32)[:, None])
        for one, logits in zip(running, each, strict=True):
            one.logits = logits

    def _check_tokens(self, sequence: int, tokens: Sequence[int]) -> None:
        """Raise for tokens that cannot be read."""
        length = self.cache.length(sequence)
        if not len(tokens):
            raise TiraxError("there is nothing to read", expected="a token at least")
        if length + len(tokens) > self.context:
            raise ContextOverflowError(
                f"{length + len(tokens)} tokens are more than the context has",
                expected=f"at most {self.context}",
                found=f"{len(tokens)} behind {length}",
                hint="a shorter text, or a larger context",
            )
        vocabulary = self.decoder.config.vocabulary_size
        if min(tokens) < 0 or max(tokens) >= vocabulary:
            raise TiraxError(
                "tokens that the model does not have",
                expected=f"0 … {vocabulary - 1}",
                found=(min(tokens), max(tokens)),
            )
