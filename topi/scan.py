"""Scans, sorting and searching: algorithms built from explicit statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import is_float
from ..dialects.sym.expr import Const, SymExpr, product
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.extern_body import Array, Statements, filled
from ..te.tensor import Tensor
from .manipulation import reshape
from .radix_sort import RadixSort, by_bits, has_ordered_bits
from .selection import selected, selects
from .util import normalize_axis, unit_like, wide_type
from .vector_sort import VectorSort, element, key, key_type, room

_RUN = 32
"""Elements sorted by counting: merging this many takes five passes of about thirty cycles for each element."""
_SCANS: dict[str, tuple[int, Callable[[PrimExpr, PrimExpr], PrimExpr]]] = {
    "cumsum": (0, tx.add),
    "cumprod": (1, tx.multiply),
}


def _at(rest: Sequence[PrimExpr], axis: int, i: PrimExpr) -> Indices:
    """Return indices with `i` at `axis`."""
    return (*rest[:axis], i, *rest[axis:])


def scan(x: Tensor, kind: str, axis: int | None, dtype: Attribute, exclusive: bool) -> Tensor:
    """Return `cumsum` or `cumprod` along `axis` (of flattened `x` if None); `exclusive` omits the element itself."""
    start, combine = _SCANS[kind]
    return running(x, f"{kind}_generic", combine, tx.convert(start), axis, dtype, exclusive, kind)


def running(
    x: Tensor,
    name: str,
    combine: Callable[[PrimExpr, PrimExpr], PrimExpr],
    start: PrimExpr,
    axis: int | None,
    dtype: Attribute,
    exclusive: bool,
    buffer: str = "out_buf",
) -> Tensor:
    """Return the scan of `combine` along `axis` (of flattened `x` if None), beginning with `start`.

    `exclusive` leaves out the element itself.
    """
    if axis is None:
        x = x if x.ndim == 1 else reshape(x, [product(x.dims, unit_like(x.dims).dtype)])
    place = normalize_axis(axis or 0, x.ndim)
    # half precision accumulates in single
    wide = wide_type(dtype)

    def body(b: Statements, out: Tensor) -> None:
        outer = [d for n, d in enumerate(x.dims) if n != place]
        with b.loops("i", outer, parallel=True) as rest:
            total = b.cell("total", wide, start)
            with b.loop("k", x.dims[place]) as k:
                i = _at(rest, place, k)
                after = combine(total.value, x(*i).astype(wide))
                if exclusive:
                    b.store(out, i, total.value.astype(dtype))
                    total.set(after)
                else:
                    total.set(after)
                    b.store(out, i, total.value.astype(dtype))

    return filled([(buffer, x.dims, dtype)], [x], body, name)[0]


def sorted_order(x: Tensor, axis: int, descending: bool, valid_count: Tensor | None = None) -> Tensor:
    """Return the positions (int64) of the elements in sorted order along `axis`, by a stable sort.

    With `valid_count`, only the first `valid_count[...]` elements of a row are sorted.
    """
    merging, radix = _Sorting(x, axis, descending, valid_count), RadixSort(x, axis, descending)
    suited = by_bits(x.dims[axis]) if valid_count is None and has_ordered_bits(x.type) else False
    outer, extent = [d for n, d in enumerate(x.dims) if n != axis], x.dims[axis]

    def body(b: Statements, order: Tensor, spare: Tensor) -> None:
        with b.loops("i", outer, parallel=True) as rest:
            if isinstance(suited, bool):
                (radix if suited else merging).row(b, rest, order, spare)
                return
            with b.when(suited):
                radix.row(b, rest, order, spare)
            with b.when(tx.logical_not(suited)):
                merging.row(b, rest, order, spare)

    specs = [("order", x.dims, i64), ("spare", [*outer, Const(1 if suited is False else 2, extent.dtype), extent], i64)]
    return filled(specs, [x] if valid_count is None else [x, valid_count], body, "sort_generic")[0]


@dataclass(frozen=True)
class _Sorting:
    """Merge sort: short runs are sorted by counting predecessors, which vectorizes, then merged."""

    x: Tensor
    axis: int
    descending: bool
    valid_count: Tensor | None

    @property
    def extent(self) -> SymExpr:
        return self.x.dims[self.axis]

    def row(self, b: Statements, rest: Indices, order: Tensor, merged: Tensor) -> None:
        """Fill one row of `order`; the first row of `merged` is a temporary."""
        size = from_sym(self.extent)
        self.runs(b, rest, order)
        width = b.cell("width", i64, _RUN)
        with b.repeat_while(tx.less(width.value, size)):
            start = b.cell("start", i64, 0)
            with b.repeat_while(tx.less(start.value, size)):
                self.merge(b, rest, (order, merged), start.value, width.value)
                start.set(start.value + width.value * 2)
            with b.loop("c", self.extent) as c:
                b.store(order, _at(rest, self.axis, c), merged(*rest, tx.const(0, i64), c))
            width.set(width.value * 2)

    def runs(self, b: Statements, rest: Indices, order: Tensor) -> None:
        """Sort runs of `_RUN` elements, and the tail."""
        values, ranks = b.array("values", self.x.type, _RUN), b.array("ranks", i32, _RUN)
        full = self.extent // _RUN
        with b.loop("run", full) as n:
            self.run(b, rest, order, (values, ranks), (n.astype(i64) * _RUN, Const(_RUN)))
        left = self.extent - full * _RUN
        if left.constant != 0:
            self.run(b, rest, order, (values, ranks), (from_sym(full).astype(i64) * _RUN, left))

    def run(
        self, b: Statements, rest: Indices, order: Tensor, cells: tuple[Array, Array], part: tuple[PrimExpr, SymExpr]
    ) -> None:
        """Write the position of each element of a run (start, size), by counting the elements that precede it."""
        (values, ranks), (start, count) = cells, part
        with b.loop("i", count) as i:
            values.set(i, self.x(*_at(rest, self.axis, start + i)))
            ranks.set(i, 0)
        with b.loop("j", count) as j, b.loop("i", count) as i:
            passes, passed = self.precedes(values(i), values(j)), self.precedes(values(j), values(i))
            if self.valid_count is not None:
                passes = tx.logical_and(start + i < self.valid_count(*rest), passes)
                passed = tx.logical_and(start + j < self.valid_count(*rest), passed)
            before = tx.select(tx.less(j.astype(i32), i.astype(i32)), tx.logical_not(passes), passed)
            ranks.set(i, ranks(i) + before.astype(i32))
        with b.loop("i", count) as i:
            b.store(order, _at(rest, self.axis, start + ranks(i).astype(i64)), start + i)

    def merge(
        self, b: Statements, rest: Indices, tensors: tuple[Tensor, Tensor], start: PrimExpr, width: PrimExpr
    ) -> None:
        """Merge two adjacent sorted runs of `width` from the first tensor into the second."""
        (order, out), size = tensors, from_sym(self.extent)
        middle = b.cell("middle", i64, tx.minimum(start + width, size))
        end = b.cell("end", i64, tx.minimum(start + width * 2, size))
        left, right = b.cell("left", i64, start), b.cell("right", i64, middle.value)
        taken, put = b.cell("taken", i64, 0), b.cell("put", i64, start)
        with b.repeat_while(tx.less(put.value, end.value)):
            take_left = tx.if_then_else(
                tx.less(right.value, end.value), self.passes(rest, order, right.value, left.value), False
            )
            taken.set(tx.if_then_else(tx.less(left.value, middle.value), take_left, True).astype(i64))
            source = tx.select(tx.equal(taken.value, 1), right.value, left.value)
            b.store(out, (*rest, tx.const(0, i64), put.value), order(*_at(rest, self.axis, source)))
            right.set(right.value + taken.value)
            left.set(left.value + 1 - taken.value)
            put.set(put.value + 1)

    def passes(self, rest: Indices, order: Tensor, right: PrimExpr, left: PrimExpr) -> PrimExpr:
        """Return whether the element at `right` must come before that at `left`."""
        at = [order(*_at(rest, self.axis, p)) for p in (right, left)]
        first = self.precedes(*(self.x(*_at(rest, self.axis, p)) for p in at))
        return first if self.valid_count is None else tx.logical_and(at[0] < self.valid_count(*rest), first)

    def precedes(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Return whether `a` must come before `b`. NaN is greater than all numbers."""
        low, high = (b, a) if self.descending else (a, b)
        less = tx.less(low, high)
        if not is_float(a.type):
            return less
        return tx.logical_or(
            less, tx.logical_and(math_functions.isnan(high), tx.logical_not(math_functions.isnan(low)))
        )


