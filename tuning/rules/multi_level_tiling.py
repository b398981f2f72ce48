"""Tiling on several levels, for blocks that read the same elements again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects import tir
from ...dialects.tir import IterKind
from ...schedule import BlockRV, ExprRV, LoopRV, Schedule
from .. import analysis
from ..context import TuneContext
from .rule import ScheduleRule

_REQUIREMENTS = ("no", "may", "must")


@dataclass
class ReuseType:
    """Whether a cache is added (`no`, `may`, `must`), under the tiles of which levels, in which scope."""

    req: str = "no"
    levels: Sequence[int] = ()
    scope: str = "global"

    @staticmethod
    def of(given: Any) -> ReuseType:
        """A reuse type of itself, of a dictionary as TVM takes it, or of None."""
        if given is None or isinstance(given, ReuseType):
            return given or ReuseType()
        return ReuseType(given.get("req", "no"), tuple(given.get("levels") or ()), given.get("scope", "global"))


@dataclass
class TileState:
    """A schedule in the making: the block, and its loops by level."""

    sch: Schedule
    block: BlockRV
    tiles: list[list[LoopRV]] = field(default_factory=list)

    def copy(self) -> TileState:
        return TileState(self.sch.copy(), self.block, [list(t) for t in self.tiles])


@dataclass
class MultiLevelTiling(ScheduleRule):
    """Split every loop by sampled factors and order the parts by `structure`.

    `structure` has a letter for each level, S for spatial and R for reduction loops: `SSRSRS` for CPUs. The innermost
    factor is at most `max_innermost_factor`. `reuse_read` and `reuse_write` say whether what is read or written goes
    through a cache. `filter_fn(block)` chooses the blocks in place of the usual test. (Zheng et al., Ansor, OSDI 2020.)
    """

    structure: str = "SSRSRS"
    tile_binds: Sequence[str] | None = None
    max_innermost_factor: int | None = 64
    vector_load_lens: Sequence[int] | None = None
    reuse_read: Any = None
    reuse_write: Any = None
    filter_fn: Callable[[tir.BlockOp], bool] | None = None

    def initialize(self, context: TuneContext) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or not (self.filter_fn or analysis.needs_multi_level_tiling)(op):
            return [sch]
        return self.tiled(TileState(sch, block))

    def tiled(self, first: TileState) -> list[Schedule]:
        """The schedules that tiling the block of `first` gives, without asking whether that is of any use."""
        first.sch.annotate(first.block, analysis.TILING_STRUCTURE, self.structure)
        states = [first]
        for step in (self._tile, self._write_reuse, self._read_reuse):
            states = [out for state in states for out in step(state)]
        return [state.sch for state in states]

    def _levels(self, letter: str) -> list[int]:
        return [k for k, c in enumerate(self.structure) if c == letter]

    def _tile(self, state: TileState) -> list[TileState]:
        sch = state.sch
        loops = sch.get_loops(state.block)
        levels = {IterKind.SPATIAL: self._levels("S"), IterKind.REDUCE: self._levels("R")}
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        for loop, kind in zip(loops, sch.get(state.block).kinds, strict=True):
            where = levels.get(kind)
            if where is None:
                continue
            parts = [loop] if len(where) == 1 else self._split(sch, loop, len(where))
            for level, part in zip(where, parts, strict=True):
                tiles[level].append(part)
        sch.reorder(*[loop for level in tiles for loop in level])
        state.tiles = tiles
        return [state]

    def _split(self, sch: Schedule, loop: LoopRV, count: int) -> list[LoopRV]:
        largest = 16 if self.max_innermost_factor is None else self.max_innermost_factor
        factors: list[ExprRV] = sch.sample_perfect_tile(loop, count, largest)
        return sch.split(loop, factors)

    def _write_reuse(self, state: TileState) -> list[TileState]:
        reuse = ReuseType.of(self.reuse_write)
        if reuse.req == "no":
            return [state]
        out: list[TileState] = []
        if reuse.req == "may":
            consumers = state.sch.get_consumers(state.block)
            if len(consumers) == 1 and analysis.is_write_cache(state.sch.get(consumers[0])):
                return [*self._at_levels(state, consumers[0], reuse.levels), state]
            out.append(state.copy())
        cache = state.sch.cache_write(state.block, 0, reuse.scope)
        return [*out, *self._at_levels(state, cache, reuse.levels)]

    def _at_levels(self, state: TileState, block: BlockRV, levels: Sequence[int]) -> list[TileState]:
        out: list[TileState] = []
        for level in levels:
            new = state.copy()
            new.sch.reverse_compute_at(block, new.tiles[level - 1][-1], True)
            out.append(new)
        return out

    def _read_reuse(self, state: TileState) -> list[TileState]:
        reuse = ReuseType.of(self.reuse_read)
        if reuse.req == "no":
            return [state]
        out: list[TileState] = [state.copy()] if reuse.req == "may" else []
        for level in reuse.levels:
            new = state.copy()
            block = new.sch.get(new.block)
            written = {w.buffer for w in block.writes}
            for k, read in enumerate(block.reads):
                if read.buffer not in written:
                    cache = new.sch.cache_read(new.block, k, reuse.scope, [new.block])
                    new.sch.compute_at(cache, new.tiles[level - 1][-1], True)
            out.append(new)
        return out
