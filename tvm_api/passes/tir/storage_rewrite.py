"""`storage-rewrite`: like `share-buffers`, but buffers remain declared in place, at addresses in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import inserter, replace_value
from ....transforms.tir.share_buffers import share_memory
from ....transforms.tir.walk import erase_with_tree, functions
from .pointer_value_type_rewrite import own_memory, rewrite_value_types
from .tagged_memory import merge_tagged


@dataclass(frozen=True)
class StorageRewrite(Pass):
    """Share allocations of constant size, remove unused memory, and hoist all allocations. Run it after
    `flatten-buffer`.

    Buffers remain declared in place, at the addresses that they share. Allocations of memory with a tag are
    merged into one (`tagged_memory`). Memory accessed only by vectors of one width then gets a vector element
    type. Raises `UnsupportedError` for memory of blocks and for loops that are vectors: lower both before.
    """

    name = "storage-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _check(func)
            own = _split(func)
            share_memory(func, stay=own)
            for block in [b for inner in operations(func) for region in inner.regions for b in region.blocks]:
                merge_tagged(block)
            _join(own)
            rewrite_value_types(func, own_memory(func), scalar_reads=False)


def _check(func: tir.FuncOp) -> None:
    for op in operations(func):
        if isinstance(op, tir.ForOp) and op.kind is tir.ForKind.VECTORIZED:
            why, hint = "VectorizeLoop before LiftStorageAlloc", "run vectorize-loop before"
        elif isinstance(op, tir.AllocBufferOp) and not op.declared and op.result.first_use is not None:
            why = f"Load/Store of buffer {name_of(op.result)} occurred before its declaration"
            hint = "run lower-opaque-block before"
        else:
            continue
        raise UnsupportedError(why, location=location_of(op), hint=hint)


def _split(func: tir.FuncOp) -> list[tir.DeclBufferOp]:
    """Turn declared compact buffers into buffers at the addresses of memory."""
    buffers: list[tir.DeclBufferOp] = []
    for op in [a for a in operations(func) if isinstance(a, tir.AllocBufferOp) and a.declared]:
        t = op.result.type
        if t.explicit_strides is not None or t.elem_offset is not None or isinstance(op.parent_op(), tir.BlockOp):
            continue
        insert = inserter(op)
        insert(memory := tir.AllocateOp(t.dims, t.dtype, t.scope.data))
        insert(buffer := tir.DeclBufferOp(memory.result, t))
        set_name(memory.result, name_of(op.result))
        replace_value(op.result, buffer.result)
        erase_with_tree(op)
        buffers.append(buffer)
    return buffers


def _join(buffers: Sequence[tir.DeclBufferOp]) -> None:
    """Undo `_split` for buffers that still follow their memory and cover all of it."""
    for buffer in [b for b in buffers if b.parent is not None]:
        memory, t = buffer.data.owner, buffer.result.type
        if not isinstance(memory, tir.AllocateOp) or memory.next_op is not buffer:
            continue
        if memory.dtype != t.dtype or memory.extents != list(t.dims):
            continue
        insert = inserter(memory)
        insert(alloc := tir.AllocBufferOp(t, declared=True))
        replace_value(buffer.result, alloc.result)
        erase_with_tree(buffer)
        if memory.result.first_use is not None:
            insert(data := tir.BufferDataOp(alloc.result))
            memory.result.replace_all_uses_with(data.result)
        erase_with_tree(memory)
