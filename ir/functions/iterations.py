"""Estimates of the loop iterations of a tensor function."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from ...dialects import tir

UNKNOWN = 1 << 40
"""The iterations of a loop of unknown extent: a lower bound of the estimate."""


def iterations(func: tir.FuncOp, sizes: Mapping[str, int] | None = None) -> int:
    """Return the total iterations of all loops, each multiplied by the loops around it; `UNKNOWN` or more if unknown.

    `sizes` are the values of symbolic variables.
    """

    def extent(loop: tir.ForOp) -> int:
        if isinstance(loop.extent, SSAValue):
            return UNKNOWN
        if loop.extent.constant is not None:
            return loop.extent.constant
        known = sizes is not None and all(v.name in sizes for v in loop.extent.free_vars())
        return loop.extent.evaluate(sizes) if sizes is not None and known else UNKNOWN

    def count(op: Operation, times: int) -> int:
        inner = times
        if isinstance(op, tir.ForOp):
            inner = times * max(extent(op), 0)
        elif isinstance(op, tir.WhileOp):
            inner = times * UNKNOWN
        below = [child for region in op.regions for block in region.blocks for child in block.ops]
        return inner + sum(count(child, inner) for child in below if child.regions)

    return count(func, 1)
