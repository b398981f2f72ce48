"""A conversation with a model, which reuses the cache from message to message."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .model import GREEDY, LanguageModel
from .sampling import Sampling
from .session import ContextOverflowError, Session
from .stopping import StopTexts, Writer


@dataclass
class Speed:
    """Token counts and seconds of reading the prompt and of generating the answer."""

    read: int = 0
    reading: float = 0.0
    written: int = 0
    writing: float = 0.0

    def __str__(self) -> str:
        parts = ((self.read, "read", self.reading), (self.written, "written", self.writing))
        return ", ".join(f"{n} tokens {what} ({n / max(seconds, 1e-9):.1f}/s)" for n, what, seconds in parts)


@dataclass
class Conversation:
    """The messages of a conversation, after a `system` message if there is one. With `raw`, texts are
    concatenated without a template.

    Answers also end before the texts of `stop`. Raises as `LanguageModel.session` does, `TiraxError` for an
    empty stop text, and, before anything is compiled, `ChatTemplateError` for a model without a chat template and
    `MissingPackage` if its template needs jinja2.
    """

    model: LanguageModel
    system: str | None = None
    sampling: Sampling = GREEDY
    max_tokens: int | None = None
    context: int | None = None
    raw: bool = False
    stop: Sequence[str] = ()
    speed: Speed = field(default_factory=Speed)
    """The speed of the last answer."""

    def __post_init__(self) -> None:
        StopTexts(self.stop)
        if not self.raw:
            self.model.file.chat_template.require_usable()
        self._session: Session = self.model.session(self.context)
        self.restart()

    def restart(self) -> None:
        """Forget all messages."""
        self._session.cache.clear()
        self._sequence = self._session.begin()
        self._read: list[int] = []
        """The tokens of the sequence."""
        self._text: list[int] = []
        """Of a raw text, those so far."""
        self._messages = [] if self.system is None else [{"role": "system", "content": self.system}]

    @property
    def is_full(self) -> bool:
        """Whether the last answer reached the end of the context."""
        return self._session.cache.length(self._sequence) >= self._session.context

    def say(self, text: str) -> Iterator[str]:
        """Yield the model's answer as it is generated. If the caller stops early, the answer so far is kept.

        Raises `ContextOverflowError` if the conversation exceeds the context, and then keeps nothing of the
        message; `ChatTemplateError`, `TokenizerError`.
        """
        tokens = self._tokens(text)
        answer: list[str] = []
        written: list[int] = []
        writer = Writer(self.model.tokenizer, self.stop)
        self.speed = Speed()
        logits = self._prefill(tokens)
        try:
            yield from self._answer(logits, writer, answer, written)
        finally:
            reply = "".join(answer)  # tokens of a text to stop at are no part of it
            self._text = [*tokens, *(self.model.tokenizer.encode(reply) if writer.is_ended else written)]
            self._messages = [*self._with_question(text), {"role": "assistant", "content": reply}]

    def _with_question(self, text: str) -> list[dict[str, str]]:
        return [*self._messages, {"role": "user", "content": text}]

    def _tokens(self, text: str) -> list[int]:
        """Return all tokens up to the beginning of the answer."""
        if not self.raw:
            return self.model.file.chat_template.tokens(self._with_question(text))
        tokenizer = self.model.tokenizer
        return [*self._text, *(tokenizer.encode(text) if self._text else tokenizer.prompt(text))]

    def _prefill(self, tokens: Sequence[int]) -> Any:
        """Process the tokens that are not in the cache yet, and return the next logits."""
        if len(tokens) > self._session.context:
            raise ContextOverflowError(
                "the conversation is longer than the context",
                expected=f"at most {self._session.context} tokens",
                found=len(tokens),
                hint="begin a new one, or take a larger context",
            )
        most = min(len(self._read), len(tokens) - 1)
        same = next((i for i in range(most) if self._read[i] != tokens[i]), most)
        self._read = self._read[:same]
        # If reading was interrupted, the cache has more tokens than are recorded here.
        self._session.rollback(self._sequence, self._session.cache.length(self._sequence) - same)
        begin = time.perf_counter()
        logits = self._session.read(self._sequence, tokens[same:])
        self._read = list(tokens)
        self.speed.read, self.speed.reading = len(tokens) - same, time.perf_counter() - begin
        return logits

    def _answer(self, logits: Any, writer: Writer, answer: list[str], written: list[int]) -> Iterator[str]:
        tokenizer, ended = self.model.tokenizer, set[int]()
        going_on = self._session.generate(
            {self._sequence: logits}, self.sampling, tokenizer.special.stop, self.max_tokens, tokenizer.size, ended
        )
        begin = time.perf_counter()
        try:
            for _, token in going_on:
                self.speed.written += 1
                self.speed.writing = time.perf_counter() - begin
                written.append(token)
                text = writer.push(token)
                if writer.is_ended:
                    ended.add(self._sequence)
                if text:
                    answer.append(text)
                    yield text
            rest = writer.finish()
            if rest:
                answer.append(rest)
                yield rest
        finally:
            kept = self._session.cache.length(self._sequence) - len(self._read)
            self._read += written[:kept]
