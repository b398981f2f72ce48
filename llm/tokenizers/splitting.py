"""Pre-tokenizers: split texts into words before byte-pair encoding, with llama.cpp's names and expressions.

Python's `re` has no Unicode classes, so a text is first mapped to a small alphabet, character by character:
ASCII characters are kept, any other becomes one that represents its class.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_LETTER, _NUMBER, _SPACE, _PUNCTUATION, _OTHER = "\u00c0\u00b2\u00a0\u00a1\u00a4"
_CLASSES = {"L": _LETTER, "N": _NUMBER, "P": _PUNCTUATION}
_SPACES = frozenset((0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000))


class _Alphabet(dict[int, str]):
    """A lazily filled mapping from code points to the characters that represent them."""

    def __missing__(self, code: int) -> str:
        if code < 0x80:
            stand_in = chr(code)
        elif code in _SPACES:
            stand_in = _SPACE
        else:
            stand_in = _CLASSES.get(unicodedata.category(chr(code))[0], _OTHER)
        self[code] = stand_in
        return stand_in


_ALPHABET = _Alphabet()

_L = f"A-Za-z{_LETTER}"
_N = f"0-9{_NUMBER}"
_S = f"\\t-\\r {_SPACE}"
_P = f"!-#%-*,-/:;?@\\[-\\]_{{}}{_PUNCTUATION}"
"""Character classes, written for use in brackets: letters, numbers, white space and punctuation."""

_GPT2 = f"'s|'t|'re|'ve|'m|'ll|'d| ?[{_L}]+| ?[{_N}]+| ?[^{_S}{_L}{_N}]+|[{_S}]+(?![^{_S}])"
_ENDINGS = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
_LLAMA3 = (
    f"{_ENDINGS}|[^\\r\\n{_L}{_N}]?[{_L}]+|[{_N}]{{1,3}}| ?[^{_S}{_L}{_N}]+[\\r\\n]*"
    f"|[{_S}]*[\\r\\n]+|[{_S}]+(?![^{_S}])|[{_S}]+"
)
_QWEN2 = _LLAMA3.replace("{1,3}", "")
_DIGITS = f"[{_N}]"

_EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "default": (f"[{_P}$+<=>^~|]+", _GPT2, f"[{_N}]+", "[0-9][0-9][0-9]"),
    "gpt-2": (_GPT2,),
    "smollm": (_DIGITS, _GPT2),
    "llama-bpe": (_LLAMA3,),
    "qwen2": (_QWEN2,),
}
_SAME = {
    "llama3": "llama-bpe", "llama-v3": "llama-bpe", "phi-2": "gpt-2", "olmo": "gpt-2", "mpt": "gpt-2",
    "starcoder": "smollm", "refact": "smollm", "command-r": "smollm", "deepseek-r1-qwen": "qwen2",
}  # fmt: skip

SPLITTINGS: dict[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(map(re.compile, expressions)) for name, expressions in _EXPRESSIONS.items()
}
SPLITTINGS |= {name: SPLITTINGS[same] for name, same in _SAME.items()}
"""Name of a pre-tokenizer -> its expressions: each cuts the pieces that the one before it left."""


def split(text: str, expressions: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    """Split a text into the matches of an expression and the text between them, which together are the whole text."""
    shadow = text if text.isascii() else text.translate(_ALPHABET)
    pieces = [(0, len(text))]
    for expression in expressions:
        pieces = [cut for begin, end in pieces for cut in _cuts(expression, shadow[begin:end], begin)]
    return (text[begin:end] for begin, end in pieces)


def _cuts(expression: re.Pattern[str], shadow: str, start: int) -> Iterator[tuple[int, int]]:
    at = 0
    for match in expression.finditer(shadow):
        begin, end = match.span()
        if begin > at:
            yield start + at, start + begin
        if end > begin:
            yield start + begin, start + end
        at = end
    if at < len(shadow):
        yield start + at, start + len(shadow)
