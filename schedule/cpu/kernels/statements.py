"""The rule for blocks of statements, which topi generates for scatters and sorts: it vectorizes their innermost loops.

    for i: for j: Y[P[i], j] = Y[P[i], j] + X[i, j]   ->   for i: for vectorized j: Y[P[i], j] = Y[P[i], j] + X[i, j]

This requires that iterations store to distinct, contiguous elements, and read no other elements that the loop
stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import SymExpr
from ....dialects.tir import ForKind
from ....ir.affine.values import sym_expr_of
from ...loop_builder import LoopBuilder
from ...rewrite import same_tree
from ..analysis.plan import Machine, NestPlan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, constant_slope, has_no_aliases, is_expression, tree


@dataclass(frozen=True)
class StatementsPlan(NestPlan):
    """A plan that vectorizes the loops with the numbers `loops` among those of `block`."""

    block: tir.BlockOp
    loops: tuple[int, ...]


def plan_statements(root: Operation, machine: Machine) -> StatementsPlan | None:
    """Return the plan for a block of statements with vectorizable loops, or None for any other operation."""
    if not isinstance(root, tir.BlockOp) or root.iter_vars:
        return reject("it is no block of statements")
    if not has_no_aliases(root):
        return reject("the function does not say tir.noalias: its buffers may overlap")
    numbers = tuple(number for number, loop in enumerate(_loops(root)) if _is_independent(loop))
    return StatementsPlan(root, numbers) if numbers else reject("no loop's iterations are independent of each other")


def emit_statements(loops: LoopBuilder, plan: StatementsPlan) -> None:
    """Emit the block with these loops vectorized."""
    block = plan.block.clone()
    every = list(_loops(block))
    for number in plan.loops:
        every[number].properties["kind_attr"] = StringAttr(ForKind.VECTORIZED.value)
    loops.insert(block)


def _loops(root: Operation) -> Iterator[tir.ForOp]:
    return (op for op in root.walk() if isinstance(op, tir.ForOp))


def _is_independent(loop: tir.ForOp) -> bool:
    """Return whether the iterations of an innermost loop store to contiguous elements that no other iteration uses."""
    body = list(loop.body.block.ops)
    stores = [op for op in body if isinstance(op, tir.StoreOp)]
    if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or loop.annotations is not None or not stores:
        return False
    if not isinstance(loop.extent, SymExpr) or not is_expression([op for op in body if op not in stores]):
        return False
    it = Iter(loop.loop_var, loop.extent, reduce=False)
    written = {op.buffer for op in stores}
    if len(written) != len(stores) or not all(_is_neighbour(op, it, written) for op in stores):
        return False
    loads = [op for inner in body for op in inner.walk() if isinstance(op, tir.LoadOp) and op.buffer in written]
    place = {op.buffer: list(op.indices) for op in stores}
    return all(all(map(same_tree, op.indices, place[op.buffer])) for op in loads)


def _is_neighbour(store: tir.StoreOp, it: Iter, written: set[SSAValue]) -> bool:
    """Return whether a store advances by one element per iteration, to indices independent of what is stored."""
    for index in store.indices:
        if any(op.regions or (isinstance(op, tir.LoadOp) and op.buffer in written) for op in tree(index)):
            return False
        named = [cast(SSAValue, var.name) for var in sym_expr_of(index).free_vars() if isinstance(var.name, SSAValue)]
        if any(it.var in op.operands for value in named if value is not it.var for op in tree(value)):
            return False
    return constant_slope(store, it) == 1
