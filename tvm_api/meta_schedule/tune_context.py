"""`tvm.meta_schedule.tune_context`."""

from ...tuning.context import TuneContext

__all__ = ["TuneContext"]
