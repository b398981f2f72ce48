"""Conversions between tir's scalar types (and vectors of them), and between memrefs and pointers."""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
    VectorType,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dtypes import bit_width, is_float, is_unsigned
from ...dialects.xdsl_extras import arith_extras as extras
from ...dialects.xdsl_extras.arith_extras import element_type
from .emitter import Emitter, like
from .signature import POINTER, scalar_type

_Ops = tuple[type[Operation], type[Operation]]
_EXTEND: dict[bool, _Ops] = {True: (arith.ExtUIOp, extras.ExtUIOp), False: (arith.ExtSIOp, extras.ExtSIOp)}
_TO_FLOAT: dict[bool, _Ops] = {True: (arith.UIToFPOp, extras.UIToFPOp), False: (arith.SIToFPOp, extras.SIToFPOp)}
_TO_INT: dict[bool, _Ops] = {True: (arith.FPToUIOp, extras.FPToUIOp), False: (arith.FPToSIOp, extras.FPToSIOp)}


def convert(emit: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """Convert `value`, of tir dtype `source`, to dtype `target` (scalar dtypes; `value` may be a vector)."""
    source, target = element_type(source), element_type(target)
    if source == target:
        return value
    if target == i1:
        zero = emit.constant(0, value.type)
        return emit.compare("une" if is_float(source) else "ne", value, zero)
    if is_float(source):
        return _from_float(emit, value, source, target)
    if is_float(target):
        return emit.convert(*_TO_FLOAT[is_unsigned(source)], value, target)
    return _between_integers(emit, value, source, target)


def _from_float(emit: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    if not is_float(target):
        return emit.convert(*_TO_INT[is_unsigned(target)], value, scalar_type(target))
    if bit_width(source) == bit_width(target):
        return _from_float(emit, _from_float(emit, value, source, f32), f32, target)
    grows = bit_width(target) > bit_width(source)
    type = like(value.type, target)
    if grows:
        return emit.pure(arith.ExtFOp, (value,), type)
    return emit.pure(arith.TruncFOp, (value,), type)


def _between_integers(emit: Emitter, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    known = emit.known.get(value)
    if known is not None and not isinstance(value.type, VectorType) and source != i1:
        if is_unsigned(source):
            known %= 1 << bit_width(source)
        return emit.constant(known, scalar_type(target))
    growth = bit_width(target) - bit_width(source)
    if growth == 0:
        return value
    if growth < 0:
        return emit.convert(arith.TruncIOp, extras.TruncIOp, value, scalar_type(target))
    return emit.convert(*_EXTEND[is_unsigned(source)], value, scalar_type(target))


def pointer_to(emit: Emitter, value: SSAValue) -> SSAValue:
    """Convert a memref to a bare pointer."""
    return emit.pure(UnrealizedConversionCastOp, (value,), POINTER) if isinstance(value.type, MemRefType) else value


def as_memref(emit: Emitter, value: SSAValue, type: MemRefType[Attribute]) -> SSAValue:
    """View a memref or pointer as a memref of `type` at the same address."""
    return emit.append(UnrealizedConversionCastOp.get([pointer_to(emit, value)], [type])).results[0]


def moved(emit: Emitter, base: SSAValue, elements: SSAValue, size: int) -> SSAValue:
    """Return the address `elements` (an index) elements of `size` bytes after a memref or pointer; it may be out of
    bounds.
    """
    pointer = pointer_to(emit, base)
    if emit.known.get(elements) == 0:
        return pointer
    element = _OF_SIZE.get(size, i8)
    if size not in _OF_SIZE:
        elements = emit.mul(elements, emit.index(size))
    properties: dict[str, Attribute] = {"elem_type": element, **_ONE_INDEX}
    return emit.pure(llvm.GEPOp, (pointer, emit.from_index(elements, i64)), POINTER, properties)


_OF_SIZE: dict[int, Attribute] = {1: i8, 2: i16, 4: i32, 8: i64}
"""The integer type that represents an element of each size in bytes."""
_ONE_INDEX: dict[str, Attribute] = {
    "rawConstantIndices": DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL]),
    "noWrapFlags": IntegerAttr(0, i32),
}
