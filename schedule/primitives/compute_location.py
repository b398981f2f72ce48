"""The location where a block is computed: under a loop of its consumers or of its producers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, SymExpr, Var, floormod, offset_of, terms_of
from ...dialects.sym.int_set import SymInterval, values_of
from ...dialects.sym.operators import OPS
from ...ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import Ends, accessed, accessed_by
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..accesses import seen_by_threads
from ..registry import primitive
from ..state import State, fail
from ..trace import Location
from .inline import compute_inline, reverse_compute_inline

Place = tir.ForOp | Location
Domain = tuple[SymExpr, SymExpr]
"""The first value and the extent."""
Binding = tuple[SymExpr, SymExpr | None]
"""The first value of an iterator, and the loop that is added to it, written after it as in TVM."""


@primitive()
def compute_at(
    state: State, block: tir.BlockOp, loop: Place, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Move a producer under `loop`, where it computes only the region that each iteration requires.

    for i: B[i] = …;  for i_0, i_1: C[i] = B[i]
      ->  for i_0: { for ax0: B[i_0 * 4 + ax0] = …; for i_1: C[i] = B[i] }

    `index` is the position among the statements of the loop, -1 for the last possible one, -2 for the first. At the
    location `inline` the block is inlined, at `root` it is not moved. Raises `ScheduleError` if the block is an
    output, if it is neither complete nor a reduction, if not all of its consumers are under the loop, or if the
    loop already encloses the block.
    """
    if isinstance(loop, Location):
        return compute_inline(state, block) if loop is Location.INLINE else None
    _check_place(block, loop)
    checks.require_not_output(block)
    checks.require_complete_or_reduction(block)
    consumers = st.consumers(block)
    if not consumers:
        fail("the block has no consumer", block)
    _require_under(consumers, loop, "consumer")
    _check_uses(block, loop)
    place = _position(loop, st.producers(block), consumers, index)
    reads, _ = accessed(loop.body.block)
    needed = [
        (w, seen_by_threads(cast(tir.BufferType, w.buffer.type).scope.data, reads[w.buffer], loop))
        for w in block.writes
        if w.buffer in reads
    ]
    return _move(block, loop, place, _known_sizes(_domains(block, needed, lenient=True)), preserve_unit_loops)