def _extent_vector(x: Tensor, axis: int, count: SymExpr | None) -> list[SymExpr]:
    return [count if n == axis and count is not None else d for n, d in enumerate(x.dims)]


def argsort(x: Tensor, axis: int, descending: bool, dtype: Attribute, valid_count: Tensor | None = None) -> Tensor:
    """Return the sorted order along `axis` as positions; with `valid_count`, of the first elements of each row only."""
    order = sorted_order(x, normalize_axis(axis, x.ndim), descending, valid_count)
    return over_axes(x.dims, lambda i: order(*i).astype(dtype), "T_argsort", "injective")


def sort(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Return the elements in sorted order along `axis`."""
    return _sorted(x, normalize_axis(axis, x.ndim), sorted_order(x, normalize_axis(axis, x.ndim), descending), None)


def sort_in_vectors(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Sort types that `vector_sort` supports: -0 precedes 0, NaNs are in any order. Short rows use merge sort."""
    axis = normalize_axis(axis, x.ndim)
    if by_bits(x.dims[axis]) is False:
        return sort(x, axis, descending)
    outer, extent = [d for n, d in enumerate(x.dims) if n != axis], x.dims[axis]

    third = room(extent, x.type)

    def body(b: Statements, out: Tensor, keys: Tensor) -> None:
        with b.loops("i", outer, parallel=True) as rest:
            with b.loop("i", extent) as i:
                b.store(keys, (*rest, i), key(x(*_at(rest, axis, i)), descending))
            VectorSort(b, keys, rest, from_sym(third).astype(i64)).sort(from_sym(extent).astype(i64))
            with b.loop("i", extent) as i:
                ordered = keys(*rest, i + from_sym(third * 2))
                b.store(out, _at(rest, axis, i), element(ordered, x.type, descending))

    specs = [("sorted", x.dims, x.type), ("keys", [*outer, third * 3], key_type(x.type))]
    return filled(specs, [x], body, "sort_generic")[0]


def _sorted(x: Tensor, axis: int, order: Tensor, count: SymExpr | None) -> Tensor:
    def element(i: Indices) -> PrimExpr:
        return x(*i[:axis], order(*i), *i[axis + 1 :])

    return over_axes(_extent_vector(x, axis, count), element, "T_sort", "injective")


def topk(x: Tensor, k: SymExpr, axis: int, ret_type: str, largest: bool, dtype: Attribute) -> list[Tensor]:
    """Return the first `k` elements in sorted order along `axis`: `values`, `indices` or `both`."""
    place = normalize_axis(axis, x.ndim)
    if selects(k, x.dims[place]):
        order = selected(x, k.constant or 1, place, _Sorting(x, place, largest, None).precedes, dtype)
        return [each for name, each in zip(("values", "indices"), order, strict=True) if ret_type in ("both", name)]
    order = sorted_order(x, place, largest)
    dims = _extent_vector(x, place, k)
    out: list[Tensor] = []
    if ret_type in ("both", "values"):
        out.append(_sorted(x, place, order, k))
    if ret_type in ("both", "indices"):
        out.append(over_axes(dims, lambda i: order(*i).astype(dtype), "T_topk_indices", "injective"))
    return out


def _is_above(value: PrimExpr, edge: PrimExpr, right: bool) -> PrimExpr:
    """Return whether a value sorts after an edge (after equal ones if `right`); NaN sorts after all numbers."""
    above = tx.less_equal(edge, value) if right else tx.less(edge, value)
    if not is_float(value.type):
        return above
    is_nan = tx.not_equal(value, value)
    return tx.logical_or(above, is_nan if right else tx.logical_and(is_nan, tx.equal(edge, edge)))


def searchsorted(boundaries: Tensor, x: Tensor, right: bool, dtype: Attribute) -> Tensor:
    """Return how many of the sorted `boundaries` are less than each element of `x` (less or equal if `right`).

    Boundaries of several dimensions hold one sequence for each row of `x`.
    """

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", x.dims, parallel=True) as i:
            low, high = b.cell("low", i64, 0), b.cell("high", i64, from_sym(boundaries.dims[-1]))
            with b.repeat_while(tx.less(low.value, high.value)):
                middle = b.cell("middle", i64, tx.floordiv(low.value + high.value, 2))
                edge, value = boundaries(*i[: boundaries.ndim - 1], middle.value), x(*i)
                above = b.cell("above", i64, _is_above(value, edge, right).astype(i64))
                low.set(tx.select(tx.equal(above.value, 1), middle.value + 1, low.value))
                high.set(tx.select(tx.equal(above.value, 1), high.value, middle.value))
            b.store(out, i, low.value)

    return filled([("searchsorted", x.dims, dtype)], [boundaries, x], body, "searchsorted")[0]


def multinomial_from_uniform(prob: Tensor, uniform: Tensor, rows: Tensor, dtype: Attribute) -> Tensor:
    """Return for each sample the first position where the cumulative sum of its row of `prob` exceeds `uniform`."""
    sums = scan(prob, "cumsum", 1, prob.type, exclusive=False)
    extent = prob.dims[1]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def is_passed(i: Indices) -> object:
        row = rows(*i).astype(prob.dims[0].dtype)
        return red.sum(tx.less_equal(sums(row, k), uniform(*i)).astype(i64), axis=k)

    count = over_axes(uniform.dims, is_passed, "T_passed", "comm_reduce")
    last = from_sym(extent - 1)
    return over_axes(uniform.dims, lambda i: tx.minimum(count(*i), last).astype(dtype), "T_multinomial", "injective")
