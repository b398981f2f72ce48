"""Padding: a computation over rounded extents, and the decomposition of a padding into a fill and a copy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, OpResult, Region, SSAValue

from ...dialects import tir
from ...dialects.attributes import from_attr
from ...dialects.dtypes import is_float
from ...dialects.names import name_of
from ...dialects.relax.types import dims_attr
from ...dialects.sym import SymAttr
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, SymExpr, Var, floordiv
from ...dialects.sym.operators import OPS
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import Materializer, conjuncts, sym_expr_of
from ...transforms.tir.walk import erase_with_tree, remove_dead
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..loop_builder import Cloner
from ..registry import primitive
from ..state import State, fail
from .caches import replace_buffer


@primitive()
def pad_einsum(state: State, block: tir.BlockOp, padding: Sequence[int]) -> None:
    """Round the domain of each iterator up to a multiple of its factor in `padding`; buffers are padded with zeros.

    for i, k: C[i] += A[i, k]
      ->  A_pad[i, k] = if_then_else(i < n and k < m, A[i, k], 0);  C_pad[i] += A_pad[i, k];  C[i] = C_pad[i]

    Raises `ScheduleError` if `padding` is not one positive integer per iterator, if an index of a buffer is not a
    single iterator, if the block has a predicate, shares its loops or covers only a part of its domain, or, for a
    reduction, if the added terms are not zero for zero operands.
    """
    kinds, count = block.kinds, len(block.iter_vars)
    if len(padding) != count or any(isinstance(p, bool) or not isinstance(p, int) or p < 1 for p in padding):
        fail("padding is a positive integer for each iterator", block, expected=count, found=list(padding))
    store = _einsum(block)
    extents = [_rounded(e, p) for e, p in zip(block.extents, padding, strict=True)]
    grown = {v: new for v, old, new in zip(block.iter_vars, block.extents, extents, strict=True) if new != old}
    if not grown:
        return
    reduced = {v for v, kind in zip(block.iter_vars, kinds, strict=True) if kind is IterKind.REDUCE and v in grown}
    if reduced and not _adds_zero(store, reduced):
        fail("the block does not add terms that are zero where what is read is, as a padded reduction must", block)
    top = _own_nest(block)
    _check_covered(block)
    reads, writes = _accesses(block, grown)
    _grow(block, grown)
    end = rw.after(top)
    for buffer, (old, new) in reads.items():
        padded = _allocate(block, buffer, new)
        _padded_copy(buffer, padded, old, new, rw.before(top))
        replace_buffer(block, buffer, padded)
    for buffer, (old, new) in writes.items():
        padded = _allocate(block, buffer, new)
        replace_buffer(block, buffer, padded)
        _copy(padded, buffer, old, end)
    rw.refresh_regions(block)


def _rounded(extent: SymExpr, factor: int) -> SymExpr:
    if factor == 1:
        return extent
    return floordiv(extent + (factor - 1), Const(factor, extent.dtype)) * factor


def _einsum(block: tir.BlockOp) -> tir.StoreOp:
    """Return the store of a block that may be padded."""
    checks.require_complete_or_reduction(block)
    for condition in rw.conditions(block):
        predicates.refuse(block, condition, "the block has a predicate, and padding is computed, too")
    if any(least.constant != 0 for least in block.mins):
        fail("an iterator of the block does not start at 0", block)
    store = checks.only_store(block, tir.InitOp)
    for op in block.walk():
        if isinstance(op, tir.LoadOp | tir.StoreOp) and any(i not in block.iter_vars for i in op.indices):
            fail("an index of a buffer is no iterator of the block", block)
        if isinstance(op, tir.IfThenElseOp):
            fail("what the block reads depends on a condition", block)
        divides = isinstance(op, tir.DivOp | tir.FloorDivOp | tir.FloorModOp | tir.TruncModOp)
        if divides and not is_float(op.results[0].type):
            fail("the block divides integers, and what is padded may be zero", block)
    return store


def _adds_zero(store: tir.StoreOp, reduced: set[SSAValue]) -> bool:
    """Return whether the store adds a term to the previous value that is zero for padded values of the reduction
    iterators.
    """
    total = store.value.owner
    if not isinstance(total, tir.AddOp):
        return False
    for old, term in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        load = old.owner
        if isinstance(load, tir.LoadOp) and load.buffer is store.buffer and load.indices == store.indices:
            return all(_is_zero(term, v) for v in reduced)
    return False


def _is_zero(value: SSAValue, variable: SSAValue) -> bool:
    """Return whether an expression is zero if all loads at `variable` are."""
    op = value.owner
    if isinstance(op, tir.LoadOp):
        return variable in op.indices
    if isinstance(op, tir.ConstOp):
        return from_attr(op.value) == 0
    if isinstance(op, tir.MulOp):
        return any(_is_zero(o, variable) for o in op.operands)
    if isinstance(op, tir.AddOp | tir.SubOp):
        return all(_is_zero(o, variable) for o in op.operands)
    return isinstance(op, tir.CastOp) and _is_zero(op.value, variable)


def _own_nest(block: tir.BlockOp) -> Operation:
    """Return the outermost loop that contains only the block."""
    nest: list[Operation] = [*st.loops_above(block), block]
    checks.require_nested(nest, "the block shares its loops", block)
    return nest[0]


def _check_covered(block: tir.BlockOp) -> None:
    """Check that the block's loops cover its full domain, so that everything that is copied back is computed."""
    loops = st.loops_above(block)
    ranges, analyzer = checks.loop_ranges(loops), checks.analyzer_of(loops)
    for binding, extent in zip(checks.bindings_of(block), block.extents, strict=True):
        is_full = isinstance(binding, Var) and binding in ranges and ranges[binding][1] == extent
        bounds = analyzer.bounds(binding)
        if not is_full and (bounds.low != 0 or extent.constant is None or bounds.high != extent.constant - 1):
            fail("the loops of the block do not run over all of its domain", block, found=binding)


