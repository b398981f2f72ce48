"""Exits of functions on failure: when an allocation fails, or when a callee returns an error status.

    %p = memref.alloc(%n)                 ->  %p = memref.alloc(%n);  cond_br %p != null, ^next, ^failed
                                              ^failed: memref.dealloc of what lives;  return -(KiB of %n)
    %s = func.call @f(…) {tirax.may_fail} ->  …;  cond_br %s >= 0, ^next, ^failed
                                              ^failed: memref.dealloc of what lives;  return %s

A function with the attribute `tirax.returns_status` returns an i32 status, see `lowering.tir_to_scf`. Others cannot
report a failure: they trap, which is better than writing to memory they do not own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, cf, func, llvm, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.quick import make
from ...dialects.xdsl_extras.type_guards import element_type
from .core import dense_i32
from .types import byte_size

RETURNS_STATUS, MAY_FAIL = "tirax.returns_status", "tirax.may_fail"
_NE, _SGE = IntegerAttr(1, i64), IntegerAttr(5, i64)
_MOST_ELEMENTS, _MOST_KIB = 1 << 40, (1 << 31) - 2
"""Caps of the reported size of a failed allocation: 2 TiB."""

Failure = tuple[Operation, tuple[SSAValue, ...]]
"""An operation that may fail, and the heap buffers that are live there."""


def failures(region: Region, live: tuple[SSAValue, ...] = ()) -> Iterator[Failure]:
    """Yield the operations of structured code that may fail, in order."""
    for block in region.blocks:
        here = live
        for op in block.ops:
            for inner in op.regions:
                yield from failures(inner, here)
            if isinstance(op, memref.AllocOp):
                yield op, here
                here = (*here, op.memref)
            elif MAY_FAIL in op.attributes:
                yield op, here
            elif isinstance(op, memref.DeallocOp):
                here = tuple(v for v in here if v is not op.memref)


def end_at_failures(failing: Sequence[Failure], returns_status: bool) -> None:
    """Branch to an exit block after each of these operations if it failed. The body must already be blocks and
    branches.
    """
    for op, live in reversed(failing):  # so that each operation is moved only once
        block = cast(Block, op.parent)
        following, failed = _split_after(op, block), Block()
        cast(Region, block.parent).insert_block_after(failed, following)
        branch = cf.ConditionalBranchOp.create(
            operands=(_holds(op, block),),
            successors=(following, failed),
            properties={"operandSegmentSizes": dense_i32((1, 0, 0))},
        )
        block.add_op(branch)
        if returns_status:
            failed.add_ops([memref.DeallocOp.create(operands=(buffer,)) for buffer in reversed(live)])
            failed.add_op(func.ReturnOp(_status(op, failed)))
        else:
            failed.add_ops([llvm.CallIntrinsicOp("llvm.trap", [], []), llvm.UnreachableOp()])
        for inner in failed.ops:
            inner.location = op.location


def _split_after(op: Operation, block: Block) -> Block:
    """Move everything after an operation into a new block placed after its block; return the new block."""
    rest = Block()
    following = op.next_op
    while following is not None:
        after = following.next_op
        following.detach()
        rest.add_op(following)
        following = after
    cast(Region, block.parent).insert_block_after(rest, block)
    return rest


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def _binary(block: Block, kind: type[Operation], a: SSAValue, b: int) -> SSAValue:
    constant = _add(block, arith.ConstantOp.from_int_and_width(b, cast(IndexType, a.type)))
    return _add(block, make(kind, (a, constant), result_types=(a.type,)))


def _holds(op: Operation, block: Block) -> SSAValue:
    """Insert an i1 that is true if an operation succeeded."""
    result, predicate = op.results[0], _SGE
    if isinstance(op, memref.AllocOp):
        address = memref.ExtractAlignedPointerAsIndexOp.build(operands=[result], result_types=[IndexType()])
        result, predicate = _add(block, address), _NE
    zero = _add(block, arith.ConstantOp.from_int_and_width(0, cast(IndexType, result.type)))
    compare = make(arith.CmpiOp, (result, zero), result_types=(i1,), properties={"predicate": predicate})
    return _add(block, compare)


def _status(op: Operation, block: Block) -> SSAValue:
    """Insert the status that the function returns after a failed operation."""
    if not isinstance(op, memref.AllocOp):
        return op.results[0]
    size = _binary(block, arith.MuliOp, _elements(op, block), byte_size(element_type(op.memref.type)))
    missing = _binary(block, arith.MinUIOp, _binary(block, arith.ShRUIOp, size, 10), _MOST_KIB)
    narrow = _add(block, arith.IndexCastOp(missing, i32))
    minus_one = _add(block, arith.ConstantOp.from_int_and_width(-1, i32))
    return _add(block, arith.SubiOp(minus_one, narrow))


def _elements(op: memref.AllocOp, block: Block) -> SSAValue:
    """Insert the number of elements to allocate, approximately."""
    known = 1
    for extent in op.memref.type.get_shape():
        known *= extent if extent >= 0 else 1
    count = _add(block, arith.ConstantOp.from_int_and_width(min(known, _MOST_ELEMENTS), IndexType()))
    for extent in op.dynamic_sizes:
        least = _binary(block, arith.MinUIOp, extent, _MOST_ELEMENTS)
        count = _add(block, make(arith.MuliOp, (count, least), result_types=(IndexType(),)))
    return count
