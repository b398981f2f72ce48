"""Schedule rules: each transforms one block and returns the resulting schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from typing import Any, cast

from xdsl.ir import SSAValue

from ..dialects import tir
from ..dialects.sym import IndexMapAttr, IndexMapping
from ..dialects.sym.expr import SymExpr, Var, floordiv, floormod
from ..dialects.tir import BufferType, IterKind
from ..ir.affine.values import sym_expr_of
from ..schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from ..schedule import state as st
from ..schedule.tensor_intrin import TensorIntrin
from ..tables import Table
from ..transforms.layout.attributes import layout_free
from ..transforms.layout.split_layout_rewrite_preproc import MARK
from . import analysis
from .defaults import device_kind, intrinsics_of
from .types import Task


class ScheduleRule:
    """Returns the schedules to continue with for a block, or the unchanged schedule if the rule does not apply.

    A rule owns the schedule passed to it: it may change and return it.
    """

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """Return the rules of `llvm`, `avx512`, `vnni` or `bf16`. Raises `NameLookupError`, `UnsupportedError`."""
        device = device_kind(kind)
        if device is not None:
            return device.rules()
        return default_rules(intrinsics_of("schedule rules", kind))

    def initialize(self, context: Task) -> None:
        """Bind the rule to a task; called before the first `apply`."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)


# Custom rules named by a block's annotation.

CUSTOM_RULES: Table[Callable[[Schedule, BlockRV], list[Schedule] | Schedule]] = Table("schedule rule")
"""Custom rules by name; the annotation `schedule_rule` of a block selects one."""


@dataclass
class ApplyCustomRule(ScheduleRule):
    """Apply the custom rule named by a block's annotation `schedule_rule`. Raises `NameLookupError` if it is
    unknown.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        name = analysis.annotation(op, "schedule_rule") if isinstance(op, tir.BlockOp) else None
        if name is None or name == "None":
            return [sch]
        rule = CUSTOM_RULES.find(str(name))
        sch.unannotate(block, "schedule_rule")
        result = rule(sch, block)
        return [result] if isinstance(result, Schedule) else list(result)


# Inlining of cheap computations.


@dataclass
class AutoInline(ScheduleRule):
    """Inline elementwise blocks into their consumers (`into_consumer`) or their producer (`into_producer`).

    A block is inlined if it reads each buffer at indices that are its iterators (in their order if
    `require_ordered`, each once if `require_injective`), and has no branch and no operation of `disallow_op`.
    """

    into_producer: bool = False
    into_consumer: bool = True
    inline_const_tensor: bool = True
    disallow_if_then_else: bool = True
    require_injective: bool = True
    require_ordered: bool = True
    disallow_op: Sequence[str] = field(default_factory=lambda: ["tir.exp"])

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if isinstance(op, tir.BlockOp) and len(op.writes) == 1:
            self._inline(sch, block, op)
        return [sch]

    def _inline(self, sch: Schedule, block: BlockRV, op: tir.BlockOp) -> bool:
        """Inline a block into its consumers or its producer, if one of these is possible."""
        has_consumers = bool(st.consumers(op))
        if self.inline_const_tensor and not op.reads and has_consumers and _try(sch, "compute_inline", block):
            return True
        if not self._fits(op) or analysis.annotation(op, "meta_schedule.inline_rule") == "disable":
            return False
        if self.into_consumer and has_consumers and _try(sch, "compute_inline", block):
            return True
        return self.into_producer and _has_spatial_producer(op) and _try(sch, "reverse_compute_inline", block)

    def _fits(self, block: tir.BlockOp) -> bool:
        if analysis.is_in_spatial_function(block):
            return True
        if self.disallow_if_then_else and any(isinstance(op, tir.IfThenElseOp | tir.IfOp) for op in block.walk()):
            return False
        if any(isinstance(op, tir.CallIntrinOp) and f"tir.{op.func.data}" in self.disallow_op for op in block.walk()):
            return False
        return not (self.require_injective or self.require_ordered) or self._reads_plainly(block)

    def _reads_plainly(self, block: tir.BlockOp) -> bool:
        order = {v: k for k, v in enumerate(block.iter_vars)}
        for read in block.reads:
            used: list[int] = []
            for start in read.starts:
                variables = sym_expr_of(start).free_vars()
                if any(v.value not in order for v in variables if v.value is not None):
                    return False
                if self.require_injective and len(variables) > 1:
                    return False
                used += [order[v.value] for v in variables if v.value is not None]
            if self.require_ordered and used != sorted(used):
                return False
        return True


@dataclass
class InlineConstantScalars(ScheduleRule):
    """Inline blocks that store a constant to a scalar buffer."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or op.reads or op.iter_vars or not st.consumers(op):
            return [sch]
        stores = [inner for inner in op.walk() if isinstance(inner, tir.StoreOp)]
        if len(stores) == 1 and isinstance(stores[0].value.owner, tir.ConstOp):
            _try(sch, "compute_inline", block)
        return [sch]


