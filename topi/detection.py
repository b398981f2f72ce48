"""Operators for object detection: non-maximum suppression and region pooling."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i64

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Array, Cell, Statements, filled
from ..te.tensor import Tensor


def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    overlap: Tensor,
    least: Tensor,
    has_least: bool,
    form: str,
    rows: SymExpr,
) -> list[Tensor]:
    """Return (batch, class, box) of the selected boxes in a tensor of `rows`, and their number.

    boxes is (batch, boxes, 4), scores (batch, classes, boxes). For each class the best box is selected first, then
    repeatedly the best one whose overlap with the selected boxes is at most `overlap[0]`, up to `most[0]` boxes. With
    `has_least`, boxes whose score is not above `least[0]` are never selected. `form` is the format of a box: any
    two opposite "corners", the "center" and extents, or "ordered" corners, the least first.
    """
    batch, count, _ = boxes.dims
    classes = scores.dims[1]

    def body(b: Statements, kept: Tensor, total: Tensor, state: Tensor) -> None:
        b.store(total, [tx.const(0, i64)], 0)
        with b.loop("n", batch) as n, b.loop("c", classes) as c:
            with b.loop("i", count) as i:
                able = tx.less(least(0), scores(n, c, i)) if has_least else tx.const(True, "bool")
                b.store(state, [i], tx.select(able, tx.const(1, i64), tx.const(0, i64)))
            done = b.cell("done", i64, 0)
            going = b.cell("going", i64, tx.select(tx.less(0, most(0)), tx.const(1, i64), tx.const(0, i64)))
            with b.repeat_while(tx.equal(going.value, 1)):
                best = _best(b, scores, state, n, c, count)
                _keep(b, (boxes, overlap, most), (kept, total, state), (n, c), (best, done, going), form)

    specs = [("kept", [rows, Const(3)], i64), ("total", [Const(1)], i64), ("state", [count], i64)]
    return list(filled(specs, [boxes, scores, most, overlap, least], body, "non_max_suppression")[:2])


def _best(b: Statements, scores: Tensor, state: Tensor, n: PrimExpr, c: PrimExpr, count: SymExpr) -> Cell:
    """Return the remaining box with the greatest score (the first one among equals), or -1 if no box remains."""
    best = b.cell("best", i64, -1)
    with b.loop("j", count) as j, b.when(tx.equal(state(j), 1)):
        known = tx.maximum(best.value, tx.const(0, i64))
        with b.when(tx.logical_or(tx.less(best.value, 0), tx.less(scores(n, c, known), scores(n, c, j)))):
            best.set(j)
    return best


def _keep(
    b: Statements,
    inputs: tuple[Tensor, Tensor, Tensor],
    outputs: tuple[Tensor, Tensor, Tensor],
    place: tuple[PrimExpr, PrimExpr],
    cells: tuple[Cell, Cell, Cell],
    form: str,
) -> None:
    """Select the best box and drop those that overlap it; stop if none remains or enough are selected."""
    (boxes, overlap, most), (kept, total, state) = inputs, outputs
    best, done, going = cells
    with b.when(tx.less(best.value, 0)):
        going.set(0)
    with b.when(tx.less_equal(0, best.value)):
        row = b.cell("row", i64, total(0))
        for k, value in enumerate((*place, best.value)):
            b.store(kept, [row.value, tx.const(k, i64)], value)
        b.store(total, [tx.const(0, i64)], row.value + 1)
        done.set(done.value + 1)
        with b.loop("k", boxes.dims[1]) as k, b.when(tx.equal(state(k), 1)):
            ratio = _overlap(boxes, place[0], best.value, k, form)
            gone = tx.logical_or(tx.equal(k, best.value), tx.less(overlap(0), ratio))
            with b.when(gone):
                b.store(state, [k], 0)
        with b.when(tx.less_equal(most(0), done.value)):
            going.set(0)


def _overlap(boxes: Tensor, n: PrimExpr, i: PrimExpr, j: PrimExpr, form: str) -> PrimExpr:
    """Return the intersection over union of two boxes; 0 if both are empty."""
    first, second = (_sides(boxes, n, v, form) for v in (i, j))
    zero = tx.const(0.0, f32)
    shared: PrimExpr = tx.const(1.0, f32)
    for (low_a, high_a), (low_b, high_b) in zip(first, second, strict=True):
        shared = shared * tx.maximum(tx.minimum(high_a, high_b) - tx.maximum(low_a, low_b), zero)
    areas = [(s[0][1] - s[0][0]) * (s[1][1] - s[1][0]) for s in (first, second)]
    union = areas[0] + areas[1] - shared
    return tx.select(tx.less(zero, union), tx.div(shared, union), zero)


def _sides(boxes: Tensor, n: PrimExpr, i: PrimExpr, form: str) -> list[tuple[PrimExpr, PrimExpr]]:
    """Return the begin and end of a box in both dimensions."""
    at = [boxes(n, i, k) for k in range(4)]
    if form == "ordered":
        return [(at[k], at[k + 2]) for k in range(2)]
    if form == "center":
        return [(at[k] - at[k + 2] * 0.5, at[k] + at[k + 2] * 0.5) for k in range(2)]
    return [(tx.minimum(at[k], at[k + 2]), tx.maximum(at[k], at[k + 2])) for k in range(2)]


def roi_align(
    data: Tensor,
    rois: Tensor,
    batches: Tensor,
    size: Sequence[int],
    ratio: int,
    scale: float,
    half_pixel: bool,
    mode: str,
) -> Tensor:
    """Return the mean (`avg`) or maximum (`max`) of samples in each of `size` bins of regions (He et al., 2017).

    data is (batch, channels, height, width), rois (regions, 4) as x1, y1, x2, y2 times 1 / `scale`; batches holds the
    image of each region. Each bin has `ratio` samples in both dimensions; 0 means as many as it has pixels.
    """
    extents = data.dims[2:]
    dims = [rois.dims[0], data.dims[1], *(Const(n) for n in size)]

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("o", dims, parallel=True) as (r, c, y, x):
            bounds = b.array("bounds", f32, 4)  # start and length of a part in height and width
            counts = b.array("counts", i64, 2)
            for k, column in enumerate((1, 0)):
                _part(b, rois, bounds, counts, r, k, column, size[k], ratio, scale, half_pixel)
            total = b.cell("total", f32, 0.0 if mode == "avg" else limits.min_value(f32))
            with b.loop("u", counts(tx.const(0, i64))) as u, b.loop("v", counts(tx.const(1, i64))) as v:
                at = [
                    bounds(tx.const(2 * k, i64))
                    + (p.astype(f32) + tx.div(s.astype(f32) + 0.5, counts(tx.const(k, i64)).astype(f32)))
                    * bounds(tx.const(2 * k + 1, i64))
                    for k, (p, s) in enumerate(((y, u), (x, v)))
                ]
                taps = _samples(data, (batches(r), c), at, extents)
                if mode == "avg":
                    for tap in taps:
                        total.set(total.value + tap)
                else:
                    for tap in taps:
                        total.set(tx.maximum(total.value, tap))
            count = counts(tx.const(0, i64)) * counts(tx.const(1, i64))
            points = tx.maximum(count, tx.const(1, i64)).astype(f32)
            greatest = tx.select(count > 0, total.value, tx.const(0.0, f32))  # 0 without samples
            b.store(out, [r, c, y, x], tx.div(total.value, points) if mode == "avg" else greatest)

    return filled([("roi_align", dims, data.type)], [data, rois, batches], body, "roi_align")[0]


def _part(
    b: Statements,
    rois: Tensor,
    bounds: Array,
    counts: Array,
    r: PrimExpr,
    k: int,
    column: int,
    parts: int,
    ratio: int,
    scale: float,
    half_pixel: bool,
) -> None:
    """Set the start, length and sample count of the bins of a region in one dimension."""
    offset = 0.5 if half_pixel else 0.0
    start, end = (rois(r, c).astype(f32) * scale - offset for c in (column, column + 2))
    size = end - start if half_pixel else tx.maximum(end - start, tx.const(1.0, f32))
    length = tx.div(size, tx.const(float(parts), f32))
    bounds.set(tx.const(2 * k, i64), start)
    bounds.set(tx.const(2 * k + 1, i64), length)
    counts.set(tx.const(k, i64), tx.const(ratio, i64) if ratio else math_functions.ceil(length).astype(i64))


def _samples(
    data: Tensor, lead: Sequence[PrimExpr], at: Sequence[PrimExpr], extents: Sequence[SymExpr]
) -> list[PrimExpr]:
    """Return the four pixels around a position, times their weights; 0 if it is more than a pixel outside."""
    inside: list[PrimExpr] = []
    taps: list[list[tuple[PrimExpr, PrimExpr]]] = []
    for x, extent in zip(at, extents, strict=True):
        last = from_sym(extent - 1)
        inside += [tx.less_equal(tx.const(-1.0, f32), x), tx.less_equal(x, from_sym(extent).astype(f32))]
        place = tx.maximum(x, tx.const(0.0, f32))
        low = tx.minimum(math_functions.floor(place).astype(extent.dtype), last)
        weight = tx.select(tx.less(low, last), place - low.astype(f32), tx.const(0.0, f32))
        taps.append([(low, 1.0 - weight), (tx.minimum(low + 1, last), weight)])
    there = tx.logical_and(*inside)
    index = lead[0].astype(data.dims[0].dtype)
    zero = tx.const(0.0, f32)
    return [
        tx.if_then_else(there, data(index, lead[1], i, j).astype(f32) * v * w, zero)
        for (i, v), (j, w) in itertools.product(*taps)
    ]
