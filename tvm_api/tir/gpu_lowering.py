"""The passes after which the limits of a device are checked: threads are launched, buffers are flat."""

from __future__ import annotations

from ...handles.module import IRModule
from . import transform


def lowered(module: IRModule) -> IRModule:
    """Return a module with scheduled functions lowered. Raises `TiraxError` where a pass refuses one."""
    passes = [
        transform.LowerCrossThreadReduction(),
        transform.LowerInitBlock(),
        transform.PlanAndUpdateBufferAllocationLocation(),
        transform.ConvertBlocksToOpaque(),
        transform.LiftThreadBinding(),
        transform.CompactBufferAllocation(),
        transform.Simplify(),
        transform.UnifyThreadBinding(),
        transform.LowerMatchBuffer(),
        transform.InjectSoftwarePipeline(),
        transform.LowerOpaqueBlock(),
        transform.FlattenBuffer(),
        transform.BF16ComputeLegalize(),
        transform.NarrowDataType(32),
        transform.Simplify(),
        transform.VectorizeLoop(True),
        transform.InjectVirtualThread(),
        transform.InjectDoubleBuffer(),
        transform.StorageRewrite(),
    ]
    for each in passes:
        module = each(module)
    return module


__all__ = ["lowered"]
