"""Placing expressions in blocks: the tree of detached operations behind a handle is cloned to where it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...ir.affine.values import operands_first
from .placeholders import is_free, with_names
from .prim_expr import PrimExpr, as_sym, cast, promoted, simplified


def place(expr: PrimExpr | SSAValue, block: Block, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
    """Clone the tree of detached ops of `expr` to the end of `block`; return the value there.

    Values in `mapping` are replaced; placed values are added to it, so that shared subtrees are placed once. Variables
    that are not in it become symbolic variables by name. Values that are already defined in a block are kept.
    """
    value = expr.ssa if isinstance(expr, PrimExpr) else expr

    def needed(v: SSAValue) -> Sequence[SSAValue]:
        op = v.owner
        if v in mapping or is_free(v) or not isinstance(op, Operation) or _is_placed(op):
            return ()
        return op.operands[:1] if isinstance(op, tir.LoadOp) else op.operands

    placed = value
    for each in operands_first(value, needed):
        placed = _placed(each, block, mapping)
    return placed


def _is_placed(op: Operation) -> bool:
    """Return whether an operation is in a block other than the regions of a detached expression."""
    around = op.parent_op()
    if op.parent is None or around is None:
        return op.parent is not None
    return not isinstance(around, tir.LetInOp | tir.IfThenElseOp) or _is_placed(around)


def _placed(value: SSAValue, block: Block, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
    """Return the value of an operation after placing its operands; indices are simplified first."""
    mapped = mapping.get(value)
    if mapped is not None:
        return mapped
    op = ValueOp(with_names(as_sym(value))) if is_free(value) else value.owner
    if not isinstance(op, Operation) or _is_placed(op):
        return value
    operands = [place(_index(op, i, v), block, mapping) for i, v in enumerate(op.operands)]
    if isinstance(op, tir.IfThenElseOp):
        sides = [_place_side(region, mapping) for region in op.regions]
        new: Operation = tir.IfThenElseOp(operands[0], *sides)
    elif isinstance(op, tir.LetInOp):
        new = tir.LetInOp(operands[0], _place_bound(op, operands[0].type, mapping))
    else:
        if isinstance(op, tir.BinaryExpr) and operands[0].type != operands[1].type:
            operands = _unified(operands, block)
        elif isinstance(op, tir.LoadOp):
            operands = _retyped_indices(operands, block)
        new = _rebuilt(op, operands)
    block.add_op(new)
    mapping[value] = new.results[0]
    return new.results[0]


def _index(op: Operation, position: int, value: SSAValue) -> SSAValue:
    return simplified(PrimExpr(value)).ssa if isinstance(op, tir.LoadOp) and position > 0 else value


def _unified(operands: list[SSAValue], block: Block) -> list[SSAValue]:
    """Convert two operands, whose types the mapping may have changed, to one type."""
    dtype = promoted(operands[0].type, operands[1].type)
    return [place(cast(dtype, PrimExpr(v)), block, {}) for v in operands]


def _retyped_indices(operands: list[SSAValue], block: Block) -> list[SSAValue]:
    """Return a buffer and indices; constant ones get the dtype of their dimension, which the mapping may have
    changed.
    """
    buffer, *indices = operands
    dims = buffer.type.dims if isinstance(buffer.type, tir.BufferType) else ()
    out = [buffer]
    for index, extent in zip(indices, dims, strict=True):
        wrong = isinstance(index.owner, tir.ConstOp) and index.type != extent.dtype
        out.append(place(cast(extent.dtype, PrimExpr(index)), block, {}) if wrong else index)
    return out


def _place_bound(op: tir.LetInOp, dtype: Attribute, mapping: Mapping[SSAValue, SSAValue]) -> Region:
    """Return the body of a let with its variable of a type."""
    last = op.body.block.last_op
    if not isinstance(last, tir.YieldOp):
        raise TypeError("the body of tir.let_in has no tir.yield")
    block = Block(arg_types=[dtype])
    set_name(block.args[0], name_of(op.var))
    block.add_op(tir.YieldOp(place(last.value, block, {**mapping, op.var: block.args[0]})))
    return Region(block)


def _place_side(region: Region, mapping: Mapping[SSAValue, SSAValue]) -> Region:
    block = Block()
    last = region.block.last_op
    if not isinstance(last, tir.YieldOp):
        raise TypeError("a side of tir.if_then_else has no tir.yield")
    block.add_op(tir.YieldOp(place(last.value, block, dict(mapping))))
    return Region(block)


def _rebuilt(op: Operation, operands: list[SSAValue]) -> Operation:
    """Return `op` with other operands."""
    if isinstance(op, tir.BinaryExpr):
        return type(op)(operands[0], operands[1])
    if isinstance(op, tir.LoadOp):
        return tir.LoadOp(operands[0], operands[1:])
    return type(op).create(
        operands=operands,
        result_types=[r.type for r in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
