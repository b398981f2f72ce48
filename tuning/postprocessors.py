"""Postprocessors: steps applied to a schedule after all decisions and before the build. Each may reject it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from ..dialects import tir
from ..dialects.dtypes import bit_width
from ..dialects.sym import IndexMapAttr, IndexMapping
from ..dialects.sym.expr import SymExpr, Var, floordiv, floormod
from ..dialects.tir import BufferType, ForKind, IterKind
from ..ir.affine.values import sym_expr_of
from ..schedule import BlockRV, Schedule, ScheduleError
from ..schedule import state as st
from ..transforms.layout.attributes import layout_free
from ..transforms.layout.split_layout_rewrite_preproc import MARK
from ..transforms.tir.walk import functions
from . import analysis
from .defaults import device_kind, intrinsics_of
from .movement import Movement
from .types import Task


class Postproc:
    """Completes a schedule or rejects it."""

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """Return the postprocessors of a kind; the kinds and errors are those of `ScheduleRule.create`."""
        device = device_kind(kind)
        if device is not None:
            return device.postprocessors()
        intrinsics_of("postprocessors", kind)
        return default_postprocessors()

    def initialize(self, context: Task) -> None:
        """Bind the postprocessor to a task; called before the first `apply`."""

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule; return False to reject it."""
        raise NotImplementedError(type(self).__name__)


# Rejecting schedules with loops of unknown extent.


class DisallowDynamicLoop(Postproc):
    """Reject a schedule with a loop whose extent is not a constant."""

    def apply(self, sch: Schedule) -> bool:
        loops = (op for op in sch.mod.op.walk() if isinstance(op, tir.ForOp))
        return all(st.constant_extent(loop) is not None for loop in loops)


# Rearranging weights into their read order.

Piece = tuple[int, int, int]
"""A piece of an index: the dimension, the step, and the number of values that a loop gives it."""


class RewriteLayout(Postproc):
    """Copy the weights of a function (`layout_free_buffers`) first into the order in which its loops read them.

    The copies are annotated with `meta_schedule.layout_rewrite_preproc`, so that `SplitLayoutRewritePreproc`
    can move them out of the function. A weight is left unchanged if several blocks read it, if it is already
    copied or read in order, or if its read order cannot be determined.
    """

    def apply(self, sch: Schedule) -> bool:
        try:
            for func in functions(sch.mod.op):
                for position in layout_free(func):
                    _order_weight(sch, func.sym_name.data, position)
        except ScheduleError:
            return False
        return True


def _order_weight(sch: Schedule, func_name: str, position: int) -> None:
    func = sch.function(func_name)
    weight = func.params[position]
    readers = [op for op in func.walk() if isinstance(op, tir.BlockOp) and weight in st.buffers_read(op)]
    if len(readers) != 1 or any(isinstance(use.operation, tir.MatchBufferOp) for use in weight.uses):
        return
    if analysis.annotation(readers[0], MARK) is not None:
        return
    order = _read_order(readers[0], weight)
    if order is None:
        return
    block: BlockRV = sch.get_block(readers[0].block_name.data, func_name)
    cache = sch.cache_read(block, st.buffers_read(readers[0]).index(weight), "global")
    sch.annotate(cache, MARK, 1)
    sch.transform_layout(cache, ("write", 0), _index_map(order, len(cast(tir.BufferType, weight.type).dims)))


def _read_order(block: tir.BlockOp, weight: SSAValue) -> list[Piece] | None:
    """Return the pieces of the weight's indices in loop order, or None if the weight is read in order already."""
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
    """Return whether the pieces together enumerate 0 to `size` - 1, each value once."""
    reach = 1
    for _, step, values in sorted(pieces, key=lambda p: p[1]):
        if step != reach:
            return False
        reach *= values
    return reach == size


def _loops_around(block: tir.BlockOp) -> list[tir.ForOp]:
    loops: list[tir.ForOp] = []
    parent = block.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return loops[::-1]


