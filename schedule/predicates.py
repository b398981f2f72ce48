"""The conditions of a block: its predicate, and the branches around it.

A predicate is the conjunction of its parts. A part is *implied* by the domains of the iterators if it only excludes
iterations outside of the domains: `i_0 * 3 + i_1 < 8`, which `split` adds, for an iterator of 8 values. All other
parts, including those about which nothing is known, are the block's *own*: code that a primitive moves, copies or
initializes elsewhere is subject to the same conditions, or the primitive raises an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NoReturn, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ..dialects import tir
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import Const, SymExpr, Var, product
from ..dialects.sym.operators import OPS
from ..ir.affine.init_nest import sources
from ..ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map, limits_of
from ..ir.affine.values import Materializer, sym_expr_of
from . import checks
from . import rewrite as rw
from . import state as st
from .loop_builder import Cloner
from .state import fail

Values = Mapping[Var, SymExpr]
"""The iterators of a block with their values at another location."""


def text_of(condition: SSAValue) -> str:
    """Return a condition as TVMScript, without the bounds that guard its evaluation (`rewrite.guarded`)."""
    from ..script.printer.fragment import print_expression

    op = condition.owner
    if isinstance(op, tir.IfThenElseOp) and isinstance(last := op.then_region.block.last_op, tir.YieldOp):
        condition = last.value
    return print_expression(condition)


def refuse(block: tir.BlockOp, condition: SSAValue, why: str, *places: Operation) -> NoReturn:
    """Raise the error that a step is impossible because of a condition of the block."""
    fail(f"the block runs only where {text_of(condition)}: {why}", block, *places)


def guards(op: Operation) -> list[Operation]:
    """Return the statements around a block or loop, within its scope, that are not loops: branches, for instance.

    An init is not a guard, because its block initializes the result of the enclosing block.
    """
    inside = takewhile(lambda around: not isinstance(around, st.BlockLike), st.ancestors(op))
    return [around for around in inside if not isinstance(around, tir.ForOp | tir.InitOp)]


def require_unguarded(block: tir.BlockOp, why: str, within: Operation | None = None) -> None:
    """Reject a block in a branch; with `within`, only in a branch inside of that loop."""
    for guard in guards(block):
        if within is not None and not within.is_ancestor(guard):
            continue
        if isinstance(guard, tir.IfOp | tir.WhileOp):
            refuse(block, guard.cond, why)
        if not isinstance(guard, tir.AttrOp | tir.LaunchThreadOp):
            fail(f"the block stands in {guard.name}: {why}", block)


def require_none(block: tir.BlockOp, why: str) -> None:
    """Reject a block that has own conditions, or that is in a branch."""
    require_unguarded(block, why)
    for condition in own_conditions(block):
        refuse(block, condition, why)


def buffers_of(conditions: Iterable[SSAValue]) -> set[SSAValue]:
    """Return the buffers that conditions read."""
    return {v for v in sources(conditions) if isinstance(v.type, tir.BufferType)}


def require_steady(block: tir.BlockOp, conditions: Iterable[SSAValue]) -> None:
    """Reject conditions whose value may change, because their inputs are written in the same loops or later."""
    scope = st.scope_of(block)
    own = next(op for op in (block, *st.ancestors(block)) if op.parent_op() is scope)
    for condition in conditions:
        buffers = buffers_of([condition])
        for buffer in buffers if buffers else ():
            writers = [u.operation for u in buffer.uses if not isinstance(u.operation, tir.LoadOp | tir.ReadsOp)]
            if any(scope.is_ancestor(op) and not _is_before(op, own, scope) for op in writers):
                refuse(block, condition, "what that reads is written in the same loops, or later")


def _is_before(op: Operation, own: Operation, scope: Operation) -> bool:
    """Return whether an operation is in an earlier statement of a scope than another one."""
    top = next(around for around in (op, *st.ancestors(op)) if around.parent_op() is scope)
    following = top.next_op
    while following is not None and following is not own:
        following = following.next_op
    return following is own


def loops_of(block: tir.BlockOp, condition: SSAValue) -> list[tir.ForOp]:
    """Return the loops around a block that a condition depends on, directly or by its loads."""
    used = sources([condition])
    return [lp for lp in st.loops_above(block) if lp.loop_var in used]


def own_conditions(block: tir.BlockOp) -> list[SSAValue]:
    """Return the parts of the predicate that the domains of the iterators do not imply."""
    parts = rw.conditions(block)
    if not parts:
        return []
    domain = _Domain(block)
    return [c for c in parts if not domain.implies(c)]


class _Domain:
    """The constraints that the domains of a block's iterators imply for the enclosing loops."""

    def __init__(self, block: tir.BlockOp):
        self.block = block
        self.loops = st.loops_above(block)
        self.units = checks.units(self.loops)
        self.bindings = [e.substitute(self.units) for e in checks.bindings_of(block)]
        self.known = checks.analyzer_of(self.loops)
        self.inverse = values_of_loops(block)

    def implies(self, condition: SSAValue) -> bool:
        """Return whether a condition provably holds if all iterators are in their domains."""
        e = sym_expr_of(condition).substitute(self.units)
        return self._follows(e) or self._holds_inside(e) or self._makes_domain(condition)

    def _follows(self, e: SymExpr) -> bool:
        """Return whether a condition is implied by a single bound of an iterator."""
        if self.known.can_prove(e):
            return True
        slack = checks.slack_of(e)
        if slack is None:
            return False
        for binding, least, extent in zip(self.bindings, self.block.mins, self.block.extents, strict=True):
            for bound in (binding - least, least + extent - 1 - binding):
                rest = slack - bound
                if rest.constant == 0 or self.known.can_prove(OPS["le"](rest * 0, rest)):
                    return True
        return False

    def _holds_inside(self, e: SymExpr) -> bool:
        """Return whether a condition, expressed in the iterators, provably holds for all of their values."""
        inside = e.substitute(self.inverse)
        ranges = checks.iter_ranges(self.block)
        of_iterators = all(v.value is None or v in ranges for v in inside.free_vars())
        return of_iterators and checks.analyzer_with(ranges).can_prove(inside)

    def _makes_domain(self, condition: SSAValue) -> bool:
        """Return whether the loops cover exactly the domains because of this condition."""
        e = sym_expr_of(condition)
        if not limits_of([e]):
            return False
        others = [sym_expr_of(c) for c in rw.conditions(self.block) if c is not condition]
        return self._is_covered([*others, e]) and not self._is_covered(others)

    def _is_covered(self, conditions: Sequence[SymExpr]) -> bool:
        try:
            bindings = checks.bindings_of(self.block)
            iter_map = detect_iter_map(bindings, checks.loop_ranges(self.loops), conditions)
        except NotAffineError:
            return False
        for total, least, extent in zip(iter_map.indices, self.block.mins, self.block.extents, strict=True):
            size = product([s.extent for s in total.splits], extent.dtype)
            if len(total.splits) > 1 or (size - extent).constant != 0 or (total.base - least).constant != 0:
                return False
        return True


