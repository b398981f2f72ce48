"""`loop-partition`: split off the iterations for which a condition always holds, and drop the condition in them.

    for %i to n {if likely(%i < 11) {S}}     ->     for %i to min(n, 11) {S};  for %i = min(n, 11) to n {if … {S}}

Candidates are loops of unknown extent with conditions marked as likely, and all conditions in loops
annotated with `pragma_loop_partition_hint`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, Op, SymExpr, Var, add, floordiv, mul
from ....dialects.sym.operators import maximum, minimum
from ....dialects.tir import ForKind
from ....ir.affine.values import Materializer, sym_expr_of
from ....ir.buffers.regions import Ends, relaxed
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.edit import inline_before, inserter
from ....transforms.tir.walk import (
    bind_loop,
    bound_expr,
    erase_with_tree,
    functions,
    inline_branch,
    is_empty,
    remove_dead,
)

HINT = "pragma_loop_partition_hint"
_Branch = tir.IfOp | tir.IfThenElseOp
_KINDS = (ForKind.SERIAL, ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.UNROLLED)


@dataclass(frozen=True)
class LoopPartition(Pass):
    """Partition loops, with `partition_const_loop` also those of constant extent, and remove `T.likely`.

    A part with one iteration is not a loop, unless `no_unroll_loop_with_extent_one`. With
    `unroll_loop_with_partition_hint_no_interval` a loop with the hint that cannot be split is unrolled.
    """

    name = "loop-partition"
    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.LoopPartition")
        for func in functions(op):
            _Partitioner(options).operations(list(func.body.block.ops), False)
            for call in [inner for inner in func.walk() if isinstance(inner, tir.CallIntrinOp)]:
                if call.func.data == "likely":
                    call.result.replace_all_uses_with(call.call_args[0])
            remove_dead(func)


class _Partitioner:
    def __init__(self, options: LoopPartition):
        self.options = options
        self.analyzer = Analyzer()

    def operations(self, ops: list[Operation], hinted: bool) -> None:
        """Partition the loops among operations, recursively."""
        for op in ops:
            if isinstance(op, tir.ForOp):
                self._loop(op, _take_hint(op) or hinted)
            elif isinstance(op, tir.AttrOp) and op.key.data == HINT:
                inside = list(op.body.block.ops)
                inline_before(op.body.block, op)
                erase_with_tree(op)
                self.operations(inside, True)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.operations(list(inner.ops), False)

    def _loop(self, loop: tir.ForOp, hinted: bool) -> None:
        bind_loop(self.analyzer, loop)
        constant = bound_expr(loop.extent).constant
        candidate = hinted or self.options.partition_const_loop or constant is None
        parts = self._split(loop, hinted) if candidate and loop.kind in _KINDS else []
        for part in [loop] if loop.parent is not None else parts:
            bind_loop(self.analyzer, part)
            inside = list(part.body.block.ops)
            if parts and not self.options.no_unroll_loop_with_extent_one and bound_expr(part.extent).constant == 1:
                inside = _once(part)
            self.operations(inside, False)
        unroll = hinted and self.options.unroll_loop_with_partition_hint_no_interval
        if unroll and constant is not None and loop.parent is not None:
            loop.properties["kind_attr"] = StringAttr(ForKind.UNROLLED.value)

    def _split(self, loop: tir.ForOp, hinted: bool) -> list[tir.ForOp]:
        """Return the parts of a loop, or an empty list if its conditions do not split it."""
        range_ = _Range()
        decided: list[_Branch] = []
        for branch in [op for op in loop.walk() if isinstance(op, _Branch)]:
            condition, likely = _plain(branch.cond)
            if (likely or hinted) and _narrow(range_, condition, loop, branch):
                decided.append(branch)
        if not decided:
            return []
        first = bound_expr(loop.min)
        end = first + bound_expr(loop.extent)
        high = end if range_.high is None else maximum(minimum(range_.high, end), first)
        low = first if range_.low is None else minimum(maximum(range_.low, first), high)
        cuts = [self.analyzer.simplify(e) for e in (first, low, high, end)]
        if self.analyzer.can_prove_equal(cuts[1], cuts[2]):
            return []
        parts: list[tir.ForOp] = []
        for number, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
            if not self.analyzer.can_prove_equal(start, stop):
                parts.append(self._part(loop, start, stop, decided, number == 1))
        erase_with_tree(loop)
        for part in parts:
            if is_empty(part.body):
                erase_with_tree(part)
        return [part for part in parts if part.parent is not None]

    def _part(self, loop: tir.ForOp, start: SymExpr, stop: SymExpr, branches: list[_Branch], holds: bool) -> tir.ForOp:
        """Return a copy of a loop over a part of its range, with the branches resolved that always hold there."""
        part = _loop_over(loop, start, self.analyzer.simplify(stop - start))
        copies = dict(zip(_inside(loop), _inside(part)[-len(_inside(loop)) :], strict=True))
        for inner in part.walk():
            if isinstance(inner, tir.ForOp):
                bind_loop(self.analyzer, inner)
        for branch in reversed(branches):
            copy = cast(_Branch, copies[branch])
            known = 1 if holds else self.analyzer.simplify(sym_expr_of(_plain(copy.cond)[0])).constant
            if known is not None:
                inline_branch(copy, bool(known))
        return part


def _take_hint(loop: tir.ForOp) -> bool:
    """Remove the hint annotation from a loop, and return whether there was one."""
    notes = {} if loop.annotations is None else dict(loop.annotations.data)
    if HINT not in notes:
        return False
    del notes[HINT]
    loop.properties.pop("annotations")
    if notes:
        loop.properties["annotations"] = DictionaryAttr(notes)
    return True


@dataclass
class _Range:
    """The range in which all conditions hold, from `low` to `high`, exclusive; None is unbounded."""

    low: SymExpr | None = None
    high: SymExpr | None = None


def _once(loop: tir.ForOp) -> list[Operation]:
    """Inline the body of a loop with one iteration."""
    first = bound_expr(loop.min)
    start = Materializer(inserter(loop))(first, cast(IntegerType, loop.loop_var.type))
    loop.loop_var.replace_all_uses_with(start)
    inside = list(loop.body.block.ops)
    inline_before(loop.body.block, loop)
    erase_with_tree(loop)
    return inside


def _inside(loop: tir.ForOp) -> list[Operation]:
    return list(loop.walk())[1:]


def _plain(condition: SSAValue) -> tuple[SSAValue, bool]:
    """Return a condition without its `likely` mark, and whether it had one."""
    owner = condition.owner
    if isinstance(owner, tir.CallIntrinOp) and owner.func.data == "likely":
        return owner.call_args[0], True
    return condition, False


def _narrow(range_: _Range, condition: SSAValue, loop: tir.ForOp, branch: _Branch) -> bool:
    """Narrow the range to where `condition` holds for all iterations of the inner loops; return False if impossible."""
    parts = _conjunction(sym_expr_of(condition))
    limits = [_limit(part, loop, branch) for part in parts]
    if not parts or any(limit is None for limit in limits):
        return False
    for low, high in (limit for limit in limits if limit is not None):
        if low is not None:
            range_.low = low if range_.low is None else maximum(range_.low, low)
        if high is not None:
            range_.high = high if range_.high is None else minimum(range_.high, high)
    return True


def _conjunction(condition: SymExpr) -> list[Op]:
    """Return the conjuncts of a condition, or none if one is not an order comparison."""
    if not isinstance(condition, Op):
        return []
    if condition.kind == "and":
        parts = [_conjunction(a) for a in condition.args]
        return [p for part in parts for p in part] if all(parts) else []
    return [condition] if condition.kind in ("lt", "le", "gt", "ge") else []


def _limit(part: Op, loop: tir.ForOp, branch: _Branch) -> tuple[SymExpr | None, SymExpr | None] | None:
    """Return the bounds (low, high) that a comparison implies for the loop variable, or None if it does not."""
    difference = part.args[0] - part.args[1]
    if part.kind in ("gt", "ge"):
        difference = -difference
    below = difference - 1 if part.kind in ("le", "ge") else difference  # true where this is negative
    variable = Var(loop.loop_var, cast(IntegerType, loop.loop_var.type))
    factor = (below.substitute({variable: add(variable, 1)}) - below).constant
    if not factor:
        return None
    span = relaxed(below - mul(variable, factor), _inner_bounds(loop, branch))
    if span is None or any(_is_inside(v, loop) for v in span[1].free_vars()):
        return None
    most = span[1]
    if factor > 0:
        return None, floordiv(-most - 1, factor) + 1
    return floordiv(most, -factor) + 1, None


def _inner_bounds(loop: tir.ForOp, branch: _Branch) -> dict[SSAValue, Ends | None]:
    """Return the ranges of the loop variables between a loop and a nested branch."""
    inner: list[tir.ForOp] = []
    op = branch.parent_op()
    while op is not None and op is not loop:
        inner += [op] if isinstance(op, tir.ForOp) else []
        op = op.parent_op()
    bounds: dict[SSAValue, Ends | None] = {}
    for each in reversed(inner):
        first = bound_expr(each.min)
        spans = relaxed(first, bounds), relaxed(first + bound_expr(each.extent) - 1, bounds)
        bounds[each.loop_var] = None if spans[0] is None or spans[1] is None else (spans[0][0], spans[1][1])
    return bounds


def _is_inside(variable: Var, loop: tir.ForOp) -> bool:
    value = variable.value
    if value is None:
        return False
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return owner is not None and loop.is_ancestor(owner)


def _loop_over(loop: tir.ForOp, start: SymExpr, extent: SymExpr) -> tir.ForOp:
    """Return a copy of a loop over a part of its range, with the variable starting from 0."""
    insert = inserter(loop)
    build = Materializer(insert)
    dtype = cast(IntegerType, loop.loop_var.type)
    bound = extent if all(v.value is None for v in extent.free_vars()) else build(extent, dtype)
    body = Block(arg_types=[dtype])
    set_name(body.args[0], name_of(loop.loop_var))
    index = body.args[0]
    if start.constant != 0:
        body.add_op(shift := tir.AddOp(index, Materializer(body.add_op)(start, dtype)))
        index = shift.result
    values: dict[SSAValue, SSAValue] = {loop.loop_var: index}
    for op in loop.body.block.ops:
        body.add_op(op.clone(values))
    new = tir.ForOp(Const(0, dtype), bound, Region(body), loop.kind, annotations=loop.annotations)
    insert(new)
    return new
