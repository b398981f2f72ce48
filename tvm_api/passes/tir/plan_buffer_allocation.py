"""`tvm-plan-and-update-buffer-allocation-location`: allocate buffers where TVM does.

The pass of the pipeline, without `tvm-`, keeps a buffer outside of loops whose iterations hand on what is in it; TVM's
rule looks at the iterators of blocks only.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.quick import operations
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....transforms.tir.plan_and_update_buffer_allocation_location import Planner
from ....transforms.tir.walk import functions
from .buffer_access_lca import AccessScopes


@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(Pass):
    """Move allocations of blocks to the innermost loop or block around all accesses of the buffer.

    Raises `UnsupportedError` for a block with an init region: run `lower-init-block` before.
    """

    name = "tvm-plan-and-update-buffer-allocation-location"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in operations(func):
                if isinstance(inner, tir.InitOp):
                    hint = "run lower-init-block before"
                    raise UnsupportedError("a block has an init region", location=location_of(inner), hint=hint)
            paths = AccessScopes(func).paths
            allocs = [o for o in operations(func) if isinstance(o, tir.AllocBufferOp) and not o.declared]
            targets = [(alloc, paths.get(alloc.result)) for alloc in allocs]
            moves = [(alloc, path[-1]) for alloc, path in targets if path and not isinstance(path[-1], tir.FuncOp)]
            Planner().move(func, moves)
