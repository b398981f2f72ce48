"""Addresses: a memref as a pointer, and the address so many elements further."""

from __future__ import annotations

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp, i64
from xdsl.ir import SSAValue

from .emitter import INDEX, Emitter
from .signature import POINTER


def pointer_to(emit: Emitter, value: SSAValue) -> SSAValue:
    """A memref as the bare pointer that it is below."""
    if not isinstance(value.type, MemRefType):
        return value
    return emit.append(UnrealizedConversionCastOp.get([value], [POINTER])).results[0]


def moved(emit: Emitter, base: SSAValue, elements: SSAValue, size: int) -> SSAValue:
    """The address so many elements (an index) of `size` bytes after a memref or pointer."""
    distance = emit.mul(elements, emit.index(size))
    if emit.known.get(distance) == 0:
        return pointer_to(emit, base)
    if isinstance(base.type, MemRefType):
        op = memref.ExtractAlignedPointerAsIndexOp.build(operands=[base], result_types=[INDEX])
        address = emit.append(op).results[0]
    else:
        address = emit.to_index(emit.append(llvm.PtrToIntOp(base)).results[0])
    return emit.append(llvm.IntToPtrOp(emit.from_index(emit.add(address, distance), i64))).results[0]
