"""`tvm.meta_schedule.profiler`."""

from ...tuning.profiler import Profiler

__all__ = ["Profiler"]