def _has_spatial_producer(block: tir.BlockOp) -> bool:
    """Return whether a block has one producer, which is complete and no intrinsic."""
    producers = st.producers(block)
    if len(producers) != 1 or not analysis.is_complete(producers[0]):
        return False
    return analysis.annotation(producers[0], analysis.AUTO_TENSORIZE) is None


def _try(sch: Schedule, primitive: str, block: BlockRV) -> bool:
    """Apply a primitive that may fail, and return whether it did not; on failure the schedule is unchanged."""
    try:
        getattr(sch, primitive)(block)
    except ScheduleError:
        return False
    return True


# Partial results for reductions with too little parallelism.


@dataclass
class AddRFactor(ScheduleRule):
    """Factor a reduction over each part of its split loop (rfactor).

    A reduction that is tiled (such as a matmul) is factored only if its spatial part is too small to keep the
    cores busy: smaller than the reduction, and at most `max_jobs_per_core` iterations per core. The unfactored
    schedule comes last.
    """

    max_jobs_per_core: int = 16
    max_innermost_factor: int | None = 64

    def initialize(self, context: Task) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not self._is_needed(op):
            return [sch]
        prepared = sch.copy()
        try:
            parts = self._split(prepared, block)
        except ScheduleError:
            return [sch]
        results = [_factored(prepared.copy(), block, part) for part in parts]
        return [*(out for out in results if out is not None), sch]

    def _is_needed(self, block: tir.BlockOp) -> bool:
        if not analysis.is_reduction(block) or not analysis.has_trivial_bindings(block) or not block.writes:
            return False
        spatial = reduced = 1
        for kind, extent in zip(block.kinds, block.extents, strict=True):
            if extent.constant is None:
                return False
            if kind is IterKind.SPATIAL:
                spatial *= extent.constant
            else:
                reduced *= extent.constant
        if analysis.needs_multi_level_tiling(block):
            return spatial < reduced and spatial <= self.context.cores * self.max_jobs_per_core
        return reduced > 1

    def _split(self, sch: Schedule, block: BlockRV) -> list[LoopRV]:
        """Fuse the reduction loops, split the result in two, and return both loops."""
        loops = sch.get_loops(block)
        kinds = [analysis.iter_kind_of(sch.operation(lp)) for lp in loops]
        spatial = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is IterKind.SPATIAL]
        reducing = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is not IterKind.SPATIAL]
        if [*spatial, *reducing] != loops:
            sch.reorder(*spatial, *reducing)
        fused = sch.fuse(*reducing) if len(reducing) > 1 else reducing[0]
        largest = 16 if self.max_innermost_factor is None else self.max_innermost_factor
        return sch.split(fused, sch.sample_perfect_tile(fused, 2, largest))


def _factored(sch: Schedule, block: BlockRV, part: LoopRV) -> Schedule | None:
    """Return the schedule with one part of the reduction factored, or None if that fails."""
    try:
        factored = sch.rfactor(part, len(sch.operation(block).writes[0].starts))
    except ScheduleError:
        return None
    if not sch.get_loops(factored):
        return None
    sch.annotate(block, analysis.RANDOM_LOCATION, 1)
    return sch


# Limits of parallel, vectorized and unrolled iterations.


