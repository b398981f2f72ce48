"""Which token comes next: the likeliest, or one that is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..diagnostics import TiraxError

Array = np.ndarray[Any, Any]


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


class SamplingError(TiraxError, ValueError):
    """Options of sampling that cannot be."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: with the powers of logits / `temperature`, of the `top_k` likeliest (0: of all), and of
    these the fewest that have `top_p` of the probability. A temperature of 0 takes the likeliest one.

    The same `seed` gives the same tokens. Raises `SamplingError` with all options that cannot be.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {getattr(self, name)!r}, not {expected}"
            for name, holds, expected in (
                (
                    "temperature",
                    _is(Real, self.temperature) and 0 <= self.temperature < inf,
                    "a number from 0 on",
                ),
                ("top_k", _is(Integral, self.top_k) and self.top_k >= 0, "an integer from 0 on"),
                ("top_p", _is(Real, self.top_p) and 0 < self.top_p <= 1, "a number above 0, up to 1"),
                ("seed", _is(Integral, self.seed) and self.seed >= 0, "an integer from 0 on"),
            )
            if not holds
        ]
        if problems:
            raise SamplingError("tokens cannot be drawn so", notes=problems)


class Sampler:
    """Draws the tokens of one sequence, the `number`-th that is generated at once: each has numbers of its own."""

    def __init__(self, sampling: Sampling, number: int = 0):
        self.sampling = sampling
        self._random = np.random.default_rng([sampling.seed, number])

    def __call__(self, logits: Array) -> int:
        """The next token, given its logits `(vocabulary,)`. Raises `SamplingError` where the largest is not finite."""
        token = int(np.argmax(logits))
        if not np.isfinite(logits[token]):
            raise SamplingError("the logits are no numbers", hint="the weights, or the cache, are out of range")
        if self.sampling.temperature == 0:
            return token
        tokens, powers = _likeliest(logits, self.sampling)
        sums = np.cumsum(powers)
        return int(tokens[np.searchsorted(sums, self._random.random() * sums[-1], side="right")])


def _likeliest(logits: Array, sampling: Sampling) -> tuple[Array, Array]:
    """The tokens that may be drawn, likeliest first (of equal ones the first), and their probabilities."""
    tokens = np.argsort(-logits, kind="stable")[: sampling.top_k or None]
    below = logits[tokens].astype(np.float64) - logits[tokens[0]]
    with np.errstate(over="ignore"):  # of a temperature next to 0 all but the likeliest are infinitely far
        powers = np.exp(below / sampling.temperature)
    powers /= powers.sum()
    kept = int(np.searchsorted(np.cumsum(powers), sampling.top_p)) + 1
    return tokens[:kept], powers[:kept]
