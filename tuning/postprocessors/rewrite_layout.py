"""Weights in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import SymExpr, Var, floordiv, floormod
from ...schedule import BlockRV, Schedule, ScheduleError
from ...schedule import state as st
from ...transforms.layout.attributes import layout_free
from ...transforms.layout.split_layout_rewrite_preproc import MARK
from ...transforms.tir.walk import functions
from .. import analysis
from ..movement import Movement
from .postprocessor import Postproc

Piece = tuple[int, int, int]
"""Of an index: the dimension, the step, and the number of values that a loop gives it."""


class RewriteLayout(Postproc):
    """Copy the weights of a function (`layout_free_buffers`) first into the order in which its loops read them.

    The copies have the annotation `meta_schedule.layout_rewrite_preproc`: `SplitLayoutRewritePreproc` takes them out of
    the function. A weight that several blocks read, that is copied or read in order already, or in no order that
    can be told, is left as it is.
    """

    def apply(self, sch: Schedule) -> bool:
        try:
            for func in functions(sch.mod.op):
                for position in layout_free(func):
                    _rewrite(sch, func.sym_name.data, position)
        except ScheduleError:
            return False
        return True


def _rewrite(sch: Schedule, func_name: str, position: int) -> None:
    func = sch.state.function(func_name)
    weight = func.params[position]
    readers = [op for op in func.walk() if isinstance(op, tir.BlockOp) and weight in st.buffers_read(op)]
    if len(readers) != 1 or any(isinstance(use.operation, tir.MatchBufferOp) for use in weight.uses):
        return
    if analysis.annotation(readers[0], MARK) is not None:
        return
    order = _order(readers[0], weight)
    if order is None:
        return
    block: BlockRV = sch.get_block(readers[0].block_name.data, func_name)
    cache = sch.cache_read(block, st.buffers_read(readers[0]).index(weight), "global")
    sch.annotate(cache, MARK, 1)
    sch.transform_layout(cache, ("write", 0), _index_map(order, len(cast(tir.BufferType, weight.type).dims)))


def _order(block: tir.BlockOp, weight: SSAValue) -> list[Piece] | None:
    """The pieces of the weight's indices in the order of the loops; None where the weight is read in order already."""
    sizes = [d.constant for d in cast(tir.BufferType, weight.type).dims]
    (region,) = [r for r in block.reads if r.buffer is weight]
    movement, loops = Movement(), _loops_around(block)
    placed: list[tuple[int, Piece]] = []
    for dim, (start, size) in enumerate(zip(region.starts, sizes, strict=True)):
        moves = movement.of(start)
        pieces = [(loops.index(lp), (dim, m.span // (m.values - 1), m.values)) for lp, m in moves.items()]
        if not _complete([piece for _, piece in pieces], size):
            return None
        placed += pieces
    order = [piece for _, piece in sorted(placed, key=lambda p: (p[0], p[1][0]))]
    return None if order == sorted(order, key=lambda p: (p[0], -p[1])) else order


def _complete(pieces: Sequence[Piece], size: int | None) -> bool:
    """Whether the pieces together count from 0 to below the size, each value once."""
    reach = 1
    for _, step, values in sorted(pieces, key=lambda p: p[1]):
        if step != reach:
            return False
        reach *= values
    return reach == size


def _loops_around(block: tir.BlockOp) -> list[tir.ForOp]:
    found: list[tir.ForOp] = []
    parent = block.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _index_map(order: Sequence[Piece], rank: int) -> IndexMapAttr:
    """The map from old indices to a new one for each piece."""
    params = tuple(Var(f"i{k}") for k in range(rank))
    results: list[SymExpr] = []
    top = {dim: max(step for d, step, _ in order if d == dim) for dim, _, _ in order}
    for dim, step, values in order:
        index = floordiv(params[dim], step)
        results.append(index if step == top[dim] else floormod(index, values))
    return IndexMapAttr(IndexMapping(params, tuple(results)))
