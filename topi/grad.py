"""Gradients of pooling, of taking slices, and of losses."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ..dialects.dtypes import is_float
from ..dialects.relax.layout import arranged
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import limits
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor
from . import reduction as rd
from .elementwise import rounded
from .util import wide_type
from .windows import Padding, Places, pad_constant, pool

Windows = tuple[Sequence[int], Sequence[int], Sequence[int], Padding]
"""Size, strides, dilation and padding of windows."""


def _offsets(size: Sequence[int], dtype: Any) -> list[IterVar]:
    return [IterVar(f"rv{n}", Const(0, dtype), Const(k, dtype), is_reduction=True) for n, k in enumerate(size)]


def _flat(offsets: Sequence[PrimExpr], size: Sequence[int]) -> PrimExpr:
    """Return the row-major index of a point of a window."""
    out: PrimExpr | None = None
    for k, n in zip(offsets, size, strict=True):
        out = k if out is None else out * tx.const(n, k.type) + k
    assert out is not None
    return out


def _points(at: Sequence[PrimExpr], offsets: Sequence[PrimExpr], windows: Windows) -> list[PrimExpr]:
    """Return the positions in the padded data of the points of the windows `at`."""
    rows = zip(at, offsets, windows[1], windows[2], strict=True)
    return [tx.simplified(i * tx.const(s, i.type) + k * tx.const(d, k.type)) for i, k, s, d in rows]


def _first(data: Tensor, out_dims: Sequence[SymExpr], places: Places, windows: Windows) -> Tensor:
    """Return the index of the first greatest point of each window."""
    size, strides, dilation, padding = windows
    best = pool(data, out_dims, places, size, strides, dilation, padding, "max")
    before, after = (arranged(places, [0, 0, *(p[side] for p in padding)]) for side in (0, 1))
    padded = pad_constant(data, before, after, red.least_of(data.type).constant, "pad_temp")
    dtype = out_dims[places[-1]].dtype
    offsets = _offsets(size, dtype)

    def element(i: Indices) -> Any:
        batch, channel, *at = (i[p] for p in places)
        points = _points(at, offsets, windows)
        value, number = padded(*arranged(places, [batch, channel, *points])), _flat(offsets, size)
        is_match = tx.logical_and(_is_best(value, best(*i)), *_inside(points, data, places, padding))
        return red.min(tx.select(is_match, number, limits.max_value(number.type)), axis=offsets)

    return over_axes(out_dims, element, "pool_first", "")


def _is_best(value: PrimExpr, best: PrimExpr) -> PrimExpr:
    """Return whether a point of a window equals its maximum; NaN equals NaN."""
    same = tx.equal(value, best)
    return tx.logical_or(same, tx.not_equal(value, value)) if is_float(value.type) else same


def _inside(points: Sequence[PrimExpr], data: Tensor, places: Places, padding: Padding) -> list[PrimExpr]:
    """Return the conditions for points of the padded data to be in the data."""
    inside: list[PrimExpr] = []
    for point, place, (before, after) in zip(points, places[2:], padding, strict=True):
        inside += [tx.less_equal(tx.const(before, point.type), point)] if before else []
        inside += [tx.less(point, from_sym(data.dims[place] + before))] if before or after else []
    return inside


def _counts(data: Tensor, out_dims: Sequence[SymExpr], places: Places, windows: Windows, counted: Padding) -> Tensor:
    """Return the number of points of each window in the data or the padding `counted`, by spatial position."""
    size, _, _, padding = windows
    offsets = _offsets(size, out_dims[places[-1]].dtype)

    def element(at: Indices) -> Any:
        inside: list[PrimExpr] = []
        for n, point in enumerate(_points(at, offsets, windows)):
            start = padding[n][0] - counted[n][0]
            end = data.dims[places[n + 2]] + (padding[n][0] + counted[n][1])
            inside += [tx.less_equal(tx.const(start, point.type), point), tx.less(point, from_sym(end))]
        one = tx.const(1, data.type)
        return red.sum(tx.select(tx.logical_and(*inside), one, tx.const(0, data.type)), axis=offsets)

    return over_axes([out_dims[p] for p in places[2:]], element, "pool_count", "")


def pool_backward(
    grad: Tensor, data: Tensor, places: Places, windows: Windows, kind: str, counted: Padding | None
) -> Tensor:
    """Return the gradient of `pool` with respect to the data: each point gathers from the windows that contain it.

    If adjacent points share windows, only overlapping ones are visited; if windows do not overlap, there is one window
    for each point, and no sum.
    """
    size, strides, dilation, padding = windows
    first = _first(data, grad.dims, places, windows) if kind == "max" else None
    none = [(0, 0) for _ in size]
    counts = _counts(data, grad.dims, places, windows, counted or none) if kind == "avg" else None
    offsets = _offsets(size, data.dims[places[-1]].dtype)

    def passed_on(places_of: list[PrimExpr], offsets: Sequence[PrimExpr], window: Sequence[PrimExpr]) -> PrimExpr:
        """Return the gradient that a point gets from `window`, in which it has these offsets."""
        value = grad(*places_of)
        if first is not None:
            value = tx.select(tx.equal(first(*places_of), _flat(offsets, size)), value, tx.const(0, grad.type))
        if counts is not None:
            value = tx.div(value, tx.maximum(counts(*window), tx.const(1, grad.type)))
        return value

    def near(i: Indices) -> Any:
        """Compute an element from the last window that begins before it and the windows that overlap that one."""
        batch, channel, *at = (i[p] for p in places)
        inside: list[PrimExpr] = []
        window: list[PrimExpr] = []
        own: list[PrimExpr] = []
        for n, v in enumerate(at):
            moved, step = tx.simplified(v + tx.const(padding[n][0], v.type)), tx.const(strides[n], v.type)
            back = earlier.get(n, tx.const(0, v.type))
            window.append(tx.simplified(tx.floordiv(moved, step) - back))
            own.append(tx.simplified(tx.floormod(moved, step) + back * step))
            inside += [tx.less_equal(tx.const(0, v.type), window[n])] if n in earlier else []
            inside += [tx.less(own[n], tx.const(size[n], v.type))] if size[n] % strides[n] else []
            end = grad.dims[places[n + 2]]
            if (end - (data.dims[places[n + 2]] + (padding[n][0] - 1)) // strides[n]).constant != 1:
                inside.append(tx.less(window[n], from_sym(end)))
        value = passed_on(arranged(places, [batch, channel, *window]), own, window)
        value = tx.if_then_else(tx.logical_and(*inside), value, tx.const(0, grad.type)) if inside else value
        return red.sum(value, axis=list(earlier.values())) if earlier else value

    def element(i: Indices) -> Any:
        batch, channel, *at = (i[p] for p in places)
        inside: list[PrimExpr] = []
        window: list[PrimExpr] = []
        for n, (v, k) in enumerate(zip(at, offsets, strict=True)):
            step = tx.const(strides[n], v.type)
            moved = tx.simplified(v + tx.const(padding[n][0], v.type) - k * tx.const(dilation[n], v.type))
            window.append(tx.floordiv(moved, step))
            inside += [tx.less_equal(tx.const(0, v.type), moved), tx.equal(tx.floormod(moved, step), 0)]
            inside.append(tx.less(window[n], from_sym(grad.dims[places[n + 2]])))
        value = passed_on(arranged(places, [batch, channel, *window]), offsets, window)
        return red.sum(tx.if_then_else(tx.logical_and(*inside), value, tx.const(0, grad.type)), axis=offsets)

    several = {n: -(-k // s) for n, (k, s) in enumerate(zip(size, strides, strict=True)) if k > s}
    earlier = dict(zip(several, _offsets(list(several.values()), offsets[0].type), strict=True))
    form = near if all(d == 1 for d in dilation) else element
    return over_axes(data.dims, form, f"{kind}_pool_backward", "")


def take_backward(grad: Tensor, x: Tensor, indices: Tensor | PrimExpr, axis: int) -> Tensor:
    """Return the slices of `grad` along `axis` summed at `indices`, in the shape of x."""
    axis = axis % x.ndim
    middle = indices.dims if isinstance(indices, Tensor) else ()

    wide = wide_type(x.type)

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("c", x.dims, parallel=True) as c:
            b.store(out, c, tx.const(0, wide))
        with b.loops("i", grad.dims) as i:
            own = i[axis : axis + len(middle)]
            index = indices(*own) if isinstance(indices, Tensor) else indices
            at = [*i[:axis], index.astype(x.dims[axis].dtype), *i[axis + len(middle) :]]
            b.store(out, at, out(*at) + grad(*i).astype(wide))

    inputs = [t for t in (grad, indices) if isinstance(t, Tensor)]
    out = filled([("take_backward", x.dims, wide)], inputs, body, "take_backward")[0]
    return rounded(out, x.type)


def nll_loss_backward(
    grad: Tensor, predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """Return -grad * weights[target] at the targets, 0 elsewhere; for a mean, divided by the sum of the weights."""
    dtype, axis = predictions.type, builtins.min(1, predictions.ndim - 1)
    classes = predictions.dims[axis]
    zero = tx.const(0, dtype)

    def weight(own: Sequence[PrimExpr]) -> PrimExpr:
        target = targets(*own)
        kept = tx.not_equal(target, tx.const(ignore_index, target.type))
        value = tx.const(1, dtype) if weights is None else weights(target.astype(classes.dtype))
        return tx.if_then_else(kept, value, zero)

    wide = wide_type(dtype)
    total = over_axes(targets.dims, lambda i: weight(i).astype(wide), "nll_loss_weight", "injective")
    weight_sum = rd.sum(total) if reduction == "mean" and targets.ndim else total

    def element(i: Indices) -> PrimExpr:
        own = [*i[:axis], *i[axis + 1 :]]
        value = zero - (grad(*own) if reduction == "none" else grad()) * weight(own)
        value = tx.div(value.astype(wide), weight_sum()).astype(dtype) if reduction == "mean" else value
        return tx.if_then_else(tx.equal(targets(*own).astype(classes.dtype), i[axis]), value, zero)

    return over_axes(predictions.dims, element, "nll_loss_backward", "injective")
