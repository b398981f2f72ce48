"""A compact index of texts: a dict to their positions in a seventh of the memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np


class TextIndex:
    """The positions of texts in a sequence, which is kept; for equal texts the first position, or with `last` the last.

    A lookup takes a microsecond: a binary search in sorted hashes.
    """

    def __init__(self, texts: Sequence[str], *, last: bool = False):
        hashes = np.fromiter(map(hash, texts), np.int64, len(texts)).astype(np.uint32)
        order = np.argsort(~hashes if last else hashes, kind="stable")
        order = order[::-1] if last else order
        self._texts = texts
        self._hashes = array("I", hashes[order].tobytes())
        self._places = array("I", order.astype(np.uint32).tobytes())

    def get(self, text: str) -> int | None:
        """Return the position of a text, or None."""
        number = hash(text) & 0xFFFF_FFFF
        at = bisect_left(self._hashes, number)
        while at < len(self._hashes) and self._hashes[at] == number:
            place = self._places[at]
            if self._texts[place] == text:
                return place
            at += 1
        return None

    def __getitem__(self, text: str) -> int:
        """As `get`. Raises `KeyError` for an unknown text."""
        place = self.get(text)
        if place is None:
            raise KeyError(text)
        return place

    def __contains__(self, text: str) -> bool:
        return self.get(text) is not None
