"""Small trees for many rows: every node is tested, and the leaves that a test excludes are masked (QuickScorer).

The leaves of a tree are numbered from left to right, a bit each. A row starts with all of them; where a test fails, the
leaves below the left successor are removed; the lowest bit that is left is the leaf that the row ends at. There are no
branches and no loads that depend on one another, and the rows of a block are the lanes of vectors.
Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i64

from ..diagnostics import UnsupportedError
from ..dialects.dtypes import dtype_of
from ..dialects.sym.expr import Const
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, call_intrin, from_sym
from ..te.extern_body import Array, Statements
from ..te.tensor import Tensor

MASKED_ROWS = 16
"""How many rows are a block: the lanes of a vector of float32 of 64 bytes."""

FEW = 4
"""Blocks of fewer rows are faster without masks."""

UNROLLED = 4
"""The nodes of trees are a multiple of this."""


@dataclass(frozen=True)
class LeafMasks:
    """Trees of at most 64 leaves, in classes of (trees, nodes of each, most leaves: a power of two).

    `columns`, `splits` and `masks` have a row for each node: the column whose element is compared, and the leaves that
    stay where it is not at most the split. `weights` has a row for each leaf, for `targets[t]` and those after it.
    Trees of fewer nodes and leaves are completed by nodes that change nothing.
    """

    columns: Tensor
    splits: Tensor
    masks: Tensor
    weights: Tensor
    targets: Tensor
    classes: tuple[tuple[int, int, int], ...]


Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]


def add_by_masks(
    b: Statements,
    tensors: tuple[Tensor, Tensor],
    trees: LeafMasks,
    rows: tuple[PrimExpr, PrimExpr],
    first: PrimExpr,
    combined: Combine,
) -> None:
    """Store the results of rows, at most `MASKED_ROWS`, from the first on; `tensors` are features and results."""
    (x, out), (start, several) = tensors, rows
    count = extent_of(out, 1)
    totals = b.array("totals", out.type, count * MASKED_ROWS)
    of_rows = _Rows(b, trees, extent_of(x, 1), _tile(b, x, start), count, totals)
    with b.loop("i", Const(count * MASKED_ROWS), vectorized=True) as i:
        of_rows.totals.set(i, first)
    node = leaf = tree = 0
    for trees_of, nodes, leaves in trees.classes:
        with b.loop("tree", Const(trees_of)) as t:
            each = t.astype(i64)
            left = of_rows.left(each * nodes + node, nodes, leaves)
            of_rows.add(left, each * leaves + leaf, each + tree, leaves, combined)
        node, leaf, tree = node + trees_of * nodes, leaf + trees_of * leaves, tree + trees_of
    with b.loop("i", several) as i, b.loop("c", Const(count)) as c:
        lane = tx.minimum(i, tx.const(MASKED_ROWS - 1, i64))
        b.store(out, [start + i, c], of_rows.totals(c.astype(i64) * MASKED_ROWS + lane))


def extent_of(tensor: Tensor, dimension: int) -> int:
    """Return a constant extent. Raises `UnsupportedError` for a symbolic one."""
    extent = tensor.dims[dimension].constant
    if extent is None:
        raise UnsupportedError("trees need a constant number of features and targets")
    return extent


def _tile(b: Statements, x: Tensor, start: PrimExpr) -> Array:
    """Return a copy of rows, column by column; rows after the last are copies of it."""
    columns, last = extent_of(x, 1), from_sym(x.dims[0]).astype(i64) - 1
    tile = b.array("tile", x.type, columns * MASKED_ROWS)
    with b.loop("j", Const(MASKED_ROWS)) as j:
        row = b.let("row", tx.minimum(start + j.astype(i64), last))
        with b.loop("f", Const(columns)) as f:
            tile.set(f.astype(i64) * MASKED_ROWS + j.astype(i64), x(row, f))
    return tile


@dataclass(frozen=True)
class _Rows:
    """A block of rows: the tile of their features and their results so far, both column by column."""

    b: Statements
    trees: LeafMasks
    columns: int
    tile: Array
    count: int
    totals: Array

    def left(self, first: PrimExpr, nodes: int, leaves: int) -> Array:
        """Return the leaves that are left for each row in the tree of some nodes, from the first on."""
        b, trees, bits = self.b, self.trees, 32 if leaves <= 32 else 64
        dtype = dtype_of(f"uint{bits}")
        left = b.array("left", dtype, MASKED_ROWS)
        with b.loop("j", Const(MASKED_ROWS), vectorized=True) as j:
            left.set(j, tx.const(2**bits - 1, dtype))
        with b.loop("step", Const(nodes // UNROLLED)) as step, b.loop("u", Const(UNROLLED), written_out=True) as u:
            n = b.let("n", first + step.astype(i64) * UNROLLED + u.astype(i64))
            column = tx.minimum(trees.columns(n).astype(i64), tx.const(self.columns - 1, i64))
            base = b.let("base", column * MASKED_ROWS)
            split, mask = b.let("split", trees.splits(n)), b.let("mask", trees.masks(n).astype(dtype))
            with b.loop("j", Const(MASKED_ROWS), vectorized=True) as j:
                low = tx.less_equal(self.tile(base + j.astype(i64)), split)
                left.set(j, tx.select(low, left(j), tx.bitwise_and(left(j), mask)))
        return left

    def add(self, left: Array, first: PrimExpr, tree: PrimExpr, leaves: int, combined: Combine) -> None:
        """Combine the results with the weights of the lowest leaves left, of a tree whose first leaf this is."""
        b, weights, width = self.b, self.trees.weights, extent_of(self.trees.weights, 1)
        target = tx.minimum(self.trees.targets(tree).astype(i64), tx.const(self.count - width, i64))
        base = b.let("base", target * MASKED_ROWS)
        with b.loop("c", Const(width)) as c, b.loop("j", Const(MASKED_ROWS), vectorized=True) as j:
            below = tx.bitwise_and(tx.bitwise_not(left(j)), left(j) - 1)
            leaf = tx.bitwise_and(call_intrin(below.type, "popcount", below).astype(i64), tx.const(leaves - 1, i64))
            at = base + c.astype(i64) * MASKED_ROWS + j.astype(i64)
            self.totals.set(at, combined(self.totals(at), weights(first + leaf, c)))
