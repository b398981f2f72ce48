"""Nests as operations of linalg: the operands, parts of buffers if needed, their maps, and the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i1,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.xdsl_extras.linalg_named import BLOCK_NAME
from ..tir_to_scf.emitter import element_of
from ..tir_to_scf.signature import scalar_type
from ..tir_to_scf.statements import EXPRESSIONS, KernelLowerer
from .named import named_form
from .nests import Access, Computation, Index, Nest, NestIterator

_KINDS = {False: IteratorTypeAttr(IteratorType.PARALLEL), True: IteratorTypeAttr(IteratorType.REDUCTION)}


@dataclass(frozen=True)
class Operand:
    """A memref, and the indices of an element there by the iterators."""

    value: SSAValue
    indices: tuple[AffineExpr, ...]


def append_nest(nest: Nest, at: KernelLowerer) -> None:
    """Append the operations of a structured block."""
    for variable, binding in nest.fixed.items():
        at.values.bind_index(variable, at.values.index(binding), nonnegative=True)
    name = nest.block.block_name.data
    if nest.init is not None:
        _append(nest.init, f"{name}_init", at)
    _append(nest.update, name, at)


def _append(c: Computation, name: str, at: KernelLowerer) -> None:
    emit = at.emit
    inputs = [_operand(a, c.iterators, at) for a in c.inputs]
    outputs = [_operand(a, c.iterators, at) for a in c.outputs]
    window = _window(c, at)
    inputs += [] if window is None else [window]
    block = Block(arg_types=[element_of(o.value) for o in (*inputs, *outputs)])
    with emit.inside(block), at.values.scope():
        _body(c, block, len(inputs) - len(c.inputs), at)
    rank = len(c.iterators)
    maps = [AffineMapAttr(AffineMap(rank, 0, o.indices)) for o in (*inputs, *outputs)]
    generic = linalg.GenericOp(
        [o.value for o in inputs],
        [o.value for o in outputs],
        Region(block),
        maps,
        [_KINDS[i.reduction] for i in c.iterators],
    )
    operation = named_form(generic) or generic
    operation.attributes[BLOCK_NAME] = StringAttr(name)
    at.structured(operation)
    if window is not None and isinstance(window.value.owner, memref.AllocOp):
        emit.append(memref.DeallocOp.create(operands=(window.value,)))


def _body(c: Computation, block: Block, extra: int, at: KernelLowerer) -> None:
    """Fill the body of an operation whose inputs end with `extra` that it does not read."""
    counters: list[Operation] = []
    for number, iterator in enumerate(c.iterators):
        counter = at.emit.append(linalg.IndexOp(number))
        counters.append(counter)
        for value in iterator.values:
            at.values.bind_index(value, counter.results[0], nonnegative=True)
    for value, number in c.loads.items():
        at.values.bind(value, block.args[number if number < len(c.inputs) else number + extra])
    for op in c.body.ops:
        skipped = isinstance(op, tir.StoreOp | tir.ReadsOp | tir.WritesOp | tir.InitOp)
        if not skipped and type(op) not in EXPRESSIONS and not any(r in c.loads for r in op.results):
            at.statement(op)
    block.add_op(linalg.YieldOp(*[at.values.value(store.value) for store in c.stores]))
    for op in reversed(list(block.ops)):
        if op in counters and not op.results[0].uses.get_length():
            block.erase_op(op)


def _operand(access: Access, iterators: Sequence[NestIterator], at: KernelLowerer) -> Operand:
    """Return the buffer or the part of it that an access reaches: linalg's iterators cover whole dimensions."""
    buffer = at.values.value(access.buffer)
    dims = cast(tir.BufferType, access.buffer.type).dims
    rows = list(zip(access.indices, dims, strict=True))
    if all(_covers(index, size, iterators) for index, size in rows):
        return Operand(buffer, tuple(_with(i.expr, cast(int, i.offset.constant)) for i in access.indices))
    offsets: list[SymExpr] = []
    sizes: list[SymExpr] = []
    for index, size in rows:
        whole = _covers(index, size, iterators)
        offsets.append(Const(0) if whole else index.offset)
        sizes.append(size if whole else _extent(index, size, iterators))
    exprs = [
        _with(index.expr, cast(int, index.offset.constant)) if _covers(index, size, iterators) else index.expr
        for index, size in rows
    ]
    return Operand(_part(buffer, dims, offsets, sizes, at), tuple(exprs))


