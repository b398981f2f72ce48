"""`lower-init-block`: the init region of a reduction becomes a branch at the head of its block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import Const
from ...ir.affine.values import Materializer
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inline_before, inserter
from .walk import blocks_inside_out, erase_with_tree, functions


@dataclass(frozen=True)
class LowerInitBlock(Pass):
    """`tir.init {S}` -> `if every reduction iterator is at its least value {S}`; plain S where there is none.

    Loops over a reduction iterator whose extent may be 0 get S before them, for that case: a sum of nothing is 0.
    """

    name = "lower-init-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for block in blocks_inside_out(func):
                init = block.init
                if init is not None:
                    _initialize_empty(block, init)
                    _lower(block, init)


def _lower(block: tir.BlockOp, init: tir.InitOp) -> None:

    insert = inserter(init)
    condition = _at_start(block, insert)
    if condition is None:
        inline_before(init.body.block, init)
    else:
        body = init.body.detach_block(init.body.block)
        insert(tir.IfOp(condition, Region(body)))
    erase_with_tree(init)


def _initialize_empty(block: tir.BlockOp, init: tir.InitOp) -> None:
    """`if an extent is 0 {S}` before reduction loops that are right around the block; others stay as they are."""
    reduced = [i for i, kind in enumerate(block.kinds) if kind is tir.IterKind.REDUCE]
    extents = [e for i in reduced if (e := block.extents[i]).constant is None]
    outermost = _outermost_loop(block, {block.bindings[i] for i in reduced}) if extents else None
    if outermost is None or block.predicate is not None or not _stands_alone(block, init, outermost):
        return

    insert = inserter(outermost)
    build = Materializer(insert)
    empty: SSAValue | None = None
    for extent in extents:
        none = tir.BINARY["le"](build(extent), build(Const(0, extent.dtype)))
        insert(none)
        either = none if empty is None else tir.OrOp(empty, none.results[0])
        if either is not none:
            insert(either)
        empty = either.results[0]
    assert empty is not None
    body = Region()
    init.body.clone_into(body, value_mapper=dict(zip(block.iter_vars, block.bindings, strict=True)))
    insert(tir.IfOp(empty, body))


def _outermost_loop(block: tir.BlockOp, variables: set[SSAValue]) -> tir.ForOp | None:
    """The outermost of the loops directly around a block that bind exactly `variables`."""
    op: Operation = block
    rest = set(variables)
    while rest:
        around = op.parent_op()
        if not isinstance(around, tir.ForOp) or around.body.block.args[0] not in rest:
            return None
        rest.discard(around.body.block.args[0])
        op = around
    return op if isinstance(op, tir.ForOp) else None


def _stands_alone(block: tir.BlockOp, init: tir.InitOp, loop: tir.ForOp) -> bool:
    """Whether the init region uses nothing of `loop` but iterators that are bound to values from outside."""
    bound = dict(zip(block.iter_vars, block.bindings, strict=True))
    inside = set(init.body.walk())
    for op in inside:
        for value in op.operands:
            value = bound.get(value, value)
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            if owner not in inside and owner is not None and loop.is_ancestor(owner):
                return False
    return True


def _at_start(block: tir.BlockOp, insert: Callable[[Operation], object]) -> SSAValue | None:
    """Whether all reduction iterators are at their least values; None where there are none."""
    build = Materializer(insert)
    condition: SSAValue | None = None
    for var, kind, least in zip(block.iter_vars, block.kinds, block.mins, strict=True):
        if kind is not tir.IterKind.REDUCE:
            continue
        at_least = tir.EqOp(var, build(least, cast(IntegerType, var.type)))
        insert(at_least)
        if condition is None:
            condition = at_least.result
        else:
            both = tir.AndOp(condition, at_least.result)
            insert(both)
            condition = both.result
    return condition
