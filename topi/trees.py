"""Ensembles of decision trees: all trees of all rows are followed level by level, without a branch."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i64

from ..dialects.sym.expr import Const
from ..handles.tir import prim_expr as tx
from ..handles.tir.limits import max_value, min_value
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Array, Statements, filled
from ..te.tensor import Tensor

LANES = 8
"""How many trees are followed at once: the loads of one do not wait for those of another."""

BLOCK = 16
"""How many rows follow a group of trees before the next group, so that its nodes stay in the cache."""

_COMBINED: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    "SUM": lambda a, b: a + b,
    "MIN": tx.minimum,
    "MAX": tx.maximum,
}


def tree_ensemble(
    x: Tensor,
    nodes: Tensor,
    splits: Tensor,
    roots: Tensor,
    depths: Tensor,
    begins: Tensor,
    targets: Tensor,
    weights: Tensor,
    count: int,
    aggregate: str,
) -> Tensor:
    """Return, for each row of `x` and each of `count` targets, the weights of the leaves that the row ends at.

    Node `n` has a row of `nodes`: the column that it tests, and the nodes to go to if the element is at most
    `splits[n]` and otherwise; a leaf goes to itself. `roots` are those of trees, a multiple of `LANES`, and `depths`
    the most levels in each group of so many. The weights of leaf `n` are `weights[begins[n] : begins[n + 1]]`, for
    the `targets` beside them; they are combined by `aggregate`: SUM, MIN or MAX.
    """
    rows = x.dims[0]
    dtype = weights.type
    first = {"SUM": tx.const(0.0, dtype), "MIN": max_value(dtype), "MAX": min_value(dtype)}[aggregate]
    combined = _COMBINED[aggregate]

    def body(b: Statements, out: Tensor) -> None:
        with b.loop("block", (rows + (BLOCK - 1)) // BLOCK, parallel=True) as block:
            start = block.astype(i64) * BLOCK
            several = b.let("several", tx.minimum(from_sym(rows).astype(i64) - start, tx.const(BLOCK, i64)))
            with b.loop("i", several) as i, b.loop("c", Const(count)) as c:
                b.store(out, [start + i, c], first)
            with b.loop("group", depths.dims[0]) as group, b.loop("j", several) as j:
                row = b.let("row", start + j)
                at = _leaves(b, (x, nodes, splits, roots, depths), row, group.astype(i64))
                with b.loop("lane", Const(LANES)) as lane:
                    leaf = b.let("leaf", at(lane).astype(i64))
                    begin = b.let("begin", begins(leaf).astype(i64))
                    with b.loop("e", begins(leaf + 1).astype(i64) - begin) as e:
                        target = b.let("target", targets(begin + e).astype(i64))
                        b.store(out, [row, target], combined(out(row, target), weights(begin + e)))

    inputs = [x, nodes, splits, roots, depths, begins, targets, weights]
    return filled([("ensemble", [rows, Const(count)], dtype)], inputs, body, "tree_ensemble")[0]


def _leaves(b: Statements, tensors: tuple[Tensor, ...], row: PrimExpr, group: PrimExpr) -> Array:
    """Return the leaves that a row ends at in a group of trees."""
    x, nodes, splits, roots, depths = tensors
    at = b.array("at", nodes.type, LANES)
    with b.loop("lane", Const(LANES), written_out=True) as lane:
        at.set(lane, roots(group * LANES + lane.astype(i64)))
    with b.loop("level", depths(group).astype(i64)), b.loop("lane", Const(LANES), written_out=True) as lane:
        n = at(lane).astype(i64)
        low = tx.less_equal(x(row, nodes(n, 0).astype(i64)), splits(n))
        at.set(lane, nodes(n, 2 - low.astype(i64)))  # no select, of which LLVM makes a branch
    return at