def _index_map(order: Sequence[Piece], rank: int) -> IndexMapAttr:
    """Return the map from old indices to one new index for each piece."""
    params = tuple(Var(f"i{k}") for k in range(rank))
    results: list[SymExpr] = []
    top = {dim: max(step for d, step, _ in order if d == dim) for dim, _, _ in order}
    for dim, step, values in order:
        index = floordiv(params[dim], step)
        results.append(index if step == top[dim] else floormod(index, values))
    return IndexMapAttr(IndexMapping(params, tuple(results)))


# Applying the annotations of `ParallelizeVectorizeUnroll`.

_MAX_STEP, _EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


@dataclass(frozen=True)
class Marks:
    """The settings in a root's annotations; -1 and None mean none."""

    parallel: int
    vectorize: int
    unroll: int | None
    explicit: bool


class RewriteParallelVectorizeUnroll(Postproc):
    """Fuse the outer spatial loops of each nest into a parallel loop and the inner ones into a vector loop; mark
    unrolling.

    A nest of elementwise work that accesses memory in order becomes one parallel and one vectorized loop.
    """

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            root = sch.get_block("root", func.sym_name.data)
            marks = marks_of(sch, root)
            if marks is not None:
                for key in _KEYS:
                    if analysis.annotation(sch.operation(root), key) is not None:
                        sch.unannotate(root, key)
                for block in sch.get_child_blocks(root):
                    _follow_marks(sch, block, marks)
        return True


def _follow_marks(sch: Schedule, block: BlockRV, marks: Marks) -> None:
    handles = sch.get_loops(block)
    loops = [sch.operation(lp) for lp in handles]
    op = sch.operation(block)
    if _becomes_two(op, loops, marks):
        outer, inner = sch.split(sch.fuse(*handles), [None, marks.vectorize])
        sch.parallel(outer)
        sch.vectorize(inner)
        return
    lanes, workers = _vector_loops(op, loops, marks), parallel_loops(op, loops, marks)
    first = handles[:1]
    if workers:
        first = [sch.fuse(*handles[:workers])]
        sch.parallel(first[0])
    if lanes:
        sch.vectorize(sch.fuse(*handles[len(handles) - lanes :]))
    if marks.unroll and first and not analysis.is_spatial(op):
        sch.annotate(first[0], _MAX_STEP, marks.unroll)
        sch.annotate(first[0], _EXPLICIT, int(marks.explicit))


def parallel_loops(block: tir.BlockOp, loops: Sequence[tir.ForOp], marks: Marks) -> int:
    """Return the number of outer loops to run in parallel; 0 if the nest becomes one parallel and one vectorized
    loop.
    """
    if _becomes_two(block, loops, marks):
        return 0
    return min(enough(iterations_of(loops), marks.parallel), len(loops) - _vector_loops(block, loops, marks))


def _becomes_two(block: tir.BlockOp, loops: Sequence[tir.ForOp], marks: Marks) -> bool:
    """Return whether a nest becomes one parallel and one vectorized loop."""
    return marks.parallel > 0 and marks.vectorize > 0 and _is_plain(block, loops)


def _vector_loops(block: tir.BlockOp, loops: Sequence[tir.ForOp], marks: Marks) -> int:
    inner = 0 if st.blocks_below(block) else max(_in_order(block, block.writes, loops), 1)
    return _lanes(loops, marks.vectorize, inner)


_KEYS = (analysis.PARALLEL, analysis.VECTORIZE, analysis.UNROLL_EXPLICIT, analysis.UNROLL_IMPLICIT)


def marks_of(sch: Schedule, root: BlockRV) -> Marks | None:
    """Return the settings in the root's annotations, or None if there are none."""
    marks = {key: value for key in _KEYS if (value := analysis.annotation(sch.operation(root), key)) is not None}
    if not marks:
        return None
    explicit = marks.get(analysis.UNROLL_EXPLICIT)
    unroll = explicit if explicit is not None else marks.get(analysis.UNROLL_IMPLICIT)
    return Marks(marks.get(analysis.PARALLEL, -1), marks.get(analysis.VECTORIZE, -1), unroll, explicit is not None)


