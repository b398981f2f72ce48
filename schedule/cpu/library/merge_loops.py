"""Nests that run over the same rows become one nest, so that a row is finished while it is in the first-level cache:

    for i: M[i] = max(X[i, :])                  for i:
    for i: E[i, :] = exp(X[i, :] - M[i])          M[i] = max(X[i, :])
    for i: S[i] = sum(E[i, :])             ->     E[i, :] = exp(X[i, :] - M[i])
    for i: Y[i, :] = E[i, :] / S[i]               S[i] = sum(E[i, :])
                                                  Y[i, :] = E[i, :] / S[i]

What lies between the nests, here M, E and S, shrinks to a row when buffers are moved to where they are used. A loop
joins the one before it where both have the same extent and whatever one of them writes for the other is, in each
iteration, a part that no other iteration touches. Then E is computed in the loop of the sum (`compute_at_first_use`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Op, SymExpr, Var
from ....dialects.tir import ForKind
from ....ir.affine.values import sym_expr_of
from ....transforms.tir.walk import is_pure
from ...checks import are_disjoint
from ...rewrite import merge_nest
from .compute_at_first_use import compute_at_first_use

_STATEMENTS = (tir.ForOp, tir.IfOp, tir.IfThenElseOp, tir.YieldOp, tir.AllocBufferOp, tir.LoadOp, tir.StoreOp)


def merge_loops(func: tir.FuncOp) -> None:
    """Join neighbouring loops of a function whose buffers do not overlap."""
    attrs = func.func_attrs
    if attrs is not None and "tir.noalias" in attrs.data:
        _fuse(func.body.block)


def _fuse(block: Block) -> None:
    """Join the loops of a block, then those in the loops that were joined."""
    first: tir.ForOp | None = None
    joined: dict[tir.ForOp, None] = {}
    between: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, tir.ForOp):
            if first is not None and _fits(first, op):
                for moved in between:
                    moved.detach()
                    block.insert_op_before(moved, first)
                merge_nest([op], [first])
                joined[first] = None
            else:
                first = op
            between = []
        elif _may_move(op):
            between.append(op)
        else:
            first = None
    for loop in joined:
        _fuse(loop.body.block)
        compute_at_first_use(loop.body.block)


def _may_move(op: Operation) -> bool:
    """Whether an operation neither reads nor writes memory."""
    if isinstance(op, tir.AllocBufferOp):
        return True
    return is_pure(op) and not any(isinstance(inner, tir.LoadOp) for inner in op.walk())


def _fits(first: tir.ForOp, second: tir.ForOp) -> bool:
    """Whether the loops are alike, hand something on, and that is a part of its own in each iteration."""
    plain = all(
        loop.kind is ForKind.SERIAL and loop.annotations is None and isinstance(loop.min, SymExpr)
        for loop in (first, second)
    )
    if not plain or first.min != second.min or first.extent != second.extent:
        return False
    if first.loop_var.type != second.loop_var.type or not isinstance(first.extent, SymExpr):
        return False
    if not all(isinstance(op, _STATEMENTS) or is_pure(op) for loop in (first, second) for op in loop.walk()):
        return False
    written = [{op.buffer for op in loop.walk() if isinstance(op, tir.StoreOp)} for loop in (first, second)]
    used = [_buffers(loop) for loop in (first, second)]
    shared = (written[0] & used[1]) | (written[1] & used[0])
    return bool(written[0] & used[1]) and all(_is_disjoint(buffer, first, second) for buffer in shared)


def _buffers(loop: tir.ForOp) -> set[SSAValue]:
    return {op.buffer for op in loop.walk() if isinstance(op, tir.LoadOp | tir.StoreOp)}


def _is_disjoint(buffer: SSAValue, first: tir.ForOp, second: tir.ForOp) -> bool:
    """Whether each iteration accesses a part of a buffer of its own, the same one in both loops."""
    return are_disjoint(_place(buffer, first), _place(buffer, second), ([first], [second]))


def _place(buffer: SSAValue, loop: tir.ForOp) -> list[SymExpr | None]:
    """The iterator, or digit of one, that is the index of all accesses of a buffer, in each dimension; else None.

    Loops over what tiles have left count on from there, by sums: they stay by themselves.
    """
    accesses = [op for op in loop.walk() if isinstance(op, tir.LoadOp | tir.StoreOp) and op.buffer is buffer]
    places = [[sym_expr_of(i) if isinstance(i.type, IntegerType) else None for i in op.indices] for op in accesses]
    return [
        dims[0] if len(set(dims)) == 1 and isinstance(dims[0], Var | Op) else None for dims in zip(*places, strict=True)
    ]
