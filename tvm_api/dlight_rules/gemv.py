"""The rule for matrix-vector products on CPUs, including those with a matrix that is dequantized on the fly.

    y[i] += A[i, k] * x[k]  ->  parallel blocks of rows; the rows of a block are lanes; tiles of k, unrolled

Source: TVM's `dlight.cpu.GEMV`, whose schedules it reproduces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from ...handles.equality import structural_equal
from ...handles.tir.block_views import Block
from ...handles.tir.buffers import Buffer
from ...handles.tir.expr_kinds import Add, BufferLoad
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.storage import BufferStore
from ...schedule.schedule import Schedule
from ...schedule.trace import BlockRV, LoopRV
from ...target import Target
from ..handles.iter_map import normalize_to_iter_sum
from ..handles.iter_maps.nodes import IterSplitExpr, IterSumExpr
from .block_info import (
    BlockInfo,
    IterInfo,
    collect_block_iter_vars_used_in_access_region,
    collect_vars_used_in_prim_expr,
    detect_dominant_read,
    normalize_prim_func,
)
from .inlining import try_inline_contiguous_spatial
from .loops import get_extent
from .schedule_rule import CPUScheduleRule

VECTOR_WIDTH = 8
UNROLLED_STEPS = 256


class GEMV(CPUScheduleRule):
    """`y[s] += A[s, r] * x[r]`, optionally with a leading batch, if `r` is the innermost dimension of the matrix.

    Producers of operands are inlined; one following block is allowed, which remains unchanged.
    """

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """Return the schedule, or None for functions of another form."""
        if not self.is_target_available(target):
            return None
        sch = Schedule(func)
        blocks = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not blocks or not _is_followed_by_little(blocks) or len(blocks[0].iters) not in (2, 3):
            return None
        product = blocks[0]
        if is_gemv(sch, product) is None or not normalize(sch, product):
            return None
        _schedule_inner_reduction(sch, product.block_rv)
        return sch


def _is_followed_by_little(blocks: list[BlockInfo]) -> bool:
    return len(blocks) == 1 or len(blocks) == 2 and blocks[1].is_injective()


def get_reduction_expr(block: Block) -> PrimExpr | None:
    """Return `e` if a block only computes `X[i] = X[i] + e`, or None."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return None
    before = BufferLoad(store.buffer, store.indices)
    return store.value.b if structural_equal(store.value.a, before, map_free_vars=True) else None


def is_gemv(sch: Schedule, block_info: BlockInfo) -> list[Buffer] | None:
    """Return the buffers read as vectors, with a part of the iterators, if a block is such a product; else None."""
    block: Block = sch.get(block_info.block_rv)
    if not block_info.is_reduction() or len(block.reads) < 2 or len(block.writes) != 1:
        return None
    if get_reduction_expr(block) is None:
        return None
    if not collect_block_iter_vars_used_in_access_region(block, block.writes[0].region):
        return None
    counts = [len(collect_block_iter_vars_used_in_access_region(block, r.region)) for r in block.reads]
    vectors = [r.buffer for r, n in zip(block.reads, counts, strict=True) if 0 < n < len(block.iter_vars)]
    return vectors if 0 < len(vectors) < len(block.reads) else None


