"""Copies of buffers indexed by a block's iterators, for its reads or its writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...diagnostics import ShapeError
from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import le, lt
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import Materializer, sym_expr_of
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..accesses import accesses_of, is_conditional, label, no_inverse, ranges_inside, refresh, set_indices, simplified
from ..arguments import (
    BufferIndex,
    buffer_at,
    buffers_of,
    checked_map,
    compose,
    nth,
    with_buffer,
    with_index,
    with_index_map,
)
from ..loop_builder import Cloner
from ..registry import primitive
from ..state import BlockLike, State, fail
from .caches import allocate_like


@primitive(adapt=with_buffer)
def reindex(state: State, block: tir.BlockOp, buffer: Sequence[Any]) -> tir.BlockOp:
    """Copy the elements that `block` reads or writes to a buffer whose axes are the iterators of the block.

    Y[vi] += X[vi + vk]  ->  X_reindex[v0, v1] = X[v0 + v1];  Y[vi] += X_reindex[vi, vk]

    Only iterators that occur in the indices become axes. Returns the copying block, which is directly before the
    block, or after it for a written buffer. Raises `ScheduleError` if the block accesses the buffer at several
    indices, if it both reads and writes it (except as a reduction), if it is neither complete nor a reduction, if
    its bindings are not a quasi-affine map of its loops, or, for a written buffer, if two iterations could write
    the same element, if its loops in the scope do not cover its full domain, or if it is a reduction with steps
    outside of the scope.
    """
    side = str(buffer[0])
    target = buffer_at(block, buffer)
    indices = _indices(block, target, side)
    iters = _used_iters(block, indices)
    scope, own = st.scope_of(block), statement_of(block)
    shape = [extent for _, extent in iters.values()]
    new = allocate_like(scope, target, "global", f"{label(target)}_reindex", shape)
    loops = [rw.new_loop(f"ax{k}", e, cast(IntegerType, v.type)) for k, (v, (_, e)) in enumerate(iters.items())]
    written = new if side == "read" else target
    _check_alone(block, own, target, side)
    conditions: list[SSAValue] = []
    if side == "write":
        _check_all_run(block, list(iters))
        conditions = _written_under(block, target)
    stage = _Stage(block, target, new, indices, list(iters), [sym_expr_of(v) for v in iters])
    insert = rw.insert_nest(loops, rw.before(own) if side == "read" else rw.after(own))
    rows, names = [lp.loop_var for lp in loops], [f"v{k}" for k in range(len(iters))]
    values = dict(zip(map(checks.iter_expr, iters), map(sym_expr_of, rows), strict=True))
    predicate = rw.conjunction(predicates.copy_conditions(block, conditions, values, insert), insert)
    copy = stage.copy(rows, names, f"{label(written)}_reindex", side, insert, predicate)
    stage.use_copy()
    return copy


@primitive(adapt=compose(with_index_map, with_index("read_buffer_index", "read")))
def reindex_cache_read(
    state: State, block: tir.BlockOp, read_buffer_index: BufferIndex, storage_scope: str, index_map: IndexMapAttr
) -> tir.BlockOp:
    """Copy the elements that `block` reads to a buffer of `storage_scope`, at indices that `index_map` computes.

    index_map = lambda i, j, k: (j, k): C[vi, vj] += A[vi, vk] * B[vk, vj]
      ->  B_shared[vj, vk] = B[vk, vj];  C[vi, vj] += A[vi, vk] * B_shared[vj, vk]

    The copy is inserted after the writer of the buffer, or at the beginning. Returns the copying block. Raises
    `ScheduleError` as `reindex`, if the map uses other iterators than the indices, or if two iterations would share
    an element.
    """
    target = nth(block, buffers_of(block, "read"), read_buffer_index, "reads")
    return _cache(block, target, storage_scope, checked_map(block, index_map), "read")


@primitive(adapt=compose(with_index_map, with_index("write_buffer_index", "write")))
def reindex_cache_write(
    state: State, block: tir.BlockOp, write_buffer_index: BufferIndex, storage_scope: str, index_map: IndexMapAttr
) -> tir.BlockOp:
    """Let `block` write to a buffer of `storage_scope`, at indices that `index_map` computes, and copy it back.

    index_map = lambda i, j: (j, i): C[vi, vj] = A[vi, vj]
      ->  C_local[vj, vi] = A[vi, vj];  C[vi, vj] = C_local[vj, vi]

    The copy is inserted after the block. Returns the copying block. Raises `ScheduleError` as `reindex_cache_read`,
    if two iterations could write the same element, or if the block is a reduction with steps outside of its scope.
    """
    target = nth(block, buffers_of(block, "write"), write_buffer_index, "writes")
    return _cache(block, target, storage_scope, checked_map(block, index_map), "write")


def _cache(block: tir.BlockOp, target: SSAValue, storage_scope: str, mapping: IndexMapping, side: str) -> tir.BlockOp:
    indices = _indices(block, target, side)
    places = mapping.apply([sym_expr_of(v) for v in block.iter_vars])
    iters = _used_iters(block, indices)
    _check_same_iters(block, indices, places)
    scope = st.scope_of(block)
    own = _own_statement(block, target, side)
    shape = _shape(block, mapping, list(iters))
    new = allocate_like(scope, target, storage_scope, None, shape)
    conditions = _written_under(block, target) if side == "write" else []
    stage = _Stage(block, target, new, indices, list(iters), places)
    place = _place_of_read(own, scope, target) if side == "read" else rw.after(own)
    insert, rows, predicate = _loops_of(block, own, list(iters), place, conditions)
    names = [str(name_of(v) or f"v{k}") for k, v in enumerate(iters)]
    copy = stage.copy(rows, names, label(new), side, insert, predicate)
    stage.use_copy()
    return copy


class _Stage:
    """A block that copies between a buffer at `indices` and its copy at `places`, both expressions of a block's
    iterators.
    """

    def __init__(
        self,
        block: tir.BlockOp,
        old: SSAValue,
        new: SSAValue,
        indices: list[SymExpr],
        iters: list[SSAValue],
        places: list[SymExpr],
    ):
        self.block, self.old, self.new = block, old, new
        self.indices, self.iters, self.places = indices, iters, places

    def copy(
        self,
        bindings: Sequence[SSAValue],
        names: Sequence[str],
        name: str,
        side: str,
        insert: rw.Insert,
        predicate: SSAValue | None = None,
    ) -> tir.BlockOp:
        """Emit the block by `insert`."""
        domains = st.domains_of(self.block)
        rows: list[rw.BlockIter] = [
            (IterKind.SPATIAL, binding, domains[v]) for v, binding in zip(self.iters, bindings, strict=True)
        ]
        copy = rw.empty_block(name, rows, names, predicate)
        own = dict(zip(map(checks.iter_expr, self.iters), map(sym_expr_of, copy.iter_vars), strict=True))
        body = copy.body.block
        build = Materializer(body.add_op)
        far = [build(e.substitute(own)) for e in self.indices]
        near = [build(e.substitute(own)) for e in self.places]
        source, target = (self.old, self.new) if side == "read" else (self.new, self.old)
        body.add_op(load := tir.LoadOp(source, far if side == "read" else near))
        body.add_op(tir.StoreOp(load.result, target, near if side == "read" else far))
        insert(copy)
        rw.refresh_regions(copy)
        return copy

    def use_copy(self) -> None:
        """Redirect the block's accesses to the copy."""
        for op in accesses_of(self.old):
            if self.block.is_ancestor(op):
                set_indices(op, self.places, self.new)
        refresh([op for op in self.block.walk() if isinstance(op, tir.BlockOp)])


