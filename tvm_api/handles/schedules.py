"""`tir.Schedule` and `tir.TensorIntrin`, with the intrinsics of devices among those that are named."""

from __future__ import annotations

from ...schedule.schedule import Schedule
from ...schedule.tensor_intrin import TensorIntrin
from .device_tiles import names as names  # registers them

__all__ = ["Schedule", "TensorIntrin"]
