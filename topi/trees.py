"""Ensembles of decision trees: all trees of all rows are followed level by level, without a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..dialects.dtypes import dtype_of
from ..dialects.sym.expr import Const
from ..handles.tir import prim_expr as tx
from ..handles.tir.intrinsics import reinterpret
from ..handles.tir.limits import max_value, min_value
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Array, Statements, filled
from ..te.tensor import Tensor
from .leaf_masks import FEW, MASKED_ROWS, LeafMasks, add_by_masks, extent_of

LANES = 16
"""How many trees are followed at once: the loads of one do not wait for those of another."""

_MUCH = 1 << 18
"""Of words of nodes, more than fits into a core's own cache: then more rows are a block, which share what is loaded."""

_SHORT = 256
"""A row of so many elements is copied while it follows a group of trees."""

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]
_COMBINED: dict[str, Combine] = {
    "SUM": lambda a, b: a + b,
    "MIN": tx.minimum,
    "MAX": tx.maximum,
}


@dataclass(frozen=True)
class Form:
    """What the tables of an ensemble are: see `tree_ensemble`."""

    count: int
    aggregate: str
    is_single: bool = False
    classes: tuple[tuple[int, int, int], ...] = ()


def tree_ensemble(x: Tensor, nodes: Tensor, roots: Tensor, depths: Tensor, *tables: Tensor, form: Form) -> Tensor:
    """Return, for each row of `x` and each of `form.count` targets, the weights of the leaves that the row ends at.

    `nodes` are records of four unsigned words of the size of x's elements: the column that a node tests, the places of
    the records to go to if the element is not at most the split and if it is, and the bits of the split; a leaf goes to
    itself. There are a power of two of them. `roots` are places of trees, a multiple of `LANES`, and `depths` the most
    levels in each group of so many.

    If `form.is_single`, each leaf has one weight: the first word of its record is the target, the last the bits of the
    weight. Else the first of the `tables` are three more: the weights of record `n` are
    `weights[begins[n] : begins[n + 1]]`, for the `targets` beside them. Weights are combined by `form.aggregate`: SUM,
    MIN or MAX, in float64. The other `tables` are those of `LeafMasks`, with its `form.classes`, or none: they are used
    for all blocks of rows but small ones.
    """
    rows, wide = x.dims[0], dtype_of("float64")
    first = {"SUM": tx.const(0.0, wide), "MIN": max_value(wide), "MAX": min_value(wide)}[form.aggregate]
    combined = _COMBINED[form.aggregate]
    entries, masks = ((), tables) if form.is_single else (tables[:3], tables[3:])
    marked = LeafMasks(*masks, classes=form.classes) if masks else None
    size = MASKED_ROWS if masks or extent_of(nodes, 0) < _MUCH else MASKED_ROWS * 4

    def body(b: Statements, out: Tensor) -> None:
        def follow(start: PrimExpr, several: PrimExpr) -> None:
            with b.loop("i", several) as i, b.loop("c", Const(form.count)) as c:
                b.store(out, [start + i, c], first)
            with b.loop("group", depths.dims[0]) as group, b.loop("j", several) as j:
                row = b.let("row", start + j)
                at = _leaves(b, (x, nodes, roots, depths), row, group.astype(i64))
                _Ends(b, out, row, at, nodes, combined).add(x.type, entries)

        with b.loop("block", (rows + (size - 1)) // size, parallel=True) as block:
            start = b.let("start", block.astype(i64) * size)
            several = b.let("several", tx.minimum(from_sym(rows).astype(i64) - start, tx.const(size, i64)))
            if marked is None:
                follow(start, several)
                return
            with b.when(tx.less(several, tx.const(FEW, i64))):
                follow(start, several)
            with b.when(tx.greater_equal(several, tx.const(FEW, i64))):
                add_by_masks(b, (x, out), marked, (start, several), first, combined)

    inputs = [x, nodes, roots, depths, *tables]
    return filled([("ensemble", [rows, Const(form.count)], wide)], inputs, body, "tree_ensemble")[0]


@dataclass(frozen=True)
class _Ends:
    """The leaves that a row ends at in a group of trees."""

    b: Statements
    out: Tensor
    row: PrimExpr
    at: Array
    nodes: Tensor
    combined: Combine

    def add(self, dtype: Attribute, entries: Sequence[Tensor]) -> None:
        """Combine the results of the row with the weights; `dtype` is that of weights in records."""
        if entries:
            with self.b.loop("lane", Const(LANES)) as lane:
                self._add_entries(lane, *entries)
        elif extent_of(self.out, 1) == 1:
            weights = [self._weight(tx.const(lane, i64), dtype) for lane in range(LANES)]
            self._combine(tx.const(0, i64), reduce(self.combined, weights))
        else:
            with self.b.loop("lane", Const(LANES)) as lane:
                target = self.nodes(_inside(self.at(lane), self.nodes)).astype(i64)
                target = tx.minimum(target, tx.const(extent_of(self.out, 1) - 1, i64))
                self._combine(self.b.let("target", target), self._weight(lane, dtype))

    def _weight(self, lane: PrimExpr, dtype: Attribute) -> PrimExpr:
        bits = self.nodes(_inside(self.at(lane), self.nodes) + 3)
        return reinterpret(dtype, bits).astype("float64")

    def _combine(self, target: PrimExpr, weight: PrimExpr) -> None:
        place = [self.row, target]
        self.b.store(self.out, place, self.combined(self.out(*place), weight))

    def _add_entries(self, lane: PrimExpr, begins: Tensor, targets: Tensor, weights: Tensor) -> None:
        b = self.b
        leaf = b.let("leaf", tx.shift_right(_inside(self.at(lane), self.nodes), tx.const(2, i64)))
        begin = b.let("begin", begins(leaf).astype(i64))
        with b.loop("e", begins(leaf + 1).astype(i64) - begin) as e:
            self._combine(b.let("target", targets(begin + e).astype(i64)), weights(begin + e))


def _inside(place: PrimExpr, nodes: Tensor) -> PrimExpr:
    """Return the place of a record as an index that needs no check."""
    return tx.bitwise_and(place.astype(i64), tx.const(extent_of(nodes, 0) - 4, i64))


def _leaves(b: Statements, tensors: tuple[Tensor, ...], row: PrimExpr, group: PrimExpr) -> Array:
    """Return the leaves that a row ends at in a group of trees."""
    x, nodes, roots, depths = tensors
    element = _elements(b, x, row)
    at = b.array("at", nodes.type, LANES)
    with b.loop("lane", Const(LANES), separate=True) as lane:
        at.set(lane, roots(group * LANES + lane.astype(i64)))
    with b.loop("level", depths(group).astype(i64)), b.loop("lane", Const(LANES), separate=True) as lane:
        n = b.let("n", _inside(at(lane), nodes))
        low = tx.less_equal(element(nodes(n)), reinterpret(x.type, nodes(n + 3)))
        at.set(lane, nodes(n + 1 + low.astype(i64)))  # no select, of which LLVM makes a branch
    return at


def _elements(b: Statements, x: Tensor, row: PrimExpr) -> Callable[[PrimExpr], PrimExpr]:
    """Return the elements of a row by their column, which needs no check.

    A short row is copied to memory of a power of two of elements, since taking bits of a column is faster than its
    minimum with the last one.
    """
    columns = extent_of(x, 1)
    size = 1 << (columns - 1).bit_length()
    if size > _SHORT:
        return lambda column: x(row, tx.minimum(column.astype(i64), tx.const(columns - 1, i64)))
    copy = b.array("features", x.type, size)
    with b.loop("f", Const(columns), vectorized=True) as f:
        copy.set(f, x(row, f))
    return lambda column: copy(tx.bitwise_and(column.astype(i64), tx.const(size - 1, i64)))