def _indices(block: tir.BlockOp, buffer: SSAValue, side: str) -> list[SymExpr]:
    """Return the only indices at which a block accesses a buffer, over its iterators."""
    checks.require_complete_or_reduction(block)
    checks.require_affine(block)
    if any(op is not block and isinstance(op, tir.BlockOp) for op in block.walk()):
        fail("there are blocks in the block", block)
    accesses = [op for op in accesses_of(buffer) if block.is_ancestor(op)]
    kinds = {isinstance(op, tir.StoreOp) for op in accesses}
    if side == "read" and True in kinds:
        fail("the block writes the buffer, too", block)
    places = {tuple(sym_expr_of(i) for i in op.indices) for op in accesses}
    if len(places) != 1:
        fail("the block accesses the buffer at other than one place", block, expected=1, found=len(places))
    indices = list(places.pop())
    conditional = any(is_conditional(op, block) for op in accesses)
    if conditional or (side == "read" and (predicates.guards(block) or predicates.own_conditions(block))):
        _check_unconditional(block, buffer, indices, side)
    indices = simplified(indices, cast(Operation, accesses[0]))
    iters = {checks.iter_expr(v) for v in block.iter_vars}
    if any(v.value is not None and v not in iters for e in indices for v in e.free_vars()):
        fail("an index is not made of the block's iterators", block)
    if side == "write":
        _check_distinct(block, indices)
        checks.require_reduced_in_scope(block)
    return indices