def values_of_loops(block: tir.BlockOp) -> dict[Var, SymExpr]:
    """Return the loop variables around a block that its iterators determine, in terms of the iterators.

    vi = i, vj = j_0 * 4 + j_1  ->  i is vi, j_0 is vj // 4, j_1 is vj % 4
    """
    loops = st.loops_above(block)
    ranges = checks.loop_ranges(loops)
    values: dict[Var, SymExpr] = dict(checks.units(loops))
    iters = [checks.iter_expr(v) for v in block.iter_vars]
    rows = [(it, e.substitute(values)) for it, e in zip(iters, checks.bindings_of(block), strict=True)]
    for it, e in rows:
        if isinstance(e, Var) and e in ranges:
            values.setdefault(e, it)
    for part in _connected([row for row in rows if not isinstance(row[1], Var)], set(ranges)):
        for var, e in _inverted(block, part, ranges).items():
            values.setdefault(var, e)
    return values


Row = tuple[Var, SymExpr]
"""An iterator and its binding."""


def _connected(rows: Sequence[Row], loops: set[Var]) -> Iterator[list[Row]]:
    """Yield the rows in groups that share no loops."""
    left = [(row, loops & set(row[1].free_vars())) for row in rows]
    while left:
        group, used = [left[0][0]], left.pop(0)[1]
        while near := [item for item in left if item[1] & used]:
            left = [item for item in left if item not in near]
            group += [row for row, _ in near]
            used = used.union(*(own for _, own in near))
        yield group


