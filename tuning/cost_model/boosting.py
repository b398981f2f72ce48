"""A model that needs numpy only."""

from __future__ import annotations

import numpy as np

from .feature_model import FeatureModel
from .trees import BoostedTrees


class BoostingModel(FeatureModel):
    """Gradient boosted trees on the features of candidates, with numpy alone."""

    def __init__(self, *, min_samples: int = 8, trees: BoostedTrees | None = None):
        super().__init__(min_samples=min_samples)
        self.trees = trees or BoostedTrees()

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        self.trees.fit(x, y)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        return self.trees.predict(x)
