"""Reductions: separation of the init, and partial results that are combined afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.attributes import from_attr
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import Materializer, sym_expr_of
from ...transforms.tir.walk import erase_with_tree
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..loop_builder import Cloner
from ..registry import primitive
from ..state import State, fail


@primitive()
def decompose_reduction(state: State, block: tir.BlockOp, loop: tir.ForOp) -> tir.BlockOp:
    """Move the init of a reduction to a separate block before `loop`.

    for i, k: block C (init: C[i] = 0; C[i] += A[i, k])
      ->  for i: { block C_init (C[i] = 0); for k: block C_update (C[i] += A[i, k]) }

    Returns the block `<name>_init`; the original block is renamed to `<name>_update`. Raises `ScheduleError` if the
    block has no init, if `loop` does not enclose it, if a loop outside of `loop` or of the scope drives a reduction
    (the init would run again), if an iteration of the block may be repeated in `loop` (it would count several
    times), or if a loop drives both spatial and reduction iterators and may be empty.
    """
    init = block.init
    if init is None:
        fail("the block has no init", block)
    predicates.require_unguarded(block, "the init would run elsewhere, too", loop)
    inside, above = checks.loops_from(loop, block), st.loops_above(block)
    wrong = [lp for lp in above if lp not in inside and checks.kinds_driven(block, lp) - {IterKind.SPATIAL}]
    if wrong:
        fail("a loop outside of the given one drives a reduction", block, *wrong)
    checks.require_reduced_in_scope(block)
    _check_once(block, inside)
    checks.require_disjoint_steps(block, inside)
    init_block = _init_nest(block, init, inside, rw.before(loop))
    block.properties["block_name"] = StringAttr(f"{st.name_of_block(block)}_update")
    erase_with_tree(init)
    rw.refresh_regions(block)
    return init_block


def _check_once(block: tir.BlockOp, loops: list[tir.ForOp]) -> None:
    """Reject loops in which two iterations may be the same iteration of the block."""
    why = checks.why_repeated(block, loops)
    if why is not None:
        fail(f"an iteration of the block may come several times in the loop: {why}", block, *loops[:1])


def _init_nest(block: tir.BlockOp, init: tir.InitOp, inside: list[tir.ForOp], insert: rw.Insert) -> tir.BlockOp:
    """Return the init as a block, in copies of the loops that drive spatial iterators."""
    needed = [lp for lp in inside if IterKind.SPATIAL in checks.kinds_driven(block, lp)]
    place, mapping = rw.copied_loops(needed, insert, "_init")
    build = Materializer(place)
    units = [lp for lp in inside if lp not in needed and st.constant_extent(lp) == 1]
    mapping |= {lp.loop_var: build(st.min_of(lp), cast(IntegerType, lp.loop_var.type)) for lp in units}
    copy = Cloner(place, mapping)
    every = list(zip(rw.iters_of(block), block.iter_vars, strict=True))
    kept = [((kind, copy(binding), dom), var) for (kind, binding, dom), var in every if kind is IterKind.SPATIAL]
    own, steps = predicates.own_conditions(block), predicates.reducing_loops(block)
    predicates.require_steady(block, own)
    reducing = [lp.loop_var for lp in inside if lp not in needed and lp not in units]
    moved = {st.loop_expr(lp): sym_expr_of(mapping[lp.loop_var]) for lp in (*needed, *units)}
    once = [lp.loop_var for lp in units]
    of_steps = [c for c in own if rw.depends_on(c, [*reducing, *steps])]
    spatial = [c for c in rw.conditions(block) if c not in of_steps and not rw.depends_on(c, reducing)]
    values = {checks.iter_expr(var): sym_expr_of(binding) for (_, binding, _), var in kept}
    parts = [build(sym_expr_of(c).substitute(moved)) if _is_of(c, once) else copy(c) for c in spatial]
    parts += predicates.first_steps(block, of_steps, values, place)
    names = [name_of(var) for _, var in kept]
    out = rw.empty_block(f"{st.name_of_block(block)}_init", [it for it, _ in kept], names, rw.conjunction(parts, place))
    inner = {old: new for (_, old), new in zip(kept, out.iter_vars, strict=True)}
    rw.copy_statements(init.body.block, out.body.block, inner)
    if block.annotations is not None:
        out.properties["annotations"] = block.annotations
    place(out)
    rw.refresh_regions(out)
    return out


def _is_of(condition: SSAValue, loops: Sequence[SSAValue]) -> bool:
    """Return whether a condition is index arithmetic of one of the loops, so that it simplifies at a constant."""
    return any(v.value in loops for v in sym_expr_of(condition).free_vars())


_COMBINERS: dict[type[Operation], float | None] = {tir.AddOp: 0, tir.MulOp: 1, tir.MinOp: None, tir.MaxOp: None}
"""Combiners with their neutral elements; None if any init is accepted."""


Combine = Callable[[rw.Insert, Sequence[SSAValue], Sequence[SSAValue]], list[SSAValue]]
"""Inserts the combination of the previous values and new terms, one for each buffer."""


Combination = tuple[list[SSAValue], Combine]
"""The new terms, and how they are combined with the previous values."""


@dataclass
class Reduction:
    """A reduction block: its stores, and how new terms are combined with previous values."""

    block: tir.BlockOp
    stores: list[tir.StoreOp]
    terms: list[SSAValue]
    combine: Combine

    @property
    def buffers(self) -> list[SSAValue]:
        return [store.buffer for store in self.stores]


@primitive()
def rfactor(state: State, loop: tir.ForOp, factor_axis: int) -> tir.BlockOp:
    """Factor a reduction loop: each of its iterations computes a partial result, which are combined afterwards.

    for i, k_0, k_1: C[i] += A[i, k]
      ->  for i, k_0, k_1: C_rf[k_0, i] += A[i, k];  for i, k_0: C[i] += C_rf[k_0, i]

    `factor_axis` is the position of the new dimension, counted from the end if negative. Returns the block of the
    partial results, `<name>_rf`. Several buffers are combined at once if their values are bound before they are
    stored: each separately, or by a choice as in argmax, where a different one of equal terms may be chosen. The
    partial results are computed before all loops; the combination stays in the loops that also contain other
    statements. Raises `ScheduleError` if the loop does not contain exactly one reduction block, is not serial or
    drives a spatial iterator, if the block does not combine values by +, *, min or max with the neutral element as
    init, or by such a choice, if a predicate may exclude the init, if the reduction has steps outside of the scope,
    or if inputs of the block are written in the loops around it.
    """
    below = st.blocks_below(loop)
    if len(below) != 1:
        fail("the loop is around other than one block", loop, expected=1, found=len(below))
    block = below[0]
    why = checks.why_no_reduction(block)
    if why is not None:
        fail(f"the block is no reduction: {why}", block)
    checks.require_reduced_in_scope(block)
    predicates.require_unguarded(block, "the branch is not around the partial results")
    loops = st.loops_above(block)
    shared = _shared_loops(block, loops)
    _check_loop(block, loop, loops)
    _check_shared(block, shared)
    _check_predicate(block, loop, loops)
    reduction = reduction_of(block)
    rank = len(reduction.stores[0].indices) + 1
    axis = factor_axis + rank if factor_axis < 0 else factor_axis
    if not 0 <= axis < rank:
        fail("factor_axis is out of range", loop, expected=f"{-rank} to {rank - 1}", found=factor_axis)
    partial = [_allocate(buffer, loop, axis) for buffer in reduction.buffers]
    place = rw.before(loops[0])
    partial_block = _partial(reduction, loop, loops, partial, axis, place)
    inner = loops[len(shared) :]
    state.replaced[block] = _combined(reduction, loop, inner, partial, axis, rw.before(inner[0]))
    rw.remove(block)
    return partial_block


def _check_loop(block: tir.BlockOp, loop: tir.ForOp, loops: Sequence[tir.ForOp]) -> None:
    driven = checks.kinds_driven(block, loop)
    if driven != {IterKind.REDUCE} and (driven or st.constant_extent(loop) != 1):
        fail("the loop does not drive reductions only", loop, block)
    if loop.kind is not tir.ForKind.SERIAL:
        fail("the loop is not serial", loop, block)
    for lp in loops:
        if len(checks.kinds_driven(block, lp)) > 1:
            fail("a loop drives both a reduction and a spatial iterator", lp, block)
    checks.require_affine(block)


def _shared_loops(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> list[tir.ForOp]:
    """Return the outermost loops around the block, up to the innermost one that also contains other statements."""
    nest = [*loops, block]
    alone = [st.children(outer.body.block) == [inner] for outer, inner in pairwise(nest)]
    return list(loops[: len(alone) - alone[::-1].index(False)]) if False in alone else []


def _check_shared(block: tir.BlockOp, shared: Sequence[tir.ForOp]) -> None:
    """Check that the partial results may be computed before the loops that the block shares with other statements."""
    if not shared:
        return
    reducing = [lp for lp in shared if _reduces(block, lp)]
    if reducing:
        fail("a loop that drives the reduction is around more than the block", *reducing, block)
    reads = set(st.buffers_read(block))
    others = [b for b in st.blocks_below(shared[0]) if b is not block and reads & set(st.buffers_written(b))]
    if others:
        fail("what the block reads is written in a loop around it", shared[0], block, *others)


def _check_predicate(block: tir.BlockOp, loop: tir.ForOp, loops: Sequence[tir.ForOp]) -> None:
    """Check that the init of each partial result runs: the predicate holds at the beginning of the other reduction
    loops.
    """
    others = [lp for lp in loops if lp is not loop and _reduces(block, lp)]
    predicates.require_steady(block, rw.conditions(block))
    analyzer = checks.analyzer_of(loops)
    first = {st.loop_expr(lp): st.min_of(lp) for lp in others}
    reducing = [lp.loop_var for lp in (loop, *others)]
    for condition in rw.conditions(block):
        if rw.depends_on(condition, reducing) and not analyzer.can_prove(sym_expr_of(condition).substitute(first)):
            why = "the predicate may keep the init of a partial result from running"
            predicates.refuse(block, condition, why, loop)


def _reduces(block: tir.BlockOp, loop: tir.ForOp) -> bool:
    """Return whether a loop drives a reduction iterator."""
    return IterKind.REDUCE in checks.kinds_driven(block, loop)


def reduction_of(block: tir.BlockOp) -> Reduction:
    """Return how a block combines values. Raises `ScheduleError` if it has no supported form."""
    body = [op for op in st.children(block.body.block) if not isinstance(op, tir.RegionOp | tir.InitOp)]
    lets = [op for op in body if isinstance(op, tir.LetOp)]
    stores = _in_order([op for op in body if isinstance(op, tir.StoreOp)], [let.result for let in lets])
    named = len(stores) == 1 and not lets or [s.value for s in stores] == [let.result for let in lets]
    if not stores or len(stores) + len(lets) != len(body) or not named:
        fail("the block is not one store, or stores of values that are named before", block)
    values = [s.value.owner.value if isinstance(s.value.owner, tir.LetOp) else s.value for s in stores]
    _check_same_place(block, stores)
    combination = _by_elements(stores, values) or _by_choice(stores, values)
    if combination is None:
        fail("the block does not combine what is stored by +, *, min, max or a choice", block)
    _check_init(block, stores, values)
    return Reduction(block, stores, *combination)


def _in_order(stores: list[tir.StoreOp], values: Sequence[SSAValue]) -> list[tir.StoreOp]:
    """Return the stores in the order in which their values are bound."""
    places = {value: k for k, value in enumerate(values)}
    return sorted(stores, key=lambda store: places.get(store.value, len(places)))


def _check_same_place(block: tir.BlockOp, stores: Sequence[tir.StoreOp]) -> None:
    if len({s.buffer for s in stores}) < len(stores) or any(not _same(s.indices, stores[0].indices) for s in stores):
        fail("the stores are not to the same place of different buffers", block)
    if len({cast(BufferType, s.buffer.type).dims for s in stores}) > 1:
        fail("the buffers of the reduction are not of one shape", block)


def _same(a: Sequence[SSAValue], b: Sequence[SSAValue]) -> bool:
    return [sym_expr_of(x) for x in a] == [sym_expr_of(x) for x in b]


def _is_old(value: SSAValue, store: tir.StoreOp) -> bool:
    """Return whether a value is the previously stored one."""
    op = value.owner
    return isinstance(op, tir.LoadOp) and op.buffer is store.buffer and _same(op.indices, store.indices)


def _is_new(value: SSAValue, stores: Sequence[tir.StoreOp]) -> bool:
    """Return whether a value does not depend on previously stored ones."""
    op = value.owner
    if not isinstance(op, Operation):
        return True
    if isinstance(op, tir.LoadOp) and any(op.buffer is s.buffer for s in stores):
        return False
    return all(_is_new(o, stores) for inner in op.walk() for o in inner.operands)


def _by_elements(stores: Sequence[tir.StoreOp], values: Sequence[SSAValue]) -> Combination | None:
    """Return the combination of each buffer separately, by a combiner; None if there is another form."""
    steps: list[tuple[type[Operation], bool]] = []
    new: list[SSAValue] = []
    for store, value in zip(stores, values, strict=True):
        op = value.owner
        if not isinstance(op, tuple(_COMBINERS)):
            return None
        at = next((k for k, o in enumerate(op.operands) if _is_old(o, store)), None)
        if at is None or not _is_new(op.operands[1 - at], stores):
            return None
        steps.append((type(op), at == 0))
        new.append(op.operands[1 - at])

    def combine(insert: rw.Insert, olds: Sequence[SSAValue], terms: Sequence[SSAValue]) -> list[SSAValue]:
        combined: list[SSAValue] = []
        for (cls, old_first), old, term in zip(steps, olds, terms, strict=True):
            insert(step := cls(*((old, term) if old_first else (term, old))))  # pyright: ignore[reportCallIssue]
            combined.append(step.results[0])
        return combined

    return new, combine


_ORDERS = tuple(tir.BINARY[kind] for kind in ("lt", "le", "gt", "ge"))


def _by_choice(stores: Sequence[tir.StoreOp], values: Sequence[SSAValue]) -> Combination | None:
    """Return the combination by a choice: all buffers keep their values or all take the terms, as in argmax and
    argmin.
    """
    choices = [v.owner for v in values if isinstance(v.owner, tir.SelectOp)]
    if len(choices) < len(values):
        return None
    terms = [c.false_value for c in choices]
    kept = all(
        _is_old(c.true_value, s) and _is_new(c.false_value, stores) for c, s in zip(choices, stores, strict=True)
    )
    conditions = [c.cond for c in choices]
    if not kept or not _is_one_choice(conditions, stores) or not _compares(conditions[0], stores, terms):
        return None

    def combine(insert: rw.Insert, olds: Sequence[SSAValue], parts: Sequence[SSAValue]) -> list[SSAValue]:
        def rebuilt(value: SSAValue) -> SSAValue:
            for store, old, term, part in zip(stores, olds, terms, parts, strict=True):
                if _is_old(value, store) or rw.same_tree(value, term):
                    return old if _is_old(value, store) else part
            op = cast(Operation, value.owner)
            insert(new := op.clone({o: rebuilt(o) for o in op.operands}))
            return new.results[0]

        combined: list[SSAValue] = []
        for condition, old, part in zip(conditions, olds, parts, strict=True):
            insert(choice := tir.SelectOp(rebuilt(condition), old, part))
            combined.append(choice.result)
        return combined

    return terms, combine


def _is_one_choice(conditions: Sequence[SSAValue], stores: Sequence[tir.StoreOp]) -> bool:
    """Return whether all conditions are equivalent: identical, or different only where the stored values are equal.

    `a < b or a == b and c < d` for one buffer, `a < b` for the one that `a` is loaded from.
    """
    widest = max(conditions, key=lambda c: isinstance(c.owner, tir.OrOp))
    first = widest.owner.lhs if isinstance(widest.owner, tir.OrOp) else None
    for condition, store in zip(conditions, stores, strict=True):
        if rw.same_tree(condition, widest):
            continue
        order = condition.owner
        if first is None or not rw.same_tree(condition, first) or not isinstance(order, _ORDERS):
            return False
        if not _is_old(order.operands[0], store):
            return False
    return _is_order(widest)


def _is_order(condition: SSAValue) -> bool:
    """Return whether a condition has the form `a < b`, or `a < b or a == b and c < d`."""
    op = condition.owner
    if not isinstance(op, tir.OrOp):
        return isinstance(op, _ORDERS)
    rest = op.rhs.owner
    return (
        isinstance(op.lhs.owner, _ORDERS)
        and isinstance(rest, tir.AndOp)
        and isinstance(rest.lhs.owner, tir.BINARY["eq"])
        and isinstance(rest.rhs.owner, _ORDERS)
    )


def _compares(condition: SSAValue, stores: Sequence[tir.StoreOp], terms: Sequence[SSAValue]) -> bool:
    """Return whether each comparison is between a stored value and its term."""
    op = cast(Operation, condition.owner)
    if isinstance(op, tir.OrOp | tir.AndOp):
        return all(_compares(o, stores, terms) for o in op.operands)
    a, b = op.operands
    return any(_is_old(a, s) and rw.same_tree(b, t) for s, t in zip(stores, terms, strict=True))


def _check_init(block: tir.BlockOp, stores: Sequence[tir.StoreOp], values: Sequence[SSAValue]) -> None:
    init = block.init
    assert init is not None
    body = st.children(init.body.block)
    begun = {op.buffer: op for op in body if isinstance(op, tir.StoreOp)}
    if len(body) != len(stores) or set(begun) != {s.buffer for s in stores}:
        fail("the init is not one store for each buffer", block)
    if not all(_same(begun[s.buffer].indices, s.indices) for s in stores):
        fail("the init does not store where the block does", block)
    for store, value in zip(stores, values, strict=True):
        neutral = _COMBINERS.get(type(cast(Operation, value.owner)))
        first = begun[store.buffer].value.owner
        number = from_attr(first.value) if isinstance(first, tir.ConstOp) else None
        if neutral is not None and number != neutral:
            fail("the init is not the neutral element", block, expected=neutral, found=number)


def _allocate(buffer: SSAValue, loop: tir.ForOp, axis: int) -> SSAValue:
    old = cast(BufferType, buffer.type)
    dims = list(old.dims)
    dims.insert(axis, st.extent_of(loop))
    partial = BufferType.of(dims, old.dtype, scope=old.scope.data)
    return rw.allocate(st.scope_of(loop), partial, f"{name_of(buffer)}_rf")


def _partial(
    reduction: Reduction,
    loop: tir.ForOp,
    loops: Sequence[tir.ForOp],
    partial: Sequence[SSAValue],
    axis: int,
    place: rw.Insert,
) -> tir.BlockOp:
    """Return the block of the partial results, in which the factored loop is a spatial iterator."""
    block = reduction.block
    insert, mapping = rw.copied_loops(loops, place)
    rows: list[tuple[rw.BlockIter, str | None]] = [
        (_over(loop, mapping, IterKind.SPATIAL), f"v{name_of(loop.loop_var)}")
    ]
    origin: list[SSAValue | tir.ForOp] = [loop]
    for it, var, binding in zip(rw.iters_of(block), block.iter_vars, block.bindings, strict=True):
        if not rw.depends_on(binding, [loop.loop_var]):
            rows.append(((it[0], Cloner(insert, mapping)(binding), it[2]), name_of(var)))
            origin.append(var)
            continue
        for other in loops:
            if other is not loop and other not in origin and rw.depends_on(binding, [other.loop_var]):
                rows.append((_over(other, mapping, IterKind.REDUCE), f"v{name_of(other.loop_var)}"))
                origin.append(other)
    predicate = None if block.predicate is None else Cloner(insert, mapping)(block.predicate)
    out = rw.empty_block(f"{st.name_of_block(block)}_rf", [it for it, _ in rows], [name for _, name in rows], predicate)
    iters = dict(zip(origin, out.iter_vars, strict=True))
    inside = out.body.block
    values = _iterators(block, loop, iters, inside.add_op)
    if IterKind.REDUCE in out.kinds:
        _copy_init(reduction, inside, values)
        _copy_stores(reduction.stores, [store.value for store in reduction.stores], inside, values)
    else:
        _copy_stores(reduction.stores, reduction.terms, inside, values)
    targets = dict(zip(reduction.buffers, partial, strict=True))
    for op in list(out.walk()):
        if isinstance(op, tir.StoreOp | tir.LoadOp) and op.buffer in targets:
            _redirect(op, targets[op.buffer], axis, iters[loop])
    insert(out)
    _annotate_like(out, block)
    rw.refresh_regions(out)
    _order_reads(out, [region.buffer for region in block.reads])
    return out


def _annotate_like(new: tir.BlockOp, old: tir.BlockOp) -> None:
    """Copy the annotations of the reduction to both of its parts."""
    if old.annotations is not None:
        new.properties["annotations"] = old.annotations


def _copy_init(reduction: Reduction, target: Block, mapping: dict[SSAValue, SSAValue]) -> None:
    """Append a copy of the init, with its stores in the order of the reduction's."""
    target.add_op(copied := tir.InitOp(tir.body_region()))
    first = {
        op.buffer: op
        for op in st.children(cast(tir.InitOp, reduction.block.init).body.block)
        if isinstance(op, tir.StoreOp)
    }
    inside = copied.body.block
    copy = Cloner(inside.add_op, mapping)
    for buffer in reduction.buffers:
        inside.add_op(tir.StoreOp(copy(first[buffer].value), buffer, [copy(i) for i in first[buffer].indices]))