Shapes = dict[SSAValue, tuple[list[SymExpr], list[SymExpr]]]
"""The used shape of each buffer, before and after padding."""


def _accesses(block: tir.BlockOp, grown: dict[SSAValue, SymExpr]) -> tuple[Shapes, Shapes]:
    """Return the padded buffers: those that are read, and those that are written."""
    extents = dict(zip(block.iter_vars, block.extents, strict=True))
    reads, writes = Shapes(), Shapes()
    for op in block.walk():
        if isinstance(op, tir.LoadOp | tir.StoreOp) and any(i in grown for i in op.indices):
            shapes = writes if op.buffer in st.buffers_written(block) else reads
            dims = [extents[i] for i in op.indices], [grown.get(i, extents[i]) for i in op.indices]
            if shapes.setdefault(op.buffer, dims) != dims:
                fail(f"{name_of(op.buffer)} is read at several places", block)
    order = {b: reads[b] for b in st.buffers_read(block) if b in reads}
    return order, writes


def _grow(block: tir.BlockOp, grown: dict[SSAValue, SymExpr]) -> None:
    """Extend the domains of iterators and the loops that they are bound to."""
    extents = [grown.get(v, e) for v, e in zip(block.iter_vars, block.extents, strict=True)]
    block.properties["dom_extents"] = dims_attr(extents)
    loops = {lp.loop_var: lp for lp in st.loops_above(block)}
    for var, binding, extent in zip(block.iter_vars, block.bindings, extents, strict=True):
        if var in grown and binding in loops:
            _set_extent(loops[binding], extent)


def _set_extent(loop: tir.ForOp, extent: SymExpr) -> None:
    loop.properties["extent_attr"] = SymAttr(extent)


def _allocate(block: tir.BlockOp, like: SSAValue, dims: Sequence[SymExpr]) -> SSAValue:
    """Allocate a buffer `<name>_pad` with other extents, after the existing allocations."""
    old = cast(BufferType, like.type)
    padded = BufferType.of(dims, old.dtype, scope=old.scope.data)
    return rw.allocate(st.scope_of(block), padded, f"{name_of(like) or 'buffer'}_pad")


