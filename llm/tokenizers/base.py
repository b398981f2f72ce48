"""What every tokenizer can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...frontend.importing.errors import ModelError

STOP_TEXTS = frozenset((
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<end_of_turn>", "<EOT>",
))  # fmt: skip
"""Tokens that end a turn, whatever a file says of its last token: chats end by another than texts do."""

CONTROL_TEXTS = STOP_TEXTS | {"<|im_start|>", "<start_of_turn>", "<|start_header_id|>", "<|end_header_id|>"}
"""Tokens that are no text, whatever kind a file says that they are of."""


class TokenizerError(ModelError):
    """A tokenizer that contradicts itself, or a text that it cannot express."""


@dataclass(frozen=True)
class SpecialTokens:
    """The tokens with a meaning of their own, by number, None where there is no such token.

    `stop` are those that end what a model says. `bos` begins a text, `eos` ends it, where `add_bos` and `add_eos`.
    """

    bos: int | None
    eos: int | None
    stop: frozenset[int]
    add_bos: bool
    add_eos: bool


class TextStream(ABC):
    """The text of tokens that come one by one: whole characters only, the rest is kept until it is whole."""

    @abstractmethod
    def push(self, token: int) -> str:
        """The text that a token makes whole; empty where it ends within a character."""

    @abstractmethod
    def finish(self) -> str:
        """What is left: U+FFFD for bytes that are no character."""


class Tokenizer(ABC):
    """Texts as tokens, which are numbers below `size`."""

    special: SpecialTokens
    size: int

    def encode(self, text: str, special: bool = False, guard: str | None = None) -> list[int]:
        """The tokens of a text, without any around it.

        Texts of special tokens in it are these tokens only where `special`: a text of a stranger's must not have them.
        `guard` is a character that is dropped, after special tokens were looked for: within the text of one it hides
        it. Raises `TokenizerError` where the text is no Unicode, or has what no token expresses.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            surrogate = f"U+{ord(text[error.start]):04X} at {error.start}"
            raise TokenizerError(
                "a text has half of a surrogate pair", expected="characters", found=surrogate
            ) from error
        return self._encode(text, special, guard)

    def prompt(self, text: str, special: bool = False, guard: str | None = None) -> list[int]:
        """The tokens of a text with those around it that the model expects."""
        tokens = self.encode(text, special, guard)
        bos, eos = self.special.bos, self.special.eos
        if self.special.add_bos and bos is not None and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return [*tokens, eos] if self.special.add_eos and eos is not None else tokens

    def decode(self, tokens: Iterable[int], special: bool = False) -> str:
        """The text of tokens, of special ones only where `special`. Raises `TokenizerError` for numbers of none."""
        stream = self.stream(special)
        return "".join([*map(stream.push, tokens), stream.finish()])

    @abstractmethod
    def stream(self, special: bool = False) -> TextStream:
        """A stream that begins. Its `push` raises `TokenizerError` for numbers of no token."""

    @abstractmethod
    def text_of(self, token: int) -> str:
        """The text of one token as its file has it, to look at. Raises `TokenizerError` for numbers of none."""

    @property
    @abstractmethod
    def special_texts(self) -> Mapping[str, int]:
        """The tokens that texts have only where they are asked for, by their texts."""

    @abstractmethod
    def _encode(self, text: str, special: bool, guard: str | None) -> list[int]:
        """As `encode`, of a text that is Unicode."""

    def _check_token(self, token: int) -> None:
        if not 0 <= token < self.size:
            raise TokenizerError("there is no such token", expected=f"0 … {self.size - 1}", found=token)


def stop_tokens(ids: Mapping[str, int], ends: Sequence[int | None]) -> frozenset[int]:
    """The tokens that end a turn, among tokens by their texts, and those that a file names."""
    return frozenset(ids[text] for text in STOP_TEXTS if text in ids) | {end for end in ends if end is not None}
