"""`loop-partition`: the iterations for which a condition holds anyway get a loop of their own, without the condition.

    for %i to n {if likely(%i < 11) {S}}     ->     for %i to min(n, 11) {S};  for %i = min(n, 11) to n {if … {S}}

Looked at are loops of unknown extent with conditions that are said to be likely, and all conditions in loops with the
annotation `pragma_loop_partition_hint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Op, SymExpr, Var, add, floordiv, maximum, minimum, mul
from ...dialects.tir import ForKind
from ...ir.affine import Materializer, expr_of
from ...ir.regions import Interval, relaxed
from ...ir.transform import Pass
from .options import configured
from .walk import bind_loop, bound_expr, erase_with_tree, functions, inline_before, inserter, remove_dead

HINT = "pragma_loop_partition_hint"


@dataclass(frozen=True)
class LoopPartition(Pass):
    """Split serial loops; with `partition_const_loop` those of constant extent, too."""

    name = "loop-partition"
    partition_const_loop: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.LoopPartition")
        for func in functions(op):
            analyzer = Analyzer()
            changed = False
            for loop in [inner for inner in func.walk() if isinstance(inner, tir.ForOp)]:
                bind_loop(analyzer, loop)
                if _is_candidate(loop, options):
                    changed |= _partition(loop, analyzer)
            if changed:
                remove_dead(func)


def _is_hinted(loop: tir.ForOp) -> bool:
    return loop.annotations is not None and HINT in loop.annotations.data


def _is_candidate(loop: tir.ForOp, options: LoopPartition) -> bool:
    if loop.kind is not ForKind.SERIAL or loop.parent is None:
        return False
    return _is_hinted(loop) or options.partition_const_loop or bound_expr(loop.extent).constant is None


@dataclass
class _Range:
    """Where all conditions hold: from `low`, to below `high`; no limit where None."""

    low: SymExpr | None = None
    high: SymExpr | None = None


def _partition(loop: tir.ForOp, analyzer: Analyzer) -> bool:
    """Split a loop where its conditions say so; whether it was."""
    branches = [op for op in loop.walk() if isinstance(op, tir.IfOp) and not op.has_else]
    found = _Range()
    decided: list[tir.IfOp] = []
    for branch in branches:
        condition, likely = _plain(branch.cond)
        if (likely or _is_hinted(loop)) and _narrow(found, condition, loop, branch):
            decided.append(branch)
    if not decided:
        return False
    first = bound_expr(loop.min)
    end = first + bound_expr(loop.extent)
    high = end if found.high is None else maximum(minimum(found.high, end), first)
    low = first if found.low is None else minimum(maximum(found.low, first), high)
    cuts = [analyzer.simplify(e) for e in (first, low, high, end)]
    if analyzer.can_prove_equal(cuts[1], cuts[2]):
        return False
    for number, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
        if not analyzer.can_prove_equal(start, stop):
            _loop_over(loop, start, stop, decided if number == 1 else [])
    erase_with_tree(loop)
    return True


def _plain(condition: SSAValue) -> tuple[SSAValue, bool]:
    """A condition, and whether it is said to be likely."""
    owner = condition.owner
    if isinstance(owner, tir.CallIntrinOp) and owner.func.data == "likely":
        return owner.call_args[0], True
    return condition, False


def _narrow(found: _Range, condition: SSAValue, loop: tir.ForOp, branch: tir.IfOp) -> bool:
    """Narrow the range to where `condition` holds for all iterations of the loops inside; false where it cannot be."""
    parts = _conjunction(expr_of(condition))
    limits = [_limit(part, loop, branch) for part in parts]
    if not parts or any(limit is None for limit in limits):
        return False
    for low, high in (limit for limit in limits if limit is not None):
        if low is not None:
            found.low = low if found.low is None else maximum(found.low, low)
        if high is not None:
            found.high = high if found.high is None else minimum(found.high, high)
    return True


def _conjunction(condition: SymExpr) -> list[Op]:
    """The parts of a condition that all hold; none where one is no comparison by order."""
    if not isinstance(condition, Op):
        return []
    if condition.kind == "and":
        parts = [_conjunction(a) for a in condition.args]
        return [p for part in parts for p in part] if all(parts) else []
    return [condition] if condition.kind in ("lt", "le", "gt", "ge") else []


def _limit(part: Op, loop: tir.ForOp, branch: tir.IfOp) -> tuple[SymExpr | None, SymExpr | None] | None:
    """(low, high) of the loop variable where a comparison holds; None where it does not follow from one alone."""
    difference = part.args[0] - part.args[1]
    if part.kind in ("gt", "ge"):
        difference = -difference
    below = difference - 1 if part.kind in ("le", "ge") else difference  # it holds where this is negative
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


def _inner_bounds(loop: tir.ForOp, branch: tir.IfOp) -> dict[SSAValue, Interval | None]:
    """The ranges of the loop variables between a loop and a branch in it."""
    inner: list[tir.ForOp] = []
    op = branch.parent_op()
    while op is not None and op is not loop:
        inner += [op] if isinstance(op, tir.ForOp) else []
        op = op.parent_op()
    bounds: dict[SSAValue, Interval | None] = {}
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


def _loop_over(loop: tir.ForOp, start: SymExpr, stop: SymExpr, decided: Sequence[tir.IfOp]) -> None:
    """A copy of a loop over a part of its range, in which some branches are taken for certain."""
    insert = inserter(loop)
    build = Materializer(insert)
    dtype = cast(IntegerType, loop.loop_var.type)
    bounds = [e if all(v.value is None for v in e.free_vars()) else build(e, dtype) for e in (start, stop - start)]
    body = Block(arg_types=[dtype])
    set_name(body.args[0], name_of(loop.loop_var))
    values: dict[SSAValue, SSAValue] = {loop.loop_var: body.args[0]}
    for op in loop.body.block.ops:
        body.add_op(op.clone(values))
    notes = {} if loop.annotations is None else {k: v for k, v in loop.annotations.data.items() if k != HINT}
    new = tir.ForOp(bounds[0], bounds[1], Region(body), annotations=DictionaryAttr(notes) if notes else None)
    insert(new)
    copies = dict(zip(loop.walk(), new.walk(), strict=True))
    for branch in decided:
        copy = cast(tir.IfOp, copies[branch])
        inline_before(copy.then_region.block, copy)
        erase_with_tree(copy)
