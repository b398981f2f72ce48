"""Names of printed variables: unique in their scope, and released when the scope ends."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NameScope:
    """Allocates names: the hint itself if it is free, otherwise with a number after `separator`.

    TIR variables that share a hint become `i`, `i_1`; Relax variables become `lv`, `lv1`, as in TVM's block
    builder.
    """

    def __init__(self, separator: str, reserved: Iterable[str] = (), hints: Iterable[str] = ()):
        """Return no name is in `reserved`, and no synthetic name is in `hints`, the hints of values that are
        printed later.
        """
        self._separator = separator
        self._reserved = frozenset(reserved)
        self._taken: set[str] = {*keyword.kwlist, *self._reserved}
        self._hints = frozenset(hints)
        self._next: dict[str, int] = {}
        self._frames: list[list[tuple[str, str, int]]] = [[]]

    def define(self, hint: str, *, synthetic: bool = False) -> str:
        """Return a unique name in scope based on `hint`. It is `synthetic` if no value has this hint."""
        name, number = hint, 0
        if hint in self._taken or (synthetic and hint in self._hints):
            number = self._next.get(hint, 1)
            separator = "_" if hint in self._reserved else self._separator
            while (name := f"{hint}{separator}{number}") in self._taken or name in self._hints:
                number += 1
            self._next[hint] = number + 1
        self._taken.add(name)
        self._frames[-1].append((name, hint, number))
        return name

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Open a scope; names defined in it are free again at the end of the context."""
        self._frames.append([])
        yield
        for name, hint, number in self._frames.pop():
            self._taken.discard(name)
            if number:
                self._next[hint] = min(self._next[hint], number)
