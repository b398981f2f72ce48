"""Names of printed variables: unique in their scope, given back when a scope ends."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NameScope:
    """Hands out names: the hint itself where it is free, else with a number after `separator`.

    TIR variables that share a hint become `i`, `i_1`; Relax variables `lv`, `lv1`, as TVM's block builder names them.
    """

    def __init__(self, separator: str, reserved: Iterable[str] = (), hints: Iterable[str] = ()):
        """No name is one of `reserved`; no name that is made up is one of `wanted`, which are hints to come."""
        self._separator = separator
        self._taken: set[str] = {*keyword.kwlist, *reserved}
        self._hints = frozenset(hints)
        self._next: dict[str, int] = {}
        self._frames: list[list[tuple[str, str, int]]] = [[]]

    def define(self, hint: str, *, synthetic: bool = False) -> str:
        """A name made of `hint` that nothing in scope has; `made_up` where no value asks for the hint itself."""
        name, number = hint, 0
        if hint in self._taken or (synthetic and hint in self._hints):
            number = self._next.get(hint, 1)
            while (name := f"{hint}{self._separator}{number}") in self._taken or name in self._hints:
                number += 1
            self._next[hint] = number + 1
        self._taken.add(name)
        self._frames[-1].append((name, hint, number))
        return name

    @contextmanager
    def frame(self) -> Iterator[None]:
        """A scope: the names defined in it are free again after it."""
        self._frames.append([])
        yield
        for name, hint, number in self._frames.pop():
            self._taken.discard(name)
            if number:
                self._next[hint] = min(self._next[hint], number)
