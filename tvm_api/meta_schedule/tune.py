"""`tvm.meta_schedule.tune`."""

from ...tuning.tune import tune_tasks

__all__ = ["tune_tasks"]
