"""Inlining: a block's values are computed where they are used, without an intermediate buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.sym.operators import OPS
from ...ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map
from ...ir.affine.values import Materializer, sym_expr_of
from ...transforms.tir.walk import erase_with_tree, remove_dead
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..accesses import label, ranges_inside, refresh, stored_iters, uses_of
from ..loop_builder import Cloner
from ..registry import primitive
from ..state import ScheduleError, State, fail


@primitive()
def compute_inline(state: State, block: tir.BlockOp) -> None:
    """Inline a producer into its consumers; the block and its buffer are removed.

    for i: B[i] = A[i] + 1;  for i: C[i] = B[i] * 2  ->  for i: C[i] = (A[i] + 1) * 2

    Elements that are excluded by a predicate have no defined value. Raises `ScheduleError` if the block is an
    output or not complete, if it is not a single store at its own iterators (and at 0 in dimensions of one
    element), or if its buffer has uses other than loads of elements.
    """
    store, indices, loads = _inlined(block)
    func = st.function_around(block)
    readers = [around for load in loads for around in st.ancestors(load) if isinstance(around, tir.BlockOp)]
    buffer = store.buffer
    rw.inline_value(store.value, indices, loads)
    rw.remove(block)
    refresh(readers)
    rw.erase_if_unread(buffer)
    remove_dead(func)


def can_compute_inline(block: tir.BlockOp) -> bool:
    """Return whether `compute_inline` would succeed."""
    try:
        _inlined(block)
    except ScheduleError:
        return False
    return True


def _inlined(block: tir.BlockOp) -> tuple[tir.StoreOp, list[SSAValue | None], list[tir.LoadOp]]:
    """Return the store of an inlinable block, the iterators that index it, and the loads of its result.

    None is the index of a dimension of one element.
    """
    checks.require_not_output(block)
    checks.require_complete(block)
    store = checks.only_store(block)
    _check_reads(block, store)
    iters = [checks.iter_expr(v) for v in block.iter_vars]
    dims = cast(tir.BufferType, store.buffer.type).dims
    indices = stored_iters(store, iters)
    if indices is None or any(v is None and extent.constant != 1 for v, extent in zip(indices, dims, strict=True)):
        fail("the block does not store at its own iterators", block)
    if {v for v in iters if v not in indices} & set(_used_variables(store)):
        fail("the block stores the same element several times", block)
    variables = [None if v is None else v.value for v in indices]
    return store, variables, _element_loads(block, store.buffer)


@primitive()
def reverse_compute_inline(state: State, block: tir.BlockOp) -> None:
    """Inline a consumer into its producer; the consumer and the intermediate buffer are removed.

    for i: B[i] = A[i] + 1;  for i: C[i] = B[i] * 2  ->  for i: C[i] = (A[i] + 1) * 2

    Raises `ScheduleError` if the block is not complete, if it does not have exactly one producer, or if that is not
    complete; if its indices into the buffer do not determine the iteration, if it reads the buffer conditionally,
    or if it reads elements that the producer does not store; or if the buffer is an output.
    """
    checks.require_complete(block)
    producer = _only_producer(block)
    checks.require_complete(producer)
    checks.require_not_output(producer)
    predicates.require_unguarded(block, "the branch does not go with it")
    for condition in rw.conditions(block):
        predicates.refuse(block, condition, "its producer stores more")
    checks.require_full_domains(block)
    store, final = checks.only_store(producer), checks.only_store(block)
    loads = [op for op in block.walk() if isinstance(op, tir.LoadOp) and op.buffer is store.buffer]
    _require_only_used(store.buffer, [producer, block])
    indices = [sym_expr_of(i) for i in loads[0].indices]
    if any([sym_expr_of(i) for i in load.indices] != indices for load in loads[1:]):
        fail("the block reads the buffer at several places", block)
    if any(load.parent is not final.parent for load in loads):
        fail("the block reads the buffer only where a condition holds", block)
    _check_stored(block, indices, [sym_expr_of(i) for i in store.indices], producer)
    stored = [sym_expr_of(i) for i in store.indices]
    values = _inverse(block, indices, stored, producer) | _of_extent_1(block, indices, stored, store.buffer)
    build = Materializer(rw.before(store))
    mapping = {v: build(values[checks.iter_expr(v)], cast(IntegerType, v.type)) for v in block.iter_vars} | {
        load.result: store.value for load in loads
    }
    _guard(producer, block, values)
    Cloner(rw.before(store), mapping).store(final)
    buffer = store.buffer
    erase_with_tree(store)
    rw.refresh_regions(producer)
    func = st.function_around(block)
    rw.remove(block)
    rw.erase_if_unread(buffer)
    remove_dead(func)


def _of_extent_1(
    block: tir.BlockOp, indices: Sequence[SymExpr], stored: Sequence[SymExpr], buffer: SSAValue
) -> dict[Var, SymExpr]:
    """Return the producer's index for iterators of extent 1 that are indices into dimensions of extent 1: it is 0,
    and remains in the program as it is written.
    """
    own = {checks.iter_expr(v) for v, e in zip(block.iter_vars, block.extents, strict=True) if e.constant == 1}
    rows = zip(indices, stored, cast(tir.BufferType, buffer.type).dims, strict=True)
    return {index: place for index, place, dim in rows if isinstance(index, Var) and index in own and dim.constant == 1}


def _only_producer(block: tir.BlockOp) -> tir.BlockOp:
    producers = st.producers(block)
    if len(producers) != 1:
        fail("the block has other than one producer", block, *producers, expected=1, found=len(producers))
    return producers[0]


def _check_reads(block: tir.BlockOp, store: tir.StoreOp) -> None:
    """Reject loads that are only valid under the block's conditions, because inlining makes them unconditional."""
    inside = ranges_inside(block)
    for load in [op for op in block.walk() if isinstance(op, tir.LoadOp)]:
        dims = cast(tir.BufferType, load.buffer.type).dims
        pairs = [checks.within(sym_expr_of(i), extent) for i, extent in zip(load.indices, dims, strict=True)]
        if not all(inside.can_prove(c) for pair in pairs for c in pair):
            predicates.require_none(block, f"it may not read {label(load.buffer)} elsewhere")


