"""Results that are larger than the last cache: their elements go to memory past the caches.

    Y[i, j] = f(…)     ->     Y[i, j] = tirax_streamed(f(…))

A line that is stored as a whole need not be read before, which is a third of what moves otherwise, and what the caches
hold stays there. That pays where a row is made of one that the function keeps in a cache; where each element is
computed from one in memory, reading and storing in turns, it does not. When it runs, vectors that do not lie in one
line are stored as ever.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.tir import BufferType
from ..loop_builder import LoopBuilder
from .machine import Machine
from .stages import Iter, Stage, constant_slope

STREAMED = "tirax_streamed"
"""The intrinsic whose value is its argument; what stores it need not keep it in a cache."""


def pays_streamed(stage: Stage, lane: Iter, machine: Machine) -> bool:
    """Whether a stage writes rows of a result that no cache holds from rows that the function keeps."""
    if not can_be_streamed(stage):
        return False
    rows = [load for load in stage.loads if constant_slope(load, lane) != 0]
    kept = bool(rows) and all(isinstance(r.buffer.owner, tir.AllocBufferOp) for r in rows)
    return kept and size_in_bits(cast(BufferType, stage.buffer.type)) >= 8 * machine.caches.l3


def size_in_bits(kind: BufferType) -> int:
    """How large a buffer is; 0 where that is not known."""
    return bit_width(kind.dtype) * prod(extent.constant or 0 for extent in kind.dims)


def can_be_streamed(stage: Stage) -> bool:
    """Whether what a stage writes are elements of 32 or 64 bits in memory that the function is given."""
    kind = cast(BufferType, stage.buffer.type)
    return not isinstance(stage.buffer.owner, tir.AllocBufferOp) and bit_width(kind.dtype) in (32, 64)


def streamed(loops: LoopBuilder, value: SSAValue) -> SSAValue:
    """`value`, marked for the store that takes it."""
    return loops.op(tir.CallIntrinOp(STREAMED, [value], value.type))


def is_streamed(store: tir.StoreOp) -> bool:
    """Whether a store is of a marked value."""
    owner = store.value.owner
    return isinstance(owner, tir.CallIntrinOp) and owner.func.data == STREAMED