@dataclass
class ParallelizeVectorizeUnroll(ScheduleRule):
    """Annotate the root of a function; `RewriteParallelVectorizeUnroll` carries out the annotations.

    They request at most `max_jobs_per_core` parallel iterations per core, vectors of at most
    `max_vectorize_extent` lanes, and unrolling up to a number sampled from `unroll_max_steps`, in the IR if
    `unroll_explicit`; functions without reductions are not unrolled. -1 and None omit an annotation.
    """

    max_jobs_per_core: int = 16
    max_vectorize_extent: int = 16
    unroll_max_steps: Sequence[int] | None = None
    unroll_explicit: bool = True

    def initialize(self, context: Task) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        if not analysis.is_root(sch.operation(block)):
            return [sch]
        if self.max_jobs_per_core != -1:
            sch.annotate(block, analysis.PARALLEL, self.max_jobs_per_core * self.context.cores)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, analysis.VECTORIZE, self.max_vectorize_extent)
        if self.unroll_max_steps and not analysis.is_all_spatial(sch, block):
            steps = list(self.unroll_max_steps)
            chosen = sch.sample_categorical(steps, [1.0 / len(steps)] * len(steps))
            key = analysis.UNROLL_EXPLICIT if self.unroll_explicit else analysis.UNROLL_IMPLICIT
            sch.annotate(block, key, chosen)
        return [sch]


# Random compute locations at loops of the consumers.


@dataclass
class RandomComputeLocation(ScheduleRule):
    """Sample the compute location of blocks that tiling left alone, and of the partial results of a factored
    reduction.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not self._fits(op):
            return [sch]
        producers: list[BlockRV] = []
        if analysis.annotation(op, analysis.RANDOM_LOCATION) is not None:
            producers = sch.get_producers(block)
            sch.unannotate(block, analysis.RANDOM_LOCATION)
        for moved in (block, *producers):
            sch.compute_at(moved, sch.sample_compute_location(moved), True)
        return [sch]

    def _fits(self, block: tir.BlockOp) -> bool:
        if block in st.output_blocks(st.scope_of(block)) or not st.consumers(block):
            return False
        if analysis.annotation(block, analysis.TILING_STRUCTURE) is not None:
            return False
        loops = st.loops_above(block)
        if not loops or any(len(st.children(lp.body.block)) != 1 for lp in loops):
            return False
        return analysis.is_complete(block) or analysis.is_reduction(block)


# Multi-level tiling, for blocks that reuse the elements they read.

_REQUIREMENTS = ("no", "may", "must")


@dataclass
class ReuseType:
    """Whether a cache is added (`no`, `may`, `must`), under the tiles of which levels, and in which scope."""

    req: str = "no"
    levels: Sequence[int] = ()
    scope: str = "global"

    @staticmethod
    def of(reuse: Any) -> ReuseType:
        """Return a reuse type, converting TVM's dictionary form and None."""
        if reuse is None or isinstance(reuse, ReuseType):
            return reuse or ReuseType()
        return ReuseType(reuse.get("req", "no"), tuple(reuse.get("levels") or ()), reuse.get("scope", "global"))


@dataclass
class TileState:
    """An intermediate schedule: the block, and its loops by level."""

    sch: Schedule
    block: BlockRV
    tiles: list[list[LoopRV]] = field(default_factory=list)

    def copy(self) -> TileState:
        return TileState(self.sch.copy(), self.block, [list(t) for t in self.tiles])


@dataclass
class MultiLevelTiling(ScheduleRule):
    """Split every loop by sampled factors and order the parts by `structure`.

    `structure` has a letter for each level, S for spatial and R for reduction loops: `SSRSRS` for CPUs. The
    innermost factor is at most `max_innermost_factor`. `reuse_read` and `reuse_write` control caches of inputs
    and outputs. `filter_fn(block)` selects the blocks in place of the usual test. (Zheng et al., Ansor, OSDI
    2020.)
    """

    structure: str = "SSRSRS"
    tile_binds: Sequence[str] | None = None
    max_innermost_factor: int | None = 64
    vector_load_lens: Sequence[int] | None = None
    reuse_read: Any = None
    reuse_write: Any = None
    filter_fn: Callable[[tir.BlockOp], bool] | None = None

    def initialize(self, context: Task) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not (self.filter_fn or analysis.needs_multi_level_tiling)(op):
            return [sch]
        return self.tiled(TileState(sch, block))

    def tiled(self, first: TileState) -> list[Schedule]:
        """Return the schedules from tiling the block of `first`, without testing whether it pays off."""
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
        for loop, kind in zip(loops, sch.operation(state.block).kinds, strict=True):
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
            if len(consumers) == 1 and analysis.is_write_cache(state.sch.operation(consumers[0])):
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
            block = new.sch.operation(new.block)
            written = {w.buffer for w in block.writes}
            for k, read in enumerate(block.reads):
                if read.buffer not in written:
                    cache = new.sch.cache_read(new.block, k, reuse.scope, [new.block])
                    new.sch.compute_at(cache, new.tiles[level - 1][-1], True)
            out.append(new)
        return out


