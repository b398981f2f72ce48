"""Intrinsics on addresses: of an element, of a part of a buffer, moved by bytes, compared with null."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp, i64
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import byte_size, lanes_of, scalar_of
from .emitter import INDEX, Emitter
from .signature import POINTER

if TYPE_CHECKING:
    from .values import Values


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


def _size(dtype: Attribute) -> int:
    return byte_size(scalar_of(dtype)) * lanes_of(dtype)


def _address_of(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    load = op.call_args[0].owner
    if not isinstance(load, tir.LoadOp) or len(load.indices) != 1:
        raise UnsupportedError("address_of takes an element of a flat buffer", hint="run flatten-buffer before")
    dtype = cast(tir.BufferType, load.buffer.type).dtype
    index = load.indices[0]
    at = index.owner.base if isinstance(index.owner, tir.RampOp) else index
    return moved(values.emit, values.value(load.buffer), values.index(at), _size(dtype))


def _access_pointer(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    dtype, data, offset = op.call_args[:3]
    return moved(values.emit, values.value(data), values.index(offset), _size(dtype.type))


def _byte_offset(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    data, offset = op.call_args
    return moved(values.emit, values.value(data), values.index(offset), 1)


def _is_null(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    emit = values.emit
    address = emit.append(llvm.PtrToIntOp(pointer_to(emit, values.value(op.call_args[0])))).results[0]
    return emit.compare("eq", address, emit.constant(0, i64))


ADDRESSES: dict[str, Callable[[Values, tir.CallIntrinOp], SSAValue]] = {
    "address_of": _address_of,
    "tvm_access_ptr": _access_pointer,
    "handle_add_byte_offset": _byte_offset,
    "isnullptr": _is_null,
}
"""Name of an intrinsic -> the value of a call; they look at what their arguments are made of."""
