"""`tvm.meta_schedule.cost_model`."""

from ...tuning.cost_model import BoostingModel, CostModel, RandomModel, XGBModel

PyCostModel = CostModel
create = CostModel.create

__all__ = ["BoostingModel", "CostModel", "PyCostModel", "RandomModel", "XGBModel", "create"]
