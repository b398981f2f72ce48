"""Dependencies between the blocks of a scope, and the block information that TVM keeps for schedules.

Source: Feng et al., TensorIR, ASPLOS 2023, section 3.1: a scope whose blocks only read what earlier blocks have
written is a pipeline of stages, whose blocks may be moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from typing import Any, cast
from weakref import WeakValueDictionary

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import Const, SymExpr
from ..dialects.sym.int_set import SymInterval
from ..dialects.sym.int_set import values_of as set_of
from ..dialects.sym.operators import OPS
from ..handles.module import IRModule
from ..handles.tir.block_views import Block, BlockRealize
from ..handles.tir.buffers import Stmt
from ..handles.tir.prim_func import PrimFunc
from ..ir.affine.boxes import exact_box
from ..ir.affine.iter_map import Ranges
from ..ir.affine.values import sym_expr_of
from . import state as st
from .checks import is_affine, iter_values, loop_ranges, predicate_of
from .replacement import replace_statement
from .trace import StmtSRef

_TRUE = Const(1, i1)
Box = list[SymInterval]


class DepKind(IntEnum):
    """The kind of a dependency between blocks: read after write, write after write, or write after read."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


@dataclass(frozen=True)
class Dependency:
    """A dependency: `dst` must run after `src`."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


class BlockScope:
    """The dependencies between the direct child blocks of a scope."""

    def __init__(self, scope: st.BlockLike):
        self._dependencies = list(_dependencies(scope))

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """Return the dependencies of later blocks on `block`."""
        return [d for d in self._dependencies if d.src.same_as(block)]

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """Return the dependencies of `block` on earlier blocks."""
        return [d for d in self._dependencies if d.dst.same_as(block)]


def _dependencies(scope: st.BlockLike) -> Iterator[Dependency]:
    readers: defaultdict[SSAValue, list[tir.BlockOp]] = defaultdict(list)
    writers: defaultdict[SSAValue, list[tir.BlockOp]] = defaultdict(list)
    for block in st.blocks_below(scope):
        reads, writes = set(st.buffers_read(block)), set(st.buffers_written(block))
        dependencies = [(src, DepKind.RAW) for b in reads for src in writers[b]]
        dependencies += [(src, DepKind.WAW) for b in writes for src in writers[b]]
        dependencies += [(src, DepKind.WAR) for b in writes for src in readers[b]]
        for src, kind in dict.fromkeys(dependencies):
            yield Dependency(StmtSRef(src), StmtSRef(block), kind)
        for buffers, table in ((reads, readers), (writes, writers)):
            for buffer in buffers:
                table[buffer].append(block)


@dataclass(frozen=True)
class CachedFlags:
    """Properties of a block at its location.

    `affine_binding`: its iterators are a quasi-affine map of the enclosing loops. `region_cover`: earlier blocks of
    its scope wrote everything that it reads of their buffers. `stage_pipeline`: its own blocks only read what
    earlier ones have written.
    """

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


def cached_flags(block: st.BlockLike) -> CachedFlags:
    """Return the flags of a block, or of a function, which is its root block."""
    inside = BlockScope(block)
    stages = all(is_covered(b) for b in st.blocks_below(block))
    pipeline = stages and all(d.kind is not DepKind.WAR for d in inside._dependencies)
    if isinstance(block, tir.FuncOp):
        return CachedFlags(True, True, pipeline)
    return CachedFlags(is_affine(block), is_covered(block), pipeline)


# Coverage by producers


def is_covered(block: tir.BlockOp) -> bool:
    """Return whether earlier blocks of the scope write everything that a block reads of their buffers."""
    for buffer in dict.fromkeys(st.buffers_read(block)):
        before = [b for b in st.producers(block) if buffer in st.buffers_written(b)]
        if before and not _covers(before, block, buffer):
            return False
    return True


def _covers(producers: Sequence[tir.BlockOp], consumer: tir.BlockOp, buffer: SSAValue) -> bool:
    shape = cast(tir.BufferType, buffer.type).dims
    common = _common_loops([*producers, consumer])
    known = Analyzer()
    for var, (least, extent) in loop_ranges(common).items():
        known.bind_range(var, least, extent)
    written = [
        box
        for producer in producers
        for region in producer.writes
        if region.buffer is buffer and (box := _written(producer, region, common)) is not None
    ]
    taken = [_read(consumer, region, common, known) for region in consumer.reads if region.buffer is buffer]
    return all(_is_within(_clipped(box, shape, known), written, known) for box in taken)


def _common_loops(blocks: Sequence[tir.BlockOp]) -> list[tir.ForOp]:
    """Return the loops that enclose all blocks."""
    paths = [st.loops_above(b) for b in blocks]
    return [row[0] for row in takewhile(lambda row: all(lp is row[0] for lp in row), zip(*paths, strict=False))]


def _runs(block: tir.BlockOp, region: tir.RegionOp, common: Sequence[tir.ForOp]) -> Ranges:
    """Return the loops over which a region is accumulated: those inside, and threads that share its memory."""
    scope = cast(tir.BufferType, region.buffer.type).scope.data

    def together(loop: tir.ForOp) -> bool:
        return loop.thread is not None and (scope == "global" or st.share_memory(scope, loop.thread.data))

    return loop_ranges([lp for lp in st.loops_above(block) if lp not in common or together(lp)])


def _region(block: tir.BlockOp, region: tir.RegionOp) -> list[tuple[SymExpr, SymExpr]]:
    """Return a region in terms of the loops around the block."""
    values = iter_values(block)
    pairs = zip(map(sym_expr_of, region.starts), region.extents, strict=True)
    return [(first.substitute(values), extent.substitute(values)) for first, extent in pairs]


def _written(block: tir.BlockOp, region: tir.RegionOp, common: Sequence[tir.ForOp]) -> Box | None:
    (condition,) = predicate_of(block) or [_TRUE]
    return exact_box(_region(block, region), _runs(block, region, common), condition)


def _read(block: tir.BlockOp, region: tir.RegionOp, common: Sequence[tir.ForOp], known: Analyzer) -> Box:
    ranges = _runs(block, region, common)
    (condition,) = predicate_of(block) or [_TRUE]
    exact = exact_box(_region(block, region), ranges, condition)
    if exact is not None:
        return exact
    domain = {v: SymInterval(least, least + extent - 1) for v, (least, extent) in ranges.items()}
    ends = [(set_of(f, domain, known), set_of(f + e - 1, domain, known)) for f, e in _region(block, region)]
    return [SymInterval(low.low, high.high) for low, high in ends]


def _clipped(box: Box, shape: Sequence[SymExpr], known: Analyzer) -> Box:
    return [dim.intersect(SymInterval(Const(0, e.dtype), e - 1), known) for dim, e in zip(box, shape, strict=True)]


def _is_within(box: Box, cover: Sequence[Box], known: Analyzer) -> bool:
    """Return whether a box is contained in one of the boxes, or in several that are adjacent in one dimension."""
    left = list(cover)
    while left:
        if any(all(_holds(i, o, known) for i, o in zip(box, outer, strict=True)) for outer in left):
            return True
        joined = next((j for j in _joined(left, known)), None)
        if joined is None:
            return False
        left = joined
    return False


def _joined(boxes: Sequence[Box], known: Analyzer) -> Iterator[list[Box]]:
    """Yield the boxes with two adjacent ones replaced by their union."""
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes):
            other = [k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
            if i != j and len(other) <= 1 and all(_follows(a[k], b[k], known) for k in other):
                one = [x.union(y, known) for x, y in zip(a, b, strict=True)]
                yield [*(c for k, c in enumerate(boxes) if k not in (i, j)), one]


def _follows(a: SymInterval, b: SymInterval, known: Analyzer) -> bool:
    """Return whether `b` begins after `a` begins, and at most one past the end of `a`."""
    if a.high is None or b.low is None or not known.can_prove(OPS["le"](b.low, a.high + 1)):
        return False
    return a.low is None or known.can_prove(OPS["le"](a.low, b.low))


def _holds(inner: SymInterval, outer: SymInterval, known: Analyzer) -> bool:
    if inner.low is None or inner.high is None:
        return False
    low = outer.low is None or known.can_prove(OPS["le"](outer.low, inner.low))
    return low and (outer.high is None or known.can_prove(OPS["le"](inner.high, outer.high)))


class ScheduleState:
    """A module with queries about its blocks; the answers follow changes of the module.

    `debug_mask` and `enable_check` exist for compatibility with TVM. Nothing is cached that could become out of
    date.
    """

    def __init__(self, mod: PrimFunc | IRModule, *, debug_mask: str | int = "none", enable_check: bool = True):
        self._module = (mod if isinstance(mod, IRModule) else IRModule({"main": mod})).op
        self._srefs: WeakValueDictionary[Operation, StmtSRef] = WeakValueDictionary()

    @property
    def mod(self) -> IRModule:
        """The module in its current state."""
        return IRModule(self._module)

    def get_sref(self, stmt: Stmt) -> StmtSRef:
        """Return the reference to a block or loop of the module. Raises `TiraxError` for another statement."""
        op = stmt.op
        if isinstance(stmt, BlockRealize) or not isinstance(op, tir.BlockOp | tir.ForOp | tir.FuncOp):
            raise TiraxError("neither a block nor a loop", expected="a Block or a For", found=type(stmt).__name__)
        if not self._module.is_ancestor(op):
            raise TiraxError("the statement is of another module", hint="take it from `state.mod`")
        return self._srefs.setdefault(op, StmtSRef(op))

    def replace(
        self, src_sref: StmtSRef, tgt_stmt: Stmt, block_sref_reuse: Mapping[Block, Block] | None = None
    ) -> None:
        """Replace a block or loop by a copy of a statement.

        `block_sref_reuse` maps blocks of the new statement to the blocks that they replace: references to the
        latter follow. Statements, functions and modules that are still referenced stay unchanged. Raises
        `TiraxError` for a reference to another module or to a removed statement.
        """
        if src_sref.gone or not self._module.is_ancestor(src_sref.op):
            raise TiraxError("the place is not one of this module", hint="take it from `state.get_sref`")
        reused = {a.op: b.op for a, b in (block_sref_reuse or {}).items()}
        self._module, now = replace_statement(self._module, src_sref.op, tgt_stmt, reused)
        moved = [(sref, now[op]) for op, sref in list(self._srefs.items()) if op in now]
        for sref, _ in moved:
            del self._srefs[sref.op]
        for sref, op in moved:
            sref.gone = op is None
            if op is not None:
                sref.op = op
                self._srefs[op] = sref

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the dependencies between the blocks in a block. Raises `TiraxError` for a loop."""
        return BlockScope(_block(block_sref.op))

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        """Return `cached_flags`, under TVM's name."""
        return cached_flags(_block(block_sref.op))


def _block(op: Operation) -> Any:
    if not isinstance(op, st.BlockLike):
        raise TiraxError("a block is expected", found="a loop")
    return op


__all__ = [
    "BlockScope", "CachedFlags", "DepKind", "Dependency", "ScheduleState", "cached_flags", "is_covered",
]  # fmt: skip