def _copy_stores(
    stores: Sequence[tir.StoreOp], values: Sequence[SSAValue], target: Block, mapping: dict[SSAValue, SSAValue]
) -> None:
    """Append copies of stores of `values` to `target`, after all stored values are computed."""
    copy = Cloner(target.add_op, mapping)
    if len(values) == 1 and isinstance(values[0].owner, tir.LetOp):
        values = [values[0].owner.value]
    for store, value in zip(stores, [copy(v) for v in values], strict=True):
        if isinstance(value.owner, tir.LetOp):
            set_name(value, f"v_{name_of(store.buffer)}_rf")
        target.add_op(tir.StoreOp(value, store.buffer, [copy(i) for i in store.indices]))


def _over(loop: tir.ForOp, mapping: dict[SSAValue, SSAValue], kind: IterKind) -> rw.BlockIter:
    """Return an iterator that is bound to a loop."""
    return kind, mapping[loop.loop_var], (st.min_of(loop), st.extent_of(loop))


def _iterators(
    block: tir.BlockOp, loop: tir.ForOp, iters: dict[SSAValue | tir.ForOp, SSAValue], insert: rw.Insert
) -> dict[SSAValue, SSAValue]:
    """Return the old block's iterators in terms of the new one's."""
    build = Materializer(insert)
    loops = [(lp, v) for lp, v in iters.items() if isinstance(lp, tir.ForOp)]
    variables: dict[Var, SymExpr] = {st.loop_expr(lp): Var(v, cast(IntegerType, v.type)) for lp, v in loops}
    values: dict[SSAValue, SSAValue] = {}
    for var, binding in zip(block.iter_vars, block.bindings, strict=True):
        known = iters.get(var)
        if known is None:
            known = build(sym_expr_of(binding).substitute(variables), cast(IntegerType, var.type))
        values[var] = known
    return values


