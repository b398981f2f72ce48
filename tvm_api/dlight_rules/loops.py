"""Helpers of rules for loops and types."""

from __future__ import annotations

from ...handles.tir.prim_expr import PrimExpr
from ...schedule.schedule import Schedule
from ...schedule.trace import LoopRV
from ..handles.data_type import DataType


def get_bytes(dtype: DataType | str) -> int:
    """Return the size of an element in bytes."""
    return DataType(str(dtype)).itemsize()


def get_extent(sch: Schedule, loop_rv: LoopRV) -> int | PrimExpr:
    """Return the extent of a loop, as a number if it is constant."""
    extent: PrimExpr = sch.get(loop_rv).extent
    return extent if extent.constant is None else int(extent.constant)


def auto_vectorize(sch: Schedule, loop: LoopRV, max_vec: int) -> None:
    """Vectorize a loop of constant extent with at most `max_vec` lanes; others are unchanged."""
    extent = get_extent(sch, loop)
    if isinstance(extent, int):
        sch.vectorize(loop if extent <= max_vec else sch.split(loop, factors=[None, max_vec])[-1])
