"""`pointer-value-type-rewrite`: give memory accessed only by vectors of one width a vector element type.

%A : buffer<[16], f32>; load %A[ramp(%i * 4, 1, 4)]; load %A[%i * 4 + 1]
  ->  %A : buffer<[4], vector<4xf32>>; load %A[%i * 4 div 4]; shuffle [load %A[(%i * 4 + 1) div 4]] [1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, is_dtype, is_scalable, lanes_of
from ....dialects.quick import operations
from ....dialects.relax.types import dims_attr
from ....dialects.sym.expr import SymExpr
from ....dialects.tir import BufferType, HandleType
from ....dialects.tir.expressions import element_type
from ....handles.tir.prim_expr import PrimExpr, from_sym
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import inserter, set_type
from ....transforms.tir.walk import functions, remove_dead
from ...handles.arith.analyzer import Analyzer, ModularSet

_ANY_POINTER = (tir.CallExternOp, tir.CallPureExternOp, tir.CallPackedOp)
"""Calls that take an untyped address."""
_Access = tir.LoadOp | tir.StoreOp


@dataclass(frozen=True)
class PointerValueTypeRewrite(Pass):
    """Give memory, including parameters, the type of the vectors that are loaded from it and stored to it.

    All vectors must have the same number of lanes and start at its multiples; single elements may be read, by
    extraction from a vector, but not written. The last extent must be a multiple of the lanes. Memory whose
    address is taken remains.
    """

    name = "pointer-value-type-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            rewrite_value_types(func, [*func.params, *own_memory(func)], scalar_reads=True)


def own_memory(func: tir.FuncOp) -> list[SSAValue]:
    """Return the memory that a function allocates or has a name for: buffers and addresses."""
    kinds = (tir.AllocBufferOp, tir.AllocateOp, tir.LetOp)
    return [op.results[0] for op in operations(func) if isinstance(op, kinds)]


def rewrite_value_types(func: tir.FuncOp, memory: list[SSAValue], *, scalar_reads: bool) -> None:
    """Change the types in `memory` where possible; `scalar_reads` allows reads of single elements."""
    changed = False
    for root in memory:
        memory_use = _memory(root)
        lanes = 1 if memory_use is None else _lanes(memory_use, scalar_reads)
        if memory_use is not None and lanes > 1:
            _rewrite(memory_use, lanes)
            changed = True
    if changed:
        remove_dead(func)


@dataclass
class _Memory:
    """Memory, with its addresses and buffers and the accesses of its elements."""

    root: SSAValue
    values: list[SSAValue]
    accesses: list[_Access] = field(default_factory=list[_Access])

    @property
    def extents(self) -> list[SymExpr]:
        """The last extent of each buffer and of the allocation."""
        owner = self.root.owner
        allocated = [owner.extents[-1]] if isinstance(owner, tir.AllocateOp) and owner.extents else []
        return [*allocated, *(v.type.dims[-1] for v in self.values if isinstance(v.type, BufferType))]


def _memory(root: SSAValue) -> _Memory | None:
    """Return all uses of memory, or None if it has elements of several types, or there are other uses."""
    if not isinstance(root.type, BufferType | HandleType):
        return None
    memory = _Memory(root, [root])
    for value in memory.values:
        t = cast("BufferType | HandleType", value.type)
        if t.dtype != root.type.dtype or (isinstance(t, BufferType) and not _is_plain(t)):
            return None
        for use in value.uses:
            op = use.operation
            if isinstance(op, tir.DeclBufferOp | tir.BufferDataOp):
                memory.values.append(op.result)
            elif isinstance(op, _Access) and op.buffer is value:
                memory.accesses.append(op)
            elif not isinstance(op, _ANY_POINTER):
                return None
    return memory


def _is_plain(t: BufferType) -> bool:
    return t.rank > 0 and t.explicit_strides is None and t.elem_offset is None


def _lanes(memory: _Memory, scalar_reads: bool) -> int:
    """Return the number of elements that are always accessed together; 1 if they are not."""
    if not isinstance(memory.root.type, BufferType | HandleType) or not _is_scalar(memory.root.type.dtype):
        return 1
    analyzer, steps = Analyzer(), list[int]()
    widths = set[int]()
    for op in memory.accesses:
        index = op.indices[-1]
        if scalar_reads and isinstance(op, tir.LoadOp) and lanes_of(index.type) == 1 and not _is_addressed(op):
            steps.append(analyzer.modular_set(PrimExpr(index)).coeff)
        else:
            widths.add(_width(index, analyzer))
    if len(widths) != 1:
        return 1
    (lanes,) = widths
    divided = all(step % lanes == 0 for step in steps)
    return lanes if divided and all(_divides(lanes, analyzer.modular_set(from_sym(e))) for e in memory.extents) else 1


def _is_scalar(dtype: Attribute) -> bool:
    """Return whether elements are scalars of at least one byte."""
    return not isinstance(dtype, VectorType) and is_dtype(dtype) and bit_width(dtype) >= 8


def _is_addressed(op: tir.LoadOp) -> bool:
    users = (use.operation for use in op.result.uses)
    return any(isinstance(user, tir.CallIntrinOp) and user.address() is not None for user in users)


def _width(index: SSAValue, analyzer: Analyzer) -> int:
    """Return the lanes of an access that is aligned to them, and 1 for any other access."""
    ramp = index.owner
    if not isinstance(ramp, tir.RampOp) or is_scalable(index.type) or _constant(ramp.stride) != 1:
        return 1
    lanes = lanes_of(index.type)
    return lanes if _divides(lanes, analyzer.modular_set(PrimExpr(ramp.base))) else 1


def _divides(lanes: int, numbers: ModularSet) -> bool:
    return numbers.coeff % lanes == 0 and numbers.base % lanes == 0


def _constant(value: SSAValue) -> int | None:
    return int(value.owner.py_value) if isinstance(value.owner, tir.ConstOp) else None


def _rewrite(memory: _Memory, lanes: int) -> None:
    owner = memory.root.owner
    if isinstance(owner, tir.AllocateOp):
        owner.properties["extents_attr"] = dims_attr(_divided(owner.extents, lanes))
        owner.properties["dtype"] = VectorType(owner.dtype, [lanes])
    for value in memory.values:
        set_type(value, _in_vectors(value.type, lanes))
    for op in memory.accesses:
        ramp = op.indices[-1].owner
        first = ramp.base if isinstance(ramp, tir.RampOp) else op.indices[-1]
        _index_vector(op, first, lanes)
        if isinstance(op, tir.LoadOp) and lanes_of(op.result.type) == 1:
            _take_out(op, Analyzer().modular_set(PrimExpr(first)).base % lanes)


def _in_vectors(t: Attribute, lanes: int) -> BufferType | HandleType:
    """Return the type of a buffer or address with vector elements."""
    assert isinstance(t, BufferType | HandleType)
    dtype = VectorType(t.dtype, [lanes])
    if isinstance(t, HandleType):
        return HandleType(dtype, t.scope)
    return t.replaced(shape=dims_attr(_divided(t.dims, lanes)), dtype=dtype)


def _divided(extents: Sequence[SymExpr], lanes: int) -> list[SymExpr]:
    """Return extents with the last one counted in vectors."""
    return [*extents[:-1], extents[-1] // lanes]


def _index_vector(op: _Access, first: SSAValue, lanes: int) -> None:
    """Replace the last index by that of the vector that contains the element `first`."""
    insert, dtype = inserter(op), cast(IntegerType, first.type)
    number = _constant(first)
    insert(constant := tir.ConstOp(lanes if number is None else number // lanes, dtype))
    vector = constant.result
    if number is None:
        insert(quotient := tir.DivOp(first, vector))
        vector = quotient.result
    op.operands[len(op.operands) - 1] = vector


def _take_out(op: tir.LoadOp, lane: int) -> None:
    """Replace the load of an element by the extraction of a lane from a vector."""
    set_type(op.result, element_type(op.buffer, op.indices))
    element = tir.ShuffleOp([op.result], [lane])
    cast(Block, op.parent).insert_op_after(element, op)
    op.result.replace_uses_with_if(element.result, lambda use: use.operation is not element)
