"""Sliding windows over bytes in depthwise convolutions: elements read by several rows of a tile are converted once.

    acc[r] += int(X[i + r + k, c]) * int(W[k, c])

Converting bytes takes as long as multiplying them. With the taps k unrolled, a tile of eight rows and three taps
converts ten vectors of X instead of 24.
"""

from __future__ import annotations

from ....dialects import tir
from ..analysis.plan import Machine
from ..analysis.stages import Iter, Stage, constant_slope, memory_bits
from ..policy.limits import MAX_SLIDING_TAPS
from .microkernel import element_bits


def sliding_tap(stage: Stage, lane: Iter, row: Iter | None) -> Iter | None:
    """Return the taps that neighbouring rows have in common, if they are converted along the lanes."""
    if row is None:
        return None
    narrow = [load for load in stage.loads if memory_bits(load.buffer) < element_bits(stage)]
    for load in narrow:
        if constant_slope(load, lane) != 0:
            for tap in stage.reduce:
                if 1 < (tap.extent.constant or 0) <= MAX_SLIDING_TAPS and _overlaps(load, row, tap):
                    return tap
    return None


def _overlaps(load: tir.LoadOp, row: Iter, tap: Iter) -> bool:
    """Return whether a row and one of its taps coincide with another row and tap."""
    steps, step = constant_slope(load, row), constant_slope(load, tap)
    if not steps or not step or steps % step:
        return False
    return 0 < steps // step < (tap.extent.constant or 0)


def sliding_tile(machine: Machine, row: Iter) -> tuple[int, int]:
    """Return (vectors, rows) of a tile: sums, converted elements and weights fit the registers."""
    rows = max(1, (machine.registers - 6) // 3)
    return 1, min(rows, row.extent.constant or rows)
