"""Allocate storage for tensors that memory planning left alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects.dtypes import dtype_of
from ....dialects.relax.memory import AllocStorage, AllocTensor, MemoryAllocTensor, tensor_bytes
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_to

_BYTE = dtype_of("uint8")


@dataclass(frozen=True)
class LowerAllocTensor(Pass):
    """Replaces each `builtin.alloc_tensor` by a storage of its size and a tensor in it; those of unknown shape remain.

    x = builtin.alloc_tensor(shape([n, 4]), "float32", 0, "global")
    ->  storage = memory.alloc_storage(shape([n * 16]), 0, "global", "uint8")
        x = memory.alloc_tensor(storage, 0, shape([n, 4]), "float32")
    """

    name = "lower-alloc-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_to(op, {AllocTensor.name: _lower}, NameSupply(variable_names(op)))


def _lower(op: AllocTensor, emit: Emit) -> SSAValue | None:
    t = op.new_tensor()
    if t.dims is None or t.element is None:
        return None
    shape, dtype, device, scope = op.operands
    size = emit.shape([tensor_bytes(t)])
    storage = emit.named("storage", AllocStorage.make(size, device, scope, emit.dtype(_BYTE)))
    return emit.put(MemoryAllocTensor.make(storage, emit.integer(0), shape, dtype))
