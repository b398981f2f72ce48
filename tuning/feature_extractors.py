"""Feature extractors: what a cost model is told of a candidate, a matrix of one row for each part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .features import features_of
from .types import MeasureCandidate, Task


class FeatureExtractor:
    """Gives matrices of features, one for each candidate; the number of columns is always the same."""

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        """For each candidate a matrix (parts, features) of numbers."""
        raise NotImplementedError(type(self).__name__)


class PerStoreFeature(FeatureExtractor):
    """The features that models use by themselves (`tuning.features`): one row, the stores side by side."""

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        return [features_of(c.sch.mod)[np.newaxis] for c in candidates]


class RandomFeatureExtractor(FeatureExtractor):
    """Features that say nothing, for tests: from 1 to `max_block_num` rows of `feature_size` numbers from 0 to 1."""

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0):
        self.feature_size = feature_size
        self.max_block_num = max_block_num
        self._random = np.random.default_rng(seed)

    @property
    def random_state(self) -> Mapping[str, Any]:
        """Where the numbers stand; to be given back later."""
        return self._random.bit_generator.state

    @random_state.setter
    def random_state(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state = state

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        rows = [int(self._random.integers(1, self.max_block_num + 1)) for _ in candidates]
        return [self._random.random((count, self.feature_size)) for count in rows]