def _used_variables(store: tir.StoreOp) -> list[Var]:
    """Return the variables of loops and blocks that a store's value depends on."""
    variables: dict[Var, None] = {}
    todo, seen = [store.value], set[SSAValue]()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, Operation):
            todo += [o for inner in value.owner.walk() for o in inner.operands]
        elif isinstance(value.type, IntegerType):
            variables[Var(value, value.type)] = None
    return list(variables)


def _element_loads(block: tir.BlockOp, buffer: SSAValue) -> list[tir.LoadOp]:
    accesses, others = uses_of(buffer)
    outside = [op for op in (*accesses, *others) if not block.is_ancestor(op)]
    for op in outside:
        if not isinstance(op, tir.LoadOp):
            fail("the buffer is used by more than reads of elements", block, op)
    if not isinstance(buffer.owner, tir.AllocBufferOp):
        fail("the buffer is not allocated in the function", block)
    return [op for op in outside if isinstance(op, tir.LoadOp)]


def _require_only_used(buffer: SSAValue, blocks: Sequence[tir.BlockOp]) -> None:
    if not isinstance(buffer.owner, tir.AllocBufferOp):
        fail("the buffer is not allocated in the function", *blocks)
    accesses, others = uses_of(buffer)
    for op in (*accesses, *others):
        if not any(b.is_ancestor(op) for b in blocks):
            fail("the buffer is used by another block", *blocks, op)
    if others:
        fail("the buffer is used by more than reads and writes of elements", *blocks)


def _inverse(
    block: tir.BlockOp, indices: Sequence[SymExpr], stored: Sequence[SymExpr], producer: tir.BlockOp
) -> dict[Var, SymExpr]:
    """Return the iterators of the block in terms of the indices `stored` of the producer's store."""
    try:
        iter_map = detect_iter_map(indices, checks.iter_ranges(block), level=IterMapLevel.BIJECTIVE)
    except NotAffineError as error:
        fail(f"the block does not read each element once: {error.message}", block, producer)
    values = iter_map.inverse(stored)
    for var, (least, extent) in checks.iter_ranges(block).items():
        if extent.constant == 1:
            values.setdefault(var, least)
    return values


def _check_stored(
    block: tir.BlockOp, indices: Sequence[SymExpr], stored: Sequence[SymExpr], producer: tir.BlockOp
) -> None:
    """Check that each element that the block reads is stored, because iterations that read others would be lost."""
    ranges, theirs = checks.iter_ranges(block), checks.iter_ranges(producer)
    analyzer = checks.analyzer_with({**ranges, **theirs})
    for index, place in zip(indices, stored, strict=True):
        if isinstance(index, Var) and isinstance(place, Var) and ranges.get(index) == theirs.get(place):
            continue
        read, written = analyzer.bounds(index), analyzer.bounds(place)
        if not (written.low <= read.low and read.high <= written.high):
            fail("the block reads what its producer does not store", block, producer)


def _guard(producer: tir.BlockOp, block: tir.BlockOp, values: dict[Var, SymExpr]) -> None:
    """Add a predicate to the producer if the block processes only a part of the elements that the producer stores."""
    analyzer = checks.analyzer_with(checks.iter_ranges(producer))
    unproven: list[SymExpr] = []
    for var, (least, extent) in checks.iter_ranges(block).items():
        for condition in (OPS["le"](least, values[var]), OPS["lt"](values[var], least + extent)):
            if not analyzer.can_prove(condition):
                unproven.append(condition)
    if not unproven:
        return
    bindings = checks.iter_values(producer)
    build = Materializer(rw.before(producer))
    rw.require(producer, [build(c.substitute(bindings)) for c in unproven])
