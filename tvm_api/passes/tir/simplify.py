"""`simplify`: TVM's `tir.transform.Simplify`, which brings conditions to the normal forms of `rewrite_simplify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import SymExpr, Var, i1, i32, i64
from ....dialects.sym.operations import COMPARISONS
from ....handles.tir.prim_expr import PrimExpr
from ....ir.affine.values import Materializer, sym_expr_of
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.copy import clone_expr
from ....ir.rewriting.edit import inline_before, inserter
from ....transforms.tir.asserts import is_assume
from ....transforms.tir.simplify import Simplifier, condition_of
from ....transforms.tir.walk import bound_expr, erase_with_tree, functions, inline_branch, remove_dead
from ...handles.arith.analyzer import Analyzer
from ...handles.arith.rewrite import RewriteSimplifier
from ...handles.arith.simplifier import Extension
from ...handles.arith.terms import Term, const, expression_of, raw, substituted, term_of
from .value_propagation import KnownContents


@dataclass(frozen=True)
class Simplify(Pass):
    """Simplify expressions to TVM's normal forms, and remove resolved branches and stores of values already there.

    The options are the extensions of the analyzer's `rewrite_simplify`, also set by
    `PassContext(config={"tir.Simplify": {…}})`.
    """

    name = "simplify"
    transitively_prove_inequalities: bool = False
    convert_boolean_to_and_of_ors: bool = False
    apply_constraints_to_boolean_branches: bool = False
    propagate_knowns_to_prove_conditional: bool = False
    """Propagate buffer contents from stores and assumptions to conditions."""
    propagate_knowns_to_simplify_expressions: bool = False
    """Propagate buffer contents to stored values."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.Simplify")
        for func in functions(op):
            _Normalizer(func, options).block(func.body.block)
            remove_dead(func)

    @property
    def extensions(self) -> Extension:
        """The enabled extensions of the rules."""
        chosen = {
            Extension.TransitivelyProveInequalities: self.transitively_prove_inequalities,
            Extension.ConvertBooleanToAndOfOrs: self.convert_boolean_to_and_of_ors,
            Extension.ApplyConstraintsToBooleanBranches: self.apply_constraints_to_boolean_branches,
        }
        extensions = Extension.NoExtensions
        for extension, on in chosen.items():
            extensions |= extension if on else Extension.NoExtensions
        return extensions