def _padded_copy(
    source: SSAValue, target: SSAValue, old: Sequence[SymExpr], new: Sequence[SymExpr], insert: rw.Insert
) -> None:
    """Emit `target[i] = if_then_else(i < n, source[i], 0)`."""
    dtype = cast(BufferType, target.type).dtype
    copy = rw.block_in_loops(str(name_of(target)), rw.axes(new, "i"), insert)
    body, iters = copy.body.block, list(copy.iter_vars)
    build = Materializer(body.add_op)
    pairs = zip(iters, old, new, strict=True)
    parts = [build(OPS["lt"](sym_expr_of(v), n)) for v, n, m in pairs if n != m]
    condition = rw.conjunction(parts, body.add_op)
    assert condition is not None
    sides = [tir.body_region(), tir.body_region()]
    sides[0].block.add_ops([load := tir.LoadOp(source, iters), tir.YieldOp(load.result)])
    zero = tir.ConstOp(0.0 if is_float(dtype) else 0, dtype)
    sides[1].block.add_ops([zero, tir.YieldOp(zero.result)])
    body.add_op(value := tir.IfThenElseOp(condition, *sides))
    body.add_op(tir.StoreOp(value.result, target, iters))
    rw.refresh_regions(copy)


def _copy(source: SSAValue, target: SSAValue, dims: Sequence[SymExpr], insert: rw.Insert) -> None:
    """Emit `target[i] = source[i]`."""
    copy = rw.block_in_loops(str(name_of(source)), rw.axes(dims, "i"), insert)
    body, iters = copy.body.block, list(copy.iter_vars)
    body.add_op(load := tir.LoadOp(source, iters))
    body.add_op(tir.StoreOp(load.result, target, iters))
    rw.refresh_regions(copy)


@primitive()
def decompose_padding(state: State, block: tir.BlockOp, loop: tir.ForOp) -> tir.BlockOp:
    """Decompose a padding into a block before `loop` that fills everything with the constant, and a block that copies.

    for i: P[i] = if_then_else(2 <= i and i < n + 2, A[i - 2], 0)
      ->  for i in range(n + 4): P[i] = 0;  for i in range(n): P[i + 2] = A[i]

    Returns the filling block, `<name>_pad_const`. Raises `ScheduleError` if the loop does not enclose the block, if
    the block is not complete, if it is not a single store of a value within bounds of its iterators and of a
    constant elsewhere, or if overlapping iterations of an outer loop may run concurrently.
    """
    inside = checks.loops_from(loop, block)
    checks.require_complete(block)
    predicates.require_unguarded(block, "the constant would be stored elsewhere, too", loop)
    predicates.require_steady(block, rw.conditions(block))
    padding = _padding(block)
    outside = [lp for lp in st.loops_above(block) if lp not in inside]
    if not checks.is_affine(block) and any(lp.kind is not tir.ForKind.SERIAL for lp in outside):
        fail("iterations of a loop outside that is not serial would fill what others have copied", block, *outside)
    _unit_bindings(block, outside)
    filled = _fill(block, padding, inside, rw.before(loop))
    _shrink(block, padding, inside)
    remove_dead(st.function_around(block))
    return filled


@dataclass
class _Padding:
    """A padding block: its store, the value within the bounds, the constant outside, and the bounds."""

    store: tir.StoreOp
    value: SSAValue
    constant: SSAValue
    lows: list[SymExpr]
    highs: list[SymExpr]
    """The upper bounds: for each iterator the first value after those inside."""


def _padding(block: tir.BlockOp) -> _Padding:
    store = checks.only_store(block)
    choice = store.value.owner
    if isinstance(choice, tir.IfThenElseOp):
        value, constant = (_yielded(r) for r in (choice.then_region, choice.else_region))
    elif isinstance(choice, tir.SelectOp):
        value, constant = choice.true_value, choice.false_value
    else:
        fail("the block does not store a value under a condition", block)
    if not isinstance(constant.owner, tir.ConstOp):
        fail("what the block stores outside of the bounds is no constant", block)
    lows, highs = _bounds(block, choice.cond)
    return _Padding(store, value, constant, lows, highs)


