"""Max pooling over regions of interest in images, and over windows with the positions of what is greatest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import AnyFloat, f32, f64, i64

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor


def roi_pool(data: Tensor, rois: Tensor, size: Sequence[int], scale: float) -> Tensor:
    """Return the maximum of each of `size` bins of regions (image, x1, y1, x2, y2), times `scale` (Girshick, 2015).

    data is (batch, channels, height, width). Corners are rounded to pixels, which belong to the region; bins may share
    pixels. An empty bin is 0.
    """
    wide = f64 if data.type == f64 else f32
    extents = data.dims[2:]

    def bounds(roi: PrimExpr, k: int, bin_: PrimExpr) -> list[PrimExpr]:
        corners = [math_functions.round_(rois(roi, 2 - k + n).astype(wide) * scale) for n in (0, 2)]
        step = tx.div(tx.maximum(corners[1] - corners[0] + 1.0, tx.const(1.0, wide)), tx.const(float(size[k]), wide))
        ends = (math_functions.floor(bin_.astype(wide) * step), math_functions.ceil((bin_ + 1).astype(wide) * step))
        most = from_sym(extents[k]).astype(wide)
        return [tx.minimum(tx.maximum(e + corners[0], tx.const(0.0, wide)), most).astype(i64) for e in ends]

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", out.dims, parallel=True) as (roi, channel, *bins):
            image = b.cell("image", i64, rois(roi, 0).astype(i64))
            (top, bottom), (left, right) = (bounds(roi, k, bin_) for k, bin_ in enumerate(bins))
            empty = tx.logical_or(bottom <= top, right <= left)
            best = b.cell("best", data.type, tx.select(empty, tx.const(0.0, data.type), limits.min_value(data.type)))
            with b.loop("y", tx.maximum(bottom - top, 0)) as y, b.loop("x", tx.maximum(right - left, 0)) as x:
                best.set(tx.maximum(best.value, data(image.value, channel, top + y, left + x)))
            b.store(out, (roi, channel, *bins), best.value)

    dims = [rois.dims[0], data.dims[1], *(Const(n) for n in size)]
    return filled([("roi_pool", dims, data.type)], [data, rois], body, "roi_pool")[0]


class Windows(Protocol):
    """The windows of one dimension."""

    def places(self, window: PrimExpr, extent: PrimExpr, outer: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr, int]:
        """Return the first position of a window that is inside, how many are, and the distance between them.

        `outer` are the indices of the dimensions that have no windows.
        """
        ...


@dataclass(frozen=True)
class Sliding:
    """Windows of `size` positions at distances of `gap`, one every `step`; the first starts at -`pad`."""

    size: int
    step: int
    pad: int
    gap: int

    def places(self, window: PrimExpr, extent: PrimExpr, outer: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr, int]:
        begin = window * self.step - self.pad
        low, high = (tx.maximum((n - begin + (self.gap - 1)) // self.gap, tx.const(0, i64)) for n in (0, extent))
        return begin + low * self.gap, tx.minimum(high, tx.const(self.size, i64)) - low, self.gap


@dataclass(frozen=True)
class Parts:
    """As many windows as `count`, which divide the dimension evenly and may share a position."""

    count: SymExpr

    def places(self, window: PrimExpr, extent: PrimExpr, outer: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr, int]:
        count = from_sym(self.count)
        begin = window * extent // count
        return begin, ((window + 1) * extent + (count - 1)) // count - begin, 1


@dataclass(frozen=True)
class Chosen:
    """Windows of `size` positions whose first ones a tensor has, for each index of the outer dimensions."""

    begins: Tensor
    size: int

    def places(self, window: PrimExpr, extent: PrimExpr, outer: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr, int]:
        return self.begins(*outer, window), tx.const(self.size, i64), 1


def greatest_of_chosen_windows(data: Tensor, begins: Sequence[Tensor], sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return what `greatest_of_windows` does for windows that begin at `begins`, one for each of the last dimensions.

    Each is (…, windows) in int64, with the outer dimensions of data.
    """
    windows = [Chosen(b, n) for b, n in zip(begins, sizes, strict=True)]
    return greatest_of_windows(data, windows, [b.dims[-1] for b in begins], begins)


