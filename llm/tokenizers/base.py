"""The interface of all tokenizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...frontend.importing.errors import ModelError

STOP_TEXTS = frozenset((
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<end_of_turn>", "<EOT>",
))  # fmt: skip
"""Tokens that always end a turn, whatever end token the file names: many chat models end turns with another
token than texts.
"""

CONTROL_TEXTS = STOP_TEXTS | {"<|im_start|>", "<start_of_turn>", "<|start_header_id|>", "<|end_header_id|>"}
"""Tokens that are always control tokens, whatever type the file gives them."""


class TokenizerError(ModelError):
    """Raised for an inconsistent tokenizer, or a text that it cannot encode."""


@dataclass(frozen=True)
class SpecialTokens:
    """The numbers of special tokens; None for those that do not exist.

    `stop` are the tokens that end an answer. `bos` begins a text if `add_bos`, `eos` ends it if `add_eos`.
    """

    bos: int | None
    eos: int | None
    stop: frozenset[int]
    add_bos: bool
    add_eos: bool


class TextStream(ABC):
    """Decodes tokens one by one into whole characters; incomplete ones are buffered."""

    @abstractmethod
    def push(self, token: int) -> str:
        """Add a token and return the text that it completes; empty if it ends within a character."""

    @abstractmethod
    def finish(self) -> str:
        """Return the buffered rest, with U+FFFD for incomplete characters."""


class Tokenizer(ABC):
    """Converts between text and tokens, which are numbers below `size`."""

    special: SpecialTokens
    size: int

    def encode(self, text: str, special: bool = False, guard: str | None = None) -> list[int]:
        """Return the tokens of a text, without `bos` and `eos`.

        With `special`, texts of special tokens become these tokens; untrusted text must not be encoded so. `guard`
        is a character that is removed after special tokens were matched, so that inserting it into such a text
        hides that text. Raises `TokenizerError` for invalid Unicode, and for text that no token can express.
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
        """Return the tokens of a text, with the `bos` and `eos` that the model expects."""
        tokens = self.encode(text, special, guard)
        bos, eos = self.special.bos, self.special.eos
        if self.special.add_bos and bos is not None and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return [*tokens, eos] if self.special.add_eos and eos is not None else tokens

    def decode(self, tokens: Iterable[int], special: bool = False) -> str:
        """Return the text of tokens, without special ones unless `special`. Raises `TokenizerError` if unknown."""
        stream = self.stream(special)
        return "".join([*map(stream.push, tokens), stream.finish()])

    @abstractmethod
    def stream(self, special: bool = False) -> TextStream:
        """Return a new stream. Its `push` raises `TokenizerError` for unknown tokens."""

    @abstractmethod
    def text_of(self, token: int) -> str:
        """Return the text of a token as the file spells it, for display. Raises `TokenizerError` if unknown."""

    @property
    @abstractmethod
    def special_texts(self) -> Mapping[str, int]:
        """The special tokens by text; they are matched only with `special`."""

    @abstractmethod
    def _encode(self, text: str, special: bool, guard: str | None) -> list[int]:
        """As `encode`, for valid Unicode."""

    def _check_token(self, token: int) -> None:
        if not 0 <= token < self.size:
            raise TokenizerError("there is no such token", expected=f"0 … {self.size - 1}", found=token)


def stop_tokens(ids: Mapping[str, int], ends: Sequence[int | None]) -> frozenset[int]:
    """Return the tokens that end a turn: those in `STOP_TEXTS`, and the `ends` that a file names."""
    return frozenset(ids[text] for text in STOP_TEXTS if text in ids) | {end for end in ends if end is not None}