# Packing: copies of inputs in which each tile is contiguous.

Tile = list[tuple[int, int]]
"""The tiled dimensions of a buffer and their tile sizes, in the memory order of a tile."""


def pack_tiles(sch: Schedule, block: BlockRV, sizes: Mapping[int, int]) -> bool:
    """Pack the buffers that a block reads whose tiles are not contiguous, and return whether there were any.

    `sizes` are the tile sizes of the block's iterators, in the memory order of a tile. Copies of weights
    (`layout_free_buffers`) are annotated so that `SplitLayoutRewritePreproc` can move them out of the function.
    Raises `ScheduleError` if a copy cannot be created.
    """
    op = cast(tir.BlockOp, sch.operation(block))
    variables = {op.iter_vars[at]: size for at, size in sizes.items()}
    written = {w.buffer for w in op.writes}
    buffers = st.buffers_read(op)
    tiles = {read.buffer: _tile(read, variables) for read in op.reads if read.buffer not in written}
    packed = {buffer: tile for buffer, tile in tiles.items() if tile and not _in_one_piece(buffer, tile)}
    for buffer, tile in packed.items():
        _pack(sch, block, buffers.index(buffer), tile, _is_weight(op, buffer))
    return bool(packed)


def _pack(sch: Schedule, block: BlockRV, read_index: int, tile: Tile, is_weight: bool) -> None:
    cache: BlockRV = sch.cache_read(block, read_index, "global")
    kind = cast(BufferType, cast(tir.BlockOp, sch.operation(cache)).writes[0].buffer.type)
    mapping = _index_map(len(kind.dims), tile)
    sch.transform_layout(cache, ("write", 0), mapping)
    sch.transform_block_layout(cache, mapping)
    if is_weight:
        sch.annotate(cache, MARK, 1)


def _tile(read: tir.RegionOp, sizes: Mapping[SSAValue, int]) -> Tile:
    """Return the tiled dimensions of a read, or none if an index is more complex than a single iterator."""
    tiled: dict[SSAValue, tuple[int, int]] = {}
    for dim, start in enumerate(read.starts):
        index = sym_expr_of(start)
        for variable in index.free_vars():
            value = variable.value
            if value is not None and value in sizes:
                if index != variable or value in tiled:
                    return []
                tiled[value] = (dim, sizes[value])
    return [tiled[value] for value in sizes if value in tiled]


def _in_one_piece(buffer: SSAValue, tile: Tile) -> bool:
    strides = [s.constant for s in cast(BufferType, buffer.type).layout_strides()]
    steps = [(strides[dim], size) for dim, size in tile]
    return steps[-1][0] == 1 and all(outer[0] == (inner[0] or 0) * inner[1] for outer, inner in pairwise(steps))


def _is_weight(block: tir.BlockOp, buffer: SSAValue) -> bool:
    func = st.function_around(block)
    return any(func.params[position] is buffer for position in layout_free(func))


def _index_map(rank: int, tile: Sequence[tuple[int, int]]) -> IndexMapAttr:
    """Return the map to an index of tiles followed by an index within the tile."""
    params = tuple(Var(f"i{k}") for k in range(rank))
    sizes = dict(tile)
    outer: list[SymExpr] = [floordiv(p, sizes[k]) if k in sizes else p for k, p in enumerate(params)]
    return IndexMapAttr(IndexMapping(params, (*outer, *(floormod(params[k], size) for k, size in tile))))


