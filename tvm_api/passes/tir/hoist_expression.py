"""`hoist-expression`, `hoist-if-then-else`: hoist loop-invariant conditions and let-bound values out of loops.

    for %i {                                         for %i {
      for %j {                                         if %i < %n {
        if %i < %n and %j < 4 {S}             ->         for %j {if %j < 4 {S}}
      }                                                }
    }                                                }

Conditions are hoisted if the branch, or the expression that evaluates one of two sides, is the only content
of a loop: each side gets a copy of the loop with the condition resolved. `hoist-if-then-else` does so for
branches only:

    for %i {if %c {S(%i)} else {T(%i)}}     ->     if %c {for %i {S(%i)}} else {for %i {T(%i)}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntFlag
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ....diagnostics import unknown_name
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....handles.tir.expr_trees import same_tree
from ....ir.affine.values import sym_expr_of
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.copy import copied_tree
from ....ir.rewriting.edit import inline_before, inserter
from ....transforms.tir.walk import erase_with_tree, functions, inline_branch, remove_dead
from .remove_no_op import RemoveNoOp
from .simplify import Simplify


class HoistedConditionals(IntFlag):
    """The conditions to hoist; `BooleanExpression` hoists operands of `and` and `or` separately."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = 15


class HoistedLetBindings(IntFlag):
    """The let-bound values to hoist: those that a hoisted condition needs, those of statements, those of
    expressions.
    """

    Never = 0
    RequiredByConditional = 1
    LetStmt = 2
    LetExpr = 4
    All = 7


@dataclass(frozen=True)
class HoistExpression(Pass):
    """Hoist conditions and values out of loops as far as possible.

    The options are sums of flags, as in TVM's `tir.HoistExpression`. Hoisted values read no memory (which may
    change in the loop) and divide only by constants (the loop may not run at all). Conditions on thread-bound
    loops require `UsingBlockVar`.
    """

    name = "hoist-expression"
    hoisted_conditionals: int = 7
    hoisted_let_bindings: int = 7

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.HoistExpression")
        hoist(op, HoistedConditionals(options.hoisted_conditionals), HoistedLetBindings(options.hoisted_let_bindings))
        _tidy(ctx, op)


def _tidy(ctx: Context, module: ModuleOp) -> None:
    """Simplify the program, and remove what does nothing in it."""
    Simplify().apply(ctx, module)
    RemoveNoOp().apply(ctx, module)


def hoist(module: ModuleOp, conditionals: HoistedConditionals, lets: HoistedLetBindings) -> None:
    """Hoist conditions and let-bound values of all tensor functions out of loops, in place."""
    for func in functions(module):
        _Hoister(conditionals, lets).block(func.body.block)
        remove_dead(func)


class _Hoister:
    def __init__(self, conditionals: HoistedConditionals, lets: HoistedLetBindings):
        self.conditionals = conditionals
        self.lets = lets

    def block(self, block: Block) -> None:
        """Visit outer loops first, so that inner ones contain only what cannot be hoisted further."""
        for op in list(block.ops):
            if isinstance(op, tir.ForOp):
                self._loop(op)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)

    def _loop(self, loop: tir.ForOp) -> None:
        self._hoist_lets(loop)
        condition = next((c for c in self._candidates(loop.body.block) if self._may_go(c, loop)), None)
        if condition is None:
            self.block(loop.body.block)
            return
        branch = _branch_around(loop, condition)
        for region in branch.regions:
            if region.first_block is not None:
                self.block(region.block)

    def _candidates(self, block: Block) -> Iterator[SSAValue]:
        """Yield the conditions that are the only statements of their bodies, outer ones first."""
        statements = [op for op in block.ops if not _is_expression(op)]
        alone = len(statements) <= 1 and not any(s.regions for s in statements)
        if HoistedConditionals.IfElseExpr in self.conditionals and alone:
            yield from self._of_expressions(block)
        if len(statements) != 1 or isinstance(statements[0], tir.WhileOp):
            return
        (statement,) = statements
        if isinstance(statement, tir.IfOp) and HoistedConditionals.IfElseStmt in self.conditionals:
            yield from self._parts(statement.cond)
        for region in statement.regions:
            for inner in region.blocks:
                yield from self._candidates(inner)

    def _of_expressions(self, block: Block) -> Iterator[SSAValue]:
        for op in block.ops:
            if isinstance(op, tir.IfThenElseOp):
                yield from self._parts(op.cond)
            for region in op.regions if _is_expression(op) else ():
                yield from self._of_expressions(region.block)

    def _parts(self, condition: SSAValue) -> Iterator[SSAValue]:
        owner = condition.owner
        if HoistedConditionals.BooleanExpression in self.conditionals and isinstance(owner, _LOGIC):
            for part in owner.operands:
                yield from self._parts(part)
        elif sym_expr_of(condition).constant is None:
            yield condition

    def _may_go(self, condition: SSAValue, loop: tir.ForOp) -> bool:
        if HoistedConditionals.UsingBlockVar not in self.conditionals and _uses_thread(condition):
            return False
        return is_invariant(condition, loop)

    def _hoist_lets(self, loop: tir.ForOp) -> None:
        """Hoist let-bound values that are evaluated in each iteration anyway out of a loop."""
        for op in list(_unconditional(loop.body.block)):
            if isinstance(op, tir.LetOp) and is_invariant(op.value, loop) and self._is_hoistable(op):
                insert = inserter(loop)
                value = copy_before(op.value, loop, insert)
                op.detach()
                op.operands[0] = value
                insert(op)
            elif isinstance(op, tir.LetInOp) and self._may_be_named(op, loop):
                _name_before(op, loop)

    def _may_be_named(self, op: tir.LetInOp, loop: tir.ForOp) -> bool:
        return HoistedLetBindings.LetExpr in self.lets and is_invariant(op.value, loop)

    def _is_hoistable(self, op: tir.LetOp) -> bool:
        if HoistedLetBindings.LetStmt in self.lets:
            return True
        return HoistedLetBindings.RequiredByConditional in self.lets and _is_in_condition(op.result)


