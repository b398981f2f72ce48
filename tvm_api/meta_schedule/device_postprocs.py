"""Postprocessors and a mutator for devices with threads in groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.ir import Operation

from ...diagnostics import TiraxError
from ...dialects import sched, tir
from ...dialects.dtypes import bit_width, scalar_of
from ...dialects.quick import operations
from ...schedule import BlockRV, LoopRV, Schedule, Trace
from ...schedule import state as st
from ...schedule.random import Random
from ...schedule.trace import handle_on
from ...transforms.tir.walk import functions
from ...tuning import analysis
from ...tuning.mutators import Mutator
from ...tuning.postprocessors import Postproc
from ...tuning.types import Task
from .threads import bind_block, limit, required_limit, thread_of
from .tiling import COOPERATIVE, HIGH, LOW

_WARP = "warp_execution"


@dataclass
class RewriteUnboundBlock(Postproc):
    """Bind the loops of blocks that no threads run, to at most `max_threadblocks` blocks of threads."""

    max_threadblocks: int = 256
    max_threads_per_block: int = field(default=-1, init=False)

    def initialize(self, context: Task) -> None:
        self.max_threads_per_block = required_limit(context, "max_threads_per_block")

    def apply(self, sch: Schedule) -> bool:
        most = self.max_threads_per_block
        for func in functions(sch.mod.op):
            for name in [op.block_name.data for op in _unbound(func)]:
                block = sch.get_block(name, func.sym_name.data)
                bind_block(sch, block, self.max_threadblocks, most, lambda extent: min(most, extent))
        return True


def _unbound(func: tir.FuncOp) -> Iterator[tir.BlockOp]:
    """Yield the outermost blocks below the root that are not in loops over both blocks and threads."""
    ops = list(func.body.block.ops)
    if len(ops) == 1 and isinstance(ops[0], tir.BlockOp) and not ops[0].iter_vars:
        ops = list(ops[0].body.block.ops)
    todo: list[tuple[Operation, frozenset[str]]] = [(op, frozenset()) for op in reversed(ops)]
    while todo:
        op, bound = todo.pop()
        if isinstance(op, tir.BlockOp):
            yield op
            continue
        if isinstance(op, tir.ForOp):
            bound = bound | {thread_of(op).split(".")[0]}
        if not {"blockIdx", "threadIdx"} <= bound:
            todo += [(inner, bound) for r in op.regions for b in r.blocks for inner in reversed(list(b.ops))]


@dataclass
class RewriteCooperativeFetch(Postproc):
    """Let the threads of a block load copies together, by vectors of the sampled number of lanes."""

    warp_size: int = field(default=-1, init=False)

    def initialize(self, context: Task) -> None:
        self.warp_size = limit(context, "thread_warp_size") or -1

    def apply(self, sch: Schedule) -> bool:
        threads: dict[str, int] = {}
        todo: list[tuple[BlockRV, int, dict[str, int]]] = []
        for inst in sch.trace.insts:
            if inst.SPEC.name == "bind" and str(inst.args["thread_axis"]) in ("threadIdx.x", "threadIdx.y"):
                loop = cast(tir.ForOp, sch.operation(handle_on(cast(Any, inst.args["loop"]))))
                threads[str(inst.args["thread_axis"])] = st.constant_extent(loop) or -1
            elif inst.SPEC.name == "annotate" and inst.args["ann_key"] == _WARP:
                threads["threadIdx.x"] = self.warp_size
            elif inst.SPEC.name == "annotate" and inst.args["ann_key"] == COOPERATIVE:
                lanes = cast(Any, inst.args["ann_val"])
                number = lanes if isinstance(lanes, int) else int(sch.get(handle_on(lanes)))
                todo.append((cast(BlockRV, handle_on(cast(Any, inst.args["block_or_loop"]))), number, dict(threads)))
        for block, lanes, counts in todo:
            _fetch(sch, block, lanes, counts)
        return True


def _fetch(sch: Schedule, block: BlockRV, lanes: int, threads: dict[str, int]) -> None:
    sch.unannotate(block, COOPERATIVE)
    fused = sch.get_loops(block)[-1]
    extent = st.constant_extent(cast(tir.ForOp, sch.operation(fused)))
    if extent is None:
        return
    if extent % lanes or _widest(cast(tir.BlockOp, sch.operation(block))) > 4:
        lanes = 1
    tags = [tag for tag in ("threadIdx.y", "threadIdx.x") if tag in threads]
    factors: list[Any] = [None, *(threads[tag] for tag in tags), *([lanes] if lanes > 1 else [])]
    parts: list[LoopRV] = sch.split(fused, factors)
    if lanes > 1:
        sch.vectorize(parts[-1])
    for tag, part in reversed(list(zip(tags, parts[1:], strict=False))):
        sch.bind(part, tag)


def _widest(block: tir.BlockOp) -> int:
    """Return the bytes of the largest element that a block reads, writes or converts to."""
    widest = 1
    for op in operations(block):
        value = op.value if isinstance(op, tir.StoreOp) else op.results[0] if isinstance(op, _VALUES) else None
        if value is not None:
            widest = max(widest, bit_width(scalar_of(value.type)) // 8)
        if isinstance(op, tir.CallIntrinOp) and op.func.data.startswith("q_multiply_shift"):
            widest = max(widest, 8)
    return widest


_VALUES = (tir.LoadOp, tir.CastOp)


@dataclass
class VerifyGPUCode(Postproc):
    """Reject schedules that exceed the limits of the target: threads of a block, their memory, their vectors.

    Raises `MissingLimitError` for a target without these limits.
    """

    limits: dict[str, int] = field(default_factory=dict[str, int], init=False)
    warp_size: int = field(default=-1, init=False)

    def initialize(self, context: Task) -> None:
        names = ("max_shared_memory_per_block", "max_threads_per_block")
        known = {name: required_limit(context, name) for name in names}
        self.limits = {**known, "max_vthread": 8, "max_vector_bytes": 16}
        self.warp_size = required_limit(context, "thread_warp_size")

    def apply(self, sch: Schedule) -> bool:
        return all(self._threads_fit(func) for func in functions(sch.mod.op)) and self._fits(sch)

    def _threads_fit(self, func: tir.FuncOp) -> bool:
        """Return whether each annotated block runs on as many threads as its annotations require."""
        for block in operations(func):
            if not isinstance(block, tir.BlockOp):
                continue
            low, high = analysis.annotation(block, LOW), analysis.annotation(block, HIGH)
            if low is None or high is None:
                continue
            count = self._count(block)
            if count is None or not int(low) <= count <= int(high):
                return False
        return True

    def _count(self, block: tir.BlockOp) -> int | None:
        """Return the number of threads that run a block, None if it is unknown."""
        counts: dict[str, int] = {}
        for op in reversed([block, *st.ancestors(block)]):
            if isinstance(op, tir.ForOp) and thread_of(op).startswith("threadIdx"):
                extent = st.constant_extent(op)
                if extent is None:
                    return None
                counts[thread_of(op)] = extent
            if isinstance(op, tir.BlockOp) and analysis.annotation(op, _WARP) is not None:
                counts["threadIdx.x"] = self.warp_size
        total = 1
        for count in counts.values():
            total *= count
        return total

    def _fits(self, sch: Schedule) -> bool:
        from ..tir.gpu_limits import verify_gpu_code
        from ..tir.gpu_lowering import lowered

        try:
            module = lowered(sch.mod)
        except TiraxError:
            return False
        return all(verify_gpu_code(func, self.limits) for func in module.functions.values())


class MutateThreadBinding(Mutator):
    """Sample the number of threads again, where a loop is split by a sampled number and bound to `threadIdx.x`."""

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        random = random or self.random
        choices = [inst for inst in trace.insts if inst.SPEC.name == "bind" and _sampled(inst) is not None]
        if not choices:
            return None
        sample = cast(sched.Instruction, _sampled(choices[random.integer(0, len(choices))]))
        numbers = range(len(cast("list[Any]", sample.args["candidates"])))
        others = [k for k in numbers if k != sample.decision]
        if not others:
            return None
        return trace.with_decision(sample, others[random.integer(0, len(others))], remove_postproc=True)


def _sampled(bind: sched.Instruction) -> sched.Instruction | None:
    """Return the sampling of the factor of a split whose inner loop is bound to `threadIdx.x`."""
    loop = cast(Any, bind.args["loop"])
    split = loop.owner
    if bind.args["thread_axis"] != "threadIdx.x" or split.SPEC.name != "split":
        return None
    factors = cast("list[Any]", split.args["factors"])
    if len(factors) != 2 or factors[0] is not None or isinstance(factors[1], int) or loop is not split.outputs[1]:
        return None
    source = factors[1].owner
    return source if source.SPEC.name == "sample_categorical" else None


__all__ = [
    "MutateThreadBinding", "RewriteCooperativeFetch", "RewriteUnboundBlock", "VerifyGPUCode",
]  # fmt: skip
