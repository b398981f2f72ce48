"""Choose the next token: the most likely one, or a random one."""

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
    """Raised for invalid sampling options."""


@dataclass(frozen=True)
class Sampling:
    """The sampling options: temperature, top-k and nucleus (top-p) sampling.

    Tokens are drawn by the softmax of logits / `temperature`, from the `top_k` most likely ones (0: all), and
    of these from the smallest set with total probability `top_p`. A temperature of 0 selects the most likely
    token.

    The same `seed` yields the same tokens. Raises `SamplingError` with all invalid options.
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
    """Draws the tokens of one sequence. `number` is its index among those generated together: each has its own
    random numbers.
    """

    def __init__(self, sampling: Sampling, number: int = 0):
        self.sampling = sampling
        self._random = np.random.default_rng([sampling.seed, number])

    def __call__(self, logits: Array) -> int:
        """Return the next token for the logits `(vocabulary,)`. Raises `SamplingError` if the largest is not finite."""
        token = int(np.argmax(logits))
        if not np.isfinite(logits[token]):
            raise SamplingError("the logits are no numbers", hint="the weights, or the cache, are out of range")
        if self.sampling.temperature == 0:
            return token
        tokens, powers = _likeliest(logits, self.sampling)
        sums = np.cumsum(powers)
        return int(tokens[np.searchsorted(sums, self._random.random() * sums[-1], side="right")])


def _likeliest(logits: Array, sampling: Sampling) -> tuple[Array, Array]:
    """Return the candidate tokens, most likely first (ties by lower number), and their probabilities."""
    tokens = np.argsort(-logits, kind="stable")[: sampling.top_k or None]
    below = logits[tokens].astype(np.float64) - logits[tokens[0]]
    with np.errstate(over="ignore"):  # of a temperature next to 0 all but the likeliest are infinitely far
        powers = np.exp(below / sampling.temperature)
    powers /= powers.sum()
    kept = int(np.searchsorted(np.cumsum(powers), sampling.top_p)) + 1
    return tokens[:kept], powers[:kept]
