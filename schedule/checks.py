"""What primitives require of blocks.

A *complete* block is the only one that writes its buffers, reads none of them, and its iterators are spatial: its
iterations may run in any order, or again. A *reduction* block has an init and reduction iterators too, which do not
index what it writes. (Feng et al., TensorIR, 2023, section 3.2.)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, SSAValue

from ..dialects import tir
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import OPS, Const, Op, SymExpr, Var
from ..dialects.tir import IterKind
from ..ir.affine import expr_of
from ..ir.iter_map import IterMapLevel, NotAffineError, Ranges, detect_iter_map
from ..ir.regions import Interval
from . import state as st
from .state import fail


def loop_ranges(loops: Sequence[tir.ForOp]) -> Ranges:
    """The variables of loops with their ranges."""
    return {st.loop_expr(lp): (st.min_of(lp), st.extent_of(lp)) for lp in loops}


def analyzer_of(loops: Sequence[tir.ForOp]) -> Analyzer:
    """What is known of the variables of loops."""
    out = Analyzer()
    for lp in loops:
        least, extent = st.min_of(lp), st.extent_of(lp)
        out.bind(st.loop_expr(lp), out.bounds(least).low, out.bounds(least + extent - 1).high)
    return out


def holds(condition: SymExpr, loops: Sequence[tir.ForOp], analyzer: Analyzer | None = None) -> bool:
    """Whether a condition is known to hold in `loops`, the outermost first."""
    known = analyzer or analyzer_of(loops)
    if known.can_prove(condition):
        return True
    if not isinstance(condition, Op) or condition.kind not in ("lt", "le"):
        return False
    left, right = condition.args
    return known.can_prove(OPS[condition.kind](_greatest(left - right, loops), Const(0, left.dtype)))


def _greatest(e: SymExpr, loops: Sequence[tir.ForOp]) -> SymExpr:
    """A bound of `e`: the variables in which it is linear have the value at which it is greatest."""
    for lp in reversed(loops):
        variable = st.loop_expr(lp)
        slope = (e.substitute({variable: variable + 1}) - e).constant
        if slope:
            least = st.min_of(lp)
            e = e.substitute({variable: least + st.extent_of(lp) - 1 if slope > 0 else least})
    return e


def is_of_loops(interval: Interval) -> bool:
    """Whether an interval is in terms of loops and iterators only, not of values that are read in a block."""
    values = (v.value for e in interval for v in e.free_vars())
    return all(v is None or isinstance(v, BlockArgument) for v in values)


def iter_ranges(block: tir.BlockOp) -> Ranges:
    """The iterators of a block with their domains."""
    doms = zip(block.iter_vars, block.mins, block.extents, strict=True)
    return {iter_expr(v): (least, extent) for v, least, extent in doms}


def iter_expr(value: SSAValue) -> Var:
    """An iterator in expressions."""
    found = expr_of(value)
    assert isinstance(found, Var)
    return found


def bindings_of(block: tir.BlockOp) -> list[SymExpr]:
    """The bindings of a block's iterators as expressions."""
    memo: dict[SSAValue, SymExpr] = {}
    return [expr_of(b, memo) for b in block.bindings]


def predicate_of(block: tir.BlockOp) -> list[SymExpr]:
    """The predicate of a block as an expression, in a list that is empty where there is none."""
    return [] if block.predicate is None else [expr_of(block.predicate)]


def is_affine(block: tir.BlockOp, loops: Sequence[tir.ForOp] | None = None) -> bool:
    """Whether the bindings of a block are a quasi-affine map of the loops around it."""
    around = st.loops_above(block) if loops is None else loops
    try:
        detect_iter_map(bindings_of(block), loop_ranges(around), predicate_of(block), IterMapLevel.SURJECTIVE)
    except NotAffineError:
        return False
    return True


def require_affine(block: tir.BlockOp) -> None:
    """Refuse a block whose bindings are no quasi-affine map of its loops."""
    if not is_affine(block):
        fail("the bindings of the block are no quasi-affine map of its loops", block)


def write_indices(block: tir.BlockOp) -> list[SymExpr]:
    """The indices at which the block's regions begin that it writes."""
    memo: dict[SSAValue, SymExpr] = {}
    return [expr_of(s, memo) for w in block.writes for s in w.starts]


def _writers(block: tir.BlockOp) -> list[tir.BlockOp]:
    mine = set(st.buffers_written(block))
    return [b for b in st.blocks_below(st.scope_of(block)) if mine & set(st.buffers_written(b))]


def why_not_complete(block: tir.BlockOp) -> str | None:
    """What keeps a block from being complete, None where it is."""
    if any(kind is not IterKind.SPATIAL for kind in block.kinds):
        return "it has an iterator that is not spatial"
    if _writers(block) != [block]:
        return "another block writes the same buffer"
    if set(st.buffers_read(block)) & set(st.buffers_written(block)):
        return "it reads what it writes"
    return None


def why_no_reduction(block: tir.BlockOp) -> str | None:
    """What keeps a block from being a reduction, None where it is one."""
    if block.init is None:
        return "it has no init"
    if any(kind not in (IterKind.SPATIAL, IterKind.REDUCE) for kind in block.kinds):
        return "it has an iterator that is neither spatial nor a reduction"
    if _writers(block) != [block]:
        return "another block writes the same buffer"
    reducing = {v for v, kind in zip(block.iter_vars, block.kinds, strict=True) if kind is IterKind.REDUCE}
    if any(v.value in reducing for e in write_indices(block) for v in e.free_vars()):
        return "a reduction iterator indexes what it writes"
    return None


def require_complete(block: tir.BlockOp) -> None:
    """Refuse a block that is not complete."""
    why = why_not_complete(block)
    if why is not None:
        fail(f"the block is not complete: {why}", block)


def require_complete_or_reduction(block: tir.BlockOp) -> None:
    """Refuse a block that is neither complete nor a reduction."""
    complete, reduction = why_not_complete(block), why_no_reduction(block)
    if complete is not None and reduction is not None:
        fail(f"the block is neither complete ({complete}) nor a reduction ({reduction})", block)


def require_not_output(block: tir.BlockOp) -> None:
    """Refuse a block that writes what is seen outside of its scope."""
    if block in st.output_blocks(st.scope_of(block)):
        fail("the block is an output of its scope", block)
