"""Removal of branches whose sides have the same effect: TVM's `ReduceBranchingThroughOvercompute`, and
`UseAssumeToReduceBranches` for padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....handles.tir.domains import Range
from ....handles.tir.prim_expr import PrimExpr, const, from_sym, logical_and
from ....ir.equality import structural_equal
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import inline_before
from ....transforms.tir.asserts import is_assume
from ....transforms.tir.walk import bound_expr, functions, inline_branch, is_pure, remove_dead
from ...handles.arith.analyzer import Analyzer
from ...handles.arith.rewrite import RewriteSimplifier
from ...handles.arith.terms import Term, expression_of, raw, substituted, term_of
from ...handles.arith.terms import const as constant
from .overwritten import Sweep, is_unread, sweep_of
from .value_propagation import KnownContents


@dataclass(frozen=True)
class ReduceBranchingThroughOvercompute(Pass):
    """Replace a branch by one of its sides if that one does no harm where the other is taken.

    Harmless are statements without effect under the condition of the other side; with `use_dataflow_analysis` also
    stores of what the buffer is known to hold, and stores that are overwritten before they are read. Options may be
    set by `PassContext(config={"tir.ReduceBranchingThroughOvercompute": {…}})`.
    """

    name = "reduce-branching-through-overcompute"
    use_dataflow_analysis: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.ReduceBranchingThroughOvercompute")
        for func in functions(op):
            _Branches(options.use_dataflow_analysis).block(func.body.block)
            remove_dead(func)


@dataclass(frozen=True)
class UseAssumeToReduceBranches(Pass):
    """Replace a stored `T.if_then_else(c, a, b)` by `b` if it is `a` where `c` holds, or by `a`.

    What buffers hold is known from `T.assume` in earlier statements. Only functions whose attribute `op_pattern` is
    elementwise or a broadcast change, as in TVM.
    """

    name = "use-assume-to-reduce-branches"
    PATTERNS: ClassVar[tuple[int, ...]] = (0, 1)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            pattern = None if func.func_attrs is None else func.func_attrs.data.get("op_pattern")
            if isinstance(pattern, IntegerAttr) and pattern.value.data in self.PATTERNS:
                _Choices(True).block(func.body.block)
                remove_dead(func)


class _Walk:
    """A walk in order, with what is known at each statement: ranges, conditions, and contents of buffers."""

    def __init__(self, dataflow: bool) -> None:
        self.rules = Analyzer()
        self.contents = KnownContents(self.holds)
        self.dataflow = dataflow
        self.conditions: list[PrimExpr] = []

    def holds(self, condition: Term) -> bool:
        """Return whether a condition holds here."""
        for value in _variables(condition):
            bound = self.rules.const_int_bound(PrimExpr(value))
            if bound.min_value == bound.max_value:
                condition = substituted(condition, term_of(value), constant(int(bound.min_value), value.type))
        return bool(self.rewritten(condition).number) or self.rules.can_prove(expression_of(condition))

    def is_in_bounds(self, op: Operation) -> bool:
        """Return whether all that an operation loads and stores is inside of the buffers, also where it did not run.

        Loops inside of it are not followed.
        """
        accesses = [inner for inner in _expressions(op) if isinstance(inner, tir.LoadOp | tir.StoreOp)]
        if any(isinstance(inner, tir.ForOp) for inner in op.walk()):
            return not accesses
        return all(self._is_inside(access) for access in accesses)

    def _is_inside(self, op: tir.LoadOp | tir.StoreOp) -> bool:
        t = op.buffer.type
        if not isinstance(t, tir.BufferType) or any(not isinstance(i.type, IntegerType) for i in op.indices):
            return False
        for index, extent in zip(op.indices, t.dims, strict=True):
            place, zero = term_of(index), constant(0, index.type)
            end = term_of(PrimExpr(from_sym(extent).ssa).astype(str(PrimExpr(index).dtype)).ssa)
            if not self.holds(raw("le", zero, place)) or not self.holds(raw("lt", place, end)):
                return False
        return True

    def rewritten(self, term: Term) -> Term:
        """Return the normal form of a term here."""
        return RewriteSimplifier(self.rules).simplified(term)

    @contextmanager
    def where(self, condition: PrimExpr) -> Iterator[None]:
        """Assume a condition."""
        self.conditions.append(condition)
        with self.rules.constraint_scope(condition):
            yield
        self.conditions.pop()

    def block(self, block: Block) -> None:
        """Visit the statements of a block."""
        for op in list(block.ops):
            if op.parent is block:
                self.STATEMENTS.get(type(op), _Walk.other)(self, op)

    def other(self, op: Operation) -> None:
        """Visit the bodies of a statement."""
        outside = self.contents
        outside.forget_stores(op)
        for body in [b for region in op.regions for b in region.blocks]:
            self.contents = outside.copy()
            self.block(body)
        self.contents = outside

    def store(self, op: tir.StoreOp) -> None:
        """Record what a store puts."""
        self.contents.store(op)

    def evaluate(self, op: tir.EvaluateOp) -> None:
        """Record what is assumed."""
        if is_assume(op.value.owner) and isinstance(op.value.owner, Operation):
            self.contents.assume(term_of(op.value.owner.operands[0]))

    def loop(self, op: tir.ForOp) -> None:
        """Visit a loop."""
        first, extent = bound_expr(op.min), bound_expr(op.extent)
        self.rules.bind(PrimExpr(op.loop_var), Range.from_min_extent(from_sym(first), from_sym(extent)))
        after = self.contents.enter(op)
        entered = self.contents.facts
        self.block(op.body.block)
        self.contents.leave(op, after, entered)

    def tir_block(self, op: tir.BlockOp) -> None:
        """Visit a block; what it makes known is known of the iterations that its iterators are bound to."""
        for variable, low, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
            self.rules.bind(PrimExpr(variable), Range.from_min_extent(from_sym(low), from_sym(extent)))
        if op.init is not None or op.predicate is not None:
            self.other(op)
            return
        self.block(op.body.block)
        self.contents.rename(zip(map(term_of, op.iter_vars), map(term_of, op.bindings), strict=True))

    def branch(self, op: tir.IfOp) -> None:
        """Visit both sides of a branch."""
        outside, condition = self.contents, term_of(op.cond)
        ways: list[KnownContents] = []
        for side, assumed in zip((op.then_region, op.else_region), _sides(op), strict=True):
            self.contents = outside.copy()
            with self.where(assumed):
                for body in side.blocks:
                    self.block(body)
            ways.append(self.contents)
        self.contents = outside
        outside.join(condition, *ways)

    STATEMENTS: ClassVar[dict[type[Operation], Callable[..., None]]] = {
        tir.StoreOp: store,
        tir.EvaluateOp: evaluate,
        tir.ForOp: loop,
        tir.BlockOp: tir_block,
        tir.IfOp: branch,
    }


class _Branches(_Walk):
    """Replaces branches by a side that does no harm."""

    def reduced(self, op: tir.IfOp) -> None:
        """Visit a branch, then replace it if one side serves for both."""
        before = self.contents.copy()
        self.branch(op)
        sides = [[s for b in region.blocks for s in _statements(b)] for region in (op.then_region, op.else_region)]
        after, self.contents = self.contents, before
        then, other = sides
        if other and self._serves(other, then, _sides(op)[0], op):
            inline_branch(op, False)
        elif self._serves(then, other, _sides(op)[1], op):
            inline_branch(op, True)
        self.contents = after

    def _serves(
        self, general: Sequence[Operation], special: Sequence[Operation], condition: PrimExpr, op: tir.IfOp
    ) -> bool:
        """Return whether statements do under a condition what the special ones do."""
        outside = self.contents
        self.contents = outside.copy()
        with self.where(condition):
            rest = [s for s in general if not self._has_no_effect(s, op)]
            safe = all(map(self.is_in_bounds, general))
        self.contents = outside
        return safe and len(rest) == len(special) and all(map(structural_equal, rest, special))

    def _has_no_effect(self, op: Operation, branch: tir.IfOp) -> bool:
        if isinstance(op, tir.EvaluateOp):
            return is_pure(op.value.owner) and not is_assume(op.value.owner)
        if not isinstance(op, tir.StoreOp):
            self.contents.forget_stores(op)
            return False
        if self._is_there(op) or (self.dataflow and self._is_overwritten(op, branch)):
            return is_pure(op.value.owner)
        self.contents.store(op)
        return False

    def _is_there(self, op: tir.StoreOp) -> bool:
        """Return whether the buffer holds what is stored."""
        value = term_of(op.value)
        value = self.contents.resolved(value) if self.dataflow else value
        old = raw("load", term_of(op.buffer), *map(term_of, op.indices), dtype=op.value.type)
        if value is old:
            return True
        held = self.contents.resolved(old) if self.dataflow else old
        return any(self.holds(raw("eq", value, place)) for place in dict.fromkeys((old, held)))

    def _is_overwritten(self, op: tir.StoreOp, branch: tir.IfOp) -> bool:
        """Return whether a later statement replaces what is stored, before anything reads it."""
        domain: dict[PrimExpr, Range] = {}
        condition = const(True, "bool")
        for each in self.conditions:
            condition = logical_and(condition, each)
        statement: Operation | None = branch
        while statement is not None and not isinstance(statement, tir.FuncOp):
            stored = Sweep(op, dict(domain), condition)
            later = statement.next_op
            while later is not None:
                sweep = sweep_of(later)
                if sweep is not None and sweep.covers(stored) and is_unread(statement, later, stored):
                    return True
                later = later.next_op
            statement = statement.parent_op()
            if isinstance(statement, tir.ForOp):
                bounds = bound_expr(statement.min), bound_expr(statement.extent)
                domain[PrimExpr(statement.loop_var)] = Range.from_min_extent(*map(from_sym, bounds))
        return False

    STATEMENTS: ClassVar[dict[type[Operation], Callable[..., None]]] = {**_Walk.STATEMENTS, tir.IfOp: reduced}


class _Choices(_Walk):
    """Replaces stored choices between equal values."""

    def chosen(self, op: tir.StoreOp) -> None:
        """Visit a store."""
        choice = op.value.owner
        if isinstance(choice, tir.IfThenElseOp):
            sides = [term_of(r.block.last_op.operands[0]) for r in choice.regions if r.block.last_op is not None]
            for condition, keep in zip(_sides(choice), reversed(sides), strict=True):
                with self.where(condition):
                    same = {id(self.rewritten(self.contents.resolved(side))) for side in sides}
                    safe = all(map(self.is_in_bounds, choice.regions[1 if keep is sides[1] else 0].block.ops))
                if len(same) == 1 and safe:
                    op.operands[0] = _before(expression_of(keep), op)
                    break
        self.store(op)

    STATEMENTS: ClassVar[dict[type[Operation], Callable[..., None]]] = {**_Walk.STATEMENTS, tir.StoreOp: chosen}


def _sides(op: tir.IfOp | tir.IfThenElseOp) -> tuple[PrimExpr, PrimExpr]:
    """Return the conditions of both sides of a branch."""
    return PrimExpr(op.cond), PrimExpr(tir.NotOp(op.cond).result)


def _statements(block: Block) -> list[Operation]:
    return [op for op in block.ops if not op.results or not is_pure(op)]


def _expressions(op: Operation) -> Iterator[Operation]:
    """Yield the operations in a statement, with those that compute its operands."""
    for inner in op.walk():
        yield inner
        for operand in inner.operands:
            if isinstance(operand.owner, Operation) and operand.owner is not op and is_pure(operand.owner):
                yield from _expressions(operand.owner)


def _variables(term: Term) -> set[SSAValue]:
    """Return the variables of a term."""
    if term.op == "leaf":
        return {term.value} if isinstance(term.value, SSAValue) and isinstance(term.value.owner, Block) else set()
    return {v for a in term.args for v in _variables(a)}


def _before(value: PrimExpr, user: Operation) -> SSAValue:
    block = Block()
    new = clone_expr(value.ssa, block, {})
    inline_before(block, user)
    return new
