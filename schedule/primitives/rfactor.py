"""Reductions in two steps: partial results, which can be computed in parallel, and their combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import from_attr
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import BufferType, IterKind
from ...ir.affine import Materializer, expr_of
from .. import checks
from .. import state as st
from ..registry import primitive
from ..rewrite import (
    Insert,
    Iter,
    before,
    copier,
    copy_statements,
    depends_on,
    empty_block,
    iters_of,
    loop_like,
    nested,
    refresh_regions,
    remove,
)
from ..state import State, fail

_COMBINERS: dict[type[Operation], float | None] = {tir.AddOp: 0, tir.MulOp: 1, tir.MinOp: None, tir.MaxOp: None}
"""Combiners with their neutral element; None where the init is taken as it is."""


@dataclass
class _Reduction:
    """A reduction block: what it stores to, and how a new term is combined with what is there."""

    block: tir.BlockOp
    store: tir.StoreOp
    combiner: type[Operation]
    old: tir.LoadOp
    term: SSAValue
    old_first: bool


@primitive
def rfactor(state: State, loop: tir.ForOp, factor_axis: int) -> tir.BlockOp:
    """Let each iteration of a reduction loop have a result of its own, which are combined afterwards.

    for i, k_0, k_1: C[i] += A[i, k]
      ->  for i, k_0, k_1: C_rf[k_0, i] += A[i, k];  for i, k_0: C[i] += C_rf[k_0, i]

    `factor_axis` is where the new dimension stands, counted from the end where it is negative. Gives the block of the
    partial results, `<name>_rf`. Refused where the loop is not around just one reduction block, drives a spatial
    iterator, or where the block does not combine what it stores by +, *, min or max with its neutral element as init.
    """
    below = st.blocks_below(loop)
    if len(below) != 1:
        fail("the loop is around other than one block", loop, expected=1, found=len(below))
    block = below[0]
    why = checks.why_no_reduction(block)
    if why is not None:
        fail(f"the block is no reduction: {why}", block)
    if block.predicate is not None:
        fail("the block has a predicate", block)
    loops = st.loops_above(block)
    _check_loop(block, loop, loops)
    found = _reduction(block)
    rank = len(found.store.indices) + 1
    axis = factor_axis + rank if factor_axis < 0 else factor_axis
    if not 0 <= axis < rank:
        fail("factor_axis is out of range", loop, expected=f"{-rank} to {rank - 1}", found=factor_axis)
    partial = _allocate(found, loop, axis)
    place = before(loops[0])
    made = _partial(found, loop, loops, partial, axis, place)
    state.replaced[block] = _combined(found, loop, loops, partial, axis, place)
    remove(block)
    return made


def _check_loop(block: tir.BlockOp, loop: tir.ForOp, loops: Sequence[tir.ForOp]) -> None:
    drives = {kind for kind, b in zip(block.kinds, block.bindings, strict=True) if depends_on(b, [loop.loop_var])}
    if drives != {IterKind.REDUCE}:
        fail("the loop does not drive reductions only", loop, block)
    for outer, inner in zip(loops, loops[1:], strict=False):
        if st.children(outer.body.block) != [inner]:
            fail("a loop around the block has more than one statement", outer)
    for lp in loops:
        kinds = {kind for kind, b in zip(block.kinds, block.bindings, strict=True) if depends_on(b, [lp.loop_var])}
        if len(kinds) > 1:
            fail("a loop drives both a reduction and a spatial iterator", lp, block)
    checks.require_affine(block)


def _reduction(block: tir.BlockOp) -> _Reduction:
    """How a block combines. Refused where it is none of the forms that are known."""
    stores = [op for op in block.body.block.ops if isinstance(op, tir.StoreOp)]
    others = [op for op in st.children(block.body.block) if not isinstance(op, tir.RegionOp | tir.InitOp | tir.StoreOp)]
    if len(stores) != 1 or others:
        fail("the block is not one store", block)
    store = stores[0]
    op = store.value.owner
    if not isinstance(op, tuple(_COMBINERS)):
        fail("the block does not combine by +, *, min or max", block)
    for k, operand in enumerate(op.operands):
        old = operand.owner
        if isinstance(old, tir.LoadOp) and old.buffer is store.buffer and _same(old.indices, store.indices):
            found = _Reduction(block, store, type(op), old, op.operands[1 - k], k == 0)
            _check_init(found)
            return found
    fail("the block does not combine with what is stored", block)


def _same(a: Sequence[SSAValue], b: Sequence[SSAValue]) -> bool:
    return [expr_of(x) for x in a] == [expr_of(x) for x in b]


def _check_init(found: _Reduction) -> None:
    init = found.block.init
    assert init is not None
    stores = [op for op in st.children(init.body.block) if isinstance(op, tir.StoreOp)]
    if len(stores) != 1 or len(st.children(init.body.block)) != 1:
        fail("the init is not one store", found.block)
    neutral = _COMBINERS[found.combiner]
    value = stores[0].value.owner
    given = from_attr(value.value) if isinstance(value, tir.ConstOp) else None
    if neutral is not None and given != neutral:
        fail("the init is not the neutral element", found.block, expected=neutral, found=given)


def _allocate(found: _Reduction, loop: tir.ForOp, axis: int) -> SSAValue:
    buffer = found.store.buffer
    old = cast(BufferType, buffer.type)
    dims = list(old.dims)
    dims.insert(axis, st.extent_of(loop))
    op = tir.AllocBufferOp(BufferType.of(dims, old.dtype, scope=old.scope.data))
    set_name(op.results[0], f"{name_of(buffer)}_rf")
    body = st.body_of(st.scope_of(loop))
    first = body.first_op
    assert first is not None
    body.insert_op_before(op, first)
    return op.results[0]


def _copies(loops: Sequence[tir.ForOp]) -> tuple[list[tir.ForOp], dict[SSAValue, SSAValue]]:
    made = [loop_like(lp) for lp in loops]
    return made, {a.loop_var: b.loop_var for a, b in zip(loops, made, strict=True)}


def _partial(
    found: _Reduction, loop: tir.ForOp, loops: Sequence[tir.ForOp], partial: SSAValue, axis: int, place: Insert
) -> tir.BlockOp:
    """The block of the partial results: the loop is an iterator of its own, and spatial."""
    block = found.block
    made, mapping = _copies(loops)
    place(made[0])
    body = nested(made)
    rows: list[tuple[Iter, str | None]] = [(_over(loop, mapping, IterKind.SPATIAL), f"v{name_of(loop.loop_var)}")]
    origin: list[SSAValue | tir.ForOp] = [loop]
    for it, var, binding in zip(iters_of(block), block.iter_vars, block.bindings, strict=True):
        if not depends_on(binding, [loop.loop_var]):
            rows.append(((it[0], copier(body.add_op, mapping)(binding), it[2]), name_of(var)))
            origin.append(var)
            continue
        for other in loops:
            if other is not loop and other not in origin and depends_on(binding, [other.loop_var]):
                rows.append((_over(other, mapping, IterKind.REDUCE), f"v{name_of(other.loop_var)}"))
                origin.append(other)
    out = empty_block(f"{st.name_of_block(block)}_rf", [it for it, _ in rows], [name for _, name in rows])
    iters = dict(zip(origin, out.iter_vars, strict=True))
    inside = out.body.block
    values = _iterators(block, loop, iters, inside.add_op)
    init = block.init
    assert init is not None
    inside.add_op(copied := tir.InitOp(tir.body_region()))
    copy_statements(init.body.block, copied.body.block, values)
    _copy_statement(found.store, inside, values)
    for store in (*copied.body.walk(), *inside.ops):
        if isinstance(store, tir.StoreOp):
            _redirect(store, partial, axis, iters[loop])
    for load in list(inside.walk()):
        if isinstance(load, tir.LoadOp) and load.buffer is found.store.buffer:
            _redirect(load, partial, axis, iters[loop])
    body.add_op(out)
    refresh_regions(out)
    return out


def _copy_statement(op: Operation, target: Block, mapping: dict[SSAValue, SSAValue]) -> None:
    copy = copier(target.add_op, mapping)
    target.add_op(op.clone({v: copy(v) for v in op.operands}))


def _over(loop: tir.ForOp, mapping: dict[SSAValue, SSAValue], kind: IterKind) -> Iter:
    """An iterator that is a loop."""
    return kind, mapping[loop.loop_var], (st.min_of(loop), st.extent_of(loop))


def _iterators(
    block: tir.BlockOp, loop: tir.ForOp, iters: dict[SSAValue | tir.ForOp, SSAValue], insert: Insert
) -> dict[SSAValue, SSAValue]:
    """The old block's iterators in terms of the new one's."""
    build = Materializer(insert)
    loops = [(lp, v) for lp, v in iters.items() if isinstance(lp, tir.ForOp)]
    variables: dict[Var, SymExpr] = {st.loop_expr(lp): Var(v, cast(IntegerType, v.type)) for lp, v in loops}
    found: dict[SSAValue, SSAValue] = {}
    for var, binding in zip(block.iter_vars, block.bindings, strict=True):
        known = iters.get(var)
        if known is None:
            known = build(expr_of(binding).substitute(variables), cast(IntegerType, var.type))
        found[var] = known
    return found


def _redirect(op: tir.StoreOp | tir.LoadOp, partial: SSAValue, axis: int, index: SSAValue) -> None:
    """Let an access of the result go to the partial results."""
    indices = list(op.indices)
    indices.insert(axis, index)
    if isinstance(op, tir.StoreOp):
        new: Operation = tir.StoreOp(op.value, partial, indices)
        before(op)(new)
    else:
        new = tir.LoadOp(partial, indices)
        before(op)(new)
        op.result.replace_all_uses_with(new.results[0])
    op.detach()
    op.erase(safe_erase=False)


def _combined(
    found: _Reduction, loop: tir.ForOp, loops: Sequence[tir.ForOp], partial: SSAValue, axis: int, place: Insert
) -> tir.BlockOp:
    """The block that combines the partial results, under the old name."""
    block = found.block
    spatial = [k for k, kind in enumerate(block.kinds) if kind is IterKind.SPATIAL]
    kept = [lp for lp in loops if lp is loop or any(depends_on(block.bindings[k], [lp.loop_var]) for k in spatial)]
    made, mapping = _copies(kept)
    place(made[0])
    body = nested(made)
    every = iters_of(block)
    copy = copier(body.add_op, mapping)
    rows = [(_over(loop, mapping, IterKind.REDUCE), f"v{name_of(loop.loop_var)}")]
    rows += [((every[k][0], copy(every[k][1]), every[k][2]), name_of(block.iter_vars[k])) for k in spatial]
    out = empty_block(st.name_of_block(block), [it for it, _ in rows], [name for _, name in rows])
    new = {block.iter_vars[k]: out.iter_vars[i + 1] for i, k in enumerate(spatial)}
    inside = out.body.block
    init = block.init
    assert init is not None
    inside.add_op(copied := tir.InitOp(tir.body_region()))
    copy_statements(init.body.block, copied.body.block, new)
    values = copier(inside.add_op, new)
    indices = [values(i) for i in found.store.indices]
    inside.add_op(old := tir.LoadOp(found.store.buffer, indices))
    at = list(indices)
    at.insert(axis, out.iter_vars[0])
    inside.add_op(term := tir.LoadOp(partial, at))
    pair = (old.result, term.result) if found.old_first else (term.result, old.result)
    inside.add_op(step := found.combiner(*pair))  # pyright: ignore[reportCallIssue]
    inside.add_op(tir.StoreOp(step.results[0], found.store.buffer, indices))
    body.add_op(out)
    refresh_regions(out)
    return out
