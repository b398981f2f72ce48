"""Copies of buffers beside a block or in a loop: an iteration's reads or writes go through another buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.sched import encode
from ...dialects.sym.expr import Const, Op, SymExpr, Var
from ...dialects.sym.operators import maximum, minimum
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.iter_map import NotAffineError, detect_iter_map
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import Ends, accessed_by
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..accesses import accesses_of, is_conditional, label, ranges_inside, seen_by_threads, sharing_threads
from ..arguments import BufferIndex, buffers_of, nth, with_index
from ..registry import primitive
from ..state import State, fail
from .caches import Row, allocate_like, copy_loops, replace_buffer, rows_of
from .reindex import statement_of


@primitive(adapt=with_index("read_buffer_index", "read"))
def cache_inplace(
    state: State, block: tir.BlockOp, read_buffer_index: BufferIndex, storage_scope: str
) -> list[tir.BlockOp]:
    """Let `block` update a copy of a buffer that it reads and writes; it is copied before the block and back after it.

    f(A)  ->  A_local[v0] = A[v0];  f(A_local);  A[v0] = A_local[v0]

    Both copies are directly beside the block, in its loops. Returns the copying blocks. Raises `ScheduleError` if
    the block does not both read and write the buffer.
    """
    buffer = nth(block, buffers_of(block, "read"), read_buffer_index, "reads")
    if buffer not in st.buffers_written(block):
        fail("the block does not write the buffer", block)
    loops = st.loops_above(block)
    read, written = (_region(r, block) for r in (block.reads, block.writes) for r in r if r.buffer is buffer)
    new = allocate_like(st.scope_of(block), buffer, storage_scope)
    replace_buffer(block, buffer, new)
    both: list[Ends | None] = [
        (a[0], a[1]) if a == b else (minimum(a[0], b[0]), maximum(a[1], b[1]))
        for a, b in zip(read, written, strict=True)
    ]
    name, after = label(new), rw.after(block)
    first = copy_loops(buffer, new, rows_of(buffer, both), rw.before(block), name, around=loops)
    last = copy_loops(new, buffer, rows_of(buffer, list(written)), after, name, around=loops)
    return [first, last]


def _region(region: tir.RegionOp, block: tir.BlockOp) -> list[Ends]:
    """Return a region of a block in terms of the loops around it."""
    bindings = checks.iter_values(block)
    starts = [sym_expr_of(s).substitute(bindings) for s in region.starts]
    return [(first, first + extent - 1) for first, extent in zip(starts, region.extents, strict=True)]


@primitive()
def cache_index(state: State, block: tir.BlockOp, storage_scope: str, cse_thresh: int = 0) -> list[tir.BlockOp]:
    """Compute the indices of loads in `block` in separate blocks, and store them in buffers.

    R[vi] = A[vi // 4]  ->  index_var_0[v0] = v0 // 4;  R[vi] = A[index_var_0[vi]]

    This applies to indices other than single iterators that occur at least `cse_thresh` times. Returns the blocks,
    one for each index. Raises `ScheduleError` if there are none.
    """
    uses = _index_uses(block)
    chosen = [e for e, places in uses.items() if len(places) >= cse_thresh]
    if not chosen:
        fail("the block reads at no index that is more than an iterator", block, found=f"{len(uses)} below cse_thresh")
    stages: list[tir.BlockOp] = []
    insert = rw.before(statement_of(block))
    for k, e in enumerate(chosen):
        buffer, stage = _index_stage(block, e, k, storage_scope, insert)
        stages.append(stage)
        iters = _iters_in(block, e)
        for op, at in uses[e]:
            load = tir.LoadOp(buffer, iters)
            rw.before(op)(load)
            op.operands[at] = load.result
        last = block.reads[-1] if block.reads else st.children(block.body.block)[0]
        read = tir.ReadsOp(buffer, iters, [Const(1, v.dtype) for v in map(checks.iter_expr, iters)])
        rw.after(last)(read) if block.reads else rw.before(last)(read)
    return stages


def _index_uses(block: tir.BlockOp) -> dict[SymExpr, list[tuple[tir.LoadOp, int]]]:
    """Return the uses of each index of loads: (access, operand number)."""
    iters = set(map(checks.iter_expr, block.iter_vars))
    uses: dict[SymExpr, list[tuple[tir.LoadOp, int]]] = {}
    for op in [op for op in block.walk() if isinstance(op, tir.LoadOp)]:
        for at, index in enumerate(op.indices, 1):
            if not isinstance(index.type, IntegerType):
                continue
            e = sym_expr_of(index)
            inside = [v for v in e.free_vars() if v.value is not None]
            if not isinstance(e, Const | Var) and inside and iters.issuperset(inside):
                uses.setdefault(e, []).append((op, at))
    return uses


def _iters_in(block: tir.BlockOp, e: SymExpr) -> list[SSAValue]:
    used = {v.value for v in e.free_vars()}
    return [v for v in block.iter_vars if v in used]


def _index_stage(
    block: tir.BlockOp, e: SymExpr, number: int, storage_scope: str, insert: rw.Insert
) -> tuple[SSAValue, tir.BlockOp]:
    """Return the buffer for an index, and the block that computes it for all values of its iterators."""
    domains, iters = st.domains_of(block), _iters_in(block, e)
    checks.require_from_zero(block, iters)
    shape = [domains[v][1] for v in iters]
    kind = BufferType.of(shape, e.dtype, scope=storage_scope or "global")
    new = rw.allocate(st.scope_of(block), kind, f"index_var_{number}")
    stage = rw.block_in_loops(f"index_{number}", rw.axes(shape), insert)
    own = dict(zip(map(checks.iter_expr, iters), map(sym_expr_of, stage.iter_vars), strict=True))
    body = stage.body.block
    value = Materializer(body.add_op)(e.substitute(own))
    body.add_op(tir.StoreOp(value, new, list(stage.iter_vars)))
    rw.refresh_regions(stage)
    return new, stage


@primitive()
def read_at(
    state: State, loop: tir.ForOp, block: tir.BlockOp, read_buffer_index: int, storage_scope: str
) -> tir.BlockOp:
    """Copy the region of a buffer that an iteration of `loop` reads to a buffer of `storage_scope`, at its beginning.

    for i: for j: C[i, j] = B[i, j]  ->  for i: { B_shared[i, 0:n] = B[i, 0:n]; for j: C[i, j] = B_shared[i, j] }

    The copy is one block around its loops, annotated `auto_copy`. All blocks in the loop that read the buffer use
    the copy. If threads around the loop share memory of the scope, each of them copies the region that all of them
    read. Returns the copying block. Raises `ScheduleError` if the block is not in the loop, if the loop or an
    enclosing one is vectorized, or if a statement in the loop, or in the loops over such threads, writes the
    buffer.
    """
    _check_under(block, loop)
    buffer = nth(block, buffers_of(block, "read"), read_buffer_index, "reads")
    inside = st.children(loop.body.block)
    readers = [op for op in inside if _uses(op, buffer, tir.ReadsOp)]
    writers = [b for b in _blocks(_shared_by(loop, storage_scope)) if buffer in st.buffers_written(b)]
    if writers:
        fail("a block in the loop writes the buffer", block, *writers)
    rows = rows_of(buffer, seen_by_threads(storage_scope, accessed_by(readers)[0][buffer], loop))
    new = allocate_like(st.scope_of(loop), buffer, storage_scope)
    for reader in readers:
        replace_buffer(reader, buffer, new)
    return _copy_block(loop, buffer, new, rows, rw.before(readers[0]), label(new), buffer)


@primitive()
def write_at(
    state: State, loop: tir.ForOp, block: tir.BlockOp, write_buffer_index: int, storage_scope: str
) -> tir.BlockOp:
    """Let an iteration of `loop` write to a buffer of `storage_scope`, and copy it to the original buffer at its end.

    for i: for j: C[i, j] = B[i, j]  ->  for i: { for j: C_local[i, j] = B[i, j]; C[i, 0:n] = C_local[i, 0:n] }

    The copy is one block as in `read_at`: each thread copies the elements written by all threads that share memory
    of the scope, so that everything is copied after the last one. Returns the copying block. Raises `ScheduleError`
    if the block is not in the loop, if another block in the loop, or in the loops over such threads, uses the
    buffer, if any other block writes it, if an iteration, or these threads together, write only a part of a region,
    or if an enclosing loop drives a reduction of the block that may have no steps.
    """
    _check_under(block, loop)
    checks.require_reduced_in_scope(block)
    checks.require_some_steps([block], loop)
    buffer = nth(block, buffers_of(block, "write"), write_buffer_index, "writes")
    func = st.function_around(loop)
    others = [
        b for b in _blocks(func) if b is not block and not b.is_ancestor(block) and buffer in st.buffers_written(b)
    ]
    shared = _shared_by(loop, storage_scope)
    others += [b for b in _blocks(shared) if b is not block and buffer in st.buffers_needed(b)]
    if others:
        fail("another block uses the buffer, too", block, *others)
    (own,) = [op for op in st.children(loop.body.block) if op.is_ancestor(block)]
    rows = rows_of(buffer, seen_by_threads(storage_scope, accessed_by([own])[1][buffer], loop))
    if shared is not loop and _depends_on_thread(loop, shared):
        fail("not every thread writes the buffer", block, loop)
    _check_all_written(block, loop, buffer, rows, sharing_threads(storage_scope, loop))
    new = allocate_like(st.scope_of(loop), buffer, storage_scope)
    replace_buffer(own, buffer, new)
    return _copy_block(loop, new, buffer, rows, rw.after(own), label(new), buffer)


def _blocks(op: Operation) -> list[tir.BlockOp]:
    return [b for b in op.walk() if isinstance(b, tir.BlockOp)]


def _uses(op: Operation, buffer: SSAValue, kind: type[tir.RegionOp]) -> bool:
    return any(isinstance(r, kind) and r.buffer is buffer for r in op.walk())


def _check_under(block: tir.BlockOp, loop: tir.ForOp) -> None:
    if loop not in st.loops_above(block):
        fail("the block is not in the loop", block, loop)
    if any(lp.kind is tir.ForKind.VECTORIZED for lp in [*st.loops_above(loop), loop]):
        fail("the loop, or one around it, is vectorized", loop)


def _shared_by(loop: tir.ForOp, scope: str) -> tir.ForOp:
    """Return the outermost thread loop whose iterations share memory of `scope`, or the loop itself."""
    return [loop, *sharing_threads(scope, loop)][-1]


def _depends_on_thread(loop: tir.ForOp, shared: tir.ForOp) -> bool:
    """Return whether some iterations of `shared`, or of a loop in it, may skip `loop` while others do not."""
    around = [lp for lp in [*st.loops_above(loop), loop] if shared.is_ancestor(lp)]
    variables = {st.loop_expr(lp) for lp in around}
    bounds = [e for lp in around for e in (st.min_of(lp), st.extent_of(lp))]
    return is_conditional(loop, shared) or any(v in variables for e in bounds for v in e.free_vars())


def _check_all_written(
    block: tir.BlockOp, loop: tir.ForOp, buffer: SSAValue, rows: Sequence[Row], threads: Sequence[tir.ForOp]
) -> None:
    """Reject a loop whose iterations leave elements of the region unwritten, because they would be copied, too.

    If threads share a region, each of them writes a part of it.
    """
    stores = [op for op in accesses_of(buffer) if isinstance(op, tir.StoreOp)]
    for condition in predicates.require_stored(block, buffer, "what it does not write would be copied, too", loop):
        predicates.refuse(block, condition, "what it does not write would be copied, too")
    if any(is_conditional(op, block) for op in stores):
        fail("not every iteration of the block writes the buffer", block)
    above = st.loops_above(block)
    inside = [*reversed(threads), *above[above.index(loop) + 1 :]]
    outer: dict[Var, SymExpr] = {st.loop_expr(lp): st.min_of(lp) for lp in above if lp not in inside}
    bindings = checks.iter_values(block)
    known = checks.analyzer_of(inside)
    for store in stores:
        indices = [known.simplify(sym_expr_of(i).substitute(bindings).substitute(outer)) for i in store.indices]
        try:
            iter_map = detect_iter_map(indices, checks.loop_ranges(inside))
        except NotAffineError as error:
            fail(f"it cannot be said which elements an iteration writes: {error.message}", block)
        for total, (_, extent) in zip(iter_map.indices, rows, strict=True):
            split = total.splits[0] if total.splits else None
            count = Const(1) if split is None else split.extent
            if (split is not None and split.scale.constant != 1) or not known.can_prove_equal(count, extent):
                fail("an iteration of the loop does not write all of a region", block, loop)
    checks.require_affine(block)
    dims = cast(BufferType, buffer.type).dims
    if block.predicate is not None and any(
        e not in bindings or block.extents[list(bindings).index(cast(Var, e))].constant != d.constant
        for store in stores
        for e, d in zip(map(sym_expr_of, store.indices), dims, strict=True)
    ):
        predicates.refuse(block, block.predicate, "the block has a predicate, and does not run over the buffer")


def _copy_block(
    loop: tir.ForOp,
    source: SSAValue,
    target: SSAValue,
    rows: Sequence[Row],
    insert: rw.Insert,
    name: str,
    bounded: SSAValue,
) -> tir.BlockOp:
    """Return a block around loops that copy a region. Its iterators are the loops that the region depends on."""
    around = {st.loop_expr(lp): lp for lp in [*st.loops_above(loop), loop]}
    used = list(dict.fromkeys(v for first, _ in rows for v in first.free_vars() if v in around))
    iters: list[rw.BlockIter] = [
        (IterKind.SPATIAL, around[v].loop_var, (st.min_of(around[v]), st.extent_of(around[v]))) for v in used
    ]
    copy = rw.empty_block(name, iters, [f"v{k}" for k in range(len(iters))])
    st.annotate(copy, {"auto_copy": encode(1, [])})
    insert(copy)
    own: dict[Var, SymExpr] = dict(zip(used, map(sym_expr_of, copy.iter_vars), strict=True))
    loops = [rw.new_loop(f"ax{k}", extent, first.dtype) for k, (first, extent) in enumerate(rows)]
    rw.insert_nest(loops, copy.body.block.add_op)
    body = (loops[-1] if loops else copy).body.block
    indices = [first.substitute(own) + st.loop_expr(lp) for lp, (first, _) in zip(loops, rows, strict=True)]
    known = ranges_inside(loops[-1]) if loops else ranges_inside(copy)
    pairs = [checks.within(e, d) for e, d in zip(indices, cast(BufferType, bounded.type).dims, strict=True)]
    inside = [below for _, below in pairs] + [above for above, _ in pairs]
    unsure = [c for c in inside if isinstance(c, Op) and not known.can_prove(c)]
    for condition in unsure:
        guard = tir.IfOp(Materializer(body.add_op)(condition), tir.body_region())
        body.add_op(guard)
        body = guard.then_region.block
    build = Materializer(body.add_op)
    at = [build(e) for e in indices]
    body.add_op(load := tir.LoadOp(source, at))
    body.add_op(tir.StoreOp(load.result, target, at))
    rw.refresh_regions(copy)
    return copy
