"""`verify-memory`: check that functions for a device access its memory only from device threads."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.names import name_of
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from .walk import functions

_DEVICES = ("cuda", "rocm", "metal", "vulkan", "opencl", "webgpu")


class MemoryAccessError(TiraxError):
    """The host accesses device memory."""


@dataclass(frozen=True)
class VerifyMemory(Pass):
    """Check the functions whose attribute `target` names a device.

    Raises `MemoryAccessError` for the first access outside of loops bound to threads; host functions are not checked.
    """

    name = "verify-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            access = outside_of_threads(func)
            if access is not None:
                raise MemoryAccessError(
                    f"@{func.sym_name.data} touches memory of the device outside of its threads",
                    location=location_of(access),
                    found=f"an access of '{name_of(access.buffer)}'",
                    hint="bind a loop around it to blockIdx.x or threadIdx.x",
                )


def outside_of_threads(func: tir.FuncOp) -> tir.LoadOp | tir.StoreOp | None:
    """Return the first access of device memory that is not inside a loop over threads, or None."""
    target = None if func.func_attrs is None else func.func_attrs.data.get("target")
    if not isinstance(target, StringAttr | tir.TargetAttr):
        return None
    kind = target.data if isinstance(target, StringAttr) else str(target.config["kind"])
    if not kind.startswith(_DEVICES):
        return None
    accesses = (op for op in func.walk() if isinstance(op, tir.LoadOp | tir.StoreOp))
    return next((op for op in accesses if not _in_threads(op)), None)


def _in_threads(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp) and parent.thread is not None:
            return True
        parent = parent.parent_op()
    return False
