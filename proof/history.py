"""The provenance of terms, recorded for a counterexample: it shows the terms of two programs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..diagnostics import SourceLocation
from ..ir.locations import location_of
from . import fingerprints as fp

_MOST_ENTRIES = 1 << 19
"""Entries after which nothing more is recorded: a counterexample is shown at small sizes."""
_DEPTH = 5
_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "equal": "=="}


@dataclass(frozen=True, slots=True)
class Entry:
    """A term: the function and the terms that it was computed from, and the operation that did so."""

    name: str
    operands: tuple[int, ...]
    place: Operation | None


class History:
    """Entries by term (as 64-bit words), and the operation that runs."""

    def __init__(self) -> None:
        self.place: Operation | None = None
        self._entries: dict[int, Entry] = {}

    def note(self, name: str, result: Any, *operands: Any) -> None:
        """Record how the elements of an array of terms were computed; the first record of a term counts."""
        if len(self._entries) > _MOST_ENTRIES:
            return
        results = _words(result.data)
        inputs = [_words(np.broadcast_to(t.data, result.shape)) for t in operands]
        for t in operands:
            self._numbers(t)
        self._numbers(result)
        for at, word in enumerate(results):
            if word not in self._entries:
                self._entries[word] = Entry(name, tuple(row[at] for row in inputs), self.place)

    def gather(self, name: str, result: Any, source: Any) -> None:
        """Record reductions of the last dimension."""
        if len(self._entries) > _MOST_ENTRIES:
            return
        self._numbers(source)
        rows = np.asarray(_words(source.data), np.uint64).reshape(-1, source.shape[-1]).tolist()
        for word, row in zip(_words(result.data), rows, strict=True):
            self._entries.setdefault(word, Entry(name, tuple(row), self.place))

    def atoms(self, name: str, terms: Any) -> None:
        """Record unknown numbers, the elements of an input or of memory."""
        for index, word in zip(np.ndindex(terms.shape), _words(terms.data), strict=True):
            where = f"[{', '.join(map(str, index))}]" if index else ""
            self._entries.setdefault(word, Entry(name + where, (), None))

    def _numbers(self, t: Any) -> None:
        known = t.data["known"]
        if known.any():
            flat, values = known.reshape(-1), t.data["value"].reshape(-1)
            for at, word in enumerate(_words(t.data)):
                if flat[at]:
                    self._entries.setdefault(word, Entry(f"{values[at].item():.7g}", (), None))

    def text(self, word: int, depth: int = _DEPTH) -> str:
        """Return a term as text, with `…` for what is nested deeper."""
        entry = self._entries.get(word)
        if entry is None:
            return "?"
        if not entry.operands:
            return entry.name
        if depth == 0:
            return "…"
        shown = [self.text(o, depth - 1) for o in entry.operands[:4]]
        if len(entry.operands) == 2 and entry.name in _INFIX:
            return f"({shown[0]} {_INFIX[entry.name]} {shown[1]})"
        more = ", …" if len(entry.operands) > len(shown) else ""
        return f"{entry.name}({', '.join(shown)}{more})"

    def parting(self, one: int, other: int) -> tuple[int, int]:
        """Return the innermost terms at which two terms differ, while they differ in one operand only."""
        while True:
            a, b = self._entries.get(one), self._entries.get(other)
            if a is None or b is None or a.name != b.name or len(a.operands) != len(b.operands):
                return one, other
            pairs = [p for p in zip(a.operands, b.operands, strict=True) if p[0] != p[1]]
            if len(pairs) != 1:
                return one, other
            ((one, other),) = pairs

    def location(self, word: int) -> tuple[Operation, SourceLocation | None] | None:
        """Return the operation that computed a term, and its place in the source."""
        entry = self._entries.get(word)
        return None if entry is None or entry.place is None else (entry.place, location_of(entry.place))


def _words(records: Any) -> list[int]:
    return fp.packed(records["term"][..., 0, :]).reshape(-1).tolist()