_QUIET = (
    tir.LoadOp,
    tir.YieldOp,
    tir.LetOp,
    tir.ReadsOp,
    tir.WritesOp,
    tir.AllocBufferOp,
    tir.DeclBufferOp,
    tir.MatchBufferOp,
)
_LOGIC = (tir.AndOp, tir.OrOp)
_DIVISIONS = (tir.DivOp, tir.TruncModOp, tir.FloorDivOp, tir.FloorModOp)


def _is_expression(op: Operation) -> bool:
    """Return whether an op is an expression instead of a statement with effects."""
    if isinstance(op, tir.IfThenElseOp | tir.LetInOp):
        return all(_is_expression(inner) for region in op.regions for inner in region.block.ops)
    return isinstance(op, _QUIET) or is_side_effect_free(op)


def _is_inside(op: Operation | Block, loop: tir.ForOp) -> bool:
    inner = op if isinstance(op, Operation) else op.parent_op()
    return inner is not None and loop.is_ancestor(inner)


def is_invariant(value: SSAValue, loop: tir.ForOp) -> bool:
    """Return whether a value is loop-invariant, reads no memory, and may be computed if the loop does not run."""
    owner = value.owner
    if not _is_inside(owner, loop):
        return True
    if not isinstance(owner, Operation) or owner.regions or not is_side_effect_free(owner):
        return False
    if isinstance(owner, _DIVISIONS) and not _constant_divisor(owner):
        return False
    return all(is_invariant(o, loop) for o in owner.operands)


def _constant_divisor(op: Operation) -> bool:
    divisor = op.operands[1].owner
    return isinstance(divisor, tir.ConstOp) and bool(divisor.py_value)


