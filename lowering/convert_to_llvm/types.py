"""Type conversion: `index` is i64, a memref is a bare pointer, vectors are one-dimensional.

A memref is converted to `!llvm.ptr`; only its type holds the layout: identity (all dimensions but the first static)
or `strided<[…], offset: k>` with static strides. A static offset is added at each access; an offset `?` is already
part of the pointer. A memref of i1 holds one byte per element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    FixedBitwidthType,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    VectorType,
    i8,
    i16,
    i64,
)
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMFunctionType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
    is_compatible_type,
)
from xdsl.ir import Attribute

from ...diagnostics import UnsupportedError
from ...dialects.xdsl_extras.type_guards import is_integer, is_memref, is_vector

PTR = LLVMPointerType()
_A = TypeVar("_A", bound=Attribute)
_R = TypeVar("_R")


def remembering(function: Callable[[_A], _R]) -> Callable[[_A], _R]:
    """Memoize `function` on the attribute it is applied to; the result is stored in that attribute and freed with it.

    Most types of a function are the same few objects, and hashing one takes as long as creating an operation.
    """
    name = f"tirax.{function.__name__}"

    def look_up(attribute: _A) -> _R:
        own = vars(attribute)
        known = own.get(name)
        if known is None:
            known = own[name] = function(attribute)
        return known

    return look_up


@remembering
def convert_type(type: Attribute) -> Attribute:
    """Return the LLVM type of a value of `type`. Raises `UnsupportedError` if there is none."""
    if isinstance(type, IndexType):
        return i64
    if is_memref(type):
        return PTR
    if is_integer(type):
        return type if type.signedness.data is Signedness.SIGNLESS else IntegerType(type.width.data)
    if is_vector(type):
        return _convert_vector(type)
    if isinstance(type, FunctionType):
        return PTR
    if is_compatible_type(type) or isinstance(type, LLVMVoidType):
        return type
    raise UnsupportedError(f"type {type} has no counterpart in LLVM")


def _convert_vector(type: VectorType[Attribute]) -> Attribute:
    if type.get_num_dims() != 1 or type.get_num_scalable_dims():
        raise UnsupportedError(
            f"vector type {type} has no counterpart in LLVM", expected="a vector of one fixed dimension"
        )
    return VectorType(convert_type(type.element_type), type.shape)


def function_type(inputs: tuple[Attribute, ...], outputs: tuple[Attribute, ...]) -> LLVMFunctionType:
    """Return the LLVM function type; several results become one struct."""
    return LLVMFunctionType([convert_type(t) for t in inputs], result_type(outputs))


def result_type(outputs: tuple[Attribute, ...]) -> Attribute:
    """Return the result type of an LLVM function with these results: void, the type itself, or a struct."""
    if not outputs:
        return LLVMVoidType()
    converted = [convert_type(t) for t in outputs]
    return converted[0] if len(converted) == 1 else LLVMStructType.from_type_list(converted)


@remembering
def storage_type(type: Attribute) -> Attribute:
    """Return the in-memory type of `type`: i1 is stored as a byte, bf16 as its bits (see `floats.py`)."""
    if is_vector(type):
        return VectorType(storage_type(type.element_type), type.shape)
    converted = convert_type(type)
    if isinstance(converted, BFloat16Type):
        return i16
    return i8 if is_integer(converted) and converted.width.data == 1 else converted


@remembering
def byte_size(type: Attribute) -> int:
    """Return the number of bytes that a scalar or vector takes in memory."""
    if is_vector(type):
        count = 1
        for extent in type.get_shape():
            count *= extent
        return count * byte_size(type.element_type)
    stored = storage_type(type)
    if isinstance(stored, FixedBitwidthType):
        return (stored.bitwidth + 7) // 8
    if isinstance(stored, LLVMPointerType):
        return 8
    raise UnsupportedError(f"type {type} has no known size in memory")


@remembering
def layout(type: MemRefType[Attribute]) -> tuple[tuple[int, ...], int]:
    """Return (strides, offset) in elements. Raises `UnsupportedError` if a stride is not static."""
    if isinstance(type.layout, StridedLayoutAttr):
        strides = tuple(s.data if isinstance(s, IntAttr) else None for s in type.layout.strides)
        offset = type.layout.offset.data if isinstance(type.layout.offset, IntAttr) else 0
    elif isinstance(type.layout, NoneAttr):
        strides, offset = _identity_strides(type.get_shape()), 0
    else:
        raise UnsupportedError(f"layout of {type} is not supported", expected="identity or strided<…>")
    known = tuple(s for s in strides if s is not None)
    if len(known) != len(strides):
        raise UnsupportedError(
            f"{type} has a stride that is not static",
            hint="flatten the buffer to one dimension and compute the index before lowering",
        )
    return known, offset


def _identity_strides(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    strides: list[int | None] = []
    running: int | None = 1
    for extent in reversed(shape):
        strides.append(running)
        running = None if running is None or extent < 0 else running * extent
    return tuple(reversed(strides))


def array_type(type: MemRefType[Attribute]) -> LLVMArrayType:
    """Return the LLVM array that holds a memref of static shape."""
    count = 1
    for extent in type.get_shape():
        count *= extent
    element = type.element_type
    # bf16 stays, as the initial values of a global are floats.
    return LLVMArrayType(count, element if isinstance(element, BFloat16Type) else storage_type(element))


def is_float(type: Attribute) -> bool:
    """Return whether `type` is a float or a vector of floats."""
    return isinstance(type.element_type if is_vector(type) else type, AnyFloat)