def _yielded(region: Region) -> SSAValue:
    last = region.block.last_op
    assert isinstance(last, tir.YieldOp)
    return last.operands[0]


def _bounds(block: tir.BlockOp, condition: SSAValue) -> tuple[list[SymExpr], list[SymExpr]]:
    """Return the range of each iterator in which the condition holds."""
    analyzer = Analyzer()
    variables = {checks.iter_expr(v): k for k, v in enumerate(block.iter_vars)}
    lows, highs = _bound_ranges(block)
    for part in map(sym_expr_of, conjuncts(condition)):
        k, is_low, bound = _bound(part, variables, block)
        if is_low:
            lows[k] = bound if analyzer.can_prove(OPS["le"](lows[k], bound)) else OPS["max"](lows[k], bound)
        else:
            highs[k] = bound if analyzer.can_prove(OPS["le"](bound, highs[k])) else OPS["min"](highs[k], bound)
    return lows, highs


def _bound_ranges(block: tir.BlockOp) -> tuple[list[SymExpr], list[SymExpr]]:
    """Return the range of each iterator: its domain, or less if its binding does not cover the domain."""
    analyzer = checks.analyzer_of(st.loops_above(block))
    lows, highs = list(block.mins), [least + e for least, e in zip(block.mins, block.extents, strict=True)]
    for k, binding in enumerate(checks.bindings_of(block)):
        bounds = analyzer.bounds(binding)
        low, high, dtype = lows[k].constant, highs[k].constant, binding.dtype
        if low is not None and low < bounds.low:
            lows[k] = Const(int(bounds.low), dtype)
        if high is not None and bounds.high + 1 < high:
            highs[k] = Const(int(bounds.high) + 1, dtype)
    return lows, highs


def _bound(part: SymExpr, variables: dict[Var, int], block: tir.BlockOp) -> tuple[int, bool, SymExpr]:
    """Return (iterator, whether it is a lower bound, the bound) of a condition: `low <= v` or `v < high`."""
    slack = checks.slack_of(part)
    if slack is not None:
        for v, sign in itertools.product(variables, (1, -1)):
            other = slack - v * sign
            if v in slack.free_vars() and not any(x.value is not None for x in other.free_vars()):
                return (variables[v], True, other * -1) if sign == 1 else (variables[v], False, other + 1)
    fail("a part of the condition is no bound of an iterator", block, found=part)


def _unit_bindings(block: tir.BlockOp, outside: Sequence[tir.ForOp]) -> None:
    """Substitute the values of outer loops that run once for their variables."""
    units = checks.units(outside)
    if units:
        build = Materializer(rw.before(block))
        bindings = [sym_expr_of(b) for b in block.bindings]
        new = [
            build(e.substitute(units), cast(IntegerType, b.type)) if set(e.free_vars()) & set(units) else b
            for e, b in zip(bindings, block.bindings, strict=True)
        ]
        rw.set_operands(block, new, block.predicate)


def _fill(block: tir.BlockOp, padding: _Padding, inside: Sequence[tir.ForOp], insert: rw.Insert) -> tir.BlockOp:
    """Return the block that stores the constant everywhere, in copies of the loops."""
    place, mapping = rw.copied_loops(inside, insert)
    copy = Cloner(place, mapping)
    rows: list[rw.BlockIter] = [(kind, copy(binding), dom) for kind, binding, dom in rw.iters_of(block)]
    predicate = None if block.predicate is None else copy(block.predicate)
    names = [name_of(v) for v in block.iter_vars]
    filled = rw.empty_block(f"{st.name_of_block(block)}_pad_const", rows, names, predicate)
    own = Cloner(filled.body.block.add_op, dict(zip(block.iter_vars, filled.iter_vars, strict=True)))
    own.store(padding.store, own(padding.constant))
    place(filled)
    rw.refresh_regions(filled)
    return filled


