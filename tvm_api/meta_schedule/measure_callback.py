"""`tvm.meta_schedule.measure_callback`."""

from ...tuning.measure_callback import (
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
