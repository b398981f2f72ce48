"""Questions that the rules of tuning ask of blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.sym.expr import Var
from ..dialects.tir import IterKind
from ..handles.module import IRModule
from ..ir.affine.values import sym_expr_of
from ..schedule import Schedule, checks
from ..schedule import state as st
from ..schedule.trace import RV, BlockRV

PARALLEL, VECTORIZE = "meta_schedule.parallel", "meta_schedule.vectorize"
UNROLL_EXPLICIT, UNROLL_IMPLICIT = "meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit"
TILING_STRUCTURE = "meta_schedule.tiling_structure"
AUTO_TENSORIZE = "meta_schedule.auto_tensorize"
RANDOM_LOCATION = "meta_schedule.random_compute_producer"
"""Remarks by which rules tell postprocessors what to do."""


def annotation(op: tir.BlockOp | tir.ForOp | tir.FuncOp, key: str) -> Any:
    """The value of a remark, None where there is none."""
    from ..schedule.primitives.kinds import root_of

    target = root_of(op) if isinstance(op, tir.FuncOp) else op
    if isinstance(target, tir.FuncOp) or target.annotations is None or key not in target.annotations.data:
        return None
    from ..dialects.attributes import from_attr

    return from_attr(target.annotations.data[key])


def is_root(block: Operation) -> bool:
    """Whether a block is the root of its function."""
    return isinstance(block, tir.FuncOp) or (
        isinstance(block, tir.BlockOp)
        and isinstance(st.scope_of(block), tir.FuncOp)
        and not block.iter_vars
        and st.children(st.function_around(block).body.block) == [block]
    )


def has_trivial_bindings(block: tir.BlockOp) -> bool:
    """Whether the iterators are the loops around the block, in order."""
    loops = st.loops_above(block)
    return list(block.bindings) == [lp.loop_var for lp in loops]


def is_spatial(block: tir.BlockOp) -> bool:
    """Whether all iterators are spatial."""
    return all(kind is IterKind.SPATIAL for kind in block.kinds)


def is_trivially_bound_spatial(block: tir.BlockOp) -> bool:
    return is_spatial(block) and has_trivial_bindings(block)


def is_complete(block: tir.BlockOp) -> bool:
    return checks.why_not_complete(block) is None


def is_reduction(block: tir.BlockOp) -> bool:
    return checks.why_no_reduction(block) is None


def is_tiled(block: tir.BlockOp) -> bool:
    """Whether tiling was here already: at the block, or at one around it."""
    around: Operation | None = block
    while isinstance(around, tir.BlockOp):
        if annotation(around, TILING_STRUCTURE) is not None:
            return True
        around = st.scope_of(around)
    return False


def needs_multi_level_tiling(block: tir.BlockOp) -> bool:
    """Whether something that the block reads is read again at other places: tiling makes that cheap.

    A reduction with one output, trivially bound, not tiled yet, some of whose spatial iterators are not in the index of
    what it reads.
    """
    if (
        is_tiled(block)
        or is_spatial(block)
        or len(block.writes) != 1
        or not block.reads
        or not has_trivial_bindings(block)
    ):
        return False
    written = block.writes[0].buffer
    pairs = zip(block.iter_vars, block.kinds, block.extents, strict=True)
    spatial = {v for v, kind, extent in pairs if kind is IterKind.SPATIAL and extent.constant != 1}
    seen: set[Any] = set()
    unused = 0
    for read in block.reads:
        if read.buffer is written:
            continue
        if read.buffer in seen or any(e.constant is None for e in read.extents):
            return False
        seen.add(read.buffer)
        used = {v.value for start in read.starts for v in sym_expr_of(start).free_vars()}
        unused += sum(1 for v in spatial if v not in used)
    return unused >= 1


def is_write_cache(block: tir.BlockOp) -> bool:
    """Whether a block gives each element of what it reads to one place, in the same order: it can follow tiles."""
    if len(block.writes) != 1 or not block.reads or not is_spatial(block):
        return False
    order = {sym_expr_of(start): k for k, start in enumerate(block.writes[0].starts)}
    for read in block.reads:
        places = [order.get(sym_expr_of(start), -1) for start in read.starts]
        if -1 in places or any(a >= b for a, b in pairwise(places)):
            return False
    return True


def is_there(sch: Schedule, rv: RV) -> bool:
    """Whether what a handle stands for is still in the module."""
    try:
        sch.operation(rv)
    except TiraxError:
        return False
    return True


def is_all_spatial(sch: Schedule, root: BlockRV) -> bool:
    """Whether all blocks of a function have spatial iterators only."""
    func = st.function_around(sch.operation(root))
    return all(is_spatial(op) for op in func.walk() if isinstance(op, tir.BlockOp))


def iter_kind_of(loop: tir.ForOp) -> IterKind:
    """What a loop drives: spatial iterators, reductions, or others (opaque) where it drives both or none."""
    variable: Var = st.loop_expr(loop)
    kinds = {
        kind
        for block in st.blocks_below(loop)
        for kind, binding in zip(block.kinds, block.bindings, strict=True)
        if variable in sym_expr_of(binding).free_vars()
    }
    if not kinds or kinds == {IterKind.SPATIAL}:
        return IterKind.SPATIAL
    return IterKind.REDUCE if kinds == {IterKind.REDUCE} else IterKind.OPAQUE


# How many arithmetic operations a function does.

_FREE = (tir.LoadOp, tir.ConstOp, tir.CastOp, tir.ReinterpretOp)


def estimate_flops(mod: IRModule) -> float:
    """Arithmetic in what is stored, times the loops around it; a loop of unknown extent counts once."""
    return sum(_times(op) * _arithmetic(op.value) for op in mod.op.walk() if isinstance(op, tir.StoreOp))


def _times(op: Operation) -> float:
    count = 1.0
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            count *= st.constant_extent(parent) or 1
        parent = parent.parent_op()
    return count


def _arithmetic(value: SSAValue) -> int:
    """The operations of an expression; those on indices are not counted."""
    if not isinstance(value, OpResult) or type(value.op) not in tir.EXPRESSION_OPS:
        return 0
    op = value.op
    if isinstance(op, tir.LoadOp):
        return 0
    inner = sum(_arithmetic(o) for o in op.operands)
    inner += sum(
        _arithmetic(o) for r in op.regions for y in r.block.ops if isinstance(y, tir.YieldOp) for o in y.operands
    )
    return inner + (not isinstance(op, _FREE))
