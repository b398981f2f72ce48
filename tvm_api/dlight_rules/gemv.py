"""The rule for products of a matrix and a vector, also of matrices that are decoded on the way, on CPUs.

    y[i] += A[i, k] * x[k]  ->  parallel blocks of rows; the rows of a block are lanes; tiles of k, unrolled

Source: TVM's `dlight.cpu.GEMV`, of which this makes the same schedules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from ...handles.equality import structural_equal
from ...handles.tir.buffers import Buffer
from ...handles.tir.expr_kinds import Add, BufferLoad
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import Block, BufferStore
from ...ir.affine.iter_map import NotAffineError
from ...schedule.schedule import Schedule
from ...schedule.trace import BlockRV, LoopRV
from ...target import Target
from ..handles.iter_map import IterSplitExpr, IterSumExpr, normalize_to_iter_sum
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
    """`y[s] += A[s, r] * x[r]`, also with a batch in front, where the matrix has `r` innermost.

    What makes the operands of others is inlined; one block may follow, which stays as it is.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule, None for a function of another form."""
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
    """`e` where all that a block does is `X[i] = X[i] + e`."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return None
    before = BufferLoad(store.buffer, store.indices)
    return store.value.b if structural_equal(store.value.a, before, map_free_vars=True) else None


def is_gemv(sch: Schedule, block_info: BlockInfo) -> list[Buffer] | None:
    """The buffers that are read as vectors, by some of the iterators only, where a block is such a product."""
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
    """The loops of a product by what they run over: a batch, rows, what is summed, a group of that."""

    batch: list[LoopRV] = field(default_factory=list)
    spatial: list[LoopRV] = field(default_factory=list)
    reduction: list[LoopRV] = field(default_factory=list)
    grouped: list[LoopRV] = field(default_factory=list)


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Order the loops of a product as its matrix lies in memory: batch, rows, what is summed, and a group of that.

    Gives whether the matrix has what is summed innermost; None where its index is of another form.
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
    """The index of the matrix as a sum of iterators; None where it is none."""
    iters = {i.var: i.domain for i in block.iter_vars}
    try:
        access = normalize_to_iter_sum(detect_dominant_read(block), iters)
    except NotAffineError:
        return None
    varies = collect_vars_used_in_prim_expr(access.base) & set(iters)
    return None if varies or not access.args else access


def _with_infos(access: IterSumExpr, block_info: BlockInfo) -> list[tuple[IterSplitExpr, IterInfo]]:
    """The terms of an index with the iterators that they are of; none where one is of something else."""
    infos = {i.var.ssa: i for i in block_info.iters}
    sources = [split.source.source for split in access.args]
    if any(isinstance(source, IterSumExpr) or source.ssa not in infos for source in sources):
        return []
    return [(split, infos[cast(PrimExpr, split.source.source).ssa]) for split in access.args]


def _groups_one_reduction(rows: list[tuple[IterSplitExpr, IterInfo]]) -> bool:
    """Whether at most one iterator is divided, which is summed over, by a number."""
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
    """Tiles of rows in parallel, the rows of a tile as lanes; tiles of what is summed, unrolled."""
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
    """How many rows, and how much of what is summed, a tile has: more of what there is more of."""
    numbers = [e for e in extents if isinstance(e, int)]
    if len(numbers) < len(extents):
        return 64, 64
    batch, rows, summed, group = numbers
    return (128, 64) if batch * rows > summed * group else (64, 128)
