"""`flatten-buffer`: make every buffer one-dimensional, with a single index for each access.

Parameters keep their types, which define the calling convention: a flat view of each is declared at the head. Index
arithmetic is simplified symbolically.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType, i64
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import lanes_of, scalar_of
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.sym.expr import Const, SymExpr, add, mul, product
from ...dialects.tir import BufferType
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.functions.tir_calls import note_call_sizes
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before, inserter
from .walk import erase_with_tree, functions, integer_type, remove_dead
from .wide_indices import widen_indices


def is_flat(t: BufferType) -> bool:
    """Return whether a buffer has one dimension, is compact and has no offset."""
    return t.rank == 1 and t.explicit_strides is None and t.elem_offset is None


@dataclass(frozen=True)
class FlattenBuffer(Pass):
    """`load %A[%i, %j]` of a buffer [n, 128] -> `load %A_flat[%i * 128 + %j]`.

    The pointer of a parameter points to its first element, so its offset is not added.
    """

    name = "flatten-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        note_call_sizes(op)
        for func in functions(op):
            widen_indices(func)
            for buffer in _buffers(func):
                t = cast(BufferType, buffer.type)
                if is_flat(t):
                    _simplify_indices(buffer)
                else:
                    _flatten(buffer, t)
            remove_dead(func)


def _buffers(func: tir.FuncOp) -> list[SSAValue]:
    """Return the buffers, parameters last to first: each inserts its view at the head, so these end up in order."""
    buffers: list[SSAValue] = list(func.buffer_params)[::-1]
    for op in operations(func):
        buffers += [r for r in op.results if isinstance(r.type, BufferType)]
    return buffers


def _size(t: BufferType) -> SymExpr:
    """Return the number of elements from the first to the last in memory."""
    strides = t.explicit_strides
    if strides is None:
        return product(t.dims)
    last: SymExpr = Const(1, t.dims[0].dtype if t.dims else i64)
    for extent, stride in zip(t.dims, strides, strict=True):
        last = add(last, mul(add(extent, -1), stride))
    return last


def _accesses(buffer: SSAValue) -> list[tir.LoadOp | tir.StoreOp]:
    users = [use.operation for use in buffer.uses]  # one without a block was built but never inserted
    return [op for op in users if isinstance(op, tir.LoadOp | tir.StoreOp) and op.parent is not None]


def _simplify_indices(buffer: SSAValue) -> None:
    """Simplify the indices of a flat buffer that are sums."""
    for access in _accesses(buffer):
        position = len(access.operands) - 1
        index = access.operands[position]
        dtype = integer_type(index)
        if dtype is not None and isinstance(index.owner, tir.BinaryExpr):
            access.operands[position] = Materializer(inserter(access))(sym_expr_of(index), dtype)


def _flatten(buffer: SSAValue, t: BufferType) -> None:
    accesses = _accesses(buffer)
    flat = _flat_value(buffer, t)
    set_name(flat, name_of(buffer))
    for access in accesses:
        _rewrite(access, flat, t, is_parameter=isinstance(buffer, BlockArgument))
    if isinstance(buffer, BlockArgument):
        return
    for use in list(buffer.uses):
        use.operation.operands[use.index] = flat
    owner = cast(Operation, buffer.owner)
    memory = _own_memory(owner)
    erase_with_tree(owner)
    if memory is not None:
        erase_with_tree(memory)


def _own_memory(op: Operation) -> tir.AllocateOp | None:
    """Return the allocation of a single buffer, which determines its size."""
    if not isinstance(op, tir.DeclBufferOp) or op.alias:
        return None
    memory = op.data.owner
    if not isinstance(memory, tir.AllocateOp) or memory.annotations is not None or len(list(memory.result.uses)) > 1:
        return None
    return memory if memory.dtype == op.result.type.dtype else None


def _flat_value(buffer: SSAValue, t: BufferType) -> SSAValue:
    """Return the flat replacement of a buffer; a view of a parameter is declared at the head of the function."""
    flat_type = t.with_shape([_size(t)])
    owner = buffer.owner
    if isinstance(buffer, BlockArgument):
        data = tir.BufferDataOp(buffer)
        new: Operation = tir.DeclBufferOp(data.result, flat_type)
        first = buffer.block.first_op
        if first is None:
            buffer.block.add_ops([data, new])
        else:
            buffer.block.insert_ops_before([data, new], first)
        return new.results[0]
    if isinstance(owner, Operation) and _own_memory(owner) is not None:
        new = tir.AllocBufferOp(flat_type, declared=True)
    elif isinstance(owner, tir.DeclBufferOp):
        new = tir.DeclBufferOp(owner.data, flat_type, alias=owner.alias)
    elif isinstance(owner, tir.AllocConstOp):
        new = owner.clone()
        new.results[0]._type = flat_type  # pyright: ignore[reportPrivateUsage]
    elif isinstance(owner, tir.AllocBufferOp):
        new = tir.AllocBufferOp(t.with_shape([add(_size(t), t.elem_offset or 0)]), declared=owner.declared)
    else:
        raise _refused(buffer, cast(Operation, owner))
    insert_before(owner, new)
    return new.results[0]


def _refused(buffer: SSAValue, owner: Operation) -> UnsupportedError:
    found = f"{name_of(buffer)}, made by {owner.name}"
    hint = "run lower-match-buffer before" if isinstance(owner, tir.MatchBufferOp) else None
    return UnsupportedError("this buffer cannot be flattened", location=location_of(owner), found=found, hint=hint)


def _rewrite(access: Operation, flat: SSAValue, t: BufferType, is_parameter: bool) -> None:

    insert = inserter(access)
    assert isinstance(access, tir.LoadOp | tir.StoreOp)
    index = _linear(list(access.indices), t, Materializer(insert), insert, is_parameter)
    if isinstance(access, tir.LoadOp):
        new: Operation = tir.LoadOp(flat, [index])
        set_name(new.results[0], name_of(access.result))
        insert(new)
        access.result.replace_all_uses_with(new.results[0])
    else:
        insert(tir.StoreOp(access.value, flat, [index]))
    erase_with_tree(access)


def _linear_lanes(
    indices: list[SSAValue],
    t: BufferType,
    build: Materializer,
    insert: Callable[[Operation], object],
    is_parameter: bool,
) -> SSAValue:
    """`[%i, %v]`, `%v` any vector -> `%v * stride + broadcast(%i * …)`."""
    lanes = indices[-1]
    element, count = cast(IntegerType, scalar_of(lanes.type)), lanes_of(lanes.type)
    zero = build(Const(0, element))
    rest = _linear([*indices[:-1], zero], t, build, insert, is_parameter)
    if rest.type != element:
        insert(narrowed := tir.CastOp(rest, element))
        rest = narrowed.result
    insert(step := tir.BroadcastOp(build(t.layout_strides()[-1], element), count))
    insert(scaled := tir.MulOp(lanes, step.result))
    insert(start := tir.BroadcastOp(rest, count))
    insert(total := tir.AddOp(scaled.results[0], start.result))
    return total.results[0]


def _linear(
    indices: list[SSAValue],
    t: BufferType,
    build: Materializer,
    insert: Callable[[Operation], object],
    is_parameter: bool,
) -> SSAValue:
    strides = t.layout_strides()
    lanes: tir.RampOp | None = None
    if indices and isinstance(indices[-1].type, VectorType):
        ramp = indices[-1].owner
        if not isinstance(ramp, tir.RampOp):
            return _linear_lanes(indices, t, build, insert, is_parameter)
        lanes = ramp
        indices = [*indices[:-1], ramp.base]
    total: SymExpr = Const(0, cast(IntegerType, indices[-1].type) if indices else i64)
    for index, stride in zip(indices, strides, strict=True):
        total = add(total, mul(sym_expr_of(index), stride))
    if t.elem_offset is not None and not is_parameter:
        total = add(total, t.elem_offset)
    base = build(total)
    if lanes is None:
        return base
    stride = build(mul(sym_expr_of(lanes.stride), strides[-1]), cast(IntegerType, base.type))
    new = tir.RampOp(base, stride, lanes.result.type.get_shape()[0])
    insert(new)
    return new.result
