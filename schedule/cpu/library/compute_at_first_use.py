"""Rows of intermediate values are computed where a reduction first reads them, instead of in a separate loop:

    for j: E[i, j] = exp(X[i, j] - M[i])             for k in J / 64: for c in 64:
    for k in J / 64: for c in 64:              ->        E[i, 64 k + c] = e = exp(X[i, 64 k + c] - M[i])
        S[c] = S[c] + E[i, 64 k + c]                     S[c] = S[c] + e

This saves a pass over the row, and several vectors are computed at a time, which hides latencies. The loops of the
reduction must read the full row, in order and once. The next row is prefetched meanwhile if it is far away
(`prefetch`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr, add, mul
from ....dialects.tir import ForKind
from ....ir.affine.values import sym_expr_of
from ....transforms.tir.walk import erase_with_tree, is_pure
from ...loop_builder import captured
from ...rewrite import inline_value
from ...state import loop_expr
from .prefetch import far_lines, is_row_of, prefetch_next

Accesses = tir.LoadOp | tir.StoreOp


@dataclass(frozen=True)
class _Row:
    """A vectorized loop that stores one element per lane to a buffer of the function."""

    loop: tir.ForOp
    store: tir.StoreOp
    extent: SymExpr

    @property
    def buffer(self) -> SSAValue:
        return self.store.buffer

    @property
    def inputs(self) -> set[SSAValue]:
        return {op.buffer for op in self.loop.walk() if isinstance(op, tir.LoadOp)}


def compute_at_first_use(block: Block) -> None:
    """Move the computation of rows in a block into the loops that first read them."""
    for op in list(block.ops):
        row = _row(op)
        loads = None if row is None else _first_reads(row)
        if row is not None and loads is not None:
            _move(row, loads)


def _move(row: _Row, loads: list[tir.LoadOp]) -> None:
    rows, strips = row.loop.parent_op(), _outer_loop(loads[0])
    if isinstance(rows, tir.ForOp) and strips is not None:
        prefetch_next(rows, far_lines(row.loop), strips)
    ops = list(row.loop.body.block.ops)
    own = {result for op in ops for result in op.results}
    outside = {value for op in ops for value in captured(op)} - own
    lane: list[SSAValue | None] = [*[None] * (len(row.store.indices) - 1), row.loop.loop_var]
    inline_value(row.store.value, lane, loads, outside=outside - {row.loop.loop_var}, stored=True)
    erase_with_tree(row.loop)


def _outer_loop(load: tir.LoadOp) -> tir.ForOp | None:
    """Return the serial loop around the vectorized loop of a load."""
    inner = load.parent_op()
    outer = None if inner is None else inner.parent_op()
    return outer if isinstance(outer, tir.ForOp) and outer.kind is ForKind.SERIAL and _strips(outer) else None


def _row(op: Operation) -> _Row | None:
    """Return the row that a loop stores element by element."""
    if not isinstance(op, tir.ForOp) or op.kind is not ForKind.VECTORIZED or not isinstance(op.extent, SymExpr):
        return None
    *others, store = op.body.block.ops
    if not isinstance(op.min, SymExpr) or op.min.constant != 0 or not isinstance(store, tir.StoreOp):
        return None
    if not isinstance(store.buffer.owner, tir.AllocBufferOp) or not all(is_pure(other) for other in others):
        return None
    row = _Row(op, store, op.extent)
    return row if is_row_of(store, op) and row.buffer not in row.inputs else None


def _first_reads(row: _Row) -> list[tir.LoadOp] | None:
    """Return the loads of later loops that together read a row once and in order; None if other reads come first."""
    loads: list[tir.LoadOp] = []
    done: SymExpr = Const(0)
    op = row.loop.next_op
    while op is not None and not _same(done, row.extent):
        accesses = [inner for inner in op.walk() if isinstance(inner, Accesses)]
        if any(isinstance(a, tir.StoreOp) and a.buffer in row.inputs for a in accesses):
            return None
        here = [a for a in accesses if a.buffer is row.buffer]
        if here:
            end = _end_of_reads(row, op, here, done)
            if end is None:
                return None
            loads += cast("list[tir.LoadOp]", here)
            done = end
        op = op.next_op
    return loads if _same(done, row.extent) else None


def _same(a: SymExpr, b: SymExpr) -> bool:
    return (a - b).constant == 0


def _end_of_reads(row: _Row, op: Operation, here: list[Accesses], begin: SymExpr) -> SymExpr | None:
    """Return the end of a loop that reads a row contiguously from `begin`; None if it does anything else."""
    loops = _strips(op)
    if loops is None or len(here) != 1 or not isinstance(here[0], tir.LoadOp):
        return None
    *outer, inner = loops
    load, width = here[0], cast(SymExpr, inner.extent)
    if load.parent is not inner.body.block:
        return None
    place, size = add(begin, loop_expr(inner)), width
    for loop in outer:
        place, size = add(place, mul(loop_expr(loop), width)), mul(cast(SymExpr, loop.extent), width)
    *rows, last = (sym_expr_of(i) for i in load.indices)
    if rows != [sym_expr_of(i) for i in row.store.indices][:-1] or load.indices[-1].type != row.loop.loop_var.type:
        return None
    return add(begin, size) if _same(last, place) else None


def _strips(op: Operation) -> list[tir.ForOp] | None:
    """Return a vectorized loop, or a serial loop that contains one; None otherwise."""
    if not isinstance(op, tir.ForOp) or not isinstance(op.extent, SymExpr):
        return None
    if not isinstance(op.min, SymExpr) or op.min.constant != 0:
        return None
    if op.kind is ForKind.VECTORIZED:
        return [op]
    inner = [o for o in op.body.block.ops if isinstance(o, tir.ForOp)]
    below = _strips(inner[0]) if op.kind is ForKind.SERIAL and len(inner) == 1 else None
    return [op, *below] if below is not None and len(below) == 1 else None
