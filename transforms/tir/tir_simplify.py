"""`tir-simplify`: what is known at compile time goes: loops of one or no iteration, decided branches, dead values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region

from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inline_before
from .walk import erase_with_tree, functions, remove_dead


@dataclass(frozen=True)
class TirSimplify(Pass):
    """Inline loops that run once, remove those that never run and branches that are decided, drop unused values."""

    name = "tir-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in reversed(list(func.walk())):
                if isinstance(inner, tir.ForOp):
                    _simplify_loop(inner)
                elif isinstance(inner, tir.IfOp):
                    _simplify_if(inner)
            remove_dead(func)


def _simplify_loop(loop: tir.ForOp) -> None:
    extent = loop.extent
    count = extent.constant if isinstance(extent, SymExpr) else sym_expr_of(extent).constant
    if count is not None and count <= 0:
        erase_with_tree(loop)
        return
    if count != 1 or loop.thread is not None:
        return
    first = loop.min
    if isinstance(first, SymExpr):
        parent = cast(Block, loop.parent)

        def insert(op: Operation) -> None:
            parent.insert_op_before(op, loop)

        first = Materializer(insert)(first, cast(IntegerType, loop.loop_var.type))
    loop.loop_var.replace_all_uses_with(first)
    inline_before(loop.body.block, loop)
    erase_with_tree(loop)


def _simplify_if(branch: tir.IfOp) -> None:
    """`if true {S} else {T}` -> `S`; a condition without effect on anything -> nothing."""
    known = sym_expr_of(branch.cond).constant
    if known is None:
        if not _has_ops(branch.then_region) and not _has_ops(branch.else_region):
            erase_with_tree(branch)
        return
    taken = branch.then_region if known else branch.else_region
    if taken.first_block is not None:
        inline_before(taken.block, branch)
    erase_with_tree(branch)


def _has_ops(region: Region) -> bool:
    return region.first_block is not None and region.first_block.first_op is not None