def _is_plain(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> bool:
    """Return whether a nest has only spatial loops that are the block's iterators in memory order."""
    if not loops or st.blocks_below(block) or not analysis.is_trivially_bound_spatial(block):
        return False
    if not all(_is_single(lp) and lp.annotations is None and lp.kind is tir.ForKind.SERIAL for lp in loops):
        return False
    if all(st.constant_extent(lp) == 1 for lp in loops):
        return False
    return _in_order(block, [*block.reads, *block.writes], loops) == len(loops)


def _is_single(loop: tir.ForOp) -> bool:
    return len(st.children(loop.body.block)) == 1


def _is_free(loop: tir.ForOp) -> bool:
    """Return whether a loop is spatial, of constant extent and without annotations."""
    return (
        st.constant_extent(loop) is not None
        and loop.annotations is None
        and analysis.iter_kind_of(loop) is IterKind.SPATIAL
    )


def iterations_of(loops: Sequence[tir.ForOp]) -> list[int]:
    """Return the numbers of iterations of the first, the first two, … outer loops that may run in parallel."""
    counts: list[int] = []
    for loop in loops:
        if not _is_free(loop):
            break
        counts.append((counts[-1] if counts else 1) * (st.constant_extent(loop) or 1))
        if not _is_single(loop):
            break
    return counts


def enough(iterations: Sequence[int], required: int) -> int:
    """Return the number of outer loops to run in parallel to reach `required` iterations, or all if they do not
    suffice.
    """
    if required <= 0 or not iterations or iterations[-1] <= 1:
        return 0
    return next((k + 1 for k, count in enumerate(iterations) if count >= max(required, 2)), len(iterations))


def _lanes(loops: Sequence[tir.ForOp], most: int, in_order: int) -> int:
    """Return the number of inner loops that become vectors of at most `most` lanes."""
    count, lanes = 0, 1
    for loop in reversed(loops):
        if count == in_order or not _is_free(loop) or not _is_single(loop) or loop.kind is not tir.ForKind.SERIAL:
            break
        lanes *= st.constant_extent(loop) or 1
        if lanes > most:
            lanes //= st.constant_extent(loop) or 1
            break
        count += 1
    return count if lanes > 1 else 0


def _in_order(block: tir.BlockOp, accesses: Sequence[tir.RegionOp], loops: Sequence[tir.ForOp]) -> int:
    """Return the number of inner loops that, fused, access the buffers sequentially."""
    fixed = {v: sym_expr_of(b) for v, b in zip(block.iter_vars, block.bindings, strict=True)}
    counts = [_steps(_strides(access, fixed, loops), loops) for access in accesses]
    return min(counts, default=len(loops))


def _steps(strides: Sequence[int | None], loops: Sequence[tir.ForOp]) -> int:
    """Return the number of inner loops with contiguous strides; loops with stride 0 do not matter."""
    reach = 1
    for count, (loop, stride) in enumerate(zip(reversed(loops), reversed(strides), strict=True)):
        extent = st.constant_extent(loop)
        if extent is None or stride not in (0, reach):
            return count
        if stride:
            reach = extent * stride
    return len(loops)


def _strides(access: tir.RegionOp, fixed: dict[SSAValue, SymExpr], loops: Sequence[tir.ForOp]) -> list[int | None]:
    """Return the stride of an access in each loop, in elements, or None where it is not constant."""
    sizes = cast(tir.BufferType, access.buffer.type).layout_strides()
    address: SymExpr | None = None
    for start, size in zip(access.starts, sizes, strict=True):
        index = sym_expr_of(start)
        used = [(v, v.value) for v in index.free_vars()]
        index = index.substitute({v: fixed[value] for v, value in used if value is not None and value in fixed})
        address = index * size if address is None else address + index * size
    if address is None:
        return [0] * len(loops)
    moved = ((lp, address.substitute({v: v + 1})) for lp in loops for v in [st.loop_expr(lp)])
    return [(after - address).constant for _, after in moved]


# Decomposing reductions: the init comes before the outermost reduction loop.


class RewriteReductionBlock(Postproc):
    """Decompose every reduction that has loops of its own."""

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            for name in [
                op.block_name.data for op in func.walk() if isinstance(op, tir.BlockOp) and op.init is not None
            ]:
                self._decompose(sch, sch.get_block(name, func.sym_name.data))
        return True

    def _decompose(self, sch: Schedule, block: BlockRV) -> None:
        loops = sch.get_loops(block)
        for loop in loops:
            if analysis.iter_kind_of(sch.operation(loop)) is not IterKind.SPATIAL:
                sch.decompose_reduction(block, loop)
                return


# Tensorizing with the intrinsics that rules have chosen.


@dataclass
class RewriteTensorize(Postproc):
    """Tensorize the blocks that are annotated with an intrinsic, and reject the schedule if that fails.

    Runs after `RewriteReductionBlock`. With `vectorize_init_loop` the innermost loop of the init block is
    vectorized.
    """

    vectorize_init_loop: bool = False

    def apply(self, sch: Schedule) -> bool:
        try:
            for func in functions(sch.mod.op):
                for name in _marked(func):
                    self._block(sch, sch.get_block(name, func.sym_name.data))
        except ScheduleError:
            return False
        return True

    def _block(self, sch: Schedule, block: BlockRV) -> None:
        op = sch.operation(block)
        name = str(analysis.annotation(op, analysis.AUTO_TENSORIZE))
        sch.unannotate(block, analysis.AUTO_TENSORIZE)
        if not analysis.is_spatial(op):
            sch.tensorize(block, name)
        elif self.vectorize_init_loop:
            for child in sch.get_child_blocks(block):
                loops = sch.get_loops(child)
                if loops and st.constant_extent(sch.operation(loops[-1])) != 1:
                    sch.vectorize(loops[-1])


def _marked(func: tir.FuncOp) -> list[str]:
    blocks = (op for op in func.walk() if isinstance(op, tir.BlockOp))
    return [b.block_name.data for b in blocks if analysis.annotation(b, analysis.AUTO_TENSORIZE) is not None]


# Rejecting schedules that a CPU cannot run, or that take too long to compile.


@dataclass
class VerifyOnCPU(Postproc):
    """Reject schedules that bind loops to threads or exceed limits.

    The limits are `max_lanes` of a vectorized loop, `max_unrolled` iterations of nested unrolled loops, and
    `max_bytes` of all allocated buffers.
    """

    max_lanes: int = 256
    max_unrolled: int = 4096
    max_bytes: int = 1 << 32

    def apply(self, sch: Schedule) -> bool:
        allocated = 0
        for op in sch.mod.op.walk():
            if isinstance(op, tir.ForOp) and not self._fits(op):
                return False
            if isinstance(op, tir.AllocBufferOp):
                allocated += _bytes(op)
        return allocated <= self.max_bytes

    def _fits(self, loop: tir.ForOp) -> bool:
        if loop.kind is ForKind.THREAD_BINDING:
            return False
        if loop.kind is ForKind.VECTORIZED:
            return (st.constant_extent(loop) or self.max_lanes + 1) <= self.max_lanes
        if loop.kind is ForKind.UNROLLED:
            nest = [loop, *(lp for lp in st.loops_above(loop) if lp.kind is ForKind.UNROLLED)]
            return prod(st.constant_extent(lp) or self.max_unrolled + 1 for lp in nest) <= self.max_unrolled
        return True


def _bytes(op: tir.AllocBufferOp) -> int:
    kind = op.results[0].type
    assert isinstance(kind, BufferType)
    return prod(d.constant or 1 for d in kind.dims) * bit_width(kind.dtype) // 8


def default_postprocessors() -> list[Postproc]:
    """Return the default postprocessors."""
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteTensorize(vectorize_init_loop=True),
        RewriteLayout(),
        VerifyOnCPU(),
    ]
