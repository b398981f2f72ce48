"""Schedule rules for devices with threads in groups: their schedules are programs like others, on any host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.tir import ForKind, IterKind
from ...schedule import BlockRV, ExprRV, LoopRV, Schedule
from ...schedule import state as st
from ...schedule.trace import handle_on
from ...tuning import analysis
from ...tuning.schedule_rules import ScheduleRule
from ...tuning.types import Task

_BLOCK, _THREAD = "blockIdx", "threadIdx"
_EXTENTS = (32, 64, 128, 256, 512, 1024)
Factor = Callable[[int], "ExprRV | int"]


class MissingLimitError(TiraxError, ValueError):
    """A target lacks a limit that a rule needs."""


def limit(context: Task, name: str) -> int | None:
    """Return a limit of the device of a task, None if its target has none of this name."""
    value = getattr(context.target, "get_attr", lambda _: None)(name)
    return None if value is None else int(value)


def required_limit(context: Task, name: str) -> int:
    """Return a limit of the device of a task. Raises `MissingLimitError`."""
    value = limit(context, name)
    if value is None:
        raise MissingLimitError(
            f"missing attribute `{name}` in the target", found=str(context.target), hint=f"-{name}=…"
        )
    return value


def thread_of(loop: tir.ForOp) -> str:
    """Return the tag of the threads that a loop is bound to, or an empty text."""
    return "" if loop.kind is not ForKind.THREAD_BINDING or loop.thread is None else loop.thread.data


def factor_sampler(sch: Schedule, extents: Sequence[int]) -> Factor:
    """Return a function that samples one of `extents` that are at most its argument."""

    def sample(most: int) -> ExprRV | int:
        fitting = [extent for extent in extents if extent <= most]
        if len(fitting) < 2:
            return fitting[0] if fitting else most
        return sch.sample_categorical(fitting, [1.0 / len(fitting)] * len(fitting))

    return sample


def bind_spatial_loop(sch: Schedule, loop: LoopRV, blocks: int, threads: int, factor: Factor) -> list[LoopRV]:
    """Split a loop into one over blocks of threads and one over threads; a third one if it is longer than both."""
    extent = st.constant_extent(cast(tir.ForOp, sch.operation(loop)))
    if extent is not None and extent <= blocks * threads:
        outer, inner = sch.split(loop, [None, factor(min(extent, threads))])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        return [outer, inner]
    rest, outer, inner = sch.split(loop, [None, blocks, threads])
    sch.reorder(outer, inner, rest)
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return [outer, inner, rest]


@dataclass
class _Nest:
    """The loops around a block: the first ones over blocks and threads, the leading spatial ones, and the number of
    those before the first that is special or has several statements.
    """

    block_index: int = -1
    thread_index: int = -1
    single: int = -1
    spatial: int = 0

    @staticmethod
    def of(loops: Sequence[tir.ForOp]) -> _Nest:
        nest = _Nest()
        for k, loop in enumerate(loops):
            tag = thread_of(loop)
            if tag.startswith(_BLOCK) and nest.block_index == -1:
                nest.block_index = k
            if tag.startswith(_THREAD) and nest.thread_index == -1:
                nest.thread_index = k
            if nest.single == -1 and loop.kind is not ForKind.SERIAL:
                nest.single = k
            if nest.single == -1 and len(st.children(loop.body.block)) != 1:
                nest.single = k + 1
            if analysis.iter_kind_of(loop) is IterKind.SPATIAL and nest.spatial == k:
                nest.spatial += 1
        nest.single = len(loops) if nest.single == -1 else nest.single
        return nest

    def moved(self) -> _Nest:
        """Return the nest with one spatial loop more around it."""

        def after(position: int) -> int:
            return position + 1 if position != -1 else -1

        return _Nest(after(self.block_index), after(self.thread_index), self.single + 1, 1)


def bind_block(sch: Schedule, block: BlockRV, blocks: int, threads: int, factor: Factor) -> None:
    """Bind the spatial loops around a block to threads, unless they are, or the block is tiled."""
    op = sch.operation(block)
    if not isinstance(op, tir.BlockOp) or analysis.is_root(op) or analysis.is_tiled(op):
        return
    nest = _Nest.of(st.loops_above(op))
    if nest.block_index != -1:
        if nest.thread_index == -1:
            raise TiraxError("blockIdx is bound but threadIdx is not", hint="bind a loop to threadIdx.x, too")
        return
    handles: list[LoopRV] = list(sch.get_loops(block))
    if not nest.spatial:
        handles.insert(0, sch.add_unit_loop(handles[0] if handles else block))
        nest = nest.moved()
    if nest.thread_index != -1:
        count = min(nest.single, nest.thread_index, nest.spatial)
        sch.bind(sch.fuse(*sch.get_loops(block)[:count]), "blockIdx.x")
        return
    fused = sch.fuse(*handles[: min(nest.single, nest.spatial)])
    bind_spatial_loop(sch, fused, blocks, threads, factor)


@dataclass
class AutoBind(ScheduleRule):
    """Bind the spatial loops of each block to at most `max_threadblocks` blocks of threads.

    The number of threads of a block is one of `thread_extents`; `max_threads_per_block` is that of the target. Raises
    `MissingLimitError` for a target without it.
    """

    max_threadblocks: int = 256
    thread_extents: Sequence[int] | None = None
    max_threads_per_block: int = -1

    def initialize(self, context: Task) -> None:
        self.max_threads_per_block = required_limit(context, "max_threads_per_block")

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        factor = factor_sampler(sch, _EXTENTS if self.thread_extents is None else self.thread_extents)
        bind_block(sch, block, self.max_threadblocks, self.max_threads_per_block, factor)
        return [sch]


@dataclass
class CrossThreadReduction(ScheduleRule):
    """Let several threads reduce parts of the same element, and compute it where its consumer is, if possible.

    The number of threads is one of `thread_extents`. The rule does nothing for targets without `thread_warp_size` and
    `max_threads_per_block`.
    """

    thread_extents: Sequence[int]
    max_threads_per_block: int = field(default=-1, init=False)
    warp_size: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        if any(extent <= 0 for extent in self.thread_extents):
            raise MissingLimitError(
                "The candidates of thread extent must be positive", found=str(list(self.thread_extents))
            )

    def initialize(self, context: Task) -> None:
        self.max_threads_per_block = limit(context, "max_threads_per_block") or -1
        self.warp_size = limit(context, "thread_warp_size") or -1

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.operation(block)
        if -1 in (self.max_threads_per_block, self.warp_size) or not isinstance(op, tir.BlockOp):
            return [sch]
        if not needs_several_threads(op, self.max_threads_per_block):
            return [sch]
        new = sch.copy()
        new.seed(sch.fork_seed())
        place = _place_to_compute(new, block)
        extents = list(self.thread_extents)
        threads: Any = new.sample_categorical(extents, [1.0 / len(extents)] * len(extents))
        if place is not None:
            threads = _compute_at(new, block, place, threads)
        fused = reduction_loop(new, block)
        inner = new.split(fused, [None, threads])[1]
        new.bind(inner, "threadIdx.x")
        return [new, sch]


def needs_several_threads(block: tir.BlockOp, most: int) -> bool:
    """Return whether a reduction has too few elements to keep `most` threads busy with one each."""
    if not block.writes or not analysis.is_reduction(block) or not analysis.has_trivial_bindings(block):
        return False
    loops = st.loops_above(block)
    kinds = [analysis.iter_kind_of(lp) for lp in loops]
    if analysis.is_tiled(block) or any(kind not in (IterKind.SPATIAL, IterKind.REDUCE) for kind in kinds):
        return False
    if IterKind.REDUCE not in kinds or any(len(st.children(lp.body.block)) != 1 for lp in loops):
        return False
    spatial = reduced = 1
    for loop, kind in zip(loops, kinds, strict=True):
        extent = st.constant_extent(loop)
        if extent is None:
            return False
        spatial, reduced = (spatial * extent, reduced) if kind is IterKind.SPATIAL else (spatial, reduced * extent)
    if analysis.needs_multi_level_tiling(block):
        return spatial < reduced and spatial <= most
    return reduced > 1


def reduction_loop(sch: Schedule, block: BlockRV) -> LoopRV:
    """Move the reduction loops of a block inside, fuse them, and return the fused loop."""
    loops = sch.get_loops(block)
    kinds = [analysis.iter_kind_of(sch.operation(lp)) for lp in loops]
    spatial = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is IterKind.SPATIAL]
    reducing = [lp for lp, kind in zip(loops, kinds, strict=True) if kind is not IterKind.SPATIAL]
    if [*spatial, *reducing] != list(loops):
        sch.reorder(*spatial, *reducing)
    return sch.fuse(*reducing) if len(reducing) > 1 else reducing[0]


@dataclass
class _Place:
    """A loop of a consumer to compute a block at, and the innermost loop of that consumer."""

    consumer: BlockRV
    loop: LoopRV
    innermost: LoopRV


def _place_to_compute(sch: Schedule, block: BlockRV) -> _Place | None:
    if len(sch.operation(block).writes) != 1:
        return None
    consumers = sch.get_consumers(block)
    if not consumers or analysis.needs_multi_level_tiling(sch.operation(consumers[0])):
        return None
    shared = _shared_loop([sch.operation(consumer) for consumer in consumers])
    if len(consumers) > 1 and shared is None:
        return None
    loops = sch.get_loops(consumers[0])
    position = _position(sch, sch.get_loops(block), loops, shared)
    return None if position < 0 else _Place(consumers[0], loops[position], loops[-1])


def _shared_loop(blocks: Sequence[tir.BlockOp]) -> tir.ForOp | None:
    """Return the innermost loop around all of several blocks, None for one block."""
    if len(blocks) == 1:
        return None
    common = [lp for lp in st.loops_above(blocks[0]) if all(lp.is_ancestor(block) for block in blocks)]
    return common[-1] if common else None


def _position(sch: Schedule, own: Sequence[LoopRV], others: Sequence[LoopRV], shared: tir.ForOp | None) -> int:
    for k, (mine, other) in enumerate(zip(own, others, strict=False)):
        if analysis.iter_kind_of(sch.operation(mine)) is not IterKind.SPATIAL:
            return k - 1
        if shared is not None and sch.operation(other) is shared:
            return k
    return min(len(own), len(others)) - 1


def _compute_at(sch: Schedule, block: BlockRV, place: _Place, threads: Any) -> Any:
    """Compute a block at a loop of its consumer, in shared memory, and return the number of threads there."""
    target = place.loop
    bound = [lp for lp in sch.get_loops(place.consumer) if thread_of(sch.operation(lp)).startswith(_THREAD)]
    if bound:
        threads = _threads_of(sch)
    else:
        outer, inner = sch.split(place.innermost, [None, threads])
        sch.bind(inner, "threadIdx.x")
        if place.innermost == target:
            target = outer
    sch.compute_at(block, target, True)
    sch.set_scope(block, 0, "shared")
    return threads


def _threads_of(sch: Schedule) -> Any:
    """Return the factor of the split whose loop was first bound to `threadIdx.x`."""
    for inst in sch.trace.insts:
        if inst.SPEC.name != "bind" or inst.args["thread_axis"] != "threadIdx.x":
            continue
        loop = cast(Any, inst.args["loop"])
        source = loop.owner
        if source.SPEC.name == "split":
            factor = cast("list[Any]", source.args["factors"])[list(source.outputs).index(loop)]
            if factor is None:
                raise TiraxError("the number of threads is inferred", hint="split by the number of threads")
            return factor if isinstance(factor, int) else handle_on(factor)
    raise TiraxError('Unable to get the extent of "threadIdx.x"')


__all__ = ["AutoBind", "CrossThreadReduction", "MissingLimitError"]
