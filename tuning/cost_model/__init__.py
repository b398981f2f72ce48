"""Cost models: which candidates are worth measuring, learnt from those that were."""

from __future__ import annotations

from .boosting import BoostingModel
from .cost_model import CostModel
from .feature_model import FeatureModel
from .random_model import RandomModel
from .xgb import XGBModel

__all__ = ["BoostingModel", "CostModel", "FeatureModel", "RandomModel", "XGBModel"]
