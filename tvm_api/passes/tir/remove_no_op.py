"""`remove-no-op`: remove empty loops and branches, unused variables and buffers, and evaluated constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import SymExpr
from ....dialects.sym.operators import OPS, logical_not
from ....handles.tir.expr_trees import same_tree
from ....ir.affine.values import sym_expr_of
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.edit import insert_before, inserter
from ....transforms.tir.asserts import is_assume
from ....transforms.tir.walk import (
    bind_loop,
    bound_expr,
    erase_with_operands,
    erase_with_tree,
    functions,
    is_empty,
    is_pure,
    may_initialize,
    remove_dead,
)
from .overwritten import remove_overwritten


@dataclass(frozen=True)
class RemoveNoOp(Pass):
    """Remove statements without effect, inner ones first.

    This includes stores of the value already there, and stores to a buffer that is never read; with
    `use_dataflow_analysis` also stores overwritten by later statements of their block. Options may be set by
    `PassContext(config={"tir.RemoveNoOp": {…}})`.
    """

    name = "remove-no-op"
    use_dataflow_analysis: bool = False
    max_simplification_steps: int = 0
    """Accepted for compatibility with TVM: the analysis is bounded anyway."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.RemoveNoOp")
        for func in functions(op):
            remove_dead(func)
            if options.use_dataflow_analysis:
                remove_overwritten(func)
                remove_dead(func)
            for inner in reversed(list(func.walk())[1:]):
                if inner.parent is None:
                    continue
                if _is_no_op(inner):
                    erase_with_operands(inner)
                elif isinstance(inner, tir.LetOp) and inner.result.first_use is None:
                    _evaluate(inner)
                elif isinstance(inner, tir.IfOp) and is_empty(inner.then_region):
                    _negate_branch(inner)
                elif isinstance(inner, tir.IfOp) and is_empty(inner.else_region):
                    _without_else(inner)
            remove_dead(func)


def _is_no_op(op: Operation) -> bool:
    if isinstance(op, tir.ForOp):
        return is_empty(op.body) or (_never_runs(op) and not may_initialize(op))
    if isinstance(op, tir.IfOp):
        return is_empty(op.then_region) and is_empty(op.else_region)
    if isinstance(op, tir.AttrOp | tir.LaunchThreadOp):
        return is_empty(op.body)
    if isinstance(op, tir.EvaluateOp):
        return is_pure(op.value.owner) and not is_assume(op.value.owner)
    if isinstance(op, tir.LetOp):
        return op.result.first_use is None and is_pure(op.value.owner)
    if isinstance(op, tir.StoreOp):
        return _keeps_what_is_there(op) or _is_never_read(op)
    return isinstance(op, tir.AllocBufferOp | tir.AllocateOp) and op.result.first_use is None


def _evaluate(name: tir.LetOp) -> None:
    """Remove an unused variable, but keep the effects of its value."""
    insert_before(name, tir.EvaluateOp(name.value))
    erase_with_tree(name)


def _never_runs(loop: tir.ForOp) -> bool:
    """Return whether a loop never runs, for all iterations of the loops around it."""
    extent = bound_expr(loop.extent)
    if extent.constant is not None:
        return extent.constant <= 0
    known = Analyzer()
    around = loop.parent_op()
    while around is not None:
        if isinstance(around, tir.ForOp):
            bind_loop(known, around)
        around = around.parent_op()
    return known.bounds(extent).high <= 0


def _negate_branch(branch: tir.IfOp) -> None:
    """`if c {} else {S}` -> `if not c {S}`"""
    insert = inserter(branch)
    opposite = tir.NotOp(branch.cond)
    insert(opposite)
    side = branch.else_region.detach_block(branch.else_region.block)
    insert(tir.IfOp(opposite.result, Region(side)))
    erase_with_tree(branch)


def _without_else(branch: tir.IfOp) -> None:
    """`if c {S} else {}` -> `if c {S}`"""
    for block in list(branch.else_region.blocks):
        branch.else_region.erase_block(block)


def _keeps_what_is_there(op: tir.StoreOp) -> bool:
    """Return whether a store is `A[i] = A[i]` without a store in between."""
    source = op.value.owner
    if not isinstance(source, tir.LoadOp) or source.buffer is not op.buffer or source.parent is not op.parent:
        return False
    between = source.next_op
    while between is not None and between is not op:
        if not is_pure(between):
            return False
        between = between.next_op
    return _is_same_place(source.indices, op.indices, op)


def _is_same_place(first: Sequence[SSAValue], second: Sequence[SSAValue], at: Operation) -> bool:
    """Return whether indices are equal for all iterations of the surrounding loops, under the conditions there."""
    if all(same_tree(a, b) for a, b in zip(first, second, strict=True)):
        return True
    if not all(isinstance(i.type, IntegerType) for i in (*first, *second)):
        return False
    pairs = [(sym_expr_of(a), sym_expr_of(b)) for a, b in zip(first, second, strict=True)]
    known = Analyzer()
    for expr in [e for pair in pairs for e in pair]:
        _tell_names(known, expr)
    inner, around = at.parent, at.parent_op()
    while around is not None and inner is not None:
        if isinstance(around, tir.ForOp):
            bind_loop(known, around)
        elif isinstance(around, tir.IfOp) and around.cond.type == i1:
            condition = sym_expr_of(around.cond)
            if _is_lasting(condition):
                known.assume(condition if inner.parent is around.then_region else logical_not(condition))
        inner, around = around.parent, around.parent_op()
    return all(_is_lasting(a) and _is_lasting(b) and known.can_prove(OPS["eq"](a, b)) for a, b in pairs)


def _tell_names(known: Analyzer, expr: SymExpr) -> None:
    """Add the values of the variables in an expression to the analyzer."""
    for variable in expr.free_vars():
        let = None if variable.value is None else variable.value.owner
        if isinstance(let, tir.LetOp) and _is_lasting(value := sym_expr_of(let.value)):
            _tell_names(known, value)
            known.bind_value(variable, value)


def _is_lasting(expr: SymExpr) -> bool:
    """Return whether an expression has the same value everywhere: it reads no memory."""
    owners = [v.value.owner for v in expr.free_vars() if v.value is not None]
    return all(isinstance(o, Block | tir.LetOp) for o in owners)


def _is_never_read(op: tir.StoreOp) -> bool:
    """Return whether a buffer of the function itself is only stored to."""
    if not isinstance(op.buffer.owner, tir.AllocBufferOp):
        return False
    return all(isinstance(use.operation, tir.StoreOp) for use in op.buffer.uses)
