"""`lower-blocks`: blocks become what they do.

Iterators are replaced by what they are bound to, a predicate becomes `tir.if`, regions of buffers (`match_buffer`)
become accesses of the buffers themselves; what a block reads and writes is forgotten. `alloc_buffer` stays where it
stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...ir.transform import Pass
from .walk import blocks_inside_out, erase_with_tree, functions, inline_before


@dataclass(frozen=True)
class LowerBlocks(Pass):
    """`tir.block "C" (%v = spatial(%i, n)) where %p {S(%v)}` -> `tir.if %p {S(%i)}`.

    Run `lower-init-block` before. Raises `UnsupportedError` for a block that still has an init region, and for a
    `match_buffer` that is used otherwise than by loads and stores.
    """

    name = "lower-blocks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for block in blocks_inside_out(func):
                _lower(block)
            for inner in list(func.walk()):
                if isinstance(inner, tir.MatchBufferOp):
                    _lower_match(inner)


def _lower(block: tir.BlockOp) -> None:
    if block.init is not None:
        raise UnsupportedError(
            f'block "{block.block_name.data}" has an init region', hint="run lower-init-block before lower-blocks"
        )
    for region in (*block.reads, *block.writes):
        erase_with_tree(region)
    for var, binding in zip(block.iter_vars, block.bindings, strict=True):
        var.replace_all_uses_with(binding)
    if block.predicate is None:
        inline_before(block.body.block, block)
    else:
        body = block.body.detach_block(block.body.block)
        while body.args:
            body.erase_arg(body.args[-1])
        cast(Block, block.parent).insert_op_before(tir.IfOp(block.predicate, Region(body)), block)
    erase_with_tree(block)


def _lower_match(match: tir.MatchBufferOp) -> None:
    """`%B = match_buffer %A[%s : 4]` and `load %B[%i]` -> `load %A[%s + %i]`"""
    for use in list(match.result.uses):
        user = use.operation
        if not isinstance(user, tir.LoadOp | tir.StoreOp):
            raise UnsupportedError(f"a matched buffer is used by '{user.name}'", expected="loads and stores only")
        indices = _shifted(match, user)
        if isinstance(user, tir.LoadOp):
            new: Operation = tir.LoadOp(match.source, indices)
            cast(Block, user.parent).insert_op_before(new, user)
            user.result.replace_all_uses_with(new.results[0])
        else:
            new = tir.StoreOp(user.value, match.source, indices)
            cast(Block, user.parent).insert_op_before(new, user)
        erase_with_tree(user)
    erase_with_tree(match)


def _shifted(match: tir.MatchBufferOp, user: tir.LoadOp | tir.StoreOp) -> list[SSAValue]:
    """The indices into the source; dimensions that the matched buffer lacks are the leading ones."""
    missing = len(match.starts) - len(user.indices)
    out: list[SSAValue] = list(match.starts[:missing])
    for start, index in zip(match.starts[missing:], user.indices, strict=True):
        if start.type != index.type:
            cast_op = tir.CastOp(index, start.type)
            cast(Block, user.parent).insert_op_before(cast_op, user)
            index = cast_op.result
        add = tir.AddOp(start, index)
        cast(Block, user.parent).insert_op_before(add, user)
        out.append(add.results[0])
    return out
