"""Byte-level byte-pair encoding as in GPT-2: bytes are mapped to printable characters, pairs are merged by rank."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .base import SpecialTokens
from .merging import merged
from .splitting import split
from .text_index import TextIndex
from .vocabulary import Vocabulary, VocabularyTokenizer

_MOST_KEPT = 1 << 15
"""Limit on the words whose tokens are cached."""


def byte_characters() -> list[str]:
    """Return the character of each byte: itself if it is printable in Latin-1, else the next one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


_CHARACTERS = byte_characters()
_BYTES = {character: byte for byte, character in enumerate(_CHARACTERS)}


class BytePairTokenizer(VocabularyTokenizer):
    """A byte-level BPE tokenizer. `merges` are pairs "left right" in order of rank; `splitting` cuts texts into words.

    With `ignore_merges`, a word that is a token is not built by merges (Llama 3).
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        special: SpecialTokens,
        merges: Sequence[str],
        splitting: tuple[re.Pattern[str], ...],
        ignore_merges: bool,
    ):
        super().__init__(vocabulary, special)
        self._ranks = TextIndex(merges)
        self._splitting = splitting
        self._ignore_merges = ignore_merges
        self._kept: dict[str, list[int]] = {}

    def _encode_part(self, text: str, begins: bool) -> list[int]:
        tokens: list[int] = []
        for word in split(text, self._splitting):
            known = self._kept.get(word)
            if known is None:
                known = self._encode_word("".join(map(_CHARACTERS.__getitem__, word.encode())))
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[word] = known
            tokens += known
        return tokens

    def _encode_word(self, word: str) -> list[int]:
        ids = self.vocabulary.ids
        if self._ignore_merges and word in ids:
            return [ids[word]]
        symbols = merged(word, self._rank) if len(word) > 1 else [word]
        return [token for symbol in symbols for token in self._tokens_of(symbol)]

    def _rank(self, left: str, right: str) -> int | None:
        return self._ranks.get(f"{left} {right}")

    def _tokens_of(self, symbol: str) -> list[int]:
        """Return the token of a symbol, or the tokens of its bytes if it is none.

        Bytes without a token are dropped, as in llama.cpp: in many files the unknown token is the one that ends
        texts.
        """
        ids = self.vocabulary.ids
        return [ids[symbol]] if symbol in ids else [ids[c] for c in symbol if c in ids]

    def _bytes_of(self, token: int, text: str) -> bytes:
        try:
            return bytes(map(_BYTES.__getitem__, text))
        except KeyError:  # a token that is no bytes
            return text.encode()
