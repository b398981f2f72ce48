"""Rolling buffers: elements shared by consecutive iterations of a loop are computed once and kept in a small ring
buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, floormod
from ...dialects.sym.operators import le, logical_or, lt
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import Ends, accessed_by
from .. import checks, predicates
from .. import state as st
from ..accesses import accesses_of, move_accesses, require_allocated, set_type
from ..arguments import buffers_of, nth
from ..registry import primitive
from ..rewrite import before, require
from ..state import State, fail


@dataclass(frozen=True)
class _Axis:
    """A dimension of which an iteration of `loop` needs `extent` indices, `overlap` of them shared with the
    previous one.
    """

    dim: int
    loop: tir.ForOp
    first: SymExpr
    extent: int
    overlap: int


@primitive()
def rolling_buffer(state: State, block: tir.BlockOp, write_buffer_index: int) -> None:
    """Reuse elements that earlier iterations of the loops around `block` have computed, in a ring buffer.

    for i: { for ax: B[i + ax] = …;  C[i] = B[i] + B[i + 1] + B[i + 2] }
      ->  for i: { for ax: where(i < 1 or 2 <= ax): B[(i + ax) % 3] = …;  C[i] = B[i % 3] + B[(i + 1) % 3] + … }

    The block only computes elements that previous iterations have not. The dimension of the outermost loop with an
    overlap becomes a ring with as many elements as an iteration needs; iterators that depend on this loop become
    opaque, because its iterations must stay in order. Raises `ScheduleError` if the buffer is not an allocation, if
    no loop encloses both the block and the readers of the buffer (tile first, and apply `compute_at`), if one of
    these loops is not serial, or if the block depends on it other than by its write region, if an iteration reads
    elements that it does not write, or if no dimension overlaps.
    """
    buffer = nth(block, buffers_of(block, "write"), write_buffer_index, "writes")
    require_allocated(block, buffer)
    checks.require_complete_or_reduction(block)
    loop, own = _common_loop(block, buffer)
    region = accessed_by([own])[1][buffer]
    _check_covered(block, loop, own, buffer, region)
    loops = [*st.loops_above(loop), loop]
    axes = _axes(block, loops, region)
    _check_dependences(block, loops, region)
    rolled = min(axes, key=lambda axis: loops.index(axis.loop))
    _skip_known(block, buffer, axes)
    _keep_order(rolled.loop, buffer)
    dims = list(cast(BufferType, buffer.type).dims)
    dims[rolled.dim] = Const(rolled.extent, dims[rolled.dim].dtype)
    set_type(buffer, cast(BufferType, buffer.type).with_shape(dims))
    move_accesses(
        buffer,
        lambda _, indices: [floormod(e, rolled.extent) if k == rolled.dim else e for k, e in enumerate(indices)],
    )


def _common_loop(block: tir.BlockOp, buffer: SSAValue) -> tuple[tir.ForOp, Operation]:
    """Return the innermost loop around all users of a buffer, and its statement that contains the block."""
    users = accesses_of(buffer)
    shared = [lp for lp in st.loops_above(block) if all(lp.is_ancestor(op) for op in users)]
    if not shared or all(block.is_ancestor(op) for op in users):
        fail("no loop is around the block and the readers of the buffer", block, hint="compute the block at a loop")
    for loop in shared:
        if loop.kind is not tir.ForKind.SERIAL or st.min_of(loop).constant != 0:
            fail("the loop is not a serial one from 0", loop)
    (own,) = [op for op in st.children(shared[-1].body.block) if op.is_ancestor(block)]
    return shared[-1], own


def _check_covered(
    block: tir.BlockOp, loop: tir.ForOp, own: Operation, buffer: SSAValue, region: Sequence[Ends | None]
) -> None:
    """Reject a buffer of which an iteration reads elements that the block does not provide, or reads them earlier."""
    statements = st.children(loop.body.block)
    later = statements[statements.index(own) + 1 :]
    users = [op for op in accesses_of(buffer) if not block.is_ancestor(op)]
    early = [st.scope_of(op) for op in users if not any(s.is_ancestor(op) for s in later)]
    if early:
        fail("a block reads the buffer before it is written", block, *early)
    read = accessed_by(later)[0].get(buffer, [])
    known = checks.analyzer_of([*st.loops_above(loop), loop])
    for needed, written in zip(read, region, strict=True):
        if needed is None or written is None or not _within(needed, written, known):
            fail("an iteration reads more of the buffer than it writes", block, loop)


def _within(needed: Ends, written: Ends, known: Analyzer) -> bool:
    return known.can_prove(le(written[0], needed[0])) and known.can_prove(le(needed[1], written[1]))


def _axes(block: tir.BlockOp, loops: Sequence[tir.ForOp], region: Sequence[Ends | None]) -> list[_Axis]:
    """Return the dimensions that overlap. Raises `ScheduleError` if there are none."""
    by_var = {st.loop_expr(lp): lp for lp in loops}
    out: list[_Axis] = []
    for dim, interval in enumerate(region):
        assert interval is not None
        used = [v for v in interval[0].free_vars() if v in by_var]
        if not used:
            continue
        extent = (interval[1] - interval[0] + 1).constant
        stride = checks.step_of(interval[0], used[0])
        if len(used) > 1 or extent is None or stride is None or stride <= 0:
            fail(f"dimension {dim} of the buffer is not that of one loop", block, found=interval[0])
        if extent > stride:
            out.append(_Axis(dim, by_var[used[0]], interval[0], extent, extent - stride))
    if not out:
        fail("no iteration writes what the one before has written", block)
    if len({axis.loop for axis in out}) < len(out):
        fail("two dimensions of the buffer depend on one loop", block)
    return out


def _check_dependences(block: tir.BlockOp, loops: Sequence[tir.ForOp], region: Sequence[Ends | None]) -> None:
    """Check that the block computes the same value for an element in all iterations."""
    seen = {v for interval in region if interval is not None for v in interval[0].free_vars()}
    used = {v for e in [*checks.bindings_of(block), *checks.predicate_of(block)] for v in e.free_vars()}
    why = "an iteration after it would not compute what this one leaves out"
    predicates.require_unguarded(block, why)
    predicates.require_movable(block, predicates.own_conditions(block), why)
    others = [lp for lp in loops if st.loop_expr(lp) in used - seen]
    if others:
        fail("the block depends on a loop that is no dimension of the buffer", block, *others)


def _skip_known(block: tir.BlockOp, buffer: SSAValue, axes: Sequence[_Axis]) -> None:
    """Skip elements in the block that a previous iteration has computed."""
    stores = [op for op in accesses_of(buffer) if isinstance(op, tir.StoreOp) and block.is_ancestor(op)]
    bindings = checks.iter_values(block)
    build = Materializer(before(block))
    new: list[SSAValue] = []
    for axis in axes:
        indices = {sym_expr_of(op.indices[axis.dim]) for op in stores}
        index = indices.pop() if len(indices) == 1 else None
        if index not in bindings:
            fail(f"the block does not write dimension {axis.dim} at one of its iterators", block, found=name_of(buffer))
        offset = bindings[cast(Var, index)] - axis.first
        variable = st.loop_expr(axis.loop)
        new.append(build(logical_or(lt(variable, 1), le(Const(axis.overlap, offset.dtype), offset))))
    require(block, new)


def _keep_order(loop: tir.ForOp, buffer: SSAValue) -> None:
    """Make iterators that depend on the loop opaque, in the blocks that use the buffer."""
    variable = st.loop_expr(loop)
    users = dict.fromkeys(st.scope_of(op) for op in accesses_of(buffer))
    for block in users:
        if isinstance(block, tir.BlockOp):
            kinds = [
                IterKind.OPAQUE if variable in binding.free_vars() else kind
                for kind, binding in zip(block.kinds, checks.bindings_of(block), strict=True)
            ]
            block.properties["iter_kinds"] = ArrayAttr(StringAttr(k.value) for k in kinds)
