"""`tvm.meta_schedule.task_scheduler`."""

from ...tuning.task_scheduler import GradientBased, RoundRobin, TaskRecord, TaskScheduler

create = TaskScheduler.create

__all__ = ["GradientBased", "RoundRobin", "TaskRecord", "TaskScheduler", "create"]
