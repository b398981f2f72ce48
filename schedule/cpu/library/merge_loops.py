"""Nests over the same rows are merged into one nest, so that a row is finished while it is in the first-level cache:

    for i: M[i] = max(X[i, :])                  for i:
    for i: E[i, :] = exp(X[i, :] - M[i])          M[i] = max(X[i, :])
    for i: S[i] = sum(E[i, :])             ->     E[i, :] = exp(X[i, :] - M[i])
    for i: Y[i, :] = E[i, :] / S[i]               S[i] = sum(E[i, :])
                                                  Y[i, :] = E[i, :] / S[i]

Buffers between the nests, here M, E and S, shrink to a row when buffers are moved to their uses. A loop is merged
with the previous one if both have the same extent and, in each iteration, the data that one writes for the other is
disjoint from that of all other iterations. E is then computed in the loop of the sum (`compute_at_first_use`).
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
    """Merge neighbouring loops of a function whose buffers do not overlap."""
    attrs = func.func_attrs
    if attrs is not None and "tir.noalias" in attrs.data:
        _fuse(func.body.block)


def _fuse(block: Block) -> None:
    """Merge the loops of a block, then those inside of merged loops."""
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
    """Return whether an operation neither reads nor writes memory."""
    if isinstance(op, tir.AllocBufferOp):
        return True
    return is_pure(op) and not any(isinstance(inner, tir.LoadOp) for inner in op.walk())


def _fits(first: tir.ForOp, second: tir.ForOp) -> bool:
    """Return whether the loops have the same form and share data, which is disjoint between iterations."""
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
    """Return whether each iteration accesses its own part of a buffer, the same one in both loops."""
    return are_disjoint(_place(buffer, first), _place(buffer, second), ([first], [second]))


def _place(buffer: SSAValue, loop: tir.ForOp) -> list[SymExpr | None]:
    """Return, for each dimension, the iterator or digit of one that is the index of all accesses of a buffer, or None.

    Loops over the remainder of tiles have sums as indices, and are not merged.
    """
    accesses = [op for op in loop.walk() if isinstance(op, tir.LoadOp | tir.StoreOp) and op.buffer is buffer]
    places = [[sym_expr_of(i) if isinstance(i.type, IntegerType) else None for i in op.indices] for op in accesses]
    return [
        dims[0] if len(set(dims)) == 1 and isinstance(dims[0], Var | Op) else None for dims in zip(*places, strict=True)
    ]
