"""Schedules that a CPU cannot run, or that take too long to compile."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.tir import BufferType, ForKind
from ...schedule import Schedule
from ...schedule import state as st
from .postprocessor import Postproc


@dataclass
class VerifyOnCPU(Postproc):
    """Reject schedules with loops bound to threads, or beyond limits.

    These are `max_lanes` of a vectorized loop, `max_unrolled` iterations of unrolled loops inside of each other, and
    `max_bytes` of all buffers that are allocated.
    """

    max_lanes: int = 256
    max_unrolled: int = 4096
    max_bytes: int = 1 << 32

    def apply(self, sch: Schedule) -> bool:
        allocated = 0
        for op in sch.mod.op.walk():
            if isinstance(op, tir.ForOp) and not self._fits(op):
                return False
            if isinstance(op, tir.AllocBufferOp):
                allocated += _bytes(op)
        return allocated <= self.max_bytes

    def _fits(self, loop: tir.ForOp) -> bool:
        if loop.kind is ForKind.THREAD_BINDING:
            return False
        if loop.kind is ForKind.VECTORIZED:
            return (st.constant_extent(loop) or self.max_lanes + 1) <= self.max_lanes
        if loop.kind is ForKind.UNROLLED:
            nest = [loop, *(lp for lp in st.loops_above(loop) if lp.kind is ForKind.UNROLLED)]
            return prod(st.constant_extent(lp) or self.max_unrolled + 1 for lp in nest) <= self.max_unrolled
        return True


def _bytes(op: tir.AllocBufferOp) -> int:
    kind = op.results[0].type
    assert isinstance(kind, BufferType)
    return prod(d.constant or 1 for d in kind.dims) * bit_width(kind.dtype) // 8
