"""A model that knows nothing: for tests, and to compare others with."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..context import TuneContext
from ..types import MeasureCandidate
from .cost_model import CostModel


class RandomModel(CostModel):
    """Scores at random, from 0 to `max_range`; `seed` makes them repeat."""

    def __init__(self, *, seed: int | None = None, max_range: float = 100.0):
        self.max_range = max_range
        self._random = np.random.default_rng(seed)

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        return self._random.uniform(0, self.max_range, len(candidates))

    def save(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(json.dumps([self.max_range, self._random.bit_generator.state]))

    def load(self, path: str | os.PathLike[str]) -> None:
        self.max_range, self._random.bit_generator.state = json.loads(Path(path).read_text())
