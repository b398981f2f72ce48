"""Reduction rules for tensor functions."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, is_side_effect_free

from ...dialects import tir
from ...ir.functions.lookup import ops_of_type
from ...ir.rewriting.edit import erase, inline_before, insert_before
from .edits import Edit, replace_value
from .search import ReductionRule

_PARTS = tir.ReadsOp | tir.WritesOp | tir.YieldOp
"""Access regions of blocks, and terminators of expressions."""


def _inside(module: ModuleOp) -> Iterator[Operation]:
    for func in ops_of_type(module, tir.FuncOp):
        yield from (op for op in func.walk() if op is not func)


def _statements(module: ModuleOp) -> list[Operation]:
    """Return the operations without results: loops, blocks, stores."""
    return [
        op for op in _inside(module) if not op.results and not isinstance(op, _PARTS) and not op.has_trait(IsTerminator)
    ]


def _around(module: ModuleOp) -> list[Operation]:
    return [op for op in _inside(module) if isinstance(op, tir.ForOp | tir.IfOp)]


def _unwrap(op: Operation) -> None:
    """for i in range(a, n) {S}  ->  S at i = a;  if c {S} else {…}  ->  S"""
    block = op.regions[0].block
    if isinstance(op, tir.ForOp):
        first = tir.ConstOp(0, op.loop_var.type)
        insert_before(op, first)
        op.loop_var.replace_all_uses_with(first.result)
    inline_before(block, op)
    erase(op)


def _expressions(module: ModuleOp) -> list[Operation]:
    """Return the operations that compute a number, without constants."""
    return [
        op
        for op in _inside(module)
        if len(op.results) == 1
        and isinstance(op.results[0].type, IntegerType | AnyFloat)
        and not isinstance(op, tir.ConstOp)
        and (isinstance(op, tir.LoadOp) or is_side_effect_free(op))
    ]


def _to_operand(op: Operation) -> None:
    """f(a, b)  ->  a, where the types are the same"""
    value = next((v for v in op.operands if v.type == op.results[0].type), None)
    if value is not None:
        replace_value(op.results[0], value)
        erase(op)


def _to_constant(op: Operation) -> None:
    """f(a, b)  ->  1"""
    one = insert_before(op, tir.ConstOp(1, op.results[0].type))
    replace_value(op.results[0], one.result)
    erase(op)


RULES: tuple[ReductionRule[ModuleOp], ...] = (
    Edit(_statements, erase).rule(),
    Edit(_around, _unwrap).rule(),
    Edit(_expressions, _to_operand).rule(),
    Edit(_expressions, _to_constant).rule(),
)
