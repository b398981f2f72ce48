"""Three simplification passes: of index arithmetic with known ranges, and of decided control flow.

`simplify-scheduled` simplifies index arithmetic by the ranges of loop variables, and removes decided branches:

    for %i to 8 {
      if %i < 8 {store %x, %A[(%i * 4 + 3) floordiv 4]}     ->     for %i to 8 {store %x, %A[%i]}
    }

Inside a branch, and a block with a predicate, the condition is known, too, and so are earlier assertions and
assumptions (`T.assume`). Only functions with a user's schedule (`tir.is_scheduled`) are simplified: layout changes of a
schedule leave `lane // 16` and `lane % 16` in indices, which would become gathers. The default schedule creates no such
indices, and proving that takes a tenth of the build time.

`simplify-divisions` drops divisions of what is below the divisor before the default schedule: `R.tile` by rows reads
`x[i % 509, j % 1021]`, where `j` is below 1021. Other indices keep the form by which rules recognize layouts.

`tir-simplify` does not use ranges: it removes loops of one or no iteration, decided branches and dead values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, f32, f64
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.quick import operations
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, i1, i32, i64
from ...dialects.sym.operators import OPS, logical_not
from ...dialects.sym.rebuild import Rebuild
from ...handles.tir.expr_trees import same_tree
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.functions.bounds import bind_bounds, extents_of_buffers
from ...ir.functions.symbolic_vars import mentioned_by
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inline_before, inserter
from .walk import (
    bind_loop,
    bind_threads,
    bound_expr,
    erase_with_tree,
    functions,
    inline_branch,
    integer_type,
    is_empty,
    is_scheduled,
    may_initialize,
    remove_dead,
)

_INDEX_TYPES = (i1, i32, i64)
"""Index types; arithmetic in other types may wrap around."""
_FLOORED = {"truncdiv": "floordiv", "truncmod": "floormod"}


@dataclass(frozen=True)
class SimplifyScheduled(Pass):
    """Simplify integer expressions and branches of scheduled functions."""

    name = "simplify-scheduled"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in filter(is_scheduled, functions(op)):
            Simplifier(func).block(func.body.block)
            remove_dead(func)


@dataclass(frozen=True)
class SimplifyDivisions(Pass):
    """Drop divisions of integers that are below the divisor, in functions that have no schedule."""

    name = "simplify-divisions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not is_scheduled(func) and any(isinstance(inner, _DIVISIONS) for inner in operations(func)):
                _Divisions(func).block(func.body.block)
                remove_dead(func)


@dataclass(frozen=True)
class TirSimplify(Pass):
    """Inline loops that run once, remove those that never run and branches that are decided, drop unused values."""

    name = "tir-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in reversed(operations(func)):
                if isinstance(inner, tir.ForOp):
                    _simplify_loop(inner)
                elif isinstance(inner, tir.IfOp):
                    _simplify_if(inner)
            remove_dead(func)


def _simplify_loop(loop: tir.ForOp) -> None:
    count = bound_expr(loop.extent).constant
    if count is not None and count <= 0:
        if not may_initialize(loop):
            erase_with_tree(loop)
    elif count == 1 and loop.thread is None:
        first = loop.min
        if isinstance(first, SymExpr):
            first = Materializer(inserter(loop))(first, cast(IntegerType, loop.loop_var.type))
        loop.loop_var.replace_all_uses_with(first)
        inline_before(loop.body.block, loop)
        erase_with_tree(loop)


def _simplify_if(branch: tir.IfOp) -> None:
    """`if true {S} else {T}` -> `S`; a branch without effects -> nothing."""
    decided = sym_expr_of(branch.cond).constant
    if decided is not None:
        inline_branch(branch, bool(decided))
    elif is_empty(branch.then_region) and is_empty(branch.else_region):
        erase_with_tree(branch)


class Simplifier:
    """Simplifier of one function."""

    EXPRESSIONS: ClassVar[tuple[type[Operation], ...]] = (tir.BinaryExpr, tir.NotOp)
    """The operations whose values are simplified at their uses."""
    learns_predicates: ClassVar[bool] = True
    """True if the predicate of a block is known in its body."""

    def __init__(self, func: tir.FuncOp) -> None:
        self.analyzer = Analyzer()
        if func.private:  # calls from Relax do not check those of others
            bind_bounds(func, self.analyzer, extents_of_buffers(func))
        self._know_extents(func)
        for param in func.params:  # an integer parameter is the symbolic variable of its name in extents
            dtype, name = integer_type(param), name_of(param)
            if dtype is not None and dtype != i1 and name is not None:
                self.analyzer.bind_value(Var(name, dtype), Var(param, dtype))
        for free in _free_variables(func):
            self.analyzer.bind(free, -inf)

    def _know_extents(self, func: tir.FuncOp) -> None:
        """Record that extents of parameters are not negative: `n * 32 - 1` elements exist for n >= 1 only."""
        dims = [d for p in func.params if isinstance(p.type, tir.BufferType) for d in p.type.dims]
        for dim in dict.fromkeys(d for d in dims if d.constant is None and not isinstance(d, Var)):
            self.analyzer.assume(OPS["le"](Const(0, dim.dtype), dim))

    def block(self, block: Block) -> None:
        """Simplify the operations of a block; facts about its values hold until its end."""
        with self.analyzer.scope():
            for op in list(block.ops):
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        self._operands(op)
        special = self.SPECIAL.get(type(op))
        if special is not None:
            special(self, op)
        elif op.regions:
            self.bodies(op)

    def bodies(self, op: Operation) -> None:
        """Simplify the regions of a statement that runs any number of times."""
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _operands(self, op: Operation) -> None:
        if isinstance(op, tir.BinaryExpr | tir.NotOp):  # part of an expression: simplified at its use
            return
        for position, value in enumerate(op.operands):
            new = self._simplified(value, op)
            if new is not value:
                op.operands[position] = new

    def _simplified(self, value: SSAValue, user: Operation) -> SSAValue:
        """Return a shorter form of an integer expression before its user, or the value itself."""
        dtype = integer_type(value)
        if dtype is None or not isinstance(value.owner, self.EXPRESSIONS):
            return value
        expr = sym_expr_of(value)
        return self.shorter(value, expr, dtype, user) if _is_index(expr) else value

    def shorter(self, value: SSAValue, expr: SymExpr, dtype: IntegerType, user: Operation) -> SSAValue:
        """Return the value `expr` with as few operations as the known facts allow."""
        known = self.decision(expr)
        simplified = (
            self.analyzer.simplify(expr.fold(_Floored(self.analyzer))) if known is None else Const(int(known), i1)
        )
        block = Block()
        new = Materializer(block.add_op)(simplified, dtype)
        if same_tree(new, value) and _length(new) >= _length(value):
            return value
        inline_before(block, user)
        return new

    def decision(self, condition: SymExpr) -> bool | None:
        """Return whether a condition certainly holds or does not; None if unknown."""
        if condition.dtype != i1 or not _is_index(condition):
            return None
        if condition.constant is not None:
            return bool(condition.constant)
        if self.analyzer.can_prove(condition):
            return True
        return False if self.analyzer.can_prove(logical_not(condition)) else None

    def _learn(self, condition: SymExpr) -> None:
        if _is_index(condition):
            self.analyzer.assume(condition)

    def store(self, op: tir.StoreOp) -> None:
        if _keeps(op):
            erase_with_tree(op)

    def loop(self, op: tir.ForOp) -> None:
        bind_loop(self.analyzer, op)
        self.block(op.body.block)

    def _launch(self, op: tir.LaunchThreadOp) -> None:
        bind_threads(self.analyzer, op)
        self.bodies(op)

    def tir_block(self, op: tir.BlockOp) -> None:
        """Simplify a block, whose iterators are within their domains."""
        for var, first, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
            self.analyzer.bind_range(Var(var, cast(IntegerType, var.type)), first, extent)
        with self.analyzer.scope():
            if op.predicate is not None and self.learns_predicates:
                self._learn(sym_expr_of(op.predicate))
            self.bodies(op)

    def branch(self, op: tir.IfOp | tir.IfThenElseOp) -> None:
        condition = sym_expr_of(condition_of(op))
        known = self.decision(condition)
        for holds in (True, False):
            self.side(op, condition, holds, known)
        if known is not None:
            inline_branch(op, known)

    def side(self, op: tir.IfOp | tir.IfThenElseOp, condition: SymExpr, holds: bool, known: bool | None) -> None:
        """Simplify one side of a branch, unless it is removed, assuming the condition or its negation."""
        region = op.then_region if holds else op.else_region
        if region.first_block is None or known not in (None, holds):
            return
        if known is None and isinstance(op.cond.owner, tir.LetOp):
            _say(op.cond, region.block, holds)
        with self.analyzer.scope():
            self._learn(condition if holds else logical_not(condition))
            self.block(region.block)

    def _select(self, op: tir.SelectOp) -> None:
        known = self.decision(sym_expr_of(op.cond)) if op.cond.type == i1 else None
        if known is not None:
            op.result.replace_all_uses_with(op.true_value if known else op.false_value)

    def conversion(self, op: tir.CastOp) -> None:
        """Fold the conversion of a number to a type that can hold it."""
        source, t = op.value.owner, op.result.type
        if isinstance(source, tir.ConstOp) and t in (f32, f64) and isinstance(op.value.type, IntegerType):
            inserter(op)(known := tir.ConstOp(float(source.py_value), t))
            op.result.replace_all_uses_with(known.result)

    def _assertion(self, op: tir.AssertOp) -> None:
        self.assume(op.cond)

    def assume(self, condition: SSAValue) -> None:
        """Assume a condition from here on."""
        self._learn(sym_expr_of(condition))

    def _evaluate(self, op: tir.EvaluateOp) -> None:
        """Assume the condition of `T.assume` from here on; drop a constant, which has no effect."""
        source = op.value.owner
        if isinstance(source, tir.CallExpr) and source.func.data == "assume":
            self.assume(source.call_args[0])
        elif isinstance(source, tir.ConstOp):
            erase_with_tree(op)

    SPECIAL: ClassVar[dict[type[Operation], Callable[[Simplifier, Any], None]]] = {
        tir.StoreOp: store,
        tir.ForOp: loop,
        tir.LaunchThreadOp: _launch,
        tir.BlockOp: tir_block,
        tir.IfOp: branch,
        tir.IfThenElseOp: branch,
        tir.SelectOp: _select,
        tir.CastOp: conversion,
        tir.AssertOp: _assertion,
        tir.EvaluateOp: _evaluate,
    }


_DIVISIONS = (tir.FloorDivOp, tir.FloorModOp)


class _Divisions(Simplifier):
    """Drops divisions without effect, and nothing else."""

    def _operands(self, op: Operation) -> None:
        if not isinstance(op, _DIVISIONS) or integer_type(op.result) is None:
            return
        dividend, divisor = sym_expr_of(op.lhs), sym_expr_of(op.rhs)
        zero = Const(0, dividend.dtype)
        if not _is_index(dividend) or not self.decision(OPS["le"](zero, dividend)):
            return
        if self.decision(OPS["lt"](dividend, divisor)):
            op.result.replace_all_uses_with(op.lhs if isinstance(op, tir.FloorModOp) else _zero_before(op))

    SPECIAL: ClassVar[dict[type[Operation], Callable[[Simplifier, Any], None]]] = {
        tir.ForOp: Simplifier.loop,
        tir.BlockOp: Simplifier.tir_block,
    }


def _zero_before(op: tir.BinaryExpr) -> SSAValue:
    inserter(op)(zero := tir.ConstOp(0, op.result.type))
    return zero.result


def _free_variables(func: tir.FuncOp) -> list[Var]:
    """Return the variables that are neither parameters nor sizes of buffers: they may be negative."""
    sizes = {v for op in func.walk() for value in _values(op) for v in _sizes(value)}
    named = {name_of(p) for p in func.params}
    return [v for v in mentioned_by(func.body.block.ops) if v not in sizes and v.name not in named]


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _sizes(value: SSAValue) -> set[Var]:
    return {v for e in value.type.exprs() for v in e.free_vars()} if isinstance(value.type, tir.BufferType) else set()


def _say(name: SSAValue, block: Block, holds: bool) -> None:
    """Replace the name of a branch's condition by a constant."""
    inside = [use for use in name.uses if block.is_ancestor(use.operation)]
    if inside:
        number = tir.ConstOp(holds, i1)
        block.insert_op_before(number, cast(Operation, block.first_op))
        for use in inside:
            use.operation.operands[use.index] = number.result