def _inverted(block: tir.BlockOp, rows: Sequence[Row], ranges: checks.Ranges) -> dict[Var, SymExpr]:
    """Return the loops in the bindings of some iterators in terms of these; empty if there is no unique inverse."""
    used = {v: ranges[v] for v in ranges if any(v in e.free_vars() for _, e in rows)}
    if any(first.constant != 0 for first, _ in used.values()):
        return {}
    domains = checks.iter_ranges(block)
    bounds = [OPS["lt"](e, domains[it][0] + domains[it][1]) for it, e in rows]
    limits = [sym_expr_of(c) for c in rw.conditions(block)]
    fused = [c for c in limits if all(v.value is None or v in used for v in c.free_vars())]
    for conditions in ([], bounds, fused):
        try:
            iter_map = detect_iter_map([e for _, e in rows], used, conditions, IterMapLevel.BIJECTIVE)
        except NotAffineError:
            continue
        inverse = iter_map.inverse([it for it, _ in rows])
        if conditions is not fused or _is_inverse(rows, inverse, domains):
            return inverse
    return {}


def _is_inverse(rows: Sequence[Row], inverse: Values, domains: checks.Ranges) -> bool:
    """Return whether these values of the loops yield the iterators again, over their full domains."""
    known = checks.analyzer_with({it: domains[it] for it, _ in rows})
    return all(known.can_prove_equal(e.substitute(inverse), it) for it, e in rows)


def require_movable(block: tir.BlockOp, conditions: Sequence[SSAValue], why: str = "") -> None:
    """Reject conditions on loops that the block's iterators do not determine: they cannot be expressed elsewhere."""
    known = values_of_loops(block)
    for condition in conditions:
        _require_known(block, condition, known, why or "its iterators do not say for which iterations that is")


def _require_known(block: tir.BlockOp, condition: SSAValue, known: Values, why: str) -> None:
    for loop in loops_of(block, condition):
        if st.loop_expr(loop) not in known:
            refuse(block, condition, why, loop)


def iterators_at(block: tir.BlockOp, indices: Sequence[SymExpr], places: Sequence[SymExpr]) -> dict[Var, SymExpr]:
    """Return the iterators of a block that are determined by `indices` over them, for the values `places` of the
    indices.
    """
    ranges = checks.iter_ranges(block)
    values = {v: least for v, (least, extent) in ranges.items() if extent.constant == 1}
    rows = [(place, e.substitute(values)) for place, e in zip(places, indices, strict=True)]
    values |= {e: place for place, e in rows if isinstance(e, Var) and e in ranges}
    rest = [(place, e) for place, e in rows if not isinstance(e, Var)]
    used = {v: ranges[v] for v in ranges if any(v in e.free_vars() for _, e in rest)}
    try:
        iter_map = detect_iter_map([e for _, e in rest], used, level=IterMapLevel.BIJECTIVE)
    except NotAffineError:
        return values
    return {**iter_map.inverse([place for place, _ in rest]), **values}


def require_stored(block: tir.BlockOp, buffer: SSAValue, why: str, within: Operation | None = None) -> list[SSAValue]:
    """Return the conditions of a block under which it performs all of its writes to a buffer.

    Raises `ScheduleError` if anything else may prevent a write: branches around the block in `within`, branches or
    conditions of blocks inside of it, or conditions on reduction steps for which the init may not run.
    """
    require_unguarded(block, why, within)
    for op in [op for op in block.body.walk() if isinstance(op, tir.StoreOp) and op.buffer is buffer]:
        for around in takewhile(lambda around: around is not block, st.ancestors(op)):
            if isinstance(around, tir.BlockOp):
                require_init(around, why)
                require_none(around, why)
            elif isinstance(around, tir.IfOp | tir.WhileOp):
                refuse(block, around.cond, why)
    return require_init(block, why)