class _Normalizer(Simplifier):
    """Simplifies one function, with conditions in normal form."""

    EXPRESSIONS: ClassVar[tuple[type[Operation], ...]] = (*Simplifier.EXPRESSIONS, ValueOp)
    learns_predicates = False

    def __init__(self, func: tir.FuncOp, options: Simplify) -> None:
        super().__init__(func)
        self.rules = Analyzer()
        self.rules.known, self.rules.enabled_extensions = self.analyzer, options.extensions
        self.lets: dict[SSAValue, Term] = {}
        self.inlines = options.propagate_knowns_to_simplify_expressions
        followed = self.inlines or options.propagate_knowns_to_prove_conditional
        self.contents = KnownContents(self._holds) if followed else None

    def _rewritten(self, term: Term) -> Term:
        return RewriteSimplifier(self.rules).simplified(term)

    def _holds(self, condition: Term) -> bool:
        return bool(self._rewritten(condition).number) or self.rules.can_prove(expression_of(condition))

    def bodies(self, op: Operation) -> None:
        """Visit the bodies of a statement, and forget the contents that it stores to."""
        contents = self.contents
        if contents is not None:
            contents.forget_stores(op)
        for region in op.regions:
            for block in region.blocks:
                self.contents = None if contents is None else contents.copy()
                self.block(block)
        self.contents = contents

    # Expressions

    def shorter(self, value: SSAValue, expr: SymExpr, dtype: IntegerType, user: Operation) -> SSAValue:
        if isinstance(value.owner, ValueOp) and isinstance(value.owner.expr.data, Var):
            return value
        if dtype == i1:
            return self._normal(value, expr, user)
        arranged = self.rules.arranged(PrimExpr(value))
        if term_of(arranged.ssa) == term_of(value):
            return value
        block = Block()
        new = clone_expr(arranged.ssa, block, {})
        inline_before(block, user)
        return new

    def _normal(self, value: SSAValue, condition: SymExpr, user: Operation) -> SSAValue:
        """Return the normal form of a condition in front of its user, or its constant value."""
        known, term = self.decision(condition), term_of(value)
        if known is not None:
            result = const(known, i1)
        elif term.op in COMPARISONS:
            result = term_of(self.rules.arranged(PrimExpr(value)).ssa)
        else:
            result = self._rewritten(term)
        if result.op != "const" and self._by_lets(result) is not None:
            result = const(self._by_lets(result) or 0, i1)
        return value if result is term else _build_before(result, user)

    def _by_lets(self, condition: Term) -> int | float | None:
        """Evaluate a condition with the values of variables substituted, or return None if that is inconclusive."""
        for name, value in self.lets.items():
            condition = substituted(condition, term_of(name), value)
        return self._rewritten(condition).number

    def _let(self, op: tir.LetOp) -> None:
        """Substitute a variable bound to a constant or another variable; record other values to decide conditions.

        A variable used to declare a buffer remains, as in TVM.
        """
        if any(isinstance(use.operation, tir.DeclBufferOp) for use in op.result.uses):
            return
        value = term_of(op.value)
        if value.op in ("const", "leaf"):
            op.result.replace_all_uses_with(op.value)
            erase_with_tree(op)
        elif isinstance(op.result.type, IntegerType):
            self.lets[op.result] = value

    def conversion(self, op: tir.CastOp) -> None:
        """Replace a conversion with a single possible integer value by that value."""
        if op.result.type in (i32, i64) and is_float(op.value.type):
            bound = self.rules.const_int_bound(PrimExpr(op.result))
            if bound.min_value == bound.max_value:
                inserter(op)(number := tir.ConstOp(bound.min_value, op.result.type))
                op.result.replace_all_uses_with(number.result)
                return
        super().conversion(op)

    # Statements

    def store(self, op: tir.StoreOp) -> None:
        if self.contents is not None and self.inlines:
            self._inline(op, self.contents)
        super().store(op)
        if self.contents is not None and op.parent is not None:
            self.contents.store(op)

    def _inline(self, op: tir.StoreOp, contents: KnownContents) -> None:
        """Replace loads in a stored value by known contents."""
        value = term_of(op.value)
        known = contents.resolved(value)
        if known is not value:
            op.operands[0] = _build_before(self._rewritten(known), op)

    def loop(self, op: tir.ForOp) -> None:
        if bound_expr(op.extent).constant == 1:
            _replace_by(bound_expr(op.min), op.loop_var, op.body.block)
        contents = self.contents
        if contents is None:
            super().loop(op)
            return
        after = contents.enter(op)
        entered = contents.facts
        super().loop(op)
        contents.leave(op, after, entered)

    def _blocks(self, op: tir.BlockOp) -> None:
        """Visit a block; an iterator with one value is that value."""
        for var, first, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
            if extent.constant == 1:
                _replace_by(first, var, op.body.block)
        Simplifier.SPECIAL[tir.BlockOp](self, op)

    def _statement(self, op: tir.EvaluateOp) -> None:
        """Visit a statement; assumptions count only where contents are propagated, as in TVM."""
        if self.contents is not None or not is_assume(op.value.owner):
            Simplifier.SPECIAL[tir.EvaluateOp](self, op)

    def assume(self, condition: SSAValue) -> None:
        super().assume(condition)
        if self.contents is not None:
            self.contents.assume(term_of(condition))

    # Branches

    def branch(self, op: tir.IfOp | tir.IfThenElseOp) -> None:
        condition, outside = sym_expr_of(condition_of(op)), self.contents
        known = self._branch_decision(op, condition)
        ways = self._ways(op, known)
        for holds in (True, False):
            self.contents = ways[0 if holds else 1]
            self.side(op, condition, holds, known)
        self.contents = outside
        if known is not None:
            inline_branch(op, known)
        elif outside is not None and ways[0] is not None and ways[1] is not None:
            outside.join(term_of(op.cond), ways[0], ways[1])

    def _branch_decision(self, op: tir.IfOp | tir.IfThenElseOp, condition: SymExpr) -> bool | None:
        """Evaluate the condition of a branch with the known values of variables and buffers, or return None."""
        known = self.decision(condition)
        if known is None and op.cond in self.lets:
            number = self._by_lets(term_of(op.cond))
            known = None if number is None else bool(number)
        if known is None and self.contents is not None:
            known = self._by_contents(term_of(op.cond), self.contents)
        return known

    def _by_contents(self, condition: Term, contents: KnownContents) -> bool | None:
        """Evaluate a condition with the contents of buffers, or return None if that is inconclusive."""
        resolved = contents.resolved(condition)
        if resolved is condition:
            return None
        if self._holds(resolved):
            return True
        return False if self._holds(raw("not", resolved)) else None

    def _ways(
        self, op: tir.IfOp | tir.IfThenElseOp, known: bool | None
    ) -> tuple[KnownContents | None, KnownContents | None]:
        """Return the contents known at the beginning of both sides of a branch; None for a side that is never taken."""
        if self.contents is None or known is not None:
            return self.contents, self.contents
        taken, other = self.contents.copy(), self.contents.copy()
        taken.assume(term_of(op.cond))
        other.assume(raw("not", term_of(op.cond)))
        return taken, other

    SPECIAL: ClassVar[dict[type[Operation], Callable[[Any, Any], None]]] = {
        **Simplifier.SPECIAL,
        tir.StoreOp: store,
        tir.LetOp: _let,
        tir.ForOp: loop,
        tir.BlockOp: _blocks,
        tir.EvaluateOp: _statement,
        tir.IfOp: branch,
        tir.IfThenElseOp: branch,
        tir.CastOp: conversion,
    }


def _replace_by(first: SymExpr, variable: SSAValue, body: Block) -> None:
    """Replace a variable with one value in its body."""
    place = Block()
    value = Materializer(place.add_op)(first, cast(IntegerType, variable.type))
    variable.replace_all_uses_with(value)
    if body.first_op is not None:
        inline_before(place, body.first_op)


def _build_before(term: Term, user: Operation) -> SSAValue:
    """Return the value of a term, computed in front of its user."""
    block = Block()
    new = clone_expr(expression_of(term).ssa, block, {})
    inline_before(block, user)
    return new