class _Floored(Rebuild):
    """Truncating division as floor division for nonnegative operands, which has more rules."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def apply(self, kind: str, args: list[SymExpr]) -> SymExpr:
        floored = _FLOORED.get(kind)
        if floored is None or self.analyzer.bounds(args[0]).low < 0 or self.analyzer.bounds(args[1]).low <= 0:
            return OPS[kind](*args)
        return OPS[floored](*args)


def condition_of(op: tir.IfOp | tir.IfThenElseOp) -> SSAValue:
    """Return the condition of a branch, without a `likely` hint."""
    call = op.cond.owner
    return call.call_args[0] if isinstance(call, tir.CallIntrinOp) and call.func.data == "likely" else op.cond


def _keeps(op: tir.StoreOp) -> bool:
    """Return whether a store writes back the value just read from the same element."""
    source = op.value.owner
    if not isinstance(source, tir.LoadOp) or source.buffer is not op.buffer or not _is_adjacent(source, op):
        return False
    return all(same_tree(a, b) for a, b in zip(source.indices, op.indices, strict=True))


def _is_adjacent(expression: Operation, statement: Operation) -> bool:
    """Return whether only expressions are between the two."""
    following = expression.next_op
    while following is not None and following is not statement and type(following) in tir.EXPRESSION_OPS:
        following = following.next_op
    return following is statement


def _is_index(e: SymExpr) -> bool:
    return all(v.dtype in _INDEX_TYPES for v in e.free_vars())


def _length(value: SSAValue) -> int:
    """Return the number of operations of an expression, as a tree."""
    if not isinstance(value.owner, tir.BinaryExpr | tir.NotOp):
        return 1
    return 1 + sum(_length(o) for o in value.owner.operands)