def greatest_of_windows(
    data: Tensor, windows: Sequence[Windows], counts: Sequence[SymExpr], read: Sequence[Tensor] = ()
) -> tuple[Tensor, Tensor]:
    """Return the greatest element of each window of the last dimensions, and its position in all of them, flattened.

    `counts` are the numbers of windows, `read` what windows read. The first of equal elements counts, NaN is greater
    than all others.
    """
    first = len(data.dims) - len(windows)
    extents = _extents(data, first)

    def flat(index: Sequence[PrimExpr]) -> PrimExpr:
        place: PrimExpr = tx.const(0, i64)
        for i, extent in zip(index, extents, strict=True):
            place = place * extent + i
        return place

    def body(b: Statements, values: Tensor, positions: Tensor) -> None:
        with b.loops("o", values.dims, parallel=True) as at:
            places = _places(b, windows, at, extents)
            begin = [
                tx.minimum(p, n - 1) for (p, _, _), n in zip(places, extents, strict=True)
            ]  # of empty windows, too
            best = b.cell("best", data.type, data(*at[:first], *begin))
            where = b.cell("where", i64, flat(begin))
            with _each(b, places) as index:
                value = b.let("value", data(*at[:first], *index))
                greater = tx.less(best.value, value)
                if isinstance(data.type, AnyFloat):
                    greater = tx.logical_or(greater, math_functions.isnan(value))
                with b.when(greater):
                    best.set(value)
                    where.set(flat(index))
            b.store(values, at, best.value)
            b.store(positions, at, where.value)

    dims = [*data.dims[:first], *counts]
    specs = [("greatest", dims, data.type), ("positions", dims, i64)]
    values, positions = filled(specs, [data, *read], body, "greatest_of_windows")
    return values, positions


def means_of_windows(data: Tensor, windows: Sequence[Windows], counts: Sequence[SymExpr]) -> Tensor:
    """Return the mean of each window of the last dimensions; `counts` are the numbers of windows."""
    first, wide = len(data.dims) - len(windows), f64 if data.type == f64 else f32
    extents = _extents(data, first)

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("o", out.dims, parallel=True) as at:
            places = _places(b, windows, at, extents)
            total = b.cell("total", wide, 0.0)
            with _each(b, places) as index:
                total.set(total.value + data(*at[:first], *index).astype(wide))
            count: PrimExpr = tx.const(1, i64)
            for _, own, _ in places:
                count = count * own
            b.store(out, at, tx.div(total.value, count.astype(wide)).astype(data.type))

    dims = [*data.dims[:first], *counts]
    return filled([("means", dims, data.type)], [data], body, "means_of_windows")[0]


_Place = tuple[PrimExpr, PrimExpr, int]


def _extents(data: Tensor, first: int) -> list[PrimExpr]:
    return [from_sym(n).astype(i64) for n in data.dims[first:]]


def _places(
    b: Statements, windows: Sequence[Windows], at: Sequence[PrimExpr], extents: Sequence[PrimExpr]
) -> list[_Place]:
    outer, inner = at[: len(at) - len(windows)], at[len(at) - len(windows) :]
    rows = (w.places(i.astype(i64), n, outer) for w, i, n in zip(windows, inner, extents, strict=True))
    return [(b.let(f"begin{k}", p), b.let(f"count{k}", n), gap) for k, (p, n, gap) in enumerate(rows)]


@contextmanager
def _each(b: Statements, places: Sequence[_Place]) -> Iterator[list[PrimExpr]]:
    """Loop over the positions of a window."""
    with ExitStack() as loops:
        steps = [loops.enter_context(b.loop(f"k{k}", n)) for k, (_, n, _) in enumerate(places)]
        yield [p + i * gap for i, (p, _, gap) in zip(steps, places, strict=True)]
