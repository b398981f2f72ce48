"""Preconditions of primitives on blocks.

A *complete* block is the only writer of its buffers, reads none of them, and has only spatial iterators: its
iterations may run in any order, or repeatedly. A *reduction* block also has an init and reduction iterators, which
do not index its writes. (Feng et al., TensorIR, 2023, section 3.2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects import tir
from ..dialects.names import name_of
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import Const, Op, SymExpr, Var
from ..dialects.sym.operators import OPS
from ..dialects.tir import IterKind
from ..ir.affine.iter_map import IterMapLevel, IterMark, IterSplit, IterSum, NotAffineError, Ranges, detect_iter_map
from ..ir.affine.values import sym_expr_of
from ..ir.buffers.regions import Ends
from . import state as st
from .state import fail


def loop_ranges(loops: Sequence[tir.ForOp]) -> Ranges:
    """Return the variables of loops with their ranges."""
    return {st.loop_expr(lp): (st.min_of(lp), st.extent_of(lp)) for lp in loops}


def analyzer_of(loops: Sequence[tir.ForOp]) -> Analyzer:
    """Return an analyzer that knows the ranges of loop variables."""
    return analyzer_with(loop_ranges(loops))


def analyzer_with(ranges: Ranges, analyzer: Analyzer | None = None) -> Analyzer:
    """Return an analyzer that knows variables in these ranges, outer ones first, in addition to the facts of
    `analyzer`.
    """
    out = analyzer or Analyzer()
    for var, (least, extent) in ranges.items():
        out.bind(var, out.bounds(least).low, out.bounds(least + extent - 1).high)
    return out


def units(loops: Iterable[tir.ForOp]) -> dict[Var, SymExpr]:
    """Return the variables of the loops that run once, with their only values."""
    return {st.loop_expr(lp): st.min_of(lp) for lp in loops if st.constant_extent(lp) == 1}


def require_plain(loop: tir.ForOp, what: str, *, from_zero: bool = True) -> None:
    """Reject a loop that has annotations, is bound to threads or does not start at 0: it cannot be `what`."""
    if loop.annotations is not None and loop.annotations.data:
        fail(f"a loop with annotations cannot be {what}", loop, hint="unannotate it first")
    if loop.kind is tir.ForKind.THREAD_BINDING:
        fail(f"a loop that is bound to threads cannot be {what}", loop)
    if from_zero and st.min_of(loop).constant != 0:
        fail(f"only a loop from 0 can be {what}", loop, found=st.min_of(loop))


def require_nested(ops: Sequence[Operation], rule: str, *places: Operation) -> None:
    """Reject loops that are not perfectly nested, down to the last operation; `rule` is the error message.

    The error is reported at `places` and at the loop.
    """
    for outer, inner in pairwise(ops):
        if st.children(outer.regions[0].block) != [inner]:
            fail(rule, *places, outer)


def require_from_zero(block: tir.BlockOp, iters: Iterable[SSAValue]) -> None:
    """Reject iterators of a block whose domain does not start at 0."""
    if any(st.domains_of(block)[var][0].constant != 0 for var in iters):
        fail("an iterator of the block does not begin at 0", block)


def loops_from(loop: tir.ForOp, block: tir.BlockOp) -> list[tir.ForOp]:
    """Return the loops around a block from `loop` inwards. Raises `ScheduleError` if `loop` is not around the block."""
    above = st.loops_above(block)
    if loop not in above:
        fail("the loop is not around the block", loop, block)
    return above[above.index(loop) :]


def kinds_driven(block: tir.BlockOp, loop: tir.ForOp) -> set[IterKind]:
    """Return the kinds of the iterators whose bindings depend on a loop."""
    variable = st.loop_expr(loop)
    return {kind for kind, e in zip(block.kinds, bindings_of(block), strict=True) if variable in e.free_vars()}


def only_store(block: tir.BlockOp, *besides: type[Operation]) -> tir.StoreOp:
    """Return the only store of a block, besides its regions and operations of the types `besides`.

    Raises `ScheduleError` if the block contains anything else.
    """
    body = [op for op in st.children(block.body.block) if not isinstance(op, (tir.RegionOp, *besides))]
    if len(body) != 1 or not isinstance(body[0], tir.StoreOp):
        fail("the block is not one store", block)
    return body[0]


def within(index: SymExpr, extent: SymExpr) -> tuple[SymExpr, SymExpr]:
    """Return the conditions that an index is within the bounds of its dimension."""
    return OPS["le"](Const(0, index.dtype), index), OPS["lt"](index, extent)


def holds(
    condition: SymExpr,
    loops: Sequence[tir.ForOp],
    analyzer: Analyzer | None = None,
    around: Ranges | None = None,
) -> bool:
    """Return whether a condition provably holds in `loops`, outermost first; `around` are variables outside of them."""
    known = analyzer or analyzer_of(loops)
    if known.can_prove(condition):
        return True
    slack = slack_of(known.as_product(condition) or condition)
    if slack is None:
        return False
    ends = {st.loop_expr(lp): (st.min_of(lp), st.min_of(lp) + st.extent_of(lp) - 1) for lp in reversed(loops)}
    ends |= {v: (least, least + extent - 1) for v, (least, extent) in reversed(list((around or {}).items()))}
    return known.can_prove(OPS["le"](Const(0, slack.dtype), least_of(slack, ends)))


def slack_of(condition: SymExpr) -> SymExpr | None:
    """Return an expression that is non-negative iff an integer comparison holds: `b - a - 1` for `a < b`; None
    otherwise.
    """
    if not isinstance(condition, Op) or condition.kind not in _SMALLER:
        return None
    small, large = condition.args if condition.kind in ("lt", "le") else condition.args[::-1]
    return large - small - _SMALLER[condition.kind]


_SMALLER = {"lt": 1, "gt": 1, "le": 0, "ge": 0}
"""The minimal difference between the larger and the smaller side of a comparison."""


def step_of(e: SymExpr, var: Var) -> int | None:
    """Return the coefficient of a variable in an expression, or None if it is not a single number."""
    return (e.substitute({var: var + 1}) - e).constant


def least_of(e: SymExpr, ends: Mapping[Var, tuple[SymExpr, SymExpr]]) -> SymExpr:
    """Return a lower bound of `e`, with each linear variable replaced by the end of its range (first, last) that
    minimizes `e`.
    """
    for var, (first, last) in ends.items():
        step = step_of(e, var)
        if step:
            e = e.substitute({var: first if step > 0 else last})
    return e


def are_disjoint(
    first: Sequence[SymExpr | None], second: Sequence[SymExpr | None], nests: Sequence[Sequence[tir.ForOp]]
) -> bool:
    """Return whether different iterations of two similar loop nests access different elements at these indices.

    This holds if the indices that both nests have in common determine the iteration.
    """
    mapping = {st.loop_expr(mine): st.loop_expr(other) for mine, other in zip(*nests, strict=True)}
    shared = [
        other
        for mine, other in zip(first, second, strict=True)
        if mine is not None and other is not None and (mine.substitute(mapping) - other).constant == 0
    ]
    if set(mapping.values()) <= set(shared):
        return True
    try:
        detect_iter_map(shared, loop_ranges(nests[1]), level=IterMapLevel.BIJECTIVE)
    except NotAffineError:
        return False
    return True


def is_of_loops(interval: Ends) -> bool:
    """Return whether an interval depends only on loops and iterators, and not on values that are loaded in a block."""
    values = (v.value for e in interval for v in e.free_vars())
    return all(v is None or isinstance(v, BlockArgument) for v in values)


def iter_ranges(block: tir.BlockOp) -> Ranges:
    """Return the iterators of a block with their domains."""
    return {iter_expr(v): domain for v, domain in st.domains_of(block).items()}


def iter_expr(value: SSAValue) -> Var:
    """Return an iterator as an expression."""
    var = sym_expr_of(value)
    assert isinstance(var, Var)
    return var


def bindings_of(block: tir.BlockOp) -> list[SymExpr]:
    """Return the bindings of a block's iterators as expressions."""
    memo: dict[SSAValue, SymExpr] = {}
    return [sym_expr_of(b, memo) for b in block.bindings]


