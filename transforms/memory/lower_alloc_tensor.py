"""Give the tensors that memory planning left alone storage of their own."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.dtypes import dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax.memory import AllocStorage, AllocTensor, MemoryAllocTensor, tensor_bytes
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase_with_leaves
from .emit import Emitter

_BYTE = dtype_of("uint8")


@dataclass(frozen=True)
class LowerAllocTensor(Pass):
    """Each `builtin.alloc_tensor` becomes a storage of its size and a tensor in it; those of unknown shape stay.

    x = builtin.alloc_tensor(shape([n, 4]), "float32", 0, "global")
    ->  storage = memory.alloc_storage(shape([n * 16]), 0, "global", "uint8")
        x = memory.alloc_tensor(storage, 0, shape([n, 4]), "float32")
    """

    name = "lower-alloc-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(variable_names(op))
        for func in relax_functions(op):
            for alloc in list(ops_of_type(func, AllocTensor)):
                _lower(alloc, Emitter(alloc, names))


def _lower(op: AllocTensor, emit: Emitter) -> None:
    t = op.new_tensor()
    if t.dims is None or t.element is None:
        return
    shape, dtype, device, scope = op.operands
    size = emit.shape([tensor_bytes(t)])
    storage = emit.named(AllocStorage, "storage", size, device, scope, emit.dtype(_BYTE))
    new = emit.put(MemoryAllocTensor.make(storage, emit.integer(0), shape, dtype))
    set_name(new.results[0], name_of(op.results[0]))
    op.results[0].replace_all_uses_with(new.results[0])
    erase_with_leaves(op)
