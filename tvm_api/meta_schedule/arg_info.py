"""`tvm.meta_schedule.arg_info`."""

from ...tuning.types import TensorInfo

__all__ = ["TensorInfo"]