def _check_unconditional(block: tir.BlockOp, buffer: SSAValue, indices: Sequence[SymExpr], side: str) -> None:
    """Reject conditional accesses: a partial write is not a full copy, and a conditional read may be out of bounds."""
    if side == "write":
        predicates.require_stored(block, buffer, "not every iteration of the block writes the buffer")
        fail("not every iteration of the block writes the buffer", block)
    known, dims = ranges_inside(block), cast(BufferType, buffer.type).dims
    for e, extent in zip(indices, dims, strict=True):
        inside = known.can_prove(le(Const(0, e.dtype), e)) and known.can_prove(lt(e, extent))
        if not inside:
            why = "the block reads the buffer under a condition, without which the index may be outside"
            predicates.require_none(block, why)
            fail(why, block, found=e)


def _written_under(block: tir.BlockOp, buffer: SSAValue) -> list[SSAValue]:
    """Return the conditions under which the block writes the buffer, which also apply to the copy."""
    return predicates.require_stored(block, buffer, "what it does not write would be copied, too")


def _check_distinct(block: tir.BlockOp, indices: Sequence[SymExpr]) -> None:
    """Reject writes of several iterations to the same element."""
    used = list(_used_iters(block, indices))
    params = tuple(checks.iter_expr(v) for v in used)
    domains = st.domains_of(block)
    try:
        IndexMapping(params, tuple(indices)).padded_inverse([domains[v][1] for v in used])
    except ShapeError:
        fail("two iterations of the block may write one element", block)


def _check_all_run(block: tir.BlockOp, iters: Sequence[SSAValue]) -> None:
    """Reject a block whose scope may skip parts of the iterators' domains, because these would be copied, too."""
    known, domains = checks.analyzer_of(st.loops_above(block)), st.domains_of(block)
    for var, e in zip(block.iter_vars, checks.bindings_of(block), strict=True):
        extent = domains[var][1].constant
        if var not in iters or extent == 1:
            continue
        bounds = known.bounds(e)
        if checks.outside_of_scope(block, e.free_vars()) or bounds.low > 0 or bounds.high < (extent or 1) - 1:
            fail("the loops of the block do not run over all of its domain", block, found=e)


def _used_iters(block: tir.BlockOp, indices: Sequence[SymExpr]) -> dict[SSAValue, tuple[SymExpr, SymExpr]]:
    """Return the iterators that occur in indices, with their domains."""
    used = {v for e in indices for v in e.free_vars()}
    domains = {v: domain for v, domain in st.domains_of(block).items() if checks.iter_expr(v) in used}
    checks.require_from_zero(block, domains)
    return domains


def _check_same_iters(block: tir.BlockOp, indices: Sequence[SymExpr], places: Sequence[SymExpr]) -> None:
    there, here = ({v for e in es for v in e.free_vars() if v.value is not None} for es in (indices, places))
    for v in there ^ here:
        which = "the index map" if v in there else "the indices"
        fail(f"the iterator {name_of(cast(SSAValue, v.value))} does not appear in {which}", block)


def _shape(block: tir.BlockOp, mapping: IndexMapping, used: Sequence[SSAValue]) -> list[SymExpr]:
    """Return the shape of the copy. Raises `ScheduleError` if two iterations share an element."""
    domains = [extent if v in used else Const(1, extent.dtype) for v, (_, extent) in st.domains_of(block).items()]
    try:
        kept = [p for p, v in zip(mapping.params, block.iter_vars, strict=True) if v in used]
        alone = IndexMapping(tuple(kept), mapping.results)
        sizes = [d for d, v in zip(domains, block.iter_vars, strict=True) if v in used]
        if not set(kept) <= set(alone.results):
            alone.padded_inverse(sizes)
        return alone.shape(sizes)
    except ShapeError as error:
        no_inverse(block, error)