def _redirect(op: tir.StoreOp | tir.LoadOp, partial: SSAValue, axis: int, index: SSAValue) -> None:
    """Redirect an access of the result to the partial results."""
    indices = list(op.indices)
    indices.insert(axis, index)
    if isinstance(op, tir.StoreOp):
        new: Operation = tir.StoreOp(op.value, partial, indices)
        rw.before(op)(new)
    else:
        new = tir.LoadOp(partial, indices)
        rw.before(op)(new)
        op.result.replace_all_uses_with(new.results[0])
    op.detach()
    op.erase(safe_erase=False)


def _combined(
    reduction: Reduction,
    loop: tir.ForOp,
    loops: Sequence[tir.ForOp],
    partial: Sequence[SSAValue],
    axis: int,
    place: rw.Insert,
) -> tir.BlockOp:
    """Return the block that combines the partial results, under the original name."""
    block = reduction.block
    spatial = [k for k, kind in enumerate(block.kinds) if kind is IterKind.SPATIAL]
    kept = [lp for lp in loops if lp is loop or _repeats(block, lp, spatial)]
    insert, mapping = rw.copied_loops(kept, place)
    every = rw.iters_of(block)
    build = Materializer(insert)
    idle = [lp for lp in loops if lp not in kept and not _reduces(block, lp)]
    first = {lp.loop_var: build(st.min_of(lp), cast(IntegerType, lp.loop_var.type)) for lp in idle}
    copy = Cloner(insert, {**mapping, **first})
    rows = [(_over(loop, mapping, IterKind.REDUCE), f"v{name_of(loop.loop_var)}")]
    rows += [((every[k][0], copy(every[k][1]), every[k][2]), name_of(block.iter_vars[k])) for k in spatial]
    others = [lp.loop_var for lp in loops if _reduces(block, lp)]
    predicate = rw.conjunction([copy(c) for c in rw.conditions(block) if not rw.depends_on(c, others)], insert)
    out = rw.empty_block(st.name_of_block(block), [it for it, _ in rows], [name for _, name in rows], predicate)
    new = {block.iter_vars[k]: out.iter_vars[i + 1] for i, k in enumerate(spatial)}
    inside = out.body.block
    _copy_init(reduction, inside, new)
    values = Cloner(inside.add_op, new)
    indices = [values(i) for i in reduction.stores[0].indices]
    at = list(indices)
    at.insert(axis, out.iter_vars[0])
    olds = [_load(inside, buffer, indices) for buffer in reduction.buffers]
    terms = [_load(inside, buffer, at) for buffer in partial]
    results = reduction.combine(inside.add_op, olds, terms)
    if len(results) > 1:
        results = [_named(inside, v, f"v_{name_of(b)}") for v, b in zip(results, reduction.buffers, strict=True)]
    for value, buffer in zip(results, reduction.buffers, strict=True):
        inside.add_op(tir.StoreOp(value, buffer, indices))
    insert(out)
    _annotate_like(out, block)
    rw.refresh_regions(out)
    _order_reads(out, partial)
    return out


def _repeats(block: tir.BlockOp, loop: tir.ForOp, spatial: Sequence[int]) -> bool:
    """Return whether a loop also encloses the combination: it drives a spatial iterator, or runs once and drives
    none.
    """
    drives = any(rw.depends_on(block.bindings[k], [loop.loop_var]) for k in spatial)
    return drives or (st.constant_extent(loop) == 1 and not _reduces(block, loop))


def _load(block: Block, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    block.add_op(op := tir.LoadOp(buffer, indices))
    return op.result


def _named(block: Block, value: SSAValue, name: str) -> SSAValue:
    block.add_op(op := tir.LetOp(value))
    set_name(op.result, name)
    return op.result


def _order_reads(block: tir.BlockOp, buffers: Sequence[SSAValue]) -> None:
    """Sort the read regions in the order of the buffers."""
    regions = {op.buffer: op for op in block.reads}
    place = rw.before(block.writes[0])
    for buffer in buffers:
        if buffer in regions:
            regions[buffer].detach()
            place(regions[buffer])