def _shrink(block: tir.BlockOp, padding: _Padding, inside: Sequence[tir.ForOp]) -> None:
    """Restrict the block to the bounds, by shorter loops if possible, otherwise by a predicate."""
    moved: dict[SSAValue, SymExpr] = {}
    bindings: list[SSAValue] = []
    parts: list[SymExpr] = []
    insert = rw.before(block)
    build = Materializer(insert)
    own = _own_loops(block, inside)
    analyzer = checks.analyzer_of([lp for lp in st.loops_above(block) if lp not in own.values()])
    for lp in own.values():
        analyzer.bind(st.loop_expr(lp), 0)
    for var, binding, low, high in zip(block.iter_vars, block.bindings, padding.lows, padding.highs, strict=True):
        moved[var] = sym_expr_of(var) + low
        if binding in own:
            _set_extent(own[binding], high - low)
            bindings.append(binding)
            continue
        e = sym_expr_of(binding)
        bindings.append(build(e - low, cast(IntegerType, binding.type)) if low.constant != 0 else binding)
        parts += [c for c in (_at_least(e, low), _below(e, high)) if not analyzer.can_prove(c)]
    block.properties["dom_mins"] = dims_attr([Const(0, e.dtype) for e in block.mins])
    extents = [high - low for low, high in zip(padding.lows, padding.highs, strict=True)]
    block.properties["dom_extents"] = dims_attr(extents)
    old = [] if block.predicate is None else [block.predicate]
    rw.set_operands(block, bindings, rw.conjunction([*(build(c) for c in parts), *old], insert))
    _move(padding, moved)
    rw.refresh_regions(block)


def _own_loops(block: tir.BlockOp, inside: Sequence[tir.ForOp]) -> dict[SSAValue, tir.ForOp]:
    """Return, by variable, the loops that drive exactly one iterator of the block and nothing else."""
    own: dict[SSAValue, tir.ForOp] = {}
    bindings = list(block.bindings)
    for lp in inside:
        var = lp.loop_var
        used = [b for b in (*bindings, *([block.predicate] if block.predicate else ())) if rw.depends_on(b, [var])]
        plain = st.min_of(lp).constant == 0 and lp.extent_attr is not None
        if plain and used == [var] and st.blocks_below(lp) == [block]:
            own[var] = lp
    return own


def _at_least(e: SymExpr, low: SymExpr) -> SymExpr:
    """Return `low <= e`; for a quotient as a condition on the dividend."""
    if isinstance(e, Op) and e.kind == "floordiv" and e.args[1].constant is not None:
        return _at_least(e.args[0], low * e.args[1].constant)
    return OPS["le"](low, e)


def _below(e: SymExpr, high: SymExpr) -> SymExpr:
    """Return `e < high`; for a quotient as a condition on the dividend."""
    if isinstance(e, Op) and e.kind == "floordiv" and e.args[1].constant is not None:
        return _below(e.args[0], high * e.args[1].constant)
    return OPS["lt"](e, high)


def _move(padding: _Padding, moved: dict[SSAValue, SymExpr]) -> None:
    """Store the value unconditionally, at shifted iterators, and simplify the indices."""
    store = padding.store
    insert = rw.before(store)
    build = Materializer(insert)
    substitution: dict[Var, SymExpr] = {checks.iter_expr(v): e for v, e in moved.items()}

    def index(value: SSAValue) -> SSAValue:
        return build(sym_expr_of(value).substitute(substitution), cast(IntegerType, value.type))

    copy = Cloner(insert, {v: index(v) for v in moved})
    for load in _loads(padding.value):
        insert(new := tir.LoadOp(load.buffer, [index(i) for i in load.indices]))
        copy.replace(load.result, new.result)
    insert(tir.StoreOp(copy(padding.value), store.buffer, [index(i) for i in store.indices]))
    erase_with_tree(store)


def _loads(value: SSAValue) -> list[tir.LoadOp]:
    """Return the loads in an expression whose indices contain no loads."""
    loads: list[tir.LoadOp] = []
    todo = [value]
    while todo:
        one = todo.pop()
        if not isinstance(one, OpResult):
            continue
        if isinstance(one.op, tir.LoadOp) and not any(_reads(i) for i in one.op.indices):
            loads.append(one.op)
        else:
            todo += one.op.operands
    return loads


def _reads(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and (
        isinstance(value.op, tir.LoadOp) or any(_reads(o) for o in value.op.operands)
    )
