"""What a cost model is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...diagnostics import UnsupportedError, unknown_name
from ..context import TuneContext
from ..types import MeasureCandidate, RunnerResult


class CostModel:
    """Predicts how good candidates are, and learns from measurements."""

    @staticmethod
    def create(kind: Any = "default", **options: Any) -> CostModel | None:
        """A model itself, a new one of a kind, or None for `none`.

        `default` and `boosting` learn with numpy alone, `xgb` with xgboost, `random` does not learn. Raises
        `NameLookupError` for other kinds, `UnsupportedError` for TVM's `mlp`.
        """
        from .boosting import BoostingModel
        from .random_model import RandomModel
        from .xgb import XGBModel

        if kind is None or kind == "none":
            return None
        if not isinstance(kind, str):
            return kind
        kinds = {"default": BoostingModel, "boosting": BoostingModel, "xgb": XGBModel, "random": RandomModel}
        if kind == "mlp":
            raise UnsupportedError(
                "a cost model of kind 'mlp'", hint="boosting learns with numpy alone, xgb with xgboost"
            )
        if kind not in kinds:
            raise unknown_name("cost model", kind, [*kinds, "none"])
        return kinds[kind](**options)

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        """A score for each candidate; the greater, the better."""
        raise NotImplementedError(type(self).__name__)

    def update(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn from what candidates of a task took."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt to a file."""

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on with what `save` wrote."""