@dataclass
class _Loops:
    """The loops of a product by role: batch, rows, reduction, and a group within the reduction."""

    batch: list[LoopRV] = field(default_factory=list)
    spatial: list[LoopRV] = field(default_factory=list)
    reduction: list[LoopRV] = field(default_factory=list)
    grouped: list[LoopRV] = field(default_factory=list)


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Reorder the loops of a product by the matrix's memory layout: batch, rows, reduction, and a group of the
    reduction.

    Returns whether the reduction is the matrix's innermost dimension, or None if its index has another form.
    """
    block: Block = sch.get(block_info.block_rv)
    access = _access_of(block)
    rows = [] if access is None else _with_infos(access, block_info)
    if not rows:
        return None
    if not _groups_one_reduction(rows):
        return None
    loops = _sorted_loops(sch, block, rows)
    if not loops.spatial or not loops.reduction:
        return None
    unit = block_info.block_rv
    loops.grouped = loops.grouped or [sch.add_unit_loop(unit)]
    loops.batch = loops.batch or [sch.add_unit_loop(unit)]
    sch.reorder(*loops.batch, *loops.spatial, *loops.reduction, *loops.grouped)
    for family in (loops.batch, loops.spatial, loops.reduction):
        sch.fuse(*family)
    return rows[-1][1].kind == "R"


def _access_of(block: Block) -> IterSumExpr | None:
    """Return the index of the matrix as a sum of iterators, or None if it is not one."""
    iters = {i.var: i.domain for i in block.iter_vars}
    access = normalize_to_iter_sum(detect_dominant_read(block), iters)
    varies = collect_vars_used_in_prim_expr(access.base) & set(iters)
    return None if varies or not access.args else access


def _with_infos(access: IterSumExpr, block_info: BlockInfo) -> list[tuple[IterSplitExpr, IterInfo]]:
    """Return the terms of an index with their iterators, or an empty list if one is not an iterator."""
    infos = {i.var.ssa: i for i in block_info.iters}
    sources = [split.source.source for split in access.args]
    if any(not isinstance(source, PrimExpr) or source.ssa not in infos for source in sources):
        return []
    return [(split, infos[cast(PrimExpr, split.source.source).ssa]) for split in access.args]


def _groups_one_reduction(rows: list[tuple[IterSplitExpr, IterInfo]]) -> bool:
    """Return whether at most one iterator is divided, which is a reduction, by a constant."""
    divided = [(split.lower_factor, info.kind) for split, info in rows if split.lower_factor.constant != 1]
    return not divided or len(divided) == 1 and divided[0][0].constant is not None and divided[0][1] == "R"


def _sorted_loops(sch: Schedule, block: Block, rows: list[tuple[IterSplitExpr, IterInfo]]) -> _Loops:
    accesses = [collect_block_iter_vars_used_in_access_region(block, r.region) for r in (*block.writes, *block.reads)]
    loops = _Loops()
    for split, info in rows:
        loop = info.loop_rv
        if split.lower_factor.constant != 1:
            loop, group = sch.split(loop, factors=[None, int(split.lower_factor)])
            loops.grouped.append(group)
        everywhere = all(info.var in used for used in accesses)
        family = loops.reduction if info.kind == "R" else loops.batch if everywhere else loops.spatial
        family.append(loop)
    return loops


def _schedule_inner_reduction(sch: Schedule, block: BlockRV) -> None:
    """Parallelize tiles of rows, vectorize the rows of a tile, and unroll tiles of the reduction."""
    batch, rows, summed, group = sch.get_loops(block)
    tile_rows, tile_summed = _tiles([get_extent(sch, lp) for lp in (batch, rows, summed, group)])
    of_group = get_extent(sch, group)
    outer_rows, inner_rows = sch.split(rows, factors=[None, tile_rows])
    outer_summed, _ = sch.split(summed, factors=[None, tile_summed])
    sch.split(group, factors=[None, min(VECTOR_WIDTH, of_group) if isinstance(of_group, int) else VECTOR_WIDTH])
    sch.vectorize(inner_rows)
    sch.parallel(outer_rows)
    sch.annotate(outer_summed, "pragma_auto_unroll_max_step", UNROLLED_STEPS)
    sch.annotate(outer_summed, "pragma_unroll_explicit", 1)


def _tiles(extents: list[int | PrimExpr]) -> tuple[int, int]:
    """Return the rows and the reduction steps of a tile, with more of the larger one."""
    numbers = [e for e in extents if isinstance(e, int)]
    if len(numbers) < len(extents):
        return 64, 64
    batch, rows, summed, group = numbers
    return (128, 64) if batch * rows > summed * group else (64, 128)
