"""Vocabularies as GGUF files list them, with texts and types, and the common part of tokenizers based on them."""

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
"""Token types (`tokenizer.ggml.token_type`)."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The texts and types of tokens, by number."""

    texts: Sequence[str]
    kinds: Sequence[int]
    unknown: int | None

    @cached_property
    def ids(self) -> TextIndex:
        """The token numbers by text; for a duplicate text the last one."""
        return TextIndex(self.texts, last=True)

    def of_kinds(self, *kinds: int) -> dict[str, int]:
        """Return the tokens of the given types by text, without empty texts."""
        return {self.texts[i]: i for i, kind in enumerate(self.kinds) if kind in kinds and self.texts[i]}


class VocabularyTokenizer(Tokenizer):
    """A tokenizer with a vocabulary: special tokens are cut out first, the text between them is encoded on its own."""

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
    """Whether a leading space was added by the tokenizer and is dropped when decoding."""

    def bytes_of(self, token: int, special: bool = False) -> bytes:
        """Return the UTF-8 bytes of a token, possibly part of a character; none for special tokens unless `special`."""
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
        """Return the token for text that no token expresses. Raises `TokenizerError` if there is none."""
        if self.vocabulary.unknown is None:
            raise TokenizerError(
                "no token expresses a part of a text, and none stands for unknown ones", found=repr(text)
            )
        return self.vocabulary.unknown

    @abstractmethod
    def _encode_part(self, text: str, begins: bool) -> list[int]:
        """Return the tokens of text without special tokens; it `begins` at the start and after special tokens."""

    @abstractmethod
    def _bytes_of(self, token: int, text: str) -> bytes:
        """Return the bytes of a token of type NORMAL or BYTE."""


def _longest_match(texts: Mapping[str, int]) -> re.Pattern[str] | None:
    """Return a regular expression with one group that matches the longest of some texts; None if there are none."""
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
