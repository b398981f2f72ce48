"""`lower-init-block`: the init region of a reduction becomes a branch at the head of its block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...ir.affine import Materializer
from ...ir.transform import Pass
from .walk import blocks_inside_out, erase_with_tree, functions, inline_before


@dataclass(frozen=True)
class LowerInitBlock(Pass):
    """`tir.init {S}` -> `if every reduction iterator is at its least value {S}`; plain S where there is none."""

    name = "lower-init-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for block in blocks_inside_out(func):
                init = block.init
                if init is not None:
                    _lower(block, init)


def _lower(block: tir.BlockOp, init: tir.InitOp) -> None:
    parent = cast(Block, init.parent)

    def insert(op: Operation) -> None:
        parent.insert_op_before(op, init)

    condition = _at_start(block, insert)
    if condition is None:
        inline_before(init.body.block, init)
    else:
        body = init.body.detach_block(init.body.block)
        insert(tir.IfOp(condition, Region(body)))
    erase_with_tree(init)


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
