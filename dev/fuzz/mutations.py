"""Mutations of text and bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s+|[%@!#^]?[\w.$]+|.", re.DOTALL)
_NUMBERS = (
    "0", "-1", "1", "2", "7", "65536", "2147483648", "-9223372036854775808", "9223372036854775807",
    "18446744073709551616", "1e400", "-1e39", "nan", "0x7FC00000", "True",
)  # fmt: skip
_SNIPPETS = ("(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "->", '"', "\n", "\x00", "é", "//", "%", "@", "!", "#")

Pieces = list[str]


def _spot(rng: random.Random, pieces: Pieces) -> int:
    """Return the index of a piece that is not blank."""
    solid = [i for i, piece in enumerate(pieces) if piece.strip()]
    return rng.choice(solid) if solid else 0


def _dropped(rng: random.Random, pieces: Pieces) -> None:
    del pieces[_spot(rng, pieces)]


def _doubled(rng: random.Random, pieces: Pieces) -> None:
    at = _spot(rng, pieces)
    pieces.insert(at, pieces[at])


def _exchanged(rng: random.Random, pieces: Pieces) -> None:
    a, b = _spot(rng, pieces), _spot(rng, pieces)
    pieces[a], pieces[b] = pieces[b], pieces[a]


def _replaced(rng: random.Random, pieces: Pieces) -> None:
    pieces[_spot(rng, pieces)] = pieces[_spot(rng, pieces)]


def _inserted(rng: random.Random, pieces: Pieces) -> None:
    pieces.insert(_spot(rng, pieces), rng.choice(_SNIPPETS))


def _renumbered(rng: random.Random, pieces: Pieces) -> None:
    numbers = [i for i, piece in enumerate(pieces) if piece[0].isdigit()]
    if numbers:
        pieces[rng.choice(numbers)] = rng.choice(_NUMBERS)


_OF_TOKENS: tuple[Callable[[random.Random, Pieces], None], ...] = (
    _renumbered, _replaced, _exchanged, _dropped, _doubled, _inserted,
)  # fmt: skip
_OF_LINES = (_dropped, _doubled, _exchanged, _replaced)


def mutated_text(rng: random.Random, text: str, most: int = 3) -> str:
    """Return the text with one to `most` tokens or lines dropped, duplicated, swapped or replaced."""
    for _ in range(rng.randint(1, most)):
        tokens = rng.random() < 0.75
        pieces = _TOKEN.findall(text) if tokens else text.splitlines(keepends=True)
        if not any(piece.strip() for piece in pieces):
            break
        rng.choice(_OF_TOKENS if tokens else _OF_LINES)(rng, pieces)
        text = "".join(pieces)
    return text


def mutated_bytes(rng: random.Random, data: bytes, most: int = 4) -> bytes:
    """Return the bytes with one to `most` mutations: changed bytes, truncation or duplication."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(changed) or 1)
        kind = rng.choice(("flip", "flip", "set", "cut", "double"))
        if kind == "flip" and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == "set" and changed:
            changed[at] = rng.choice((0, 255, 127, 128))
        elif kind == "cut":
            del changed[at : at + rng.choice((1, 8, 64, len(changed)))]
        else:
            changed[at:at] = changed[at : at + 16]
    return bytes(changed)
