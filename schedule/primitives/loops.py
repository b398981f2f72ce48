"""Loop transformations: split, fuse, reorder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, floordiv, product
from ...dialects.sym.operators import OPS
from ...ir.affine.values import Materializer
from ...transforms.tir.walk import remove_dead
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..loop_builder import unfused
from ..registry import primitive
from ..state import State, fail


@primitive()
def split(
    state: State,
    loop: tir.ForOp,
    factors: Sequence[int | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[tir.ForOp]:
    """Split a loop into a nest of loops with the extents `factors`; one may be None or -1 to be inferred, rounded up.

    for i in range(n)  ->  for i_0, i_1 in grid(ceildiv(n, 4), 4): i = i_0 * 4 + i_1, where(i < n)

    A predicate is added unless the factors provably divide the extent; `disable_predication` omits it, and the
    caller must guarantee divisibility. Raises `ScheduleError` if the loop has annotations, is bound to threads or
    does not start at 0, if a factor is not positive, if more than one is None, or if their product is less than the
    extent.
    """
    checks.require_plain(loop, "split")
    extent = st.extent_of(loop)
    sizes = _sizes(loop, factors, extent)
    variables = _nest(loop, sizes, [f"{name_of(loop.loop_var) or 'i'}_{k}" for k in range(len(sizes))])
    body = variables[-1].body.block
    total = _total(variables, sizes, body.add_op)
    loop.loop_var.replace_all_uses_with(total)
    rw.splice_nest([loop], body)
    if not disable_predication and not _covers_exactly(sizes, extent):
        _limit_branches(variables, sizes, extent)
        for block in st.blocks_below(variables[-1]):
            limit(block, variables, sizes, extent)
    rw.replace_op(loop, variables[0])
    _simplify_below(variables, preserve_unit_iters)
    return variables


def _total(loops: Sequence[tir.ForOp], sizes: Sequence[SymExpr], insert: rw.Insert) -> SSAValue:
    """Return `(l0 * s1 + l1) * s2 + l2`, in this form."""
    dtype = cast(IntegerType, loops[0].loop_var.type)
    build = Materializer(insert)
    total = loops[0].loop_var
    for inner, size in zip(loops[1:], sizes[1:], strict=True):
        if size.constant != 1:
            insert(scaled := tir.MulOp(total, build(size, dtype)))
            total = scaled.result
        insert(added := tir.AddOp(total, inner.loop_var))
        total = added.result
    return total


def _simplify_below(loops: Sequence[tir.ForOp], keep_units: bool, *, everything: bool = False) -> None:
    """Simplify the bindings that the new loops drive, or `everything` if the replaced variables may be gone."""
    changed = None if everything else {loop.loop_var for loop in loops}
    for block in st.blocks_below(loops[-1]):
        rw.simplify_bindings(block, changed, keep_units)
    remove_dead(loops[0])


def _sizes(loop: tir.ForOp, factors: Sequence[int | None], extent: SymExpr) -> list[SymExpr]:
    """Return the extents of the new loops."""
    factors = [None if f == -1 else f for f in factors]
    numbers = [f for f in factors if f is not None]
    if not factors or len(factors) - len(numbers) > 1:
        fail("at most one factor may be None, and there is at least one", loop, found=list(factors))
    if any(not isinstance(f, int) or f <= 0 for f in numbers):
        fail("factors are positive integers", loop, found=list(factors))
    dtype = extent.dtype
    known = product([Const(f, dtype) for f in numbers], dtype)
    if len(numbers) == len(factors):
        if not Analyzer().can_prove(OPS["le"](extent, known)):
            fail("the product of the factors is less than the extent", loop, expected=f"at least {extent}", found=known)
        return [Const(f, dtype) for f in numbers]
    rest = floordiv(extent + (known - 1), known)
    return [rest if f is None else Const(f, dtype) for f in factors]


def _covers_exactly(sizes: Sequence[SymExpr], extent: SymExpr) -> bool:
    return Analyzer().can_prove_equal(product(sizes, extent.dtype), extent)


def _nest(loop: tir.ForOp, extents: Sequence[SymExpr], names: Sequence[str]) -> list[tir.ForOp]:
    """Return new nested serial loops from 0, with the type of `loop`."""
    dtype = cast(IntegerType, loop.loop_var.type)
    outermost, *inner = loops = [rw.new_loop(n, extent, dtype) for extent, n in zip(extents, names, strict=True)]
    rw.insert_nest(inner, outermost.body.block.add_op)
    return loops


def limit(block: tir.BlockOp, loops: Sequence[tir.ForOp], sizes: Sequence[SymExpr], extent: SymExpr) -> None:
    """Add a predicate to `block` that the combined index of the loops is less than `extent`."""
    rw.require(block, [_is_below(loops, sizes, extent, rw.before(block))])


def _limit_branches(loops: Sequence[tir.ForOp], sizes: Sequence[SymExpr], extent: SymExpr) -> None:
    """Guard conditions of branches around blocks, so that they load nothing if the combined index is not below
    `extent`.
    """
    below = [guard for block in st.blocks_below(loops[-1]) for guard in predicates.guards(block)]
    for branch in dict.fromkeys(op for op in below if isinstance(op, tir.IfOp) and loops[-1].is_ancestor(op)):
        insert = rw.before(branch)
        branch.operands = rw.guarded([_is_below(loops, sizes, extent, insert)], [branch.cond], insert)


def _is_below(loops: Sequence[tir.ForOp], sizes: Sequence[SymExpr], extent: SymExpr, insert: rw.Insert) -> SSAValue:
    index = _total(loops, sizes, insert)
    bound = Materializer(insert)(extent, cast(IntegerType, index.type))
    insert(condition := tir.BINARY["lt"](index, bound))
    return condition.results[0]


@primitive()
def fuse(state: State, loops: list[tir.ForOp], preserve_unit_iters: bool = True) -> tir.ForOp:
    """Fuse perfectly nested loops into one loop.

    for i, j in grid(n, m)  ->  for i_j_fused in range(n * m): i = i_j_fused // m, j = i_j_fused % m

    Raises `ScheduleError` if there are statements between the loops, if a loop has annotations, does not start at 0
    or is bound to threads, or if the extent of an inner loop depends on an outer one.
    """
    if not loops:
        fail("fuse takes at least one loop")
    for loop in loops:
        checks.require_plain(loop, "fused")
    _check_nested(loops)
    for block in st.blocks_below(loops[-1]):
        _check_conditions(block, loops)
    dtype = cast(IntegerType, loops[0].loop_var.type)
    extents = [st.extent_of(loop) for loop in loops]
    name = "_".join(name_of(loop.loop_var) or "i" for loop in loops) + "_fused"
    (fused,) = _nest(loops[0], [product(extents, dtype)], [name])
    body = fused.body.block
    build = Materializer(body.add_op)
    places = unfused(st.loop_expr(fused), extents)
    for loop, extent, place in reversed(list(zip(loops, extents, places, strict=True))):
        loop.loop_var.replace_all_uses_with(build(Const(0, dtype) if extent.constant == 1 else place, dtype))
    rw.splice_nest(loops, body)
    rw.replace_op(loops[0], fused)
    _simplify_below([fused], preserve_unit_iters, everything=any(e.constant == 1 for e in extents))
    return fused


def _check_conditions(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> None:
    """Reject a condition on loops of a reduction that may have no steps, because the init runs for all elements."""
    reducing = predicates.reducing_loops(block)
    unsure = [lp for lp in loops if lp.loop_var in reducing and not Analyzer().can_prove(_is_positive(lp))]
    others = [lp.loop_var for lp in loops if lp not in unsure]
    if block.init is None or not unsure:
        return
    for condition in predicates.own_conditions(block):
        if rw.depends_on(condition, others):
            predicates.refuse(block, condition, "without steps of the reduction that is lost with the loop", *unsure)


def _is_positive(loop: tir.ForOp) -> SymExpr:
    extent = st.extent_of(loop)
    return OPS["le"](Const(1, extent.dtype), extent)


def _check_nested(loops: Sequence[tir.ForOp]) -> None:
    st.require_same_scope(loops)
    for outer, inner in pairwise(loops):
        if st.children(outer.body.block) != [inner]:
            fail("the loops are not directly inside of each other", outer, inner)
    variables = {st.loop_expr(loop) for loop in loops}
    for loop in loops:
        if variables & set(st.extent_of(loop).free_vars()):
            fail("the extent of a loop depends on another of the loops", loop)


@primitive()
def reorder(state: State, loops: list[tir.ForOp]) -> None:
    """Reorder loops of one nest: the listed loops take each other's positions in the listed order.

    for i, j, k  ->  reorder(k, i)  ->  for k, j, i

    Raises `ScheduleError` if the loops are not on one chain, if the extent of a loop would be used before it is
    defined, if a block below has an iterator that is neither spatial nor a reduction, if a reduction would not
    begin with its init because a loop also drives other iterators, or if a loop that repeats a reduction would move
    inside of one that drives it, so that steps would count several times.
    """
    if len(set(loops)) != len(loops):
        fail("a loop is given twice", *loops)
    if len(loops) < 2:
        return
    st.require_same_scope(loops)
    chain = _chain(loops)
    for block in st.blocks_below(chain[-1]):
        check_iterators(block)
    following = iter(loops)
    order = [next(following) if loop in loops else loop for loop in chain]
    _check_extents(order)
    for block in st.blocks_below(chain[-1]):
        _check_init_first(block, chain, order)
        _check_steps(block, chain, order)
    _rebuild(chain, order)


def _chain(loops: Sequence[tir.ForOp]) -> list[tir.ForOp]:
    """Return the loops from the outermost to the innermost one, including those in between.

    Raises `ScheduleError` if they are not on one chain.
    """
    innermost = max(loops, key=lambda loop: len(st.loops_above(loop)))
    above = [*st.loops_above(innermost), innermost]
    if not set(loops) <= set(above):
        fail("the loops are not on one chain", *loops)
    first = min(above.index(loop) for loop in loops)
    chain = above[first:]
    checks.require_nested(chain, "a loop between has more than one statement")
    return chain


def check_iterators(block: tir.BlockOp) -> None:
    """Reject a block whose iterations depend on their order."""
    if any(kind not in (tir.IterKind.SPATIAL, tir.IterKind.REDUCE) for kind in block.kinds):
        fail("a block has an iterator that is neither spatial nor a reduction", block)


def _check_init_first(block: tir.BlockOp, chain: Sequence[tir.ForOp], order: Sequence[tir.ForOp]) -> None:
    """Reject an order in which a reduction step would precede the step with the init.

    This cannot happen if each loop drives either reductions or other iterators only.
    """
    if block.init is None:
        return
    driven: dict[bool, set[SSAValue]] = {True: set(), False: set()}
    for kind, binding in zip(block.kinds, checks.bindings_of(block), strict=True):
        driven[kind is tir.IterKind.REDUCE] |= {v.value for v in binding.free_vars() if v.value is not None}
    before_, after = ([lp for lp in nest if lp.loop_var in driven[True]] for nest in (chain, order))
    mixed = [lp for lp in before_ if lp.loop_var in driven[False]]
    if mixed and before_ != after:
        fail("a loop drives reductions and other iterators: the init would come too late", block, *mixed)


def _check_steps(block: tir.BlockOp, chain: Sequence[tir.ForOp], order: Sequence[tir.ForOp]) -> None:
    """Reject an order in which a loop that repeats a reduction moves inside of one that drives it."""
    steps = checks.steps_of(block)
    outside, inside = (_from_first(nest, steps) for nest in (chain, order))
    if not set(inside) <= set(outside):
        above = st.loops_above(block)
        checks.require_not_repeated(block, [*inside, *above[above.index(chain[-1]) + 1 :]])


def _from_first(loops: Sequence[tir.ForOp], steps: set[Var]) -> Sequence[tir.ForOp]:
    """Return the loops from the first one whose variable is in `steps`."""
    return loops[next((k for k, lp in enumerate(loops) if st.loop_expr(lp) in steps), len(loops)) :]


def _check_extents(order: Sequence[tir.ForOp]) -> None:
    seen: set[SymExpr] = set()
    variables = {st.loop_expr(loop) for loop in order}
    for loop in order:
        needed = {*st.extent_of(loop).free_vars(), *st.min_of(loop).free_vars()} & variables
        if not needed <= seen:
            fail("the bounds of a loop depend on one that would come to stand inside of it", loop)
        seen.add(st.loop_expr(loop))


def _rebuild(chain: Sequence[tir.ForOp], order: Sequence[tir.ForOp]) -> None:
    """Nest the loops of `chain` in another order; expressions between them are moved to their uses."""
    place, top = chain[0].parent, Block()
    assert place is not None
    place.insert_op_before(marker := tir.ConstOp(0, i64), chain[0])
    between: list[Operation] = []
    for outer, inner in pairwise(chain):
        between += [op for op in outer.body.block.ops if op is not inner]
    body = [*between, *chain[-1].body.block.ops]
    for op in (*chain, *body):
        op.detach()
    target: Block = top
    for loop in order:
        for value in (loop.dyn_min, loop.dyn_extent):
            if value is not None:
                _move_tree(value, between, target)
        target.add_op(loop)
        target = loop.body.block
    for op in body:
        if op.parent is None:
            target.add_op(op)
    for op in list(top.ops):
        op.detach()
        place.insert_op_before(op, marker)
    marker.detach()
    marker.erase()


def _move_tree(value: SSAValue, movable: Sequence[Operation], target: Block) -> None:
    """Move the expression of `value` to the end of `target`."""
    op = value.owner
    if isinstance(op, Operation) and op.parent is None and op in movable:
        for operand in op.operands:
            _move_tree(operand, movable, target)
        target.add_op(op)


@primitive()
def add_unit_loop(state: State, block_or_loop: tir.BlockOp | tir.ForOp) -> tir.ForOp:
    """Add a loop with extent 1 directly around a block or a loop.

    block B  ->  for u in range(1): block B

    Its variable is an int32, regardless of the other loops, as in TVM.
    """
    loop = rw.new_loop("u", 1, i32)
    rw.before(block_or_loop)(loop)
    block_or_loop.detach()
    loop.body.block.add_op(block_or_loop)
    return loop


@primitive()
def reorder_block_iter_var(state: State, block: tir.BlockOp, new_order: list[int]) -> None:
    """Reorder a block's iterators; `new_order` lists their positions.

    block B(vi, vj), new_order [1, 0]  ->  block B(vj, vi)

    Raises `ScheduleError` if `new_order` is not a permutation of the iterators.
    """
    count = len(block.iter_vars)
    if sorted(new_order) != list(range(count)):
        fail("new_order names each iterator once", block, expected=list(range(count)), found=list(new_order))
    every, names = rw.iters_of(block), [name_of(v) for v in block.iter_vars]
    reordered = rw.empty_block(st.name_of_block(block), [every[k] for k in new_order], [names[k] for k in new_order])
    for old, new in zip([block.iter_vars[k] for k in new_order], reordered.iter_vars, strict=True):
        old.replace_all_uses_with(new)
    rw.set_predicate(reordered, block.predicate)
    rw.take_body(block, reordered, state)
    rw.replace_op(block, reordered)
