"""Doing what `ParallelizeVectorizeUnroll` has marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...dialects.tir import IterKind
from ...ir.affine.values import expr_of
from ...schedule import BlockRV, Schedule
from ...schedule import state as st
from ...transforms.tir.walk import functions
from .. import analysis
from .postprocessor import Postproc

_MAX_STEP, _EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


@dataclass
class _Marks:
    """What the root's annotations ask for; -1 and None are nothing."""

    parallel: int
    vectorize: int
    unroll: int | None
    explicit: bool


class RewriteParallelVectorizeUnroll(Postproc):
    """Fuse the outer spatial loops of each nest into a parallel one, the inner ones into vectors; mark what unrolls.

    A nest of element-wise work that goes through memory in order becomes one parallel and one vectorized loop.
    """

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            root = sch.get_block("root", func.sym_name.data)
            marks = _marks(sch, root)
            if marks is not None:
                for block in sch.get_child_blocks(root):
                    _rewrite(sch, block, marks)
        return True


def _rewrite(sch: Schedule, block: BlockRV, marks: _Marks) -> None:
    handles = sch.get_loops(block)
    loops = [sch.get(lp) for lp in handles]
    op = sch.get(block)
    if marks.parallel > 0 and marks.vectorize > 0 and _is_plain(op, loops):
        outer, inner = sch.split(sch.fuse(*handles), [None, marks.vectorize])
        sch.parallel(outer)
        sch.vectorize(inner)
        return
    inner = 0 if st.blocks_below(op) else max(_in_order(op, op.writes, loops), 1)
    lanes = _lanes(loops, marks.vectorize, inner)
    workers = min(_workers(loops, marks.parallel), len(loops) - lanes)
    first = handles[:1]
    if workers:
        first = [sch.fuse(*handles[:workers])]
        sch.parallel(first[0])
    if lanes:
        sch.vectorize(sch.fuse(*handles[len(handles) - lanes :]))
    if marks.unroll and first and not analysis.is_spatial(op):
        sch.annotate(first[0], _MAX_STEP, marks.unroll)
        sch.annotate(first[0], _EXPLICIT, int(marks.explicit))


def _marks(sch: Schedule, root: BlockRV) -> _Marks | None:
    """The root's marks, taken away; None where there are none."""
    keys = (analysis.PARALLEL, analysis.VECTORIZE, analysis.UNROLL_EXPLICIT, analysis.UNROLL_IMPLICIT)
    found = {key: value for key in keys if (value := analysis.annotation(sch.get(root), key)) is not None}
    if not found:
        return None
    for key in found:
        sch.unannotate(root, key)
    explicit = found.get(analysis.UNROLL_EXPLICIT)
    unroll = explicit if explicit is not None else found.get(analysis.UNROLL_IMPLICIT)
    return _Marks(found.get(analysis.PARALLEL, -1), found.get(analysis.VECTORIZE, -1), unroll, explicit is not None)


def _is_plain(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> bool:
    """Whether a nest is of spatial loops around nothing but the block, which are its iterators, in order of memory."""
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
    """Whether a loop is of known size, spatial, and has no remarks."""
    return (
        st.constant_extent(loop) is not None
        and loop.annotations is None
        and analysis.iter_kind_of(loop) is IterKind.SPATIAL
    )


def _workers(loops: Sequence[tir.ForOp], most: int) -> int:
    """How many of the outer loops are run in parallel: as many as it takes to have more than `most` iterations."""
    count, iterations = 0, 1
    for loop in loops if most > 0 else ():
        if not _is_free(loop):
            break
        count += 1
        iterations *= st.constant_extent(loop) or 1
        if iterations > most or not _is_single(loop):
            break
    return count if iterations > 1 else 0


def _lanes(loops: Sequence[tir.ForOp], most: int, in_order: int) -> int:
    """How many of the inner loops become vectors of at most `most` lanes."""
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
    """How many of the inner loops, taken as one, go through the buffers accessed step by step."""
    fixed = {v: expr_of(b) for v, b in zip(block.iter_vars, block.bindings, strict=True)}
    counts = [_steps(_strides(access, fixed, loops), loops) for access in accesses]
    return min(counts, default=len(loops))


def _steps(strides: Sequence[int | None], loops: Sequence[tir.ForOp]) -> int:
    """How many of the inner loops have strides without gaps; those that stand still do not matter."""
    reach = 1
    for count, (loop, stride) in enumerate(zip(reversed(loops), reversed(strides), strict=True)):
        extent = st.constant_extent(loop)
        if extent is None or stride not in (0, reach):
            return count
        if stride:
            reach = extent * stride
    return len(loops)


def _strides(access: tir.RegionOp, fixed: dict[SSAValue, SymExpr], loops: Sequence[tir.ForOp]) -> list[int | None]:
    """By how many elements an access moves with each loop; None where that is no number."""
    sizes = cast(tir.BufferType, access.buffer.type).layout_strides()
    address: SymExpr | None = None
    for start, size in zip(access.starts, sizes, strict=True):
        index = expr_of(start)
        used = [(v, v.value) for v in index.free_vars()]
        index = index.substitute({v: fixed[value] for v, value in used if value is not None and value in fixed})
        address = index * size if address is None else address + index * size
    if address is None:
        return [0] * len(loops)
    moved = ((lp, address.substitute({v: v + 1})) for lp in loops for v in [st.loop_expr(lp)])
    return [(after - address).constant for _, after in moved]
