"""SentencePiece tokenizers (Llama 2, Gemma): pieces are merged by score, with a fallback to bytes."""

from __future__ import annotations

from collections.abc import Sequence

from .base import SpecialTokens
from .merging import merged
from .vocabulary import BYTE, Vocabulary, VocabularyTokenizer

_SPACE = "\u2581"
"""The character that represents a space in token texts."""


class SentencePieceTokenizer(VocabularyTokenizer):
    """A SentencePiece tokenizer. `scores` are those of the tokens: the neighbours whose merged token has the
    highest score are merged first.

    With `space_prefix`, a space is prepended to a text at its beginning and after a special token.
    """

    def __init__(self, vocabulary: Vocabulary, special: SpecialTokens, scores: Sequence[float], space_prefix: bool):
        super().__init__(vocabulary, special)
        self._scores = scores
        self._space_prefix = space_prefix
        self.drops_space = space_prefix
        self._bytes = {vocabulary.texts[i]: i for i, kind in enumerate(vocabulary.kinds) if kind == BYTE}

    def _encode_part(self, text: str, begins: bool) -> list[int]:
        text = (" " + text if begins and self._space_prefix else text).replace(" ", _SPACE)
        return [token for symbol in merged(text, self._priority) for token in self._tokens_of(symbol)]

    def _priority(self, left: str, right: str) -> float | None:
        token = self.vocabulary.ids.get(left + right)
        return None if token is None else -self._scores[token]

    def _tokens_of(self, symbol: str) -> list[int]:
        token = self.vocabulary.ids.get(symbol)
        if token is not None:
            return [token]
        names = [f"<0x{byte:02X}>" for byte in symbol.encode()]
        return (
            [self._bytes[name] for name in names]
            if all(n in self._bytes for n in names)
            else [self.unknown_token(symbol)]
        )

    def _bytes_of(self, token: int, text: str) -> bytes:
        if self.vocabulary.kinds[token] == BYTE:
            return bytes((int(text[3:5], 16),))
        return text.replace(_SPACE, " ").encode()
