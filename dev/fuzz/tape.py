"""Recorded random choices, so that a case can be replayed and reduced."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...tools.reduce import search

Choices = Sequence[int]


class Tape(random.Random):
    """A random source that records its choices (`drawn`), or replays recorded ones.

    Every method of `random.Random` reduces to `getrandbits`. Past the end of the replayed choices each choice
    is 0: the first of a list, the least number.
    """

    def __init__(self, seed: int = 0, played: Choices | None = None):
        self._source = random.Random(seed)
        self._played = None if played is None else iter(played)
        self.drawn: list[int] = []
        super().__init__(seed)

    def getrandbits(self, k: int, /) -> int:
        number = self._source.getrandbits(k) if self._played is None else next(self._played, 0) & ((1 << k) - 1)
        self.drawn.append(number)
        return number

    def random(self) -> float:
        return self.getrandbits(53) * 2.0**-53


def shrunk(choices: Choices, fails: Callable[[Choices], bool], seconds: float) -> Choices:
    """Return fewer and smaller choices for which `fails` still holds, within the time limit."""
    return search.shrunk(list(choices), _RULES, lambda cases: [fails(case) for case in cases], seconds)


def _without(choices: list[int], start: int, size: int) -> list[int]:
    return choices[:start] + choices[start + size :]


def _lowered(lower: Callable[[int], int]) -> Callable[[list[int], int, int], list[int] | None]:
    def smaller(choices: list[int], start: int, _size: int) -> list[int] | None:
        value = choices[start]
        return [*choices[:start], lower(value), *choices[start + 1 :]] if value else None

    return smaller


_RULES: tuple[search.ReductionRule[list[int]], ...] = (
    search.ReductionRule(len, _without),
    search.ReductionRule(len, _lowered(lambda value: 0), runs=False),
    search.ReductionRule(len, _lowered(lambda value: value // 2), runs=False),
)
