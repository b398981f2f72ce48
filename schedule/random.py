"""The random numbers of schedules: TVM's linear congruential generator, so that a seed yields the same decisions.

Park and Miller's minimal standard generator with the multiplier 48271; integers are drawn as libstdc++'s
`uniform_int_distribution` draws them.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

_MULTIPLIER, _MODULUS = 48271, 2**31 - 1
_FORK_MULTIPLIER, _FORK_MODULUS = 32767, 1999999973


class Random:
    """A random number generator; `state` is its seed and its current state."""

    def __init__(self, seed: int | None = None):
        """Initialize the state; a `seed` of None or -1 is drawn from the system."""
        drawn = secrets.randbelow(_MODULUS - 1) + 1 if seed in (None, -1) else int(seed or 0)
        self.state = drawn % _MODULUS or 1

    def next(self) -> int:
        """Return the next number in [1, 2**31 - 1)."""
        self.state = self.state * _MULTIPLIER % _MODULUS
        return self.state

    def fork(self) -> int:
        """Return the seed for another generator."""
        return self.next() * _FORK_MULTIPLIER % _FORK_MODULUS

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high)."""
        count = high - low
        if count == 1:
            return low
        scale = (_MODULUS - 1) // count
        while True:
            drawn = self.next()
            if drawn < count * scale:
                return low + drawn // scale

    def uniform(self) -> float:
        """Return a number in [0, 1): 53 bits of two draws, as `generate_canonical` computes it."""
        span = float(_MODULUS)
        low, high = self.next(), self.next()
        return min((low + high * span) / (span * span), 1.0 - 2.0**-53)

    def index(self, weights: Sequence[float]) -> int:
        """Return an index of `weights` with a probability proportional to its weight."""
        sums = list(accumulate(weights))
        return min(bisect_right(sums, self.uniform() * sums[-1]), len(sums) - 1)

    def distinct(self, count: int, chosen: int) -> list[int]:
        """Return `chosen` different integers in [0, count)."""
        if chosen == 2:
            first, second = self.integer(0, count), self.integer(0, count - 1)
            return [first, second + (second >= first)]
        order = list(range(count))
        for k in range(chosen):
            other = self.integer(k, count)
            order[k], order[other] = order[other], order[k]
        return order[:chosen]