@primitive()
def reverse_compute_at(
    state: State, block: tir.BlockOp, loop: Place, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Move a consumer under `loop`, where it processes only the region that each iteration provides.

    for i_0, i_1: B[i] = …;  for i: C[i] = B[i]
      ->  for i_0: { for i_1: B[i] = …; for ax0: C[i_0 * 4 + ax0] = B[…] }

    `index` and locations are as in `compute_at`. Raises `ScheduleError` if the block is neither complete nor a
    reduction, if not all of its producers are under the loop, if the loop already encloses the block, if a consumer
    precedes the loop, if the block is a reduction and the loop drives a producer's reduction or would repeat its
    steps, or if the iterations that read the provided region cannot be determined.
    """
    if isinstance(loop, Location):
        return reverse_compute_inline(state, block) if loop is Location.INLINE else None
    _check_place(block, loop)
    checks.require_complete_or_reduction(block)
    producers = _producers(block, loop)
    _require_under(producers, loop, "producer")
    checks.require_some_steps(producers, loop)
    reduces = checks.why_not_complete(block) is not None
    if reduces:
        _check_provided(producers, loop)
    if not producers:
        _check_unused_before(block, loop)
    for one in (block, *producers):
        checks.require_affine(one)
    checks.require_full_domains(block)
    place = _position(loop, producers, st.consumers(block), index)
    _, writes = accessed(loop.body.block)
    provided = [(r, writes[r.buffer]) for r in block.reads if r.buffer in writes]
    top = [*st.loops_above(loop), loop][0]
    _, everything = accessed_by([top])
    _check_covered(block, [(r, everything[r.buffer]) for r in block.reads if r.buffer in writes])
    _move(block, loop, place, _domains(block, provided, lenient=False), preserve_unit_loops)
    if reduces:
        _check_steps(block)


def _check_place(block: tir.BlockOp, loop: tir.ForOp) -> None:
    if st.scope_of(block) is not st.scope_of(loop):
        fail("the block and the loop are not in the same block scope", block, loop)
    if loop in st.loops_above(block):
        fail("the loop is an ancestor of block already", block, loop)
    _check_own_values(block)


def _check_own_values(block: tir.BlockOp) -> None:
    """Reject a block that uses enclosing loops other than by its iterators, as those of `loop_partition` do."""
    above = st.loops_above(block)
    for op in block.body.walk() if above else ():
        for value in op.operands:
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            if owner is not None and above[0].is_ancestor(owner) and not block.is_ancestor(owner):
                fail("the block uses a loop around it otherwise than by its iterators", block)


def _require_under(blocks: Sequence[tir.BlockOp], loop: tir.ForOp, what: str) -> None:
    outside = [b for b in blocks if loop not in st.loops_above(b)]
    if outside:
        which = "compute_at" if what == "consumer" else "reverse_compute_at"
        fail(f"{which} requires all the {what}s of the block to be under the loop", *outside, loop)


def _check_uses(block: tir.BlockOp, loop: tir.ForOp) -> None:
    """Check that the block's results are used only in the block and under the loop."""
    for buffer in st.buffers_written(block):
        for use in buffer.uses:
            op = use.operation
            if not (block.is_ancestor(op) or loop.is_ancestor(op) or isinstance(op, tir.RegionOp)):
                fail("what the block writes is used outside of the loop", block, op)


def _producers(block: tir.BlockOp, loop: tir.ForOp) -> list[tir.BlockOp]:
    """Return the blocks that write the inputs of a block that moves into a loop.

    Raises `ScheduleError` if a branch is around the block, or if the inputs of its predicate are written in the
    loop.
    """
    predicates.require_unguarded(block, "the branch does not move with it")
    for guard in predicates.guards(loop):
        if isinstance(guard, tir.IfOp):
            fail(f"the loop runs only where {predicates.text_of(guard.cond)}", loop, block)
    producers, read = st.producers(block), set(st.buffers_read(block))
    top = [*st.loops_above(loop), loop][0]
    inside = {buffer for p in producers if top.is_ancestor(p) for buffer in st.buffers_written(p)}
    for condition in rw.conditions(block):
        if not inside.isdisjoint(predicates.buffers_of([condition])):
            predicates.refuse(block, condition, "an iteration of the loop may not have written all of what that reads")
    return [p for p in producers if not read.isdisjoint(st.buffers_written(p))]


def _check_unused_before(block: tir.BlockOp, loop: tir.ForOp) -> None:
    """Check that no consumer runs before the new location; needed if no producer determines it."""
    top = [*st.loops_above(loop), loop][0]
    early = [c for c in st.consumers(block) if not (loop.is_ancestor(c) or _comes_before(top, c))]
    if early:
        fail("a consumer of the block stands before the loop", *early, loop)


def _comes_before(first: Operation, second: Operation) -> bool:
    """Return whether the statement `first` precedes the statement that contains `second`."""
    statement: Operation | None = first
    while statement is not None and not statement.is_ancestor(second):
        statement = statement.next_op
    return statement is not None and statement is not first


def _check_provided(producers: Sequence[tir.BlockOp], loop: tir.ForOp) -> None:
    """Check that the producers' results are complete when the block runs: no outer loop drives their reductions."""
    outside = [*st.loops_above(loop), loop]
    for producer in producers:
        for kind, binding in zip(producer.kinds, producer.bindings, strict=True):
            variables = {v.value for v in sym_expr_of(binding).free_vars()}
            if kind is not tir.IterKind.SPATIAL and any(lp.loop_var in variables for lp in outside):
                fail("a producer is not done when an iteration of the loop ends", producer, loop)


def _check_steps(block: tir.BlockOp) -> None:
    """Check that loops which repeat the block are outside of those that drive its reductions."""
    above, steps = st.loops_above(block), checks.steps_of(block)
    first = next((k for k, lp in enumerate(above) if st.loop_expr(lp) in steps), len(above))
    checks.require_not_repeated(block, above[first:])


def _position(
    loop: tir.ForOp, producers: Sequence[tir.BlockOp], consumers: Sequence[tir.BlockOp], index: int
) -> Operation | None:
    """Return the statement of the loop to insert before, or None for the end."""
    body = st.children(loop.body.block)
    after = max((k + 1 for k, op in enumerate(body) if _has(op, producers)), default=0)
    until = min((k for k, op in enumerate(body) if _has(op, consumers)), default=len(body))
    if after > until:
        fail("a consumer stands before a producer", loop)
    at = {-1: until, -2: after}.get(index, index)
    if not after <= at <= until:
        fail(
            "there is no such position between producers and consumers",
            loop,
            expected=f"{after} to {until}",
            found=index,
        )
    return body[at] if at < len(body) else None


def _with_expressions(place: Operation) -> Operation:
    """Return the first of the expressions before a statement, from which its predicate may be computed."""
    while isinstance(place.prev_op, st.EXPRESSIONS):
        place = place.prev_op
    return place


def _has(op: Operation, blocks: Sequence[tir.BlockOp]) -> bool:
    return any(op.is_ancestor(b) for b in blocks)


def _memory(region: tir.RegionOp) -> str:
    """Return the storage scope of a region's buffer."""
    return cast(tir.BufferType, region.buffer.type).scope.data


Regions = Sequence[tuple[tir.RegionOp, list[Ends | None]]]
"""A block's regions, with the intervals of their buffers that are required or provided."""


def _check_covered(block: tir.BlockOp, regions: Regions) -> None:
    """Check that the block's iterators cover everything that the producers write, so that no iteration is lost."""
    analyzer = Analyzer()
    total = _domains(block, regions, lenient=True)
    for var, least, extent in zip(block.iter_vars, block.mins, block.extents, strict=True):
        first, size = total.get(var, (least, extent))
        covers = analyzer.can_prove(OPS["le"](first, least)) and analyzer.can_prove(
            OPS["le"](least + extent, first + size)
        )
        if not covers:
            fail("the producers do not give all that the block runs over", block, expected=extent, found=size)


def _domains(block: tir.BlockOp, regions: Regions, *, lenient: bool) -> dict[SSAValue, Domain]:
    """Return the part of each iterator's domain that the regions require, without iterators that occur in no region.

    Indices other than single iterators are inverted. If that fails they require the full domains of their
    iterators, or raise `ScheduleError` unless `lenient`.
    """
    domains: dict[SSAValue, Domain] = {}
    iters = set(block.iter_vars)
    known = checks.analyzer_with(checks.iter_ranges(block))
    unlimited: set[SSAValue] = set()
    for region, dims in regions:
        composed: list[tuple[SymExpr, Ends | None]] = []
        for start, size, ends in zip(region.starts, region.extents, dims, strict=True):
            interval = ends if ends is not None and checks.is_of_loops(ends) else None
            e = known.simplify(sym_expr_of(start))
            used = [v for v in e.free_vars() if v.value in iters]
            width = size.constant if lenient else 1
            domain = _solve(e, used[0], interval, width) if interval is not None and len(used) == 1 else None
            if domain is None:
                composed += [(e, interval)] if used else []
            else:
                _widen(domains, cast(SSAValue, used[0].value), domain)
        solved = _invert(block, composed)
        for var, domain in solved.items():
            _widen(domains, var, domain)
        rest = {cast(SSAValue, v.value) for e, _ in composed for v in e.free_vars() if v.value in iters} - set(solved)
        unlimited |= rest
        if rest and not lenient and any(v.value for _, i in composed if i is not None for v in _vars(i)):
            fail("an index of the block is no iterator by itself", block, found=composed[0][0])
    return {v: d for v, d in domains.items() if v not in unlimited}


def _solve(e: SymExpr, var: Var, interval: Ends, width: int | None) -> Domain | None:
    """Return the values of a variable for which `[e, e + width)` intersects an interval, if `e` is linear in the
    variable.

    Returns None if they cannot be determined. Steps greater than one with gaps between them are left to
    `_invert`.
    """
    step = (e.substitute({var: var + 1}) - e).constant
    if not step or width is None:
        return None
    rest = e - var * step
    if var in rest.free_vars():
        return None
    low, high = interval[0] - rest, interval[1] - rest
    if abs(step) == 1 and width == 1:
        return (low if step == 1 else -high), interval[1] - interval[0] + 1
    if step < 1 or width == 1:
        return None
    first = OPS["floordiv"](low + (step - width), step)
    return first, OPS["floordiv"](high, step) - first + 1


def _widen(domains: dict[SSAValue, Domain], var: SSAValue, domain: Domain) -> None:
    domains[var] = _hull(domains[var], domain) if var in domains else domain


def _invert(block: tir.BlockOp, indices: Sequence[tuple[SymExpr, Ends | None]]) -> dict[SSAValue, Domain]:
    """Return the domains of the iterators if `indices` are a bijective map of them; empty otherwise.

    (v // 15, v % 15) in ([i, i], [0, 14])              ->  v in [i * 15, i * 15 + 14]
    ((u * 8 + v) // 16, (u * 8 + v) % 16) in ([i, i], [0, 15])  ->  u in [i * 2, i * 2 + 1], v in [0, 7]

    This only applies to a complete block, because iterations between the bounds may lie outside of the intervals.
    """
    known = [(e, interval) for e, interval in indices if interval is not None]
    if not known or len(known) < len(indices) or checks.why_not_complete(block) is not None:
        return {}
    used = {v for e, _ in known for v in e.free_vars()}
    ranges = {v: r for v, r in checks.iter_ranges(block).items() if v in used}
    try:
        iter_map = detect_iter_map([e for e, _ in known], ranges, level=IterMapLevel.BIJECTIVE)
    except NotAffineError:
        return {}
    outputs = [Var(f"index {k}", e.dtype) for k, (e, _) in enumerate(known)]
    out: dict[SSAValue, Domain] = {}
    domain = {o: SymInterval(*i) for o, (_, i) in zip(outputs, known, strict=True)}
    for var, value in iter_map.inverse(outputs).items():
        low, high = values_of(value, domain)
        if low is None or high is None:
            return {}
        out[cast(SSAValue, var.value)] = (low, high - low + 1)
    return out


def _vars(interval: Ends) -> list[Var]:
    return [v for e in interval for v in e.free_vars()]


def _hull(a: Domain, b: Domain) -> Domain:
    """Return the smallest domain that contains two domains."""
    if a == b:
        return a
    first = a[0] if a[0] == b[0] else OPS["min"](a[0], b[0])
    ends = (a[0] + a[1], b[0] + b[1])
    end = ends[0] if ends[0] == ends[1] else OPS["max"](*ends)
    return first, end - first


def _move(
    block: tir.BlockOp,
    loop: tir.ForOp,
    place: Operation | None,
    domains: dict[SSAValue, Domain],
    preserve_unit_loops: bool,
) -> None:
    """Move the block under the loop, into new loops over the domains."""
    own = predicates.own_conditions(block)
    predicates.require_unguarded(block, "the branch does not move with it")
    predicates.require_movable(block, own)
    around = [*st.loops_above(loop), loop]
    analyzer = checks.analyzer_of(around)
    units = checks.units(around)
    domains = {v: (first.substitute(units), extent.substitute(units)) for v, (first, extent) in domains.items()}
    rows = [
        _limit(analyzer, domains.get(var), (least, extent))
        for var, least, extent in zip(block.iter_vars, block.mins, block.extents, strict=True)
    ]
    old_parent = block.parent_op()
    loops: list[tir.ForOp] = []
    values: list[Binding] = []
    expressions: list[Operation] = []
    for var, (first, extent) in zip(block.iter_vars, rows, strict=True):
        dtype = cast(IntegerType, var.type)
        if extent.constant == 1 and not preserve_unit_loops:
            values.append((first, None))
            continue
        inner = rw.new_loop(f"ax{len(loops)}", _extent(extent, loop), dtype)
        loops.append(inner)
        values.append((first, st.loop_expr(inner)))
    insert: rw.Insert = loop.body.block.add_op if place is None else rw.before(_with_expressions(place))
    put = rw.insert_nest(loops, insert)
    sums = [first if lane is None else first + lane for first, lane in values]
    iters = dict(zip(map(checks.iter_expr, block.iter_vars), sums, strict=True))
    carried = predicates.copy_conditions(block, own, iters, expressions.append)
    block.detach()
    _bind(block, values, _conditions(block, sums, rows, around, loops), put)
    for op in expressions:
        put(op)
    put(block)
    predicates.add_conditions(block, carried)
    if isinstance(old_parent, tir.ForOp) and not st.children(old_parent.body.block):
        rw.remove(old_parent)


def _known_sizes(domains: dict[SSAValue, Domain]) -> dict[SSAValue, Domain]:
    """Return the domains whose size, or a bound of it, is known before the loop; the others are computed fully."""
    bounded = {v: (first, _bound(extent)) for v, (first, extent) in domains.items()}
    return {v: d for v, d in bounded.items() if all(x.value is None for x in d[1].free_vars())}


def _bound(size: SymExpr) -> SymExpr:
    """Return an upper bound of a size: `(x + 15) // 20 - x // 20` is at most 1."""
    quotients = [(t, c) for t, c in terms_of(size) if isinstance(t, Op) and t.kind == "floordiv"]
    for last, first in itertools.permutations(quotients, 2):
        (a, divisor), (b, other) = last[0].args, first[0].args
        distance, by = (a - b).constant, divisor.constant
        if distance and distance > 0 and by and divisor == other and last[1] == -first[1] > 0:
            most = -(-distance // by) * last[1]
            return _bound(size - last[0] * last[1] - first[0] * first[1] + most)
    return size


def _with_remainders(e: SymExpr) -> SymExpr:
    """`x * k - x // c * c * k -> x % c * k`"""
    factors = dict(terms_of(e))
    for term, factor in factors.items():
        if not (isinstance(term, Op) and term.kind == "floordiv" and term.args[1].constant):
            continue
        x, divisor = term.args
        k = factors.get(x, 0)
        if k and factor == -k * cast(int, divisor.constant):
            return _with_remainders(e - x * k - term * factor + floormod(x, divisor) * k)
    return e


def _extent(extent: SymExpr, loop: tir.ForOp) -> SymExpr:
    if any(v.value is not None for v in extent.free_vars()):
        fail("what an iteration of the loop needs has no size that is known before it", loop, found=extent)
    return extent


def _limit(analyzer: Analyzer, needed: Domain | None, full: Domain) -> Domain:
    """Return the required part of a domain, or the full domain if that is unspecified or provably required.

    If all numbers are known, the part is clipped to the domain.
    """
    if needed is None:
        return full
    first, extent = (_typed(analyzer.simplify(e), full[1]) for e in needed)
    inside = (OPS["le"](first, full[0]), OPS["le"](full[0] + full[1], first + extent))
    if analyzer.bounds(extent - full[1]).low > 0 and all(map(analyzer.can_prove, inside)):
        return full
    low = analyzer.simplify(OPS["max"](first, full[0]))
    high = analyzer.simplify(OPS["min"](first + extent, full[0] + full[1]))
    if low.constant is not None and high.constant is not None and low.constant < high.constant:
        return _typed(low, full[1]), _typed(high - low, full[1])
    return _with_remainders(first), extent


def _typed(e: SymExpr, like: SymExpr) -> SymExpr:
    """Return `e` with the type of another expression if it is a constant."""
    return e if e.constant is None else Const(e.constant, like.dtype)


def _conditions(
    block: tir.BlockOp,
    values: Sequence[SymExpr],
    rows: Sequence[Domain],
    around: Sequence[tir.ForOp],
    loops: Sequence[tir.ForOp],
) -> list[SymExpr]:
    """Return the conditions that keep the iterators in their domains if the new bindings may exceed them."""
    inside = [*around, *loops]
    analyzer = checks.analyzer_of(inside)
    out: list[SymExpr] = []
    units = checks.units(loops)
    for value, (first, extent), least, size in zip(values, rows, block.mins, block.extents, strict=True):
        if (first, extent) == (least, size):
            continue
        end, last, at = least + size, first + extent - 1, value.substitute(units)
        bounds = [(OPS["le"](least, at), OPS["le"](least, first)), (OPS["lt"](at, end), OPS["lt"](last, end))]
        for condition, stronger in bounds:
            if not (checks.holds(stronger, around, analyzer) or checks.holds(condition, inside, analyzer)):
                out.append(_normalize_comparison(condition))
    return out


def _normalize_comparison(condition: SymExpr) -> SymExpr:
    """`0 <= i - 16 -> 16 <= i`, as TVM writes comparisons with numbers."""
    a, b = cast(Op, condition).args
    number, other = (a, b) if a.constant is not None else (b, a)
    if number.constant is None:
        return condition
    return OPS[cast(Op, condition).kind](a - offset_of(other), b - offset_of(other))


def _bind(block: tir.BlockOp, values: Sequence[Binding], bounds: Sequence[SymExpr], put: rw.Insert) -> None:
    build = Materializer(put)

    def bound(value: Binding, dtype: IntegerType) -> SSAValue:
        first, lane = value
        if lane is None or not offset_of(first) or first.constant is not None:
            return build(first if lane is None else first + lane, dtype)
        put(total := tir.AddOp(build(first, dtype), build(lane, dtype)))
        return total.result

    bindings = [bound(v, cast(IntegerType, var.type)) for v, var in zip(values, block.iter_vars, strict=True)]
    rw.set_operands(block, bindings, rw.conjunction([build(c) for c in bounds], put))
