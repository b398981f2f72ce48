"""`memref` to llvm: bare pointers, addressed by GEP.

Loads and stores assume the natural alignment of the element type unless the operation has an attribute `alignment`
(bytes). `memref.alloca` of static shape is placed in the entry block, aligned to 64; `memref.alloc` calls
`aligned_alloc`. `memref.dim` of a dynamic extent is not supported: pass the extent as a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    UnitAttr,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras import llvm_extras, memref_extras
from ...dialects.xdsl_extras.type_guards import element_type, is_integer_attr, with_element
from .core import NSW, Lowerer, Rules, known_integer
from .floats import from_narrow_bits, narrow_bits
from .types import PTR, array_type, byte_size, layout, storage_type

Values = Sequence[SSAValue]
ALIGNMENT = 64
_ORDERING = IntegerAttr(0, i64)
_alignments = {n: IntegerAttr(n, i64) for n in (1, 2, 4, 8, 16, 32, 64)}


def linear_index(at: Lowerer, terms: Sequence[tuple[SSAValue | int, int]], offset: int) -> SSAValue | int:
    """Return offset + the sum of value * stride; a Python integer if everything is constant."""
    total: SSAValue | None = None
    for value, stride in terms:
        known = value if isinstance(value, int) else known_integer(value)
        if known is not None:
            offset += known * stride
            continue
        term = cast(SSAValue, value)
        if stride != 1:
            term = at.integer_binary(llvm.MulOp, term, at.integer(stride), NSW)
        total = term if total is None else at.integer_binary(llvm.AddOp, total, term, NSW)
    if total is None:
        return offset
    return at.integer_binary(llvm.AddOp, total, at.integer(offset), NSW) if offset else total


def address(at: Lowerer, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """Return the address of the element of the memref `base` at `indices`."""
    type = at.memref_type(base)
    strides, offset = layout(type)
    index = linear_index(at, list(zip(indices, strides, strict=True)), offset)
    return base if index == 0 else at.gep(base, index, storage_type(type.element_type))


def _hints(op: Operation) -> dict[str, Attribute]:
    nontemporal = op.properties.get("nontemporal")
    streamed = is_integer_attr(nontemporal) and bool(nontemporal.value.data)
    return {"nontemporal": UnitAttr()} if streamed else {}


def _alignment(op: Operation, type: Attribute) -> IntegerAttr[Any]:
    alignment = op.get_attr_or_prop("alignment")
    if is_integer_attr(alignment):
        return alignment
    return _alignments.get(byte_size(element_type(type))) or _alignments[1]


def load(at: Lowerer, op: Operation, pointer: SSAValue, type: Attribute) -> SSAValue:
    """Load a scalar or vector with the alignment of `op`, by default that of one element."""
    stored = storage_type(type)
    hints = _hints(op)
    properties: dict[str, Attribute] = {"ordering": _ORDERING, "alignment": _alignment(op, type), **hints}
    kind = llvm_extras.LoadOp if hints else llvm.LoadOp
    value = at.value(make(kind, (pointer,), result_types=(stored,), properties=properties))
    return from_storage(at, value, type)


def store(at: Lowerer, op: Operation, value: SSAValue, pointer: SSAValue) -> None:
    """Store a scalar or vector with the alignment of `op`, by default that of one element."""
    properties: dict[str, Attribute] = {"ordering": _ORDERING, "alignment": _alignment(op, value.type), **_hints(op)}
    at.insert(make(llvm.StoreOp, (to_storage(at, value), pointer), properties=properties))


def from_storage(at: Lowerer, value: SSAValue, type: Attribute) -> SSAValue:
    """Convert a loaded value to its register form: nonzero bytes are true."""
    if element_type(type) != i1:
        return from_narrow_bits(at, value, type)
    return at.icmp("ne", value, at.integer(0, value.type), with_element(value.type, i1))


def to_storage(at: Lowerer, value: SSAValue) -> SSAValue:
    """Convert a value from its register form to its form in memory."""
    if element_type(value.type) != i1:
        return narrow_bits(at, value)
    return at.cast(llvm.ZExtOp, value, with_element(value.type, i8))


def _load(op: memref.LoadOp, at: Lowerer) -> Values:
    return (load(at, op, address(at, op.memref, op.indices), op.res.type),)


def _store(op: memref.StoreOp, at: Lowerer) -> Values:
    store(at, op, op.value, address(at, op.memref, op.indices))
    return ()


def _byte_count(at: Lowerer, type: MemRefType[Attribute], dynamic: Sequence[SSAValue]) -> SSAValue | int:
    """Return the size in bytes of a memref of identity layout whose dynamic extents are `dynamic`."""
    size = byte_size(type.element_type)
    for extent in type.get_shape():
        size *= 1 if extent == DYNAMIC_INDEX else extent
    total: SSAValue | None = None
    for extent in dynamic:
        total = extent if total is None else at.integer_binary(llvm.MulOp, total, extent, NSW)
    return size if total is None else at.integer_binary(llvm.MulOp, total, at.integer(size), NSW)


def _alloca(op: memref.AllocaOp, at: Lowerer) -> Values:
    type = at.memref_type(op.memref)
    alignment = op.alignment or IntegerAttr(ALIGNMENT, i64)
    if op.dynamic_sizes:
        size = _byte_count(at, type, op.dynamic_sizes)
        assert isinstance(size, SSAValue)
        return (at.value(_make_alloca(size, i8, alignment)),)
    one = at.insert_at_entry(
        make(llvm.ConstantOp, result_types=(i64,), properties={"value": IntegerAttr(1, i64)})
    ).results[0]
    return (at.insert_at_entry(_make_alloca(one, array_type(type), alignment)).results[0],)


def _make_alloca(size: SSAValue, element: Attribute, alignment: Attribute) -> llvm.AllocaOp:
    properties: dict[str, Attribute] = {"alignment": alignment, "elem_type": element}
    return make(llvm.AllocaOp, (size,), result_types=(PTR,), properties=properties)


def _alloc(op: memref.AllocOp, at: Lowerer) -> Values:
    alignment = max(op.alignment.value.data if op.alignment is not None else ALIGNMENT, 8)
    size = _byte_count(at, at.memref_type(op.memref), op.dynamic_sizes)
    if isinstance(size, int):
        rounded = at.integer(-(-max(size, 1) // alignment) * alignment)
    else:
        bumped = at.integer_binary(llvm.AddOp, size, at.integer(alignment - 1), NSW)
        rounded = at.integer_binary(llvm.AndOp, bumped, at.integer(-alignment))
    return at.call("aligned_alloc", (at.integer(alignment), rounded), PTR)


def _dealloc(op: memref.DeallocOp, at: Lowerer) -> Values:
    at.call("free", (op.memref,), None)
    return ()


def _dim(op: memref.DimOp, at: Lowerer) -> Values:
    index = known_integer(op.index)
    shape = at.memref_type(op.source).get_shape()
    if index is None or not 0 <= index < len(shape) or shape[index] == DYNAMIC_INDEX:
        raise UnsupportedError(
            "memref.dim of a dynamic extent: a memref is a bare pointer here", hint="pass the extent as an index value"
        )
    return (at.integer(shape[index]),)


def _get_global(op: memref.GetGlobalOp, at: Lowerer) -> Values:
    properties: dict[str, Attribute] = {"global_name": op.name_}
    return (at.value(make(llvm.AddressOfOp, result_types=(PTR,), properties=properties)),)


def _same_pointer(op: Operation, at: Lowerer) -> Values:
    return (op.operands[0],)


def _assume_alignment(op: memref.AssumeAlignmentOp, at: Lowerer) -> Values:
    bits = at.value(make(llvm.PtrToIntOp, (op.memref,), result_types=(i64,)))
    low = at.integer_binary(llvm.AndOp, bits, at.integer(op.alignment.value.data - 1))
    at.intrinsic("llvm.assume", (at.icmp("eq", low, at.integer(0), i1),), None)
    return (op.memref,)


def _as_index(op: memref.ExtractAlignedPointerAsIndexOp, at: Lowerer) -> Values:
    return (at.value(make(llvm.PtrToIntOp, op.operands, result_types=(i64,))),)


def _mixed(static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[SSAValue | int]:
    rest = iter(dynamic)
    return [next(rest) if int(v) == DYNAMIC_INDEX else int(v) for v in static.get_values()]


def _offset_is_static(type: MemRefType[Attribute]) -> bool:
    """Return whether accesses through `type` add the whole offset themselves."""
    return not isinstance(type.layout, StridedLayoutAttr) or isinstance(type.layout.offset, IntAttr)


def _move(at: Lowerer, base: SSAValue, index: SSAValue | int) -> Values:
    element = storage_type(at.memref_type(base).element_type)
    return (base if index == 0 else at.gep(base, index, element),)


def _subview(op: memref.SubviewOp, at: Lowerer) -> Values:
    if _offset_is_static(at.memref_type(op.result)):
        return (op.source,)
    strides, offset = layout(at.memref_type(op.source))
    offsets = _mixed(op.static_offsets, op.offsets)
    return _move(at, op.source, linear_index(at, list(zip(offsets, strides, strict=True)), offset))


def _reinterpret_cast(op: memref.ReinterpretCastOp, at: Lowerer) -> Values:
    if _offset_is_static(at.memref_type(op.result)):
        return (op.source,)
    return _move(at, op.source, linear_index(at, [(v, 1) for v in _mixed(op.static_offsets, op.offsets)], 0))


def _view(op: memref.ViewOp, at: Lowerer) -> Values:
    index = linear_index(at, [(op.byte_shift, 1)], 0)
    return (op.source if index == 0 else at.gep(op.source, index, i8),)


def _copy(op: memref.CopyOp, at: Lowerer) -> Values:
    types = [at.memref_type(v) for v in op.operands]
    if any(isinstance(t.layout, StridedLayoutAttr) or DYNAMIC_INDEX in t.get_shape() for t in types):
        raise UnsupportedError(f"memref.copy of {types[0]} to {types[1]}", expected="static shapes of identity layout")
    size = at.integer(cast(int, _byte_count(at, types[0], ())))
    at.intrinsic("llvm.memmove", (op.destination, op.source, size, at.integer(0, i1)), None)
    return ()


def lower_global(op: memref.GlobalOp) -> llvm.GlobalOp:
    """Return a `memref.global` as an LLVM global; without an initial value it is external if public, otherwise
    zero-initialized.
    """
    type = array_type(op.type)
    private = op.sym_visibility.data == "private"
    value = None if isinstance(op.initial_value, UnitAttr) else op.initial_value
    body = Region()
    if value is None and private:
        zero = make(llvm.ZeroOp, result_types=(type,))
        body = Region(Block([zero, make(llvm.ReturnOp, zero.results)]))
    return llvm.GlobalOp(
        type,
        op.sym_name,
        "internal" if private else "external",
        constant=op.constant is not None,
        value=value,
        alignment=op.alignment.value.data if op.alignment is not None else ALIGNMENT,
        body=body,
    )


RULES: Rules = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    memref.AllocOp: _alloc,
    memref.DeallocOp: _dealloc,
    memref.DimOp: _dim,
    memref.GetGlobalOp: _get_global,
    memref.CastOp: _same_pointer,
    memref.MemorySpaceCastOp: _same_pointer,
    memref.CollapseShapeOp: _same_pointer,
    memref.ExpandShapeOp: _same_pointer,
    memref.AssumeAlignmentOp: _assume_alignment,
    memref.ExtractAlignedPointerAsIndexOp: _as_index,
    memref.SubviewOp: _subview,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.ViewOp: _view,
    memref.CopyOp: _copy,
    memref_extras.CastOp: _same_pointer,
    memref_extras.MemorySpaceCastOp: _same_pointer,
    memref_extras.CopyOp: _copy,
}
