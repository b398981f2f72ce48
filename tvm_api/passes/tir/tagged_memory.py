"""Merge the allocations of memory with a tag, such as `local.L0A`, into one.

A = allocate [200] f32 "local.L0A"; B = allocate [200] i16 "local.L0A"; B[i]
  ->  A = allocate [300] f32 "local.L0A"; B is at A; B[i + 400]
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import is_scalable, lanes_of, scalar_of
from ....dialects.relax.types import dims_attr
from ....dialects.sym.expr import Const
from ....ir.rewriting.edit import inserter, set_type
from ....transforms.tir.walk import erase_with_tree, memory_bits

_ALIGNED = 32
"""The alignment of each part, in bits."""
_PLAIN = ("", "dyn", "barrier", "workspace", "vtcm")
"""Tags of memory that may be allocated any number of times."""


def merge_tagged(block: Block) -> None:
    """Merge the allocations of a body in one tagged scope, if each has a single constant extent."""
    merged: dict[str, list[tir.AllocateOp]] = {}
    for op in block.ops:
        if isinstance(op, tir.AllocateOp) and op.scope.data.partition(".")[2] not in _PLAIN and _bits(op) is not None:
            merged.setdefault(op.scope.data, []).append(op)
    for first, *others in merged.values():
        _merge(first, others)


def _bits(op: tir.AllocateOp) -> int | None:
    """Return the size in bits of an allocation that can be merged: only buffer elements in it are used; else None."""
    count = op.extents[0].constant if len(op.extents) == 1 else None
    buffers = [use.operation for use in op.result.uses]
    plain = all(isinstance(b, tir.DeclBufferOp) and b.result.type.rank == 1 and _is_accessed(b.result) for b in buffers)
    return count * memory_bits(op.dtype) if count is not None and plain else None


def _is_accessed(buffer: SSAValue) -> bool:
    return all(isinstance(use.operation, tir.LoadOp | tir.StoreOp) for use in buffer.uses)


def _merge(first: tir.AllocateOp, others: list[tir.AllocateOp]) -> None:
    total = _align_up(_bits(first) or 0)
    for op in others:
        if total % memory_bits(op.dtype) != 0:
            continue
        for buffer in [cast(tir.DeclBufferOp, use.operation) for use in op.result.uses]:
            _shift(buffer, total // memory_bits(buffer.result.type.dtype))
        total += _align_up(_bits(op) or 0)
        op.result.replace_all_uses_with(first.result)
        erase_with_tree(op)
    first.properties["extents_attr"] = dims_attr([Const(-(-total // memory_bits(first.dtype)), first.extents[0].dtype)])


def _align_up(bits: int) -> int:
    return -(-bits // _ALIGNED) * _ALIGNED


def _shift(buffer: tir.DeclBufferOp, start: int) -> None:
    """Shift the start of a buffer back by a number of elements, which are not accessed."""
    t = buffer.result.type
    set_type(buffer.result, t.replaced(shape=dims_attr([t.dims[0] + start])))
    for use in list(buffer.result.uses):
        access = use.operation
        position = len(access.operands) - 1
        access.operands[position] = _added(access, access.operands[position], start)


def _added(user: Operation, index: SSAValue, number: int) -> SSAValue:
    insert = inserter(user)
    dtype: Attribute = index.type
    insert(constant := tir.ConstOp(number, cast(IntegerType, scalar_of(dtype))))
    step: SSAValue = constant.result
    if lanes_of(dtype) > 1:
        insert(vector := tir.BroadcastOp(step, lanes_of(dtype), is_scalable(dtype)))
        step = vector.result
    insert(total := tir.AddOp(index, step))
    return total.result