def copy_conditions(
    block: tir.BlockOp,
    conditions: Sequence[SSAValue],
    values: Values,
    insert: rw.Insert,
    around: Sequence[tir.ForOp] = (),
) -> list[SSAValue]:
    """Return copies of conditions for a location at which the iterators of the block have other `values`.

    for j_0, j_1: vj = j_0 * 4 + j_1 where M[j_0 * 4 + j_1] > 1, at vj = x  ->  M[x // 4 * 4 + x % 4] > 1

    Raises `ScheduleError` if a condition depends on a loop that these iterators do not determine, unless the loop
    is also `around` the new location.
    """
    require_steady(block, conditions)
    iters = {checks.iter_expr(v) for v in block.iter_vars}
    known = {v: e.substitute(values) for v, e in values_of_loops(block).items()}
    known = {v: e for v, e in known.items() if iters.isdisjoint(e.free_vars())}
    known |= {st.loop_expr(lp): st.loop_expr(lp) for lp in around if st.loop_expr(lp) not in known}
    build, copies = Materializer(insert), dict[SSAValue, SSAValue]()
    out: list[SSAValue] = []
    for condition in conditions:
        _require_known(block, condition, known, "it cannot be said elsewhere for which iterations that is")
        e = sym_expr_of(condition)
        if not any(v.value is not None and isinstance(v.value.owner, Operation) for v in e.free_vars()):
            out.append(build(e.substitute(known), cast(IntegerType, condition.type)))
            continue
        for loop in loops_of(block, condition):
            var = loop.loop_var
            if var not in copies:
                copies[var] = build(known[st.loop_expr(loop)], cast(IntegerType, var.type))
        out.append(Cloner(insert, copies)(condition))
    return out


def add_conditions(block: tir.BlockOp, conditions: Sequence[SSAValue]) -> None:
    """Add conditions to a block's predicate; they are only evaluated if the previous predicate holds."""
    if conditions:
        insert, bounds = rw.before(block), rw.conditions(block)
        rw.set_predicate(block, rw.conjunction([*bounds, *rw.guarded(bounds, conditions, insert)], insert))
        rw.erase_unused(conditions)


def reducing_loops(block: tir.BlockOp) -> list[SSAValue]:
    """Return the variables of loops that drive reductions of a block."""
    return [v.value for v in checks.steps_of(block) if v.value is not None]


def first_steps(
    block: tir.BlockOp, conditions: Sequence[SSAValue], values: Values, insert: rw.Insert
) -> list[SSAValue]:
    """Return conditions for the first step of a reduction, which runs the init; those that provably hold are omitted.

    for i, k where i + k < 7 and M[k] < 4  ->  i < 7 and M[0] < 4

    `values` are those of the other iterators. Without steps no condition applies: an empty sum is 0.
    """
    domains = st.domains_of(block)
    begin = {
        checks.iter_expr(v): domains[v][0]
        for v, kind in zip(block.iter_vars, block.kinds, strict=True)
        if kind is tir.IterKind.REDUCE
    }
    unsure = [c for c in conditions if not _holds_first(block, c, begin)]
    return if_any_steps(block, copy_conditions(block, unsure, {**values, **begin}, insert), insert)


def if_any_steps(block: tir.BlockOp, conditions: Sequence[SSAValue], insert: rw.Insert) -> list[SSAValue]:
    """Return conditions on the first step of a reduction that are true if there are no steps."""
    reducing = [e for e, kind in zip(block.extents, block.kinds, strict=True) if kind is tir.IterKind.REDUCE]
    unsure = [e for e in reducing if not Analyzer().can_prove(OPS["le"](Const(1, e.dtype), e))]
    build = Materializer(insert)
    some = rw.conjunction([build(OPS["le"](Const(1, e.dtype), e)) for e in unsure], insert) if conditions else None
    if some is None:
        return list(conditions)
    choices = [rw.chosen(some, condition, otherwise=True) for condition in conditions]
    for choice in choices:
        insert(choice)
    rw.erase_unused(conditions)
    return [choice.result for choice in choices]


def _holds_first(block: tir.BlockOp, condition: SSAValue, begin: Values) -> bool:
    e = sym_expr_of(condition).substitute(values_of_loops(block)).substitute(begin)
    return checks.analyzer_with(checks.iter_ranges(block)).can_prove(e)


def require_init(block: tir.BlockOp, why: str) -> list[SSAValue]:
    """Return the conditions of a block that do not depend on the steps of its reductions.

    Raises `ScheduleError` if another condition may exclude a first step: its init would not run, while later steps
    would.
    """
    own, reducing = own_conditions(block), reducing_loops(block)
    domains = zip(block.iter_vars, block.kinds, block.mins, strict=True)
    begin = {checks.iter_expr(v): least for v, kind, least in domains if kind is tir.IterKind.REDUCE}
    of_steps = [c for c in own if rw.depends_on(c, reducing)]
    for condition in of_steps:
        if not _holds_first(block, condition, begin):
            refuse(block, condition, why)
    return [c for c in own if c not in of_steps]