# Tiling around a tensor intrinsic: the innermost tile is what the intrinsic computes.


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Split off the loops that the intrinsic `intrin_name` computes, and tile the remaining ones.

    Inputs are packed first if the intrinsic requires contiguous tiles. The block is left unchanged if no choice
    of its iterators matches the intrinsic's description. `RewriteTensorize` inserts the intrinsic in the end.
    The options are those of `MultiLevelTiling`. Raises `NameLookupError` for unknown intrinsics.
    """

    def __init__(self, intrin_name: str, structure: str = "SSRSRS", **options: Any):
        super().__init__(structure, **options)
        self.intrin_name = intrin_name
        desc = cast(TensorIntrin, TensorIntrin.get(intrin_name)).desc.op
        self._sizes = _iterators(desc)
        self._dtypes = Counter(cast(tir.BufferType, p.type).dtype for p in desc.params)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not self._may_fit(op):
            return [sch]
        for chosen in self._choices(op):
            result = self._split_off(sch.copy(), block, chosen) or self._packed(sch.copy(), block, chosen)
            if result is not None:
                return self.tiled(TileState(*result))
        return [sch]

    def _may_fit(self, block: tir.BlockOp) -> bool:
        if st.blocks_below(block) or not analysis.has_trivial_bindings(block) or analysis.is_tiled(block):
            return False
        buffers = {region.buffer for region in (*block.reads, *block.writes)}
        if Counter(cast(tir.BufferType, b.type).dtype for b in buffers) != self._dtypes:
            return False
        return self.filter_fn is None or self.filter_fn(block)

    def _choices(self, block: tir.BlockOp) -> Iterator[tuple[int, ...]]:
        """Yield the combinations of the block's iterators that may match those of the intrinsic, last ones first."""
        for chosen in permutations(reversed(range(len(block.kinds))), len(self._sizes)):
            pairs = zip(chosen, self._sizes, strict=True)
            if all(_divides(block, at, kind, size) for at, (kind, size) in pairs):
                yield chosen

    def _packed(self, out: Schedule, block: BlockRV, chosen: tuple[int, ...]) -> tuple[Schedule, BlockRV] | None:
        """Like `_split_off`, with packed copies of inputs whose layout the intrinsic does not accept."""
        sizes = {at: size or 1 for at, (_, size) in zip(chosen, self._sizes, strict=True)}
        try:
            packs = pack_tiles(out, block, sizes)
        except ScheduleError:
            return None
        return self._split_off(out, block, chosen) if packs else None

    def _split_off(self, out: Schedule, block: BlockRV, chosen: tuple[int, ...]) -> tuple[Schedule, BlockRV] | None:
        """Return the schedule with the chosen part as a separate block, or None if it does not match the intrinsic.

        Matching is tested by trying, which changes `out`.
        """
        try:
            loops = out.get_loops(block)
            inner: list[LoopRV] = []
            order = list(range(len(loops)))
            if list(chosen) != sorted(chosen):
                order = [*(k for k in order if k not in chosen), *chosen]
                out.reorder_block_iter_var(block, order)
            for at, (_, size) in zip(chosen, self._sizes, strict=True):
                loops[at], part = out.split(loops[at], [None, size])
                inner.append(part)
            out.reorder(*(loops[k] for k in order), *inner)
            outer = out.blockize(inner[0])
            out.copy().tensorize(outer, self.intrin_name)
        except ScheduleError:
            return None
        out.annotate(outer, analysis.AUTO_TENSORIZE, self.intrin_name)
        return out, outer


def _iterators(desc: Any) -> list[tuple[IterKind, int | None]]:
    """Return the kinds and extents of the iterators in an intrinsic's description."""
    blocks = [op for op in desc.walk() if isinstance(op, tir.BlockOp) and op.iter_vars]
    return [(k, e.constant) for k, e in zip(blocks[0].kinds, blocks[0].extents, strict=True)] if blocks else []


def _divides(block: tir.BlockOp, at: int, kind: IterKind, size: int | None) -> bool:
    extent = block.extents[at].constant
    return block.kinds[at] is kind and bool(size and extent) and (extent or 0) % (size or 1) == 0


def default_rules(intrinsics: Sequence[str]) -> list[ScheduleRule]:
    """Return the default rules, with tiling for these tensor intrinsics."""
    tiling: dict[str, Any] = {"max_innermost_factor": 64, "reuse_write": ReuseType("may", (1, 2), "global")}
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        *(MultiLevelTilingWithIntrin(name, "SSRSRS", **tiling) for name in intrinsics),
        MultiLevelTiling("SSRSRS", **tiling),
        ParallelizeVectorizeUnroll(16, 64, (0, 16, 64, 512), True),
        RandomComputeLocation(),
    ]
