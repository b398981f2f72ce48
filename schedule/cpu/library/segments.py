"""Rows with choices, as concatenation, padding and rolling have: a loop for each part in which they are decided.

    for vectorized j in 410: Y[j] = X[j] if j < 333 else Z[j - 333]
        ->
    for vectorized j in 333: Y[j] = X[j]
    for vectorized j in 77:  Y[333 + j] = Z[j]

Conditions are conjunctions. What does not depend on j is checked once for each row:

    if 1 <= i: … without the condition … else: … with the other side …
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.ir import OpResult, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr, Var
from ....dialects.sym.operators import maximum, minimum
from ....ir.affine.values import conjuncts, is_fixed, sym_expr_of
from ...checks import slack_of, step_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ...rewrite import conjunction
from ..analysis.stages import Iter, Stage, tree
from ..policy.limits import MAX_ROW_VERSIONS

COMPARISONS = (tir.LeOp, tir.LtOp, tir.GeOp, tir.GtOp)
Taken = Mapping[tir.IfThenElseOp, bool]
"""The choices that are decided, and whether their condition holds."""


@dataclass(frozen=True)
class Bound:
    """`slack`, non-negative iff a comparison holds, whose coefficient of the iterator is `step`, 1 or -1.

    A step of the iterator is `length` elements of the row.
    """

    slack: SymExpr
    iterator: Var
    step: int
    length: SymExpr

    def first(self, places: Mapping[Var, SymExpr]) -> SymExpr:
        """Return the first element for which a rising comparison holds, or does not hold any more if it falls."""
        rest = self.slack.substitute({self.iterator: Const(0, self.iterator.dtype), **places})
        return (-rest if self.step > 0 else rest + 1) * self.length


@dataclass(frozen=True)
class Choice:
    """A choice whose condition is a conjunction: parts that a row has in common, and bounds along the row."""

    op: tir.IfThenElseOp
    common: tuple[SSAValue, ...]
    bounds: tuple[Bound, ...]


def choices_of(stage: Stage, lane: Iter) -> dict[tir.IfThenElseOp, Choice] | None:
    """Return the choices of a stage's element that are decided for parts of rows along `lane`.

    None if another choice depends on `lane`.
    """
    choices: dict[tir.IfThenElseOp, Choice] = {}
    for op in _choices_below(stage.store.value, {}):
        choice = _choice(op, lane)
        if choice is None:
            return None
        choices[op] = choice
    return choices


def _choice(op: tir.IfThenElseOp, lane: Iter) -> Choice | None:
    common: list[SSAValue] = []
    bounds: list[Bound] = []
    along = {it.var for it in (lane.parts or (lane,))}
    for part in conjuncts(op.cond):
        below = list(tree(part))
        if any(isinstance(inner, tir.LoadOp | tir.IfThenElseOp) for inner in below):
            return None
        if not along & {operand for inner in below for operand in inner.operands}:
            common.append(part)
            continue
        bound = _bound(part.owner, lane)
        if bound is None:
            return None
        bounds.append(bound)
    return Choice(op, tuple(common), tuple(bounds))


def _bound(comparison: object, lane: Iter) -> Bound | None:
    first = (lane.parts or (lane,))[0]
    if not isinstance(comparison, COMPARISONS) or comparison.lhs.type != lane.dtype:
        return None
    slack = slack_of(sym_expr_of(comparison.result))
    step = None if slack is None else step_of(slack, first.expr)
    if slack is None or step not in (1, -1):
        return None
    others = {it.expr for it in lane.parts[1:]}
    known = all(v.value is None or v == first.expr or _is_known(v.value) for v in slack.free_vars())
    if not known or others & set(slack.free_vars()):
        return None
    return Bound(slack, first.expr, step, reduce(lambda a, it: a * it.extent, lane.parts[1:], Const(1, lane.dtype)))


def _is_known(value: SSAValue) -> bool:
    """Return whether a value is an iterator of the block, or constant during a call."""
    return not isinstance(value, OpResult) or is_fixed(value)


@dataclass
class Rows:
    """The loops for the elements along `lane`; `where` has the values of the other iterators.

    `emit` takes the beginning, the number of elements and the decided choices of a part.
    """

    loops: LoopBuilder
    stage: Stage
    lane: Iter
    where: Bindings
    choices: Mapping[tir.IfThenElseOp, Choice]
    emit: Callable[[SymExpr, SymExpr, Taken], object]
    splits: bool = True
    versions: int = 1

    def run(self) -> None:
        """Emit the loops."""
        self._checked({}, frozenset())

    def _checked(self, taken: Taken, holds: frozenset[tir.IfThenElseOp]) -> None:
        """Emit the row once for each result of the parts of conditions that it has in common."""
        choice = next((c for c in self._open(taken) if c.common and c.op not in holds), None)
        if choice is None or self.versions >= MAX_ROW_VERSIONS:
            zero = Const(0, self.lane.dtype)
            self._parts(zero, self.lane.extent, taken, holds)
            return
        self.versions += 1
        cloner = self.loops.cloner(self.where)
        condition = conjunction([cloner(part) for part in choice.common], self.loops.insert)
        if_true = taken if choice.bounds else {**taken, choice.op: True}
        self.loops.branch_either(
            cast(SSAValue, condition),
            lambda: self._checked(if_true, holds | {choice.op}),
            lambda: self._checked({**taken, choice.op: False}, holds),
        )

    def _parts(self, begin: SymExpr, end: SymExpr, taken: Taken, holds: frozenset[tir.IfThenElseOp]) -> None:
        """Emit the elements from `begin` to `end`, in parts in which choices are decided."""
        ready = (c for c in self._open(taken) if c.bounds and (not c.common or c.op in holds))
        choice = next(ready, None) if self.splits else None
        if choice is None:
            self.emit(begin, end - begin, taken)
            return
        low, high = begin, end
        places = {it.expr: sym_expr_of(value) for it, value in self.loops.parts(self.where).items()}
        rising, falling = ([b.first(places) for b in choice.bounds if b.step == step] for step in (1, -1))
        if rising:
            low = minimum(reduce(maximum, rising, begin), end)
        if falling:
            high = maximum(reduce(minimum, falling, end), low)
        for first, last, value in ((begin, low, False), (low, high, True), (high, end, False)):
            if (last - first).constant != 0:
                self._parts(first, last, {**taken, choice.op: value}, holds)

    def _open(self, taken: Taken) -> Iterator[Choice]:
        """Yield the choices that the element still depends on."""
        for op in _choices_below(self.stage.store.value, taken):
            if op not in taken:
                yield self.choices[op]


def take(cloner: Cloner, value: SSAValue, taken: Taken) -> None:
    """Replace decided choices in copies of `value` by the sides that are taken."""
    for op in reversed([op for op in _choices_below(value, taken) if op in taken]):
        cloner.replace(op.results[0], cloner(_side(op, taken[op])))


def _choices_below(value: SSAValue, taken: Taken) -> list[tir.IfThenElseOp]:
    """Return the choices that a value depends on, those outside before those inside of their sides."""
    after: dict[tir.IfThenElseOp, None] = {}
    seen: set[SSAValue] = set()

    def visit(value: SSAValue) -> None:
        if value in seen or not isinstance(value, OpResult):
            return
        seen.add(value)
        op = value.op
        for operand in op.operands:
            visit(operand)
        if isinstance(op, tir.IfThenElseOp):
            for side in (taken[op],) if op in taken else (True, False):
                visit(_side(op, side))
            after[op] = None

    visit(value)
    return list(after)[::-1]


def _side(op: tir.IfThenElseOp, first: bool) -> SSAValue:
    region = op.then_region if first else op.else_region
    return cast(tir.YieldOp, region.block.last_op).value
