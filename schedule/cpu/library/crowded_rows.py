"""Rows of a matrix that are slow to read in place: they span many pages, or map to few sets of a cache."""

from __future__ import annotations

from math import gcd

from ....dialects import tir
from ....dialects.sym.expr import SymExpr, floormod
from ....dialects.sym.operators import eq, ge, gt, logical_and, logical_or
from ....target import tile_vectors
from ..analysis.plan import Machine
from ..analysis.stages import Iter, constant_slope, memory_bits
from ..policy.limits import ASSUMED_STEPS, L2_WAYS, LINE_BITS, MANY_PAGES, MANY_ROWS


def span_of(load: tir.LoadOp, it: Iter) -> int:
    """Return the number of bytes that an iterator spans; an unknown extent is assumed to be large."""
    return abs(constant_slope(load, it) or 0) * memory_bits(load.buffer) // 8 * (it.extent.constant or ASSUMED_STEPS)


def conflicts_in_l2(load: tir.LoadOp, it: Iter, rows: int, machine: Machine) -> bool:
    """Return whether a strip of columns would fit a cache as a panel, but maps to too few of its sets in its layout.

    Rows at a distance of a large power of two map to the same sets: in a second-level cache of 1024 sets of 8
    lines, rows at a distance of 2 KiB map to 32 sets, which hold 256 lines. The second level suffices if few
    `rows`, or an unknown number (0), use a panel.
    """
    steps = it.extent.constant
    if not steps:  # unknown, or nothing to read
        return False
    width = max(LINE_BITS, tile_vectors(machine.registers)[0] * machine.vector_bits) // 8
    distance = max(width, span_of(load, it) // steps)

    def crowded(cache: int) -> bool:
        sets = gcd(distance, cache // L2_WAYS)
        return 2 * steps * width * sets > cache * min(width, sets)

    l1, l2 = machine.caches.l1d, machine.caches.l2
    near = rows >= MANY_ROWS and 2 * steps * width <= l1
    return crowded(l2) or (near and crowded(l1))


def is_crowded_when(distance: SymExpr, steps: SymExpr, machine: Machine) -> SymExpr:
    """Return whether `steps` rows at a distance in bytes span many pages, or fill the sets that they map to.

    It is `conflicts_in_l2` for powers of two.
    """
    condition = ge(distance * steps, MANY_PAGES)
    for power in (1024, 2048, 4096):
        filled = gt(steps * (2 * power), machine.caches.l2)
        condition = logical_or(condition, logical_and(eq(floormod(distance, power), 0), filled))
    return condition
