"""Side effects of tensor functions."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import tir


def first_effect(func: Operation) -> Operation | None:
    """Return the first store to a parameter, possibly impure call, or assertion; None if the function is pure."""
    for inner in func.walk():
        if isinstance(inner, tir.CallExternOp | tir.CallPackedOp | tir.AssertOp):
            return inner
        if isinstance(inner, tir.StoreOp) and not _is_own(inner.buffer):
            return inner
    return None


def _is_own(buffer: SSAValue) -> bool:
    """Return whether a buffer is in memory that the function allocates."""
    while isinstance(buffer, OpResult) and not isinstance(buffer.op, tir.AllocBufferOp | tir.AllocateOp):
        if not isinstance(buffer.op, tir.DeclBufferOp | tir.MatchBufferOp | tir.BufferDataOp):
            return False
        buffer = buffer.op.operands[0]
    return isinstance(buffer, OpResult)