def _uses_thread(value: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return isinstance(parent, tir.LaunchThreadOp) or (isinstance(parent, tir.ForOp) and parent.thread is not None)
    return any(map(_uses_thread, owner.operands))


def copy_before(value: SSAValue, loop: tir.ForOp, insert: Callable[[Operation], None]) -> SSAValue:
    """Copy the computation of a loop-invariant value in front of the loop."""
    return copied_tree(value, insert, lambda v: not _is_inside(v.owner, loop))


def _unconditional(block: Block) -> Iterator[Operation]:
    """Yield the operations of a block and of nested loops and blocks, except for branches."""
    for op in block.ops:
        yield op
        if isinstance(op, tir.ForOp | tir.BlockOp | tir.AttrOp | tir.LaunchThreadOp):
            yield from _unconditional(op.body.block)


def _is_in_condition(value: SSAValue) -> bool:
    users = [use.operation for use in value.uses]
    named = [r for op in users if isinstance(op, tir.LetOp) or is_side_effect_free(op) for r in op.results]
    return any(isinstance(op, tir.IfOp) for op in users) or any(map(_is_in_condition, named))


def _name_before(op: tir.LetInOp, loop: tir.ForOp) -> None:
    """`for … {… let_in %x = %v {%y} …}` -> `%x = let %v; for … {… %y …}`"""
    insert = inserter(loop)
    let = tir.LetOp(copy_before(op.value, loop, insert))
    insert(let)
    set_name(let.result, name_of(op.var))
    op.var.replace_all_uses_with(let.result)
    end = cast(tir.YieldOp, op.body.block.last_op)
    op.result.replace_all_uses_with(end.value)
    erase_with_tree(end)
    inline_before(op.body.block, op)
    erase_with_tree(op)


def _branch_around(loop: tir.ForOp, condition: SSAValue) -> tir.IfOp:
    """Replace a loop by a branch with a copy of the loop on each side, in which the condition is resolved."""
    insert = inserter(loop)
    outside = copy_before(condition, loop, insert)
    sides = [_specialize_loop(loop, condition, holds) for holds in (True, False)]
    if sides[0].block.last_op is None:
        insert(opposite := tir.NotOp(outside))
        branch = tir.IfOp(opposite.result, sides[1])
    else:
        branch = tir.IfOp(outside, sides[0], None if sides[1].block.last_op is None else sides[1])
    insert(branch)
    erase_with_tree(loop)
    return branch


def _specialize_loop(loop: tir.ForOp, condition: SSAValue, holds: bool) -> Region:
    """Return a copy of a loop in which a condition is true or false; empty if nothing remains."""
    copy = loop.clone()
    known = tir.ConstOp(holds, i1)
    block = Block([known, copy])
    for op in copy.walk():
        for position, operand in enumerate(op.operands):
            if operand.type == i1 and same_tree(operand, condition):
                op.operands[position] = known.result
    for op in list(copy.walk()):
        if isinstance(op, _LOGIC):
            _fold(op)
        elif isinstance(op, tir.IfThenElseOp) and (side := sym_expr_of(op.cond).constant) is not None:
            inline_branch(op, bool(side))
    for op in reversed(list(copy.walk())):
        _clean(op)
    if known.result.first_use is None:
        erase_with_tree(known)
    return Region(block)


def _fold(op: tir.BinaryExpr) -> None:
    """Simplify `and` and `or` with constant operands."""
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        value = sym_expr_of(one).constant
        if value is not None:
            op.result.replace_all_uses_with(one if bool(value) == isinstance(op, tir.OrOp) else other)
            return


def _clean(op: Operation) -> None:
    """Remove a resolved branch, and a statement without content."""
    if isinstance(op, tir.IfOp) and (side := sym_expr_of(op.cond).constant) is not None:
        inline_branch(op, bool(side))
    elif isinstance(op, tir.ForOp | tir.IfOp | tir.BlockOp | tir.AttrOp) and all(map(_does_nothing, op.regions)):
        erase_with_tree(op)


def _does_nothing(region: Region) -> bool:
    return all(_is_expression(op) for block in region.blocks for op in block.ops)


_VARIANTS = ("basic",)


@dataclass(frozen=True)
class HoistIfThenElse(Pass):
    """Hoist branches that are the only content of a loop out of it, as far as their conditions allow.

    The condition must not read memory, which may change in the loop. Conditions on thread-bound loop variables
    are not hoisted, except with `support_block_scope_hosting` and without the variant "basic". Raises
    `NameLookupError` for other variants.
    """

    name = "hoist-if-then-else"
    variant: str | None = None
    support_block_scope_hosting: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.HoistIfThenElse")
        if options.variant is not None and options.variant not in _VARIANTS:
            raise unknown_name("variant of hoist-if-then-else", options.variant, _VARIANTS)
        flags = HoistedConditionals.IfElseStmt
        if options.support_block_scope_hosting and options.variant is None:
            flags |= HoistedConditionals.UsingBlockVar
        if any(func.func_attrs is not None and _OF_EXPRESSIONS in func.func_attrs.data for func in functions(op)):
            flags = HoistedConditionals.UsingBlockVar | HoistedConditionals.IfElseExpr
        hoist(op, flags, HoistedLetBindings.Never)
        _tidy(ctx, op)


_OF_EXPRESSIONS = "tir.HoistIfThenElseExprWithBlock"
"""The attribute of functions whose choices in expressions are hoisted."""
