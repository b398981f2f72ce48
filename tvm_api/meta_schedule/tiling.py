"""Multi-level tiling for devices: tiles bound to threads, copies that threads fetch together, pipelines of copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from ...dialects import tir
from ...dialects.dtypes import bit_width, dtype_name
from ...dialects.tir import IterKind
from ...schedule import BlockRV, LoopRV, Schedule
from ...schedule import state as st
from ...tuning import analysis
from ...tuning.schedule_rules import MultiLevelTiling as _Tiling
from ...tuning.schedule_rules import ReuseType, TileState
from ...tuning.types import Task
from .threads import limit

COOPERATIVE = "meta_schedule.cooperative_fetch"
LOW, HIGH = "meta_schedule.thread_extent_low_inclusive", "meta_schedule.thread_extent_high_inclusive"
_ASYNC_ARCHITECTURE = 80
"""The architecture from which on copies into shared memory are asynchronous."""
_LANES: dict[str, Callable[[int], bool]] = {
    "float32": lambda lanes: lanes <= 4,
    "float16": lambda lanes: (lanes == 1 or lanes % 2 == 0) and lanes <= 8,
    "int8": lambda lanes: lanes <= 16,
}
"""The vectors that threads load, by dtype; others load any."""


class MultiLevelTiling(_Tiling):
    """Split every loop by sampled factors and order the parts by `structure`.

    Beyond the options of tirax.tuning's: `tile_binds` names the threads that the fused loops of a level are bound to,
    `vector_load_lens` the vectors by which threads load copies, and `filter_fn(sch, block)` selects blocks besides
    those that the usual test selects.
    """

    threads: int | None = None
    warp: int | None = None
    stages: tuple[int, ...] = ()

    def initialize(self, context: Task) -> None:
        super().initialize(context)
        self.threads = limit(context, "max_threads_per_block")
        self.warp = None if self.threads is None else limit(context, "thread_warp_size")
        arch = str(getattr(context.target, "get_attr", lambda _: "")("arch") or "")
        number = arch.removeprefix("sm_")
        if arch.startswith("sm_") and number.isdecimal() and int(number) >= _ASYNC_ARCHITECTURE:
            self.stages = (4, 5)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp):
            return [sch]
        chosen = self.filter_fn is not None and cast(Any, self.filter_fn)(sch, sch.get_sref(block))
        if not chosen and not analysis.needs_multi_level_tiling(op):
            return [sch]
        return self.tiled(TileState(sch, block))

    def tiled(self, first: TileState) -> list[Schedule]:
        first.sch.annotate(first.block, analysis.TILING_STRUCTURE, self.structure)
        states = [first]
        for step in (self._tile, self._write_reuse, self._read_reuse, self._pipelined):
            states = [out for state in states for out in step(state)]
        return [state.sch for state in states]

    def _tile(self, state: TileState) -> list[TileState]:
        sch, op = state.sch, cast(tir.BlockOp, state.sch.operation(state.block))
        loops = st.loops_above(op)
        extents = [st.constant_extent(lp) for lp, kind in zip(loops, op.kinds, strict=True) if kind is IterKind.SPATIAL]
        (state,) = super()._tile(state)
        for level, tag in enumerate(list(self.tile_binds or ())[: len(state.tiles)]):
            fused = sch.fuse(*state.tiles[level])
            sch.bind(fused, tag)
            state.tiles[level] = [fused]
        if self.warp is not None:
            known = all(extent is not None for extent in extents)
            many = known and prod(extent or 1 for extent in extents) > 2 * self.warp
            sch.annotate(state.block, LOW, self.warp if many else 1)
            sch.annotate(state.block, HIGH, self.threads)
        return [state]

    def _write_reuse(self, state: TileState) -> list[TileState]:
        levels = analysis.annotation(state.sch.operation(state.block), "meta_schedule.write_cache_level")
        if levels is None or ReuseType.of(self.reuse_write).req == "no":
            return super()._write_reuse(state)
        cache = state.sch.cache_write(state.block, 0, ReuseType.of(self.reuse_write).scope)
        return self._at_levels(state, cache, [int(level) for level in levels])

    def _read_reuse(self, state: TileState) -> list[TileState]:
        reuse = ReuseType.of(self.reuse_read)
        if reuse.req == "no":
            return [state]
        out: list[TileState] = []
        for level in reuse.levels:
            new = state.copy()
            self._cache_reads(new, new.tiles[level - 1][-1], reuse.scope)
            out.append(new)
        return out

    def _cache_reads(self, state: TileState, loop: LoopRV, scope: str) -> None:
        sch = state.sch
        block = cast(tir.BlockOp, sch.operation(state.block))
        written = {w.buffer for w in block.writes}
        ranks = [None if r.buffer in written else cast(tir.BufferType, r.buffer.type).rank for r in block.reads]
        for k, rank in enumerate(ranks):
            if rank is None:
                continue
            cache = sch.cache_read(state.block, k, scope, [state.block])
            sch.compute_at(cache, loop, True)
            loops = sch.get_loops(cache)
            sch.fuse(*loops[len(loops) - rank :])
            self._fetch_together(sch, cache)

    def _fetch_together(self, sch: Schedule, cache: BlockRV) -> None:
        """Annotate a copy with the vectors by which threads load it."""
        buffer = cast(tir.BlockOp, sch.operation(cache)).writes[0].buffer
        fits = _LANES.get(dtype_name(cast(tir.BufferType, buffer.type).dtype), lambda _: True)
        lanes = [n for n in self.vector_load_lens or () if fits(n)]
        if lanes:
            sch.annotate(cache, COOPERATIVE, sch.sample_categorical(lanes, [1.0 / len(lanes)] * len(lanes)))

    def _pipelined(self, state: TileState) -> list[TileState]:
        """Return the state, and pipelines of it if a reduction loop has two copies and what uses them."""
        levels = self._levels("R")
        if not levels or not self.stages or not state.tiles[levels[0]]:
            return [state]
        loop = cast(tir.ForOp, state.sch.operation(state.tiles[levels[0]][-1]))
        inside = st.children(loop.body.block)
        if len(inside) != 3 or not all(isinstance(op, tir.ForOp) for op in inside):
            return [state]
        out = [state]
        for stage in self.stages:
            new = state.copy()
            fused = new.sch.fuse(*new.tiles[levels[0]])
            new.sch.annotate(fused, "software_pipeline_stage", [0, 0, stage - 2])
            new.sch.annotate(fused, "software_pipeline_order", [0, 1, 2])
            new.sch.annotate(fused, "software_pipeline_async_stages", [0])
            out.append(new)
        return out


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Multi-level tiling whose innermost spatial loop counts the lanes of a vector of `vector_length_in_bits`."""

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: Any = None,
        reuse_write: Any = None,
    ):
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)
        self.vector_length_in_bits = vector_length_in_bits
        self._block: tir.BlockOp | None = None

    def _tile(self, state: TileState) -> list[TileState]:
        self._block = cast(tir.BlockOp, state.sch.operation(state.block))
        return super()._tile(state)

    def _split(self, sch: Schedule, loop: LoopRV, count: int) -> list[LoopRV]:
        op, block = cast(tir.ForOp, sch.operation(loop)), cast(tir.BlockOp, self._block)
        write = block.writes[0]
        if block.bindings[len(write.starts) - 1] is not op.loop_var:
            return super()._split(sch, loop, count)
        lanes = self.vector_length_in_bits // bit_width(cast(tir.BufferType, write.buffer.type).dtype)
        extent = st.constant_extent(op)
        if extent is None or extent <= lanes:
            factors: Sequence[Any] = [*([1] * (count - 1)), extent]
            return sch.split(loop, list(factors))
        outer, inner = sch.split(loop, [None, lanes])
        largest = -1 if self.max_innermost_factor is None else self.max_innermost_factor
        return [*sch.split(outer, sch.sample_perfect_tile(outer, count - 1, largest)), inner]


__all__ = ["COOPERATIVE", "HIGH", "LOW", "MultiLevelTiling", "MultiLevelTilingWideVector"]
