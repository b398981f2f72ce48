"""`lower-init-block`: turn the init region of a reduction into a branch at the head of its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Const, SymExpr
from ...ir.affine.init_nest import InitNest, init_nests
from ...ir.affine.values import Materializer
from ...ir.passes.transform import Pass
from ...ir.rewriting.copy import clone_expr, copied
from ...ir.rewriting.edit import inline_before, inserter
from .walk import blocks_inside_out, erase_with_tree, functions

Insert = Callable[[Operation], object]


@dataclass(frozen=True)
class LowerInitBlock(Pass):
    """`tir.init {S}` -> `if every reduction iterator has its least value {S}`; plain S without reduction iterators.

    If the reduction may be empty, S is also inserted before its loops for that case: an empty sum is 0.
    """

    name = "lower-init-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for nest in list(init_nests(func)):
                _initialize_empty(nest)
            for block in blocks_inside_out(func):
                init = block.init
                if init is not None:
                    _lower(block, init)


def _lower(block: tir.BlockOp, init: tir.InitOp) -> None:
    insert = inserter(init)
    conditions = _at_start(block, insert)
    if not conditions:
        inline_before(init.body.block, init)
    else:
        body = init.body.detach_block(init.body.block)
        insert(tir.IfOp(_joined(insert, tir.AndOp, conditions), Region(body)))
    erase_with_tree(init)


def _at_start(block: tir.BlockOp, insert: Insert) -> list[SSAValue]:
    """Return conditions that each reduction iterator has its least value."""
    build = Materializer(insert)
    rows = zip(block.iter_vars, block.kinds, block.mins, strict=True)
    return [
        _result(insert, tir.EqOp(var, build(least, cast(IntegerType, var.type))))
        for var, kind, least in rows
        if kind is tir.IterKind.REDUCE
    ]


def _initialize_empty(nest: InitNest) -> None:
    """Insert `if the reduction is empty {S at each point}` before its loops."""
    insert = inserter(nest.path[0])
    build = Materializer(insert)
    empty = list[SSAValue]()
    for count in nest.counts:
        value = build(count) if isinstance(count, SymExpr) else count
        zero = build(Const(0, cast(IntegerType, value.type)))
        empty.append(_result(insert, tir.BINARY["le"](value, zero)))
    body = Block()
    insert(tir.IfOp(_joined(insert, tir.OrOp, empty), Region(body)))
    _write_nest(nest, body)


def _write_nest(nest: InitNest, block: Block) -> None:
    """Write the init in its loops at the end of `block`."""
    old, values = nest.block, dict[SSAValue, SSAValue]()
    for loop in nest.path:
        if loop in nest.kept:
            low, extent = (
                clone_expr(b, block, values) if isinstance(b, SSAValue) else b for b in (loop.min, loop.extent)
            )
            block = _loop(block, low, extent, loop.loop_var, values)
    for i in nest.free:
        block = _loop(block, old.mins[i], old.extents[i], old.iter_vars[i], values)
    conditions = [clone_expr(condition, block, values) for condition in nest.conditions]
    build = Materializer(block.add_op)
    for i in nest.bound_iterators:
        values[old.iter_vars[i]] = clone_expr(old.bindings[i], block, values)
    for var, least in zip(old.iter_vars, old.mins, strict=True):
        if var not in values:
            values[var] = build(least, cast(IntegerType, var.type))
    if nest.bounded:
        conditions += [
            c for i in nest.bound_iterators for c in _within_domain(old, i, values[old.iter_vars[i]], block.add_op)
        ]
    if conditions:
        inside = Block()
        block.add_op(tir.IfOp(_joined(block.add_op, tir.AndOp, conditions), Region(inside)))
        block = inside
    copied(nest.init.body.block.ops, block, values)


def _loop(
    block: Block, low: SymExpr | SSAValue, extent: SymExpr | SSAValue, old: SSAValue, values: dict[SSAValue, SSAValue]
) -> Block:
    """Add a loop at the end of `block` and return its body; its variable replaces `old`."""
    loop = tir.ForOp(low, extent, tir.body_region(old.type))
    set_name(loop.loop_var, name_of(old))
    block.add_op(loop)
    values[old] = loop.loop_var
    return loop.body.block


def _within_domain(block: tir.BlockOp, i: int, value: SSAValue, insert: Insert) -> list[SSAValue]:
    """Return conditions that `value` is in the domain of the iterator at position `i`."""
    build, dtype = Materializer(insert), cast(IntegerType, value.type)
    low, end = block.mins[i], block.mins[i] + block.extents[i]
    return [
        _result(insert, tir.BINARY["le"](build(low, dtype), value)),
        _result(insert, tir.BINARY["lt"](value, build(end, dtype))),
    ]


def _result(insert: Insert, op: Operation) -> SSAValue:
    insert(op)
    return op.results[0]


def _joined(
    insert: Insert, both: Callable[[SSAValue, SSAValue], Operation], conditions: Sequence[SSAValue]
) -> SSAValue:
    """Combine several conditions into one."""
    first, *rest = conditions
    for condition in rest:
        first = _result(insert, both(first, condition))
    return first
