"""`tvm.meta_schedule.measure_callback`."""

from ...tuning.task_scheduler import (
    AddToDatabase,
    MeasureCallback,
    PyMeasureCallback,
    RemoveBuildArtifact,
    TrialLog,
    UpdateCostModel,
)

create = MeasureCallback.create

__all__ = [
    "AddToDatabase",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "TrialLog",
    "UpdateCostModel",
    "create",
]
