"""Feature extractors: describe a candidate to a cost model as a matrix with one row for each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .features import features_of
from .types import MeasureCandidate, Task


class FeatureExtractor:
    """Returns a feature matrix for each candidate, always with the same number of columns."""

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        """Return a matrix (parts, features) for each candidate."""
        raise NotImplementedError(type(self).__name__)


class PerStoreFeature(FeatureExtractor):
    """The features that the models use by default (`tuning.features`): one row for all stores."""

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        return [features_of(c.sch.mod)[np.newaxis] for c in candidates]


class RandomFeatureExtractor(FeatureExtractor):
    """Random features for tests: 1 to `max_block_num` rows of `feature_size` numbers in [0, 1)."""

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0):
        self.feature_size = feature_size
        self.max_block_num = max_block_num
        self._random = np.random.default_rng(seed)

    @property
    def random_state(self) -> Mapping[str, Any]:
        """The state of the random generator, which can be assigned later to restore it."""
        return self._random.bit_generator.state

    @random_state.setter
    def random_state(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state = state

    def extract_from(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        rows = [int(self._random.integers(1, self.max_block_num + 1)) for _ in candidates]
        return [self._random.random((count, self.feature_size)) for count in rows]
