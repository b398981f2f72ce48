"""Analyses of blocks for the rules of tuning."""

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
"""Annotations by which rules pass instructions to postprocessors."""


def annotation(op: tir.BlockOp | tir.ForOp | tir.FuncOp, key: str) -> Any:
    """Return the value of an annotation, or None if there is none."""
    from ..schedule.primitives.kinds import root_of

    target = root_of(op) if isinstance(op, tir.FuncOp) else op
    if isinstance(target, tir.FuncOp) or target.annotations is None or key not in target.annotations.data:
        return None
    from ..dialects.attributes import from_attr

    return from_attr(target.annotations.data[key])


def is_root(block: Operation) -> bool:
    """Return whether a block is the root of its function."""
    return isinstance(block, tir.FuncOp) or (
        isinstance(block, tir.BlockOp)
        and isinstance(st.scope_of(block), tir.FuncOp)
        and not block.iter_vars
        and st.children(st.function_around(block).body.block) == [block]
    )


def has_trivial_bindings(block: tir.BlockOp) -> bool:
    """Return whether the block's iterators are bound to the loops around it, in order."""
    loops = st.loops_above(block)
    return list(block.bindings) == [lp.loop_var for lp in loops]


def is_spatial(block: tir.BlockOp) -> bool:
    """Return whether all iterators are spatial."""
    return all(kind is IterKind.SPATIAL for kind in block.kinds)


def is_trivially_bound_spatial(block: tir.BlockOp) -> bool:
    return is_spatial(block) and has_trivial_bindings(block)


def is_complete(block: tir.BlockOp) -> bool:
    return checks.why_not_complete(block) is None


def is_reduction(block: tir.BlockOp) -> bool:
    return checks.why_no_reduction(block) is None


def is_tiled(block: tir.BlockOp) -> bool:
    """Return whether this block, or one around it, has been tiled already."""
    around: Operation | None = block
    while isinstance(around, tir.BlockOp):
        if annotation(around, TILING_STRUCTURE) is not None:
            return True
        around = st.scope_of(around)
    return False


def needs_multi_level_tiling(block: tir.BlockOp) -> bool:
    """Return whether tiling pays off for a block because it reads elements more than once.

    True for a reduction with one output and trivial bindings that is not tiled yet, if some spatial iterator
    does not occur in the indices of what the block reads.
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
    """Return whether a block copies each element it reads to one place, in the same order, so that it can follow
    tiles.
    """
    if len(block.writes) != 1 or not block.reads or not is_spatial(block):
        return False
    order = {sym_expr_of(start): k for k, start in enumerate(block.writes[0].starts)}
    for read in block.reads:
        places = [order.get(sym_expr_of(start), -1) for start in read.starts]
        if -1 in places or any(a >= b for a, b in pairwise(places)):
            return False
    return True


def is_there(sch: Schedule, rv: RV) -> bool:
    """Return whether the loop or block of a handle is still in the module."""
    try:
        sch.operation(rv)
    except TiraxError:
        return False
    return True


def is_all_spatial(sch: Schedule, root: BlockRV) -> bool:
    """Return whether all blocks of a function have spatial iterators only."""
    return is_in_spatial_function(sch.operation(root))


def is_in_spatial_function(block: tir.BlockOp) -> bool:
    """Return whether all blocks of the function around a block have spatial iterators only."""
    return all(is_spatial(op) for op in st.function_around(block).walk() if isinstance(op, tir.BlockOp))


def iter_kind_of(loop: tir.ForOp) -> IterKind:
    """Return the kind of iterators that a loop drives, or opaque if it drives both kinds or none."""
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


# The number of arithmetic operations of a function.

_FREE = (tir.LoadOp, tir.ConstOp, tir.CastOp, tir.ReinterpretOp)


def estimate_flops(mod: IRModule) -> float:
    """Estimate the arithmetic operations of a module, those of all stores; a loop of unknown extent counts once."""
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
    """Count the operations of an expression, without those on indices."""
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