def statement_of(block: tir.BlockOp) -> Operation:
    """Return the statement of the scope that contains a block."""
    scope = st.scope_of(block)
    return next(op for op in (block, *st.ancestors(block)) if op.parent_op() is scope)


def _own_statement(block: tir.BlockOp, buffer: SSAValue, side: str) -> Operation:
    """Return the outermost statement around a block without other users of the buffer, which run before or after it.

    The copy is beside it, in the loops that it shares with them. Raises `ScheduleError` if these are steps of a
    reduction, whose result would be copied before it is complete.
    """
    own = statement_of(block)
    while own is not block and _users(block, own, buffer, side):
        own = next(op for op in (block, *st.ancestors(block)) if op.parent_op() is own)
    shared = {st.loop_expr(lp) for lp in st.loops_above(own)}
    steps = [b for kind, b in zip(block.kinds, checks.bindings_of(block), strict=True) if kind is IterKind.REDUCE]
    if side == "write" and any(v in shared for b in steps for v in b.free_vars()):
        _check_alone(block, statement_of(block), buffer, side)
    return own


def _check_alone(block: tir.BlockOp, own: Operation, buffer: SSAValue, side: str) -> None:
    """Reject a block if another one in the same loops would have to run between the copy and the block."""
    others = _users(block, own, buffer, side)
    if others:
        fail("a block in the same loops uses the buffer, too", block, *others)


def _users(block: tir.BlockOp, own: Operation, buffer: SSAValue, side: str) -> list[tir.BlockOp]:
    """Return the other blocks in a statement that write a buffer, or if `block` writes it, use it."""
    kinds = tir.WritesOp if side == "read" else tir.RegionOp
    return [
        b
        for b in own.walk()
        if isinstance(b, tir.BlockOp)
        and not b.is_ancestor(block)
        and not block.is_ancestor(b)
        and (
            any(isinstance(r, kinds) and r.buffer is buffer for r in b.body.block.ops)
            or (side == "write" and buffer in st.buffers_needed(b))
        )
    ]


def _place_of_read(own: Operation, scope: BlockLike, buffer: SSAValue) -> rw.Insert:
    """Return the insertion point: before the block's statement if the buffer is written, otherwise at the beginning."""
    statements = st.children(st.body_of(scope))
    written = any(isinstance(r, tir.WritesOp) and r.buffer is buffer for s in statements for r in s.walk())
    return rw.before(own if written else statements[0])


def _loops_of(
    block: tir.BlockOp, own: Operation, iters: Sequence[SSAValue], insert: rw.Insert, conditions: Sequence[SSAValue]
) -> tuple[rw.Insert, list[SSAValue], SSAValue | None]:
    """Copy the loops from `own` on that drive some iterators as serial loops by `insert`.

    Returns the insertion point in the innermost one, the bindings of the iterators there, and the parts of the
    predicate that depend on these loops, which must include all `conditions`.
    """
    bindings = dict(zip(block.iter_vars, block.bindings, strict=True))
    used = {v for i in iters for v in sym_expr_of(bindings[i]).free_vars()}
    driving = [lp for lp in st.loops_above(block) if st.loop_expr(lp) in used]
    if not driving:
        fail("no loop drives what the block accesses", block)
    shared = st.loops_above(own)
    needed = [lp for lp in driving if lp not in shared]
    insert, mapping = rw.copied_loops(needed, insert, serial=True)
    copy = Cloner(insert, mapping)
    rows = [copy(bindings[i]) for i in iters]
    inside = [c for c in rw.conditions(block) if set(predicates.loops_of(block, c)) <= {*needed, *shared}]
    inside = [c for c in inside if c in conditions or not predicates.buffers_of([c])]
    predicates.require_steady(block, conditions)
    for condition in conditions:
        if condition not in inside:
            predicates.refuse(block, condition, "that is of loops that do not drive what the block writes")
    return insert, rows, rw.conjunction([copy(c) for c in inside], insert)
