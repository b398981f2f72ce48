"""Copies of what is read, in which each tile lies in one piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import SymExpr, Var, floordiv, floormod
from ...dialects.tir import BufferType
from ...ir.affine.values import expr_of
from ...schedule import BlockRV, Schedule
from ...schedule import state as st
from ...transforms.layout.attributes import layout_free
from ...transforms.layout.split_layout_rewrite_preproc import MARK

Tile = list[tuple[int, int]]
"""The dimensions of a buffer that are tiled, and the sizes; in the order in which a tile shall lie."""


def pack_tiles(sch: Schedule, block: BlockRV, sizes: Mapping[int, int]) -> bool:
    """Let a block read copies of those buffers whose tiles do not lie in one piece; whether there are any.

    `sizes` are those of the tiles by the iterators of the block, in the order in which a tile shall lie. Copies of
    weights (`layout_free_buffers`) are marked, so that `SplitLayoutRewritePreproc` takes them out of the function.
    Raises `ScheduleError` where a copy cannot be made.
    """
    op = cast(tir.BlockOp, sch.get(block))
    variables = {op.iter_vars[at]: size for at, size in sizes.items()}
    written = {w.buffer for w in op.writes}
    buffers = st.buffers_read(op)
    tiles = {read.buffer: _tile(read, variables) for read in op.reads if read.buffer not in written}
    wanted = {buffer: tile for buffer, tile in tiles.items() if tile and not _in_one_piece(buffer, tile)}
    for buffer, tile in wanted.items():
        _pack(sch, block, buffers.index(buffer), tile, _is_weight(op, buffer))
    return bool(wanted)


def _pack(sch: Schedule, block: BlockRV, read_index: int, tile: Tile, is_weight: bool) -> None:
    cache: BlockRV = sch.cache_read(block, read_index, "global")
    kind = cast(BufferType, cast(tir.BlockOp, sch.get(cache)).writes[0].buffer.type)
    mapping = _index_map(len(kind.dims), tile)
    sch.transform_layout(cache, ("write", 0), mapping)
    sch.transform_block_layout(cache, mapping)
    if is_weight:
        sch.annotate(cache, MARK, 1)


def _tile(read: tir.RegionOp, sizes: Mapping[SSAValue, int]) -> Tile:
    """The tiled dimensions of what is read; none where an index is more than an iterator."""
    found: dict[SSAValue, tuple[int, int]] = {}
    for dim, start in enumerate(read.starts):
        index = expr_of(start)
        for variable in index.free_vars():
            value = variable.value
            if value is not None and value in sizes:
                if index != variable or value in found:
                    return []
                found[value] = (dim, sizes[value])
    return [found[value] for value in sizes if value in found]


def _in_one_piece(buffer: SSAValue, tile: Tile) -> bool:
    strides = [s.constant for s in cast(BufferType, buffer.type).layout_strides()]
    steps = [(strides[dim], size) for dim, size in tile]
    return steps[-1][0] == 1 and all(outer[0] == (inner[0] or 0) * inner[1] for outer, inner in pairwise(steps))


def _is_weight(block: tir.BlockOp, buffer: SSAValue) -> bool:
    func = st.function_around(block)
    return any(func.params[position] is buffer for position in layout_free(func))


def _index_map(rank: int, tile: Sequence[tuple[int, int]]) -> IndexMapAttr:
    """The map that puts the places of tiles first, and the places in a tile behind."""
    params = tuple(Var(f"i{k}") for k in range(rank))
    sizes = dict(tile)
    outer: list[SymExpr] = [floordiv(p, sizes[k]) if k in sizes else p for k, p in enumerate(params)]
    return IndexMapAttr(IndexMapping(params, (*outer, *(floormod(params[k], size) for k, size in tile))))
