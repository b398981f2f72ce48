"""`promote-buffers-to-stack`: mark buffers of small constant size as `tirax.on_stack`.

    tir.alloc_buffer : !tir.buffer<[64], f32>  ->  tir.alloc_buffer {tirax.on_stack} : !tir.buffer<[64], f32>

`convert-tir-to-scf` allocates other buffers on the heap, and frees them at the end of the enclosing region. The buffers
of a function share a limit, as unrolling duplicates them; the first ones have priority.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from ...dialects import tir
from ...dialects.dtypes import byte_size, lanes_of, scalar_of
from ...dialects.quick import operations
from ...dialects.sym.expr import product
from ...ir.passes.transform import Pass
from .walk import functions

ON_STACK = "tirax.on_stack"


@dataclass(frozen=True)
class PromoteBuffersToStack(Pass):
    """Mark buffers of up to `max_bytes` bytes, up to `max_bytes_in_all` for each function."""

    name = "promote-buffers-to-stack"
    max_bytes: int = 16384
    max_bytes_in_all: int = 131072

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            left = self.max_bytes_in_all
            for inner in operations(func):
                if type(inner) is tir.AllocBufferOp or type(inner) is tir.AllocateOp:
                    size = _bytes(inner)
                    if size is not None and size <= min(self.max_bytes, left):
                        inner.attributes[ON_STACK] = UnitAttr()
                        left -= size


def _bytes(op: tir.AllocBufferOp | tir.AllocateOp) -> int | None:
    """Return the size of a buffer, or None if it is not constant."""
    dims, dtype = (
        (op.extents, op.dtype) if isinstance(op, tir.AllocateOp) else (op.result.type.dims, op.result.type.dtype)
    )
    count = product(dims).constant
    return None if count is None else count * lanes_of(dtype) * byte_size(scalar_of(dtype))