def iter_values(block: tir.BlockOp) -> dict[Var, SymExpr]:
    """Return the iterators of a block with their bindings, in terms of the enclosing loops."""
    return dict(zip(map(iter_expr, block.iter_vars), bindings_of(block), strict=True))


def predicate_of(block: tir.BlockOp) -> list[SymExpr]:
    """Return the predicate of a block as a list with one expression, or an empty list if there is none."""
    return [] if block.predicate is None else [sym_expr_of(block.predicate)]


def is_affine(block: tir.BlockOp, loops: Sequence[tir.ForOp] | None = None) -> bool:
    """Return whether the bindings of a block are a quasi-affine map of the enclosing loops."""
    around = st.loops_above(block) if loops is None else loops
    try:
        detect_iter_map(bindings_of(block), loop_ranges(around), predicate_of(block), IterMapLevel.SURJECTIVE)
    except NotAffineError:
        return False
    return True


def why_repeated(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> str | None:
    """Return why two iterations of `loops` may be the same iteration of the block, or None if they cannot.

    The loops enclose the block.
    """
    inside = [lp for lp in loops if st.constant_extent(lp) != 1]
    every = [lp for lp in st.loops_above(block) if st.constant_extent(lp) != 1]
    why = _why_not_injective(block, inside)
    # If no iteration is repeated in all of the loops, none is repeated in some of them.
    return why if why is None or _why_not_injective(block, every) is not None else None


def _why_not_injective(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> str | None:
    bindings, ranges = bindings_of(block), loop_ranges(loops)
    try:
        detect_iter_map(bindings, ranges, predicate_of(block), IterMapLevel.BIJECTIVE)
    except NotAffineError as error:
        return None if _is_injective(bindings, ranges) else error.message
    return None


def require_not_repeated(block: tir.BlockOp, loops: Sequence[tir.ForOp]) -> None:
    """Reject a reduction whose steps may be repeated in `loops` around it: a repeated step would count twice."""
    why = why_repeated(block, loops) if IterKind.REDUCE in block.kinds else None
    if why is not None:
        fail(f"a step of the reduction may come several times: {why}", block, *loops[:1])


def steps_of(block: tir.BlockOp) -> set[Var]:
    """Return the variables that drive reductions of a block."""
    pairs = zip(block.kinds, bindings_of(block), strict=True)
    return {v for kind, e in pairs if kind is IterKind.REDUCE for v in e.free_vars()}


def require_reduced_in_scope(block: tir.BlockOp) -> None:
    """Reject a reduction that continues across runs of its scope, because the buffer then holds partial results."""
    outside = outside_of_scope(block, steps_of(block)) if block.init is not None else []
    if outside:
        names = ", ".join(sorted(str(name_of(value)) for value in outside))
        fail(f"the reduction goes on around its scope: its steps depend on {names} outside of it", block)


def require_some_steps(producers: Iterable[tir.BlockOp], loop: tir.ForOp) -> None:
    """Reject a location in loops over the reduction of a producer that may have no steps: the block would not run
    there.
    """
    around = {st.loop_expr(lp) for lp in [*st.loops_above(loop), loop]}
    for producer in producers:
        rows = zip(producer.kinds, bindings_of(producer), producer.extents, strict=True)
        for kind, binding, extent in rows:
            reduces = kind is IterKind.REDUCE and not around.isdisjoint(binding.free_vars())
            if reduces and _may_be_nothing(extent):
                fail("the loop may have no iteration: a producer reduces nothing then", loop, producer, found=extent)


def require_disjoint_steps(block: tir.BlockOp, loops: Iterable[tir.ForOp]) -> None:
    """Reject a loop that drives both spatial and reduction iterators if there may be no steps: it would skip the
    points, too.
    """
    mixed = [lp for lp in loops if {IterKind.SPATIAL, IterKind.REDUCE} <= kinds_driven(block, lp)]
    steps = [e for e, kind in zip(block.extents, block.kinds, strict=True) if kind is IterKind.REDUCE]
    if mixed and any(map(_may_be_nothing, steps)):
        fail("a loop over points and over what is reduced may have no iteration", block, *mixed)


def _may_be_nothing(extent: SymExpr) -> bool:
    return not Analyzer().can_prove(OPS["le"](Const(1, extent.dtype), extent))


def outside_of_scope(block: tir.BlockOp, variables: Iterable[Var]) -> list[SSAValue]:
    """Return the variables that belong to loops and blocks around the scope of a block, unless these run only once."""
    inside = {lp.loop_var for lp in st.loops_above(block)}
    return [v.value for v in variables if v.value is not None and v.value not in inside and _varies(v)]


def _varies(var: Var) -> bool:
    """Return whether a variable belongs to a loop or block that may run more than once."""
    owner = var.value.owner.parent_op() if isinstance(var.value, BlockArgument) else None
    if isinstance(owner, tir.ForOp):
        return st.constant_extent(owner) != 1
    return isinstance(owner, tir.BlockOp) and iter_ranges(owner)[var][1].constant != 1


def _is_injective(indices: Sequence[SymExpr], ranges: Ranges) -> bool:
    """Return whether the indices, which may leave gaps, determine the iterators: `i * 4 + j` with j below 4."""
    try:
        iter_map = detect_iter_map(indices, ranges, level=IterMapLevel.NO_CHECK)
    except NotAffineError:
        return False
    digits: dict[IterMark, list[IterSplit]] = {}
    for total in iter_map.indices:
        for split in total.splits if _determines_splits(total) else ():
            digits.setdefault(split.mark, []).append(split)
    determined: set[Var] = set()
    todo = list(digits)
    while todo:
        mark = todo.pop()
        if not _determine_mark(mark, digits[mark]):
            continue
        if isinstance(mark.source, Var):
            determined.add(mark.source)
            continue
        for split in mark.source.splits:
            digits.setdefault(split.mark, []).append(split)
            todo.append(split.mark)
    return all(v in determined for v, (_, extent) in ranges.items() if extent.constant != 1)


def _determines_splits(total: IterSum) -> bool:
    """Return whether the value of a sum determines each split: each scale exceeds the maximal sum of all smaller
    ones.
    """
    reached = 0
    pairs = [(s.scale.constant, s.extent.constant) for s in total.splits]
    for scale, extent in sorted((abs(a), b) for a, b in pairs if a is not None and b is not None):
        if scale <= reached:
            return False
        reached += scale * (extent - 1)
    return len(pairs) == 1 or all(a is not None and b is not None for a, b in pairs)


def _determine_mark(mark: IterMark, digits: Sequence[IterSplit]) -> bool:
    """Return whether digits of an iterator determine its value, because they have no gaps between them."""
    end, extent = 1, mark.extent.constant
    for lower, size in sorted((s.lower.constant or 0, s.extent.constant or 0) for s in digits):
        if 0 < lower <= end:
            end = max(end, lower * size)
    return extent is not None and end >= extent


def require_full_domains(block: tir.BlockOp) -> None:
    """Reject a block whose loops provably cover only a part of its domains: a step over the full domains would do
    more.
    """
    loops = st.loops_above(block)
    ranges, known = loop_ranges(loops), analyzer_of(loops)
    for binding, least, extent in zip(bindings_of(block), block.mins, block.extents, strict=True):
        bounds, last = known.bounds(binding), least + extent - 1
        low, high = least.constant, last.constant
        covers = low is not None and high is not None and bounds.low <= low and high <= bounds.high
        part = low is not None and high is not None and (bounds.low > low or bounds.high < high)
        if isinstance(binding, Var) and binding in ranges and not covers:
            part = not Analyzer().can_prove_equal(ranges[binding][1], extent)
        if part:
            fail("the loops of the block do not run over all of its domain", block, expected=extent, found=binding)


def require_affine(block: tir.BlockOp) -> None:
    """Reject a block whose bindings are not a quasi-affine map of its loops."""
    if is_affine(block):
        return
    why = "the bindings of the block are no quasi-affine map of its loops"
    if block.predicate is not None:
        from ..script.printer.fragment import print_expression

        why = f"the block runs only where {print_expression(block.predicate)}: {why}"
    fail(why, block)


def write_indices(block: tir.BlockOp) -> list[SymExpr]:
    """Return the first indices of the regions that the block writes."""
    memo: dict[SSAValue, SymExpr] = {}
    return [sym_expr_of(s, memo) for w in block.writes for s in w.starts]


def _writers(block: tir.BlockOp) -> list[tir.BlockOp]:
    mine = set(st.buffers_written(block))
    return [b for b in st.blocks_below(st.scope_of(block)) if mine & set(st.buffers_written(b))]


def why_not_complete(block: tir.BlockOp) -> str | None:
    """Return why a block is not complete, or None if it is."""
    if any(kind is not IterKind.SPATIAL for kind in block.kinds):
        return "it has an iterator that is not spatial"
    if _writers(block) != [block]:
        return "another block writes the same buffer"
    if st.buffers_needed(block) & set(st.buffers_written(block)):
        return "it reads what it writes"
    return None


def why_no_reduction(block: tir.BlockOp) -> str | None:
    """Return why a block is not a reduction, or None if it is."""
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
    """Reject a block that is not complete."""
    why = why_not_complete(block)
    if why is not None:
        fail(f"the block is not a complete block: {why}", block)


def require_complete_or_reduction(block: tir.BlockOp) -> None:
    """Reject a block that is neither complete nor a reduction."""
    complete, reduction = why_not_complete(block), why_no_reduction(block)
    if complete is not None and reduction is not None:
        fail(f"the block is neither a complete block ({complete}) nor a reduction block ({reduction})", block)


def require_not_output(block: tir.BlockOp) -> None:
    """Reject a block that writes a buffer which is visible outside of its scope."""
    if block in st.output_blocks(st.scope_of(block)):
        fail("the block is an output block of its scope", block)
