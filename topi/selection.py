"""The first few elements of each row in sorted order, without sorting the rows.

A row is read in blocks. An element is a candidate if it precedes the last of the `k` best ones so far, which vectors
compare for whole blocks; most blocks have none. When the room for candidates is full, the best of them are found by
counting how many precede each one. A row that is sorted the other way costs about what a sort costs.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.broadcast import Indices
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor

MAX_SELECTED = 64
"""Above it, counting costs more than sorting."""
_BLOCK = 64
"""Elements that are compared at once."""

Precedes = Callable[[PrimExpr, PrimExpr], PrimExpr]
"""Whether an element comes before another one in sorted order; of equal ones, the first one does."""


def selects(k: SymExpr, extent: SymExpr) -> bool:
    """Return whether selection is faster than sorting for the first `k` of `extent` elements."""
    count, size = k.constant, extent.constant
    return count is not None and 1 <= count <= MAX_SELECTED and (size is None or size > max(2 * count, _BLOCK // 2))


def selected(x: Tensor, k: int, axis: int, precedes: Precedes, dtype: Attribute) -> tuple[Tensor, Tensor]:
    """Return the first `k` elements in sorted order along `axis`, and their positions of type `dtype`."""
    outer = [d for n, d in enumerate(x.dims) if n != axis]
    dims = [Const(k, d.dtype) if n == axis else d for n, d in enumerate(x.dims)]

    def body(b: Statements, values: Tensor, places: Tensor) -> None:
        with b.loops("i", outer, parallel=True) as rest:
            row = _Row(b, x, axis, k, precedes, rest)
            row.read()
            row.keep_best()
            with b.loop("i", Const(k)) as i:
                at = (*rest[:axis], i, *rest[axis:])
                b.store(values, at, row.values(i))
                b.store(places, at, row.places(i).astype(dtype))

    values, places = filled([("values", dims, x.type), ("indices", dims, dtype)], [x], body, "select_first")
    return values, places


class _Row:
    """The selection of one row: statements that are added where it is used."""

    def __init__(self, b: Statements, x: Tensor, axis: int, k: int, precedes: Precedes, rest: Indices):
        self.b, self.x, self.axis, self.k, self.precedes, self.rest = b, x, axis, k, precedes, rest
        self.room = max(4 * k, 16) + _BLOCK
        arrays = (b.array(n, t, self.room) for n, t in (("values", x.type), ("places", i64), ("ranks", i32)))
        self.values, self.places, self.ranks = arrays
        self.best = b.array("best", x.type, k), b.array("best_places", i64, k)
        self.count, self.is_full = b.cell("count", i64, 0), b.cell("is_full", i64, 0)
        self.last = b.cell("last", x.type, self._element(tx.const(0, i64)))

    def _element(self, i: PrimExpr) -> PrimExpr:
        return self.x(*self.rest[: self.axis], i, *self.rest[self.axis :])

    def _enters(self, value: PrimExpr) -> PrimExpr:
        return tx.logical_or(tx.equal(self.is_full.value, 0), self.precedes(value, self.last.value))

    def read(self) -> None:
        """Collect the candidates of the row."""
        extent = self.x.dims[self.axis]
        blocks = extent // _BLOCK
        with self.b.loop("block", blocks) as n:
            self._block(n.astype(i64) * _BLOCK, Const(_BLOCK))
        rest = extent - blocks * _BLOCK
        if rest.constant != 0:
            self._block(from_sym(blocks).astype(i64) * _BLOCK, rest)

    def _block(self, start: PrimExpr, size: SymExpr) -> None:
        b = self.b
        hits = b.cell("hits", i32, 0)
        with b.loop("i", size) as i:
            hits.set(hits.value + self._enters(self._element(start + i.astype(i64))).astype(i32))
        with b.when(tx.less(0, hits.value)):
            with b.when(tx.less(self.room - _BLOCK, self.count.value)):
                self.keep_best()
            with b.loop("i", size) as i, b.when(self._enters(self._element(start + i.astype(i64)))):
                self.values.set(self.count.value, self._element(start + i.astype(i64)))
                self.places.set(self.count.value, start + i.astype(i64))
                self.count.set(self.count.value + 1)

    def keep_best(self) -> None:
        """Sort the candidates by counting, and keep the first `k`."""
        b, count, (best, best_places) = self.b, self.b.let("candidates", self.count.value), self.best
        with b.loop("i", count) as i:
            self.ranks.set(i, 0)
        with b.loop("j", count) as j, b.loop("i", count) as i:
            mine, other = self.values(i), self.values(j)
            before = tx.select(tx.less(j, i), tx.logical_not(self.precedes(mine, other)), self.precedes(other, mine))
            self.ranks.set(i, self.ranks(i) + before.astype(i32))
        with b.loop("i", count) as i, b.when(tx.less(self.ranks(i), self.k)):
            best.set(self.ranks(i).astype(i64), self.values(i))
            best_places.set(self.ranks(i).astype(i64), self.places(i))
        kept = b.let("kept", tx.minimum(count, self.k))
        with b.loop("i", kept) as i:
            self.values.set(i, best(i))
            self.places.set(i, best_places(i))
        self.count.set(kept)
        with b.when(tx.equal(kept, self.k)):
            self.last.set(best(tx.const(self.k - 1, i64)))
            self.is_full.set(1)
