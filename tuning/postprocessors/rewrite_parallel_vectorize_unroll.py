"""Doing what `ParallelizeVectorizeUnroll` has marked."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...dialects.tir import ForKind, IterKind
from ...ir.affine import expr_of
from ...schedule import BlockRV, LoopRV, Schedule
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
    """Fuse the outer spatial loops of each nest into a parallel one, the inner ones into vectors; mark what unrolls."""

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            name = func.sym_name.data
            root = sch.get_block("root", name)
            marks = _marks(sch, root)
            if marks is None:
                continue
            for block in _leaves(func):
                self._block(sch, sch.get_block(block, name), marks)
        return True

    def _block(self, sch: Schedule, block: BlockRV, marks: _Marks) -> None:
        loops = [sch.get(lp) for lp in sch.get_loops(block)]
        if any(lp.kind is not ForKind.SERIAL or lp.annotations is not None for lp in loops) and _done(loops):
            return
        outer = _outer(loops, marks.parallel)
        inner = _inner(sch.get(block), loops, marks.vectorize, len(outer))
        handles = sch.get_loops(block)
        if len(outer) and marks.parallel > 0:
            sch.parallel(sch.fuse(*handles[: len(outer)]) if len(outer) > 1 else handles[0])
        if inner:
            handles = sch.get_loops(block)
            last = handles[len(handles) - inner :]
            sch.vectorize(sch.fuse(*last) if inner > 1 else last[0])
        if marks.unroll:
            self._unroll(sch, sch.get_loops(block), marks)

    def _unroll(self, sch: Schedule, loops: list[LoopRV], marks: _Marks) -> None:
        if loops:
            sch.annotate(loops[0], _MAX_STEP, marks.unroll)
            sch.annotate(loops[0], _EXPLICIT, int(marks.explicit))


def _done(loops: list[tir.ForOp]) -> bool:
    """Whether the outermost loop was dealt with for another block."""
    return bool(loops) and (loops[0].kind is not ForKind.SERIAL or loops[0].annotations is not None)


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


def _leaves(func: tir.FuncOp) -> list[str]:
    """The blocks that have no block inside."""
    every = [op for op in func.walk() if isinstance(op, tir.BlockOp)]
    return [b.block_name.data for b in every if not any(isinstance(i, tir.BlockOp) and i is not b for i in b.walk())]


def _outer(loops: list[tir.ForOp], most: int) -> list[tir.ForOp]:
    """The outer spatial loops, one in the other, that have at most so many iterations together."""
    found: list[tir.ForOp] = []
    count = 1
    for k, loop in enumerate(loops):
        extent = st.constant_extent(loop)
        if extent is None or analysis.iter_kind_of(loop) is not IterKind.SPATIAL or loop.kind is not ForKind.SERIAL:
            break
        if count * extent > most:
            break
        if k and st.children(loops[k - 1].body.block) != [loop]:
            break
        count *= extent
        found.append(loop)
    return found


def _inner(block: tir.BlockOp, loops: list[tir.ForOp], most: int, taken: int) -> int:
    """How many of the inner spatial loops become vectors."""
    found, count = 0, 1
    for k in range(len(loops) - 1, taken - 1, -1):
        extent = st.constant_extent(loops[k])
        if extent is None or count * extent > most or analysis.iter_kind_of(loops[k]) is not IterKind.SPATIAL:
            break
        if k < len(loops) - 1 and st.children(loops[k].body.block) != [loops[k + 1]]:
            break
        if loops[k].kind is not ForKind.SERIAL or not _contiguous(block, loops[k], count):
            break
        count *= extent
        found += 1
    return found if count > 1 else 0


def _contiguous(block: tir.BlockOp, loop: tir.ForOp, step: int) -> bool:
    """Whether what the block writes moves by `step` elements with the loop."""
    variable = st.loop_expr(loop)
    bindings = {v: expr_of(b) for v, b in zip(block.iter_vars, block.bindings, strict=True)}
    for write in block.writes:
        strides = write.buffer.type.layout_strides()  # pyright: ignore[reportAttributeAccessIssue]
        moved: SymExpr | None = None
        for start, stride in zip(write.starts, strides, strict=True):
            e = expr_of(start)
            used = [(v, v.value) for v in e.free_vars()]
            e = e.substitute({v: bindings[x] for v, x in used if x is not None and x in bindings})
            delta = (e.substitute({variable: variable + 1}) - e) * stride
            moved = delta if moved is None else moved + delta
        if moved is None or moved.constant not in (step, 0):
            return False
    return True
