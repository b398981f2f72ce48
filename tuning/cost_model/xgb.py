"""A model that learns with xgboost, an optional package."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...diagnostics import TiraxError
from .feature_model import FeatureModel


class XGBModel(FeatureModel):
    """xgboost's trees. Raises `TiraxError` where it is not installed.

    For the few samples of a search one thread is the fastest (`num_threads`).
    """

    def __init__(
        self,
        *,
        min_samples: int = 8,
        seed: int = 0,
        num_rounds: int = 100,
        max_depth: int = 6,
        eta: float = 0.2,
        objective: str = "reg:squarederror",
        num_threads: int = 1,
    ):
        super().__init__(min_samples=min_samples)
        try:
            self._xgboost: Any = importlib.import_module("xgboost")
        except ImportError as error:
            raise TiraxError("xgboost is not installed", hint="pip install 'tirax[xgboost]'") from error
        self.num_rounds = num_rounds
        self.options = {
            "max_depth": max_depth,
            "eta": eta,
            "objective": objective,
            "seed": seed,
            "nthread": num_threads,
        }
        self._booster: Any = None

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        data = self._xgboost.DMatrix(x, label=y)
        if str(self.options["objective"]).startswith("rank:"):
            data.set_group(groups)
        self._booster = self._xgboost.train(self.options, data, num_boost_round=self.num_rounds)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._booster.predict(self._xgboost.DMatrix(x)))
