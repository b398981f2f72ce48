"""Tokens with their texts and kinds, as GGUF files list them, and what tokenizers on such a list share."""

from __future__ import annotations

import codecs
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .base import SpecialTokens, TextStream, Tokenizer, TokenizerError
from .text_index import TextIndex

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Kinds of tokens (`tokenizer.ggml.token_type`)."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by number: their texts and kinds."""

    texts: Sequence[str]
    kinds: Sequence[int]
    unknown: int | None

    @cached_property
    def ids(self) -> TextIndex:
        """Number by text; the last where a text is listed twice."""
        return TextIndex(self.texts, last=True)

    def of_kinds(self, *kinds: int) -> dict[str, int]:
        """The tokens of some kinds that have a text, by it."""
        return {self.texts[i]: i for i, kind in enumerate(self.kinds) if kind in kinds and self.texts[i]}


class VocabularyTokenizer(Tokenizer):
    """A tokenizer on a list of tokens: special ones are cut out of a text first, the rest is tokenized by itself."""

    def __init__(self, vocabulary: Vocabulary, special: SpecialTokens):
        self.vocabulary = vocabulary
        self.special = special
        self.size = len(vocabulary.texts)
        own = vocabulary.of_kinds(USER_DEFINED)
        self._special = vocabulary.of_kinds(CONTROL, UNKNOWN)
        self._cut_out = {False: _longest_match(own), True: _longest_match(own | self._special)}

    @property
    def special_texts(self) -> Mapping[str, int]:
        return self._special

    def text_of(self, token: int) -> str:
        self._check_token(token)
        return self.vocabulary.texts[token]

    def stream(self, special: bool = False) -> TextStream:
        return _Stream(lambda token: self.bytes_of(token, special), self.drops_space)

    drops_space = False
    """Whether a space at the very beginning is the tokenizer's and not the text's."""

    def bytes_of(self, token: int, special: bool = False) -> bytes:
        """The bytes of a token in UTF-8, which may be a part of a character; none of special ones unless `special`."""
        self._check_token(token)
        kind, text = self.vocabulary.kinds[token], self.vocabulary.texts[token]
        if kind in (CONTROL, UNKNOWN, UNUSED):
            return text.encode() if special else b""
        return text.encode() if kind == USER_DEFINED else self._bytes_of(token, text)

    def _encode(self, text: str, special: bool, guard: str | None) -> list[int]:
        finder = self._cut_out[special]
        tokens: list[int] = []
        begins = True
        for i, part in enumerate(finder.split(text) if finder is not None else [text]):
            if i % 2:
                tokens.append(self.vocabulary.ids[part])
                begins = True
                continue
            part = part.replace(guard, "") if guard else part
            if part:
                tokens += self._encode_part(part, begins)
                begins = False
        return tokens

    def unknown_token(self, text: str) -> int:
        """The token for what no token expresses. Raises `TokenizerError` where there is none."""
        if self.vocabulary.unknown is None:
            raise TokenizerError(
                "no token expresses a part of a text, and none stands for unknown ones", found=repr(text)
            )
        return self.vocabulary.unknown

    @abstractmethod
    def _encode_part(self, text: str, begins: bool) -> list[int]:
        """The tokens of a text without special ones, which begins the whole or follows a special token."""

    @abstractmethod
    def _bytes_of(self, token: int, text: str) -> bytes:
        """The bytes of a token of normal kind, or of bytes."""


def _longest_match(texts: Mapping[str, int]) -> re.Pattern[str] | None:
    """An expression with one group that finds the longest of some texts; None where there are none."""
    if not texts:
        return None
    return re.compile("(" + "|".join(map(re.escape, sorted(texts, key=lambda text: (-len(text), text)))) + ")")


class _Stream(TextStream):
    def __init__(self, bytes_of: Callable[[int], bytes], drops_space: bool):
        self._bytes_of = bytes_of
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._drops_space = drops_space

    def push(self, token: int) -> str:
        data = self._bytes_of(token)
        if data and self._drops_space:
            self._drops_space = False
            data = data.removeprefix(b" ")
        return self._decoder.decode(data)

    def finish(self) -> str:
        return self._decoder.decode(b"", True)