def _with(expr: AffineExpr, offset: int) -> AffineExpr:
    if not offset:
        return expr
    return expr + offset if str(expr) != "0" else AffineExpr.constant(offset)


def _covers(index: Index, size: SymExpr, iterators: Sequence[NestIterator]) -> bool:
    """Return whether a dimension needs no part: an iterator covers it, or the index is a combination."""
    if index.offset.constant is None:
        return False
    if index.bare is None:
        return True
    return index.offset.constant == 0 and iterators[index.bare].extent == size


def _extent(index: Index, size: SymExpr, iterators: Sequence[NestIterator]) -> SymExpr:
    if index.bare is not None:
        return iterators[index.bare].extent
    return Const(1) if index.linear == {} else size - index.offset


def _part(
    buffer: SSAValue, dims: Sequence[SymExpr], offsets: Sequence[SymExpr], sizes: Sequence[SymExpr], at: KernelLowerer
) -> SSAValue:
    def split(numbers: Sequence[SymExpr]) -> tuple[list[int], list[SSAValue]]:
        static = [DYNAMIC_INDEX if n.constant is None else n.constant for n in numbers]
        return static, [at.values.symbolic(n) for n in numbers if n.constant is None]

    strides: list[SymExpr] = []
    step: SymExpr = Const(1)
    for size in reversed(dims):
        strides.insert(0, step)
        step = step * size
    start: SymExpr = Const(0)
    for offset, stride in zip(offsets, strides, strict=True):
        start += offset * stride
    layout = StridedLayoutAttr([_static(s) for s in strides], _static(start))
    (static_offsets, dynamic_offsets), (static_sizes, dynamic_sizes) = split(offsets), split(sizes)
    result = MemRefType(element_of(buffer), static_sizes, layout)
    ones = [1] * len(dims)
    value = memref.SubviewOp(
        buffer, dynamic_offsets, dynamic_sizes, [], static_offsets, static_sizes, ones, result
    )  # fmt: skip
    return at.emit.append(value).results[0]


def _static(e: SymExpr) -> int | NoneAttr:
    return NoneAttr() if e.constant is None else e.constant


def _window(c: Computation, at: KernelLowerer) -> Operand | None:
    """Return an operand that gives the extents of iterators that index nothing by themselves; none if there are none.

    linalg takes the extents of iterators from the sizes of operands.
    """
    seen = {index.bare for access in (*c.inputs, *c.outputs) for index in access.indices}
    missing = [n for n in range(len(c.iterators)) if n not in seen]
    if not missing:
        return None
    extents = [c.iterators[n].extent for n in missing]
    sizes = [DYNAMIC_INDEX if e.constant is None else e.constant for e in extents]
    type: MemRefType[Attribute] = MemRefType(i1, sizes)
    dynamic = [at.values.symbolic(e) for e in extents if e.constant is None]
    result = memref.AllocOp(dynamic, [], type) if dynamic else memref.AllocaOp.get(i1, shape=sizes)
    at.emit.append(result)
    return Operand(result.results[0], tuple(AffineExpr.dimension(n) for n in missing))


def types_of(type: tir.BufferType) -> MemRefType[Attribute]:
    """Return the memref of a buffer."""
    return MemRefType(scalar_type(type.dtype), [DYNAMIC_INDEX if d.constant is None else d.constant for d in type.dims])
