"""Random choices that are written down, so that a case can be made again, and made smaller."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

Choices = Sequence[int]


class Tape(random.Random):
    """A source of random choices that remembers them (`drawn`), or plays some that were remembered.

    Every method of `random.Random` comes down to `getrandbits`. Behind the end of what is played each choice is 0: the
    first of a list, the least number.
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
    """Fewer and smaller choices on which `fails` still holds, as far as the time goes."""
    best = list(choices)
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best):
            if time.monotonic() > deadline:
                return best
            if fails(candidate):
                best, progress = candidate, True
                break
    return best


def _smaller(choices: Sequence[int]) -> Iterator[list[int]]:
    """Without a run of choices, long runs first; then with a run of zeros; then with one number halved."""
    whole = list(choices)
    size = len(whole)
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2
    for start, value in enumerate(whole):
        if value:
            yield [*whole[:start], 0, *whole[start + 1 :]]
            yield [*whole[:start], value // 2, *whole[start + 1 :]]
