"""Padding, convolution and pooling: sliding windows over spatial dimensions. Layouts are lists of places."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..dialects.relax.layout import arranged
from ..dialects.sym.expr import Const, SymExpr, floordiv
from ..handles.tir import limits
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.tensor import Tensor, compute
from .reduction import FIRST_GREATEST
from .util import divisor, wide_type

Padding = Sequence[tuple[int, int]]
Places = Sequence[int]


def _shifted(i: PrimExpr, by: SymExpr | int) -> PrimExpr:
    """Return i - by, in canonical form."""
    return tx.simplified(i - (from_sym(by).astype(i.type) if isinstance(by, SymExpr) else tx.const(by, i.type)))


def pad_constant(
    x: Tensor, before: Sequence[Any], after: Sequence[Any], value: Any, name: str = "PadInput", axes: str = "i"
) -> Tensor:
    """Pad `x` with `value`; a negative width crops."""
    dims = [d + b + a for d, b, a in zip(x.dims, before, after, strict=True)]

    def element(*i: PrimExpr) -> PrimExpr:
        inside: list[PrimExpr] = []
        for v, d, b, a in zip(i, x.dims, before, after, strict=True):
            if not _is_zero(b):
                inside.append(tx.less_equal(_width(b, v), v))
            if not (_is_zero(b) and _is_zero(a)):
                inside.append(tx.less(v, from_sym(d + b)))
        own = x(*(v if _is_zero(b) else _shifted(v, b) for v, b in zip(i, before, strict=True)))
        return tx.if_then_else(tx.logical_and(*inside), own, tx.const(value, x.type)) if inside else own

    return compute(dims, element, name, "injective,pad", None, [f"{axes}{n}" for n in range(x.ndim)])


def _is_zero(width: SymExpr | int) -> bool:
    return width == 0 if isinstance(width, int) else width.constant == 0


def _width(width: SymExpr | int, like: PrimExpr) -> PrimExpr:
    return from_sym(width).astype(like.type) if isinstance(width, SymExpr) else tx.const(width, like.type)


def pad_by(x: Tensor, widths: Padding, mode: str, name: str | None = None) -> Tensor:
    """Pad `x` with its own elements: `reflect`, `replicate` (the edge) or `circular`."""
    dims = [d + (b + a) for d, (b, a) in zip(x.dims, widths, strict=True)]
    source = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}[mode]
    names = {"reflect": "ReflectPadInput", "replicate": "ReplicatePadInput", "circular": "CircularPadInput"}

    def element(*i: PrimExpr) -> PrimExpr:
        rows = zip(i, x.dims, widths, strict=True)
        return x(*(source(_shifted(v, b), from_sym(d)) if b or a else v for v, d, (b, a) in rows))

    return compute(dims, element, name or names[mode], "injective,pad")


def _reflected(i: PrimExpr, extent: PrimExpr) -> PrimExpr:
    positive = tx.select(tx.less_equal(0, i), i, 0 - i)
    back = (extent - 1) * 2 - positive
    return tx.select(tx.less(positive, extent), positive, back)


def _replicated(i: PrimExpr, extent: PrimExpr) -> PrimExpr:
    return tx.maximum(0, tx.minimum(extent - 1, i))


def _circular(i: PrimExpr, extent: PrimExpr) -> PrimExpr:
    return tx.floormod(i, extent)


def _window_axes(kernel: Sequence[SymExpr]) -> list[IterVar]:
    return [IterVar(f"r{n}", Const(0, k.dtype), k, is_reduction=True) for n, k in zip("yxz", kernel, strict=False)]


def padded_places(
    x: Tensor, places: Places, padding: Padding, value: Any, name: str = "pad_temp", axes: str = "i"
) -> Tensor:
    """Pad `x` in its spatial dimensions."""
    before, after = (arranged(places, [0, 0, *(pair[side] for pair in padding)]) for side in (0, 1))
    return pad_constant(x, before, after, value, name, axes)


def window_places(
    at: Sequence[PrimExpr], window: Sequence[IterVar], strides: Sequence[int], dilation: Sequence[int]
) -> list[PrimExpr]:
    """Return the positions of window points in the padded data: at * stride + point * dilation."""
    steps = zip(at, window, strides, dilation, strict=True)
    return [tx.simplified(v * tx.const(s, v.type) + w * tx.const(d, w.type)) for v, w, s, d in steps]


def convolution(
    data: Tensor,
    weight: Tensor,
    out_shape: Sequence[SymExpr],
    places: tuple[Places, Places, Places],
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    dtype: Attribute,
    name: str,
    notes: Mapping[str, Any] | None = None,
) -> Tensor:
    """Return data * weight summed over window and input channels.

    `places` are those of data and result (batch, channels, spatial…), and of the kernel (output channels, input
    channels, spatial…). `notes` are annotations.
    """
    data_places, kernel_places, out_places = places
    padded = padded_places(data, data_places, padding, 0)
    outer, inner, *kernel = (weight.dims[p] for p in kernel_places)
    rc = IterVar("rc", Const(0, inner.dtype), inner, is_reduction=True)
    window = _window_axes(kernel)
    axes = [a for a in arranged(data_places, [None, rc, *window]) if a is not None]

    def element(*i: PrimExpr) -> Any:
        batch, channel, *at = (i[p] for p in out_places)
        first = _group(channel, outer // groups, inner) if groups > 1 else tx.const(0, rc.type)
        where = window_places(at, window, strides, dilation)
        left = padded(*arranged(data_places, [batch, first + rc, *where]))
        right = weight(*arranged(kernel_places, [channel, rc, *window]))
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=axes)

    names = arranged(out_places, ["nn", "ff", *("yy", "xx", "zz")[: len(kernel)]])
    return compute(list(out_shape), element, name, "", notes, names)


def _group(channel: PrimExpr, each: SymExpr, inner: SymExpr) -> PrimExpr:
    """Return the first input channel in the group of an output channel."""
    return tx.floordiv(channel, from_sym(each)) * from_sym(inner)


def transposed_convolution(
    data: Tensor,
    weight: Tensor,
    out_shape: Sequence[SymExpr],
    places: tuple[Places, Places, Places],
    padding: Padding,
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    dtype: Attribute,
) -> Tensor:
    """Dilate the data by `strides`, pad it, and convolve it with the flipped kernel."""
    data_places, kernel_places, out_places = places
    outer, channels, *kernel = (weight.dims[p] for p in kernel_places)
    spread = dilate(data, arranged(data_places, [1, 1, *strides]))
    reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    spatial = [spread.dims[p] for p in data_places[2:]]
    out_extents = [out_shape[p] for p in out_places[2:]]
    before = [r - b for r, (b, _) in zip(reach, padding, strict=True)]
    after = [o + r - e - b for o, r, e, b in zip(out_extents, reach, spatial, before, strict=True)]
    padded = pad_constant(
        spread, arranged(data_places, [0, 0, *before]), arranged(data_places, [0, 0, *after]), 0, "data_pad"
    )
    per_group = channels // groups
    dc = IterVar("dc", Const(0, per_group.dtype), per_group, is_reduction=True)
    letters = "dhw"[3 - len(kernel) :]
    window = [IterVar(f"d{n}", Const(0, k.dtype), k, is_reduction=True) for n, k in zip(letters, kernel, strict=True)]

    def element(*i: PrimExpr) -> Any:
        batch, channel, *at = (i[p] for p in out_places)
        row = tx.floordiv(channel, from_sym(outer)) * from_sym(per_group) + dc if groups > 1 else dc
        column = tx.floormod(channel, from_sym(outer)) if groups > 1 else channel
        where = [tx.simplified(v + w * tx.const(d, w.type)) for v, w, d in zip(at, window, dilation, strict=True)]
        turned = [tx.simplified(from_sym(k - 1) - w) for k, w in zip(kernel, window, strict=True)]
        left = padded(*arranged(data_places, [batch, row, *where]))
        right = weight(*arranged(kernel_places, [column, row, *turned]))
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=[dc, *window])

    return compute(list(out_shape), element, "compute", "", None, arranged(out_places, ["b", "c", *letters]))


def dilate(x: Tensor, strides: Sequence[int], value: float = 0, name: str = "data_dilate") -> Tensor:
    """Insert strides - 1 elements of `value` between adjacent elements of `x`."""
    if builtins.all(s == 1 for s in strides):
        return x
    dims = [(d - 1) * s + 1 for d, s in zip(x.dims, strides, strict=True)]

    def element(*i: PrimExpr) -> PrimExpr:
        spread = [(v, tx.const(s, v.type)) for v, s in zip(i, strides, strict=True) if s > 1]
        there = tx.logical_and(*(tx.equal(tx.floormod(v, s), 0) for v, s in spread))
        own = x(*(tx.floordiv(v, tx.const(s, v.type)) for v, s in zip(i, strides, strict=True)))
        return tx.if_then_else(there, own, tx.const(value, x.type))

    return compute(dims, element, name, "injective,dilate")


def pool(
    data: Tensor,
    out_shape: Sequence[SymExpr],
    places: Places,
    size: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Padding,
    kind: str,
    counted: Padding | None = None,
) -> Tensor:
    """Return the maximum (`max`), `sum` or mean (`avg`) of each window.

    The mean is over the points in the data and the padding `counted`.
    """
    reducer, neutral = (red.max_of_all, red.least_of(data.type).constant) if kind == "max" else (red.sum, 0)
    needed = builtins.any(b or a for b, a in padding)
    padded = padded_places(data, places, padding, neutral, axes="ax") if needed else data
    wide = wide_type(data.type) if kind == "avg" else data.type
    dtype = out_shape[places[-1]].dtype
    window = [IterVar(f"rv{n}", Const(0, dtype), Const(k, dtype), is_reduction=True) for n, k in enumerate(size)]

    def element(i: Indices) -> Any:
        where = window_places([i[p] for p in places[2:]], window, strides, dilation)
        return reducer(padded(*_moved(i, places, where)).astype(wide), axis=window)

    if kind == "max":
        return over_axes(out_shape, element, "pool_max", "pool_max")
    total = over_axes(out_shape, element, "pool_sum", "pool_sum")
    if kind == "sum":
        return total

    def mean(i: Indices) -> PrimExpr:
        count = tx.const(1, dtype)
        for n, p in enumerate(places[2:]):
            before, after = counted[n] if counted is not None else (0, 0)
            extent, start = data.dims[p] + (before + after), padding[n][0] - before
            covers_padding = (before, after) == padding[n]
            inside = _inside(i[p], extent, start, size[n], strides[n], dilation[n])
            count = count * (tx.const(size[n], dtype) if covers_padding else inside)
        return tx.div(total(*i), tx.maximum(count, tx.const(1, dtype)).astype(wide)).astype(data.type)

    return over_axes(out_shape, mean, "pool_avg", "elemwise")


def _moved(i: Indices, places: Places, where: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Replace the spatial indices; batch, channels and channel blocks are kept."""
    spatial = dict(zip(places[2:], where, strict=True))
    return [spatial.get(p, v) for p, v in enumerate(i)]


def _inside(i: PrimExpr, extent: SymExpr, before: int, size: int, stride: int, dilation: int) -> PrimExpr:
    """Return the number of points of a window inside the data."""
    start = tx.simplified(i * tx.const(stride, i.type) - tx.const(before, i.type))
    step = tx.const(dilation, i.type)
    last = tx.floordiv(from_sym(extent - 1) - start, step) + 1
    first = tx.maximum(tx.floordiv(tx.const(dilation - 1, i.type) - start, step), tx.const(0, i.type))
    return tx.minimum(last, tx.const(size, i.type)) - first


def adaptive_avg_pool(data: Tensor, out_shape: Sequence[SymExpr], places: Places) -> Tensor:
    """Return the mean of each window i, from floor(i * n / m) to ceil((i + 1) * n / m)."""
    return adaptive_pool(data, out_shape, places, "avg")


def adaptive_pool(data: Tensor, out_shape: Sequence[SymExpr], places: Places, kind: str) -> Tensor:
    """Return the mean (`avg`) or maximum (`max`) of each window i, from floor(i * n / m) to ceil((i + 1) * n / m)."""
    reducer, step = (red.max_of_all, "adaptive_pool_max") if kind == "max" else (red.sum, "adaptive_pool_sum")
    pairs = [(data.dims[p], out_shape[p]) for p in places[2:]]
    extents = [_longest(n, m) for n, m in pairs]
    window = [IterVar(f"rv{k}", Const(0, e.dtype), e, is_reduction=True) for k, e in enumerate(extents)]
    wide = wide_type(data.type) if kind == "avg" else data.type

    def bounds(i: PrimExpr, n: SymExpr, m: SymExpr) -> tuple[PrimExpr, PrimExpr]:
        low = tx.floordiv(i * from_sym(n), divisor(m))
        return low, tx.floordiv((i + 1) * from_sym(n) + from_sym(m - 1), divisor(m))

    def element(i: Indices) -> Any:
        ends = [bounds(i[p], n, m) for p, (n, m) in zip(places[2:], pairs, strict=True)]
        where = [tx.simplified(low + w) for (low, _), w in zip(ends, window, strict=True)]
        rows = zip(where, ends, pairs, strict=True)
        needed = [tx.less(v, high) for v, (_, high), (n, m) in rows if (n % m).constant != 0]
        value = data(*_moved(i, places, where)).astype(wide)
        return reducer(value, axis=window, where=tx.logical_and(*needed) if needed else None)

    total = over_axes(out_shape, element, step, step)
    if kind == "max":
        return total

    def mean(i: Indices) -> PrimExpr:
        count = tx.const(1, data.dims[0].dtype)
        for p, (n, m) in zip(places[2:], pairs, strict=True):
            low, high = bounds(i[p], n, m)
            count = count * tx.simplified(high - low)
        return tx.div(total(*i), tx.simplified(count).astype(wide)).astype(data.type)

    return over_axes(out_shape, mean, "adaptive_pool_avg", "elemwise")


def _longest(n: SymExpr, m: SymExpr) -> SymExpr:
    """Return an upper bound of the window lengths."""
    divides = (n % m).constant == 0
    return n // m if divides else (n + (m - 1)) // m + 1


def image_windows(
    x: Tensor, size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """Return the windows over the last dimensions, padded with zeros: (…, window…, places…)."""
    rank = len(size)
    before = [*([0] * (x.ndim - rank)), *padding]
    data = pad_constant(x, before, before, 0) if any(padding) else x
    outer, inner = data.dims[:-rank], data.dims[-rank:]
    rows = list(zip(inner, size, dilation, strides, strict=True))
    places = [floordiv(n - (k - 1) * d - 1, s) + 1 for n, k, d, s in rows]

    def element(i: Indices) -> PrimExpr:
        window, place = i[len(outer) : len(outer) + rank], i[len(outer) + rank :]
        at = (p * s + w * d for p, w, (_, _, d, s) in zip(place, window, rows, strict=True))
        return data(*i[: len(outer)], *at)

    return over_axes([*outer, *(Const(k, inner[0].dtype) for k in size), *places], element, "T_windows", "injective")


def pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """Move blocks of channels to pixels: (…, c * r * r, h, w) becomes (…, c, h * r, w * r)."""
    *outer, channels, height, width = x.dims
    dims = [*outer, channels // (factor * factor), height * factor, width * factor]

    def element(i: Indices) -> PrimExpr:
        r = tx.const(factor, i[-1].type)
        row, column = i[-2], i[-1]
        channel = i[-3] * (r * r) + tx.floormod(row, r) * r + tx.floormod(column, r)
        return x(*i[:-3], channel, tx.floordiv(row, r), tx.floordiv(column, r))

    return over_axes(dims, element, "T_pixel_shuffle", "injective")


def col2im(
    columns: Tensor,
    image: Sequence[SymExpr],
    block: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Padding,
) -> Tensor:
    """Sum blocks (batch, channels * points, blocks) at their positions in images with the extents `image`."""
    count, extents = math.prod(block), list(image)
    blocks = [
        (e + (b + a - (k - 1) * d - 1)) // s + 1
        for e, (b, a), k, d, s in zip(extents, padding, block, dilation, strides, strict=True)
    ]
    channels = columns.dims[1] // count
    window = [IterVar(f"k{n}", Const(0), Const(k), is_reduction=True) for n, k in enumerate(block)]

    def element(*i: PrimExpr) -> Any:
        batch, channel, *at = i
        steps = [v + b - w * d for v, (b, _), w, d in zip(at, padding, window, dilation, strict=True)]
        quotients = [tx.floordiv(v, tx.const(s, v.type)) for v, s in zip(steps, strides, strict=True)]
        there = [
            tx.logical_and(tx.equal(tx.floormod(v, tx.const(s, v.type)), 0), q >= 0, q < from_sym(n))
            for v, q, s, n in zip(steps, quotients, strides, blocks, strict=True)
        ]
        row, column = channel, tx.const(0, channel.type)
        for w, k in zip(window, block, strict=True):
            row = row * k + w
        for q, n in zip(quotients, blocks, strict=True):
            column = column * from_sym(n) + q
        return red.sum(columns(batch, row, column), axis=window, where=tx.logical_and(*there))

    return compute([columns.dims[0], channels, *extents], element, "col2im")


def places_of_greatest(
    data: Tensor,
    out_shape: Sequence[SymExpr],
    size: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Padding,
    columns_first: bool,
) -> Tensor:
    """Return the position in `data` (batch, channels, …) of the first greatest element of each window.

    Positions are row-major; within a channel column-major if `columns_first`.
    """
    extents = data.dims[2:]
    window = [IterVar(f"rv{n}", Const(0), Const(k), is_reduction=True) for n, k in enumerate(size)]

    def place(i: Sequence[PrimExpr], at: Sequence[PrimExpr]) -> PrimExpr:
        position = i[0] * from_sym(data.dims[1]) + i[1]
        pairs = list(zip(at, extents, strict=True))
        for _, e in pairs:
            position = position * from_sym(e)
        inner = tx.const(0, position.type)
        for v, e in reversed(pairs) if columns_first else pairs:
            inner = inner * from_sym(e) + v
        return position + inner

    def element(*i: PrimExpr) -> Any:
        shifted = window_places(i[2:], window, strides, dilation)
        at = [v - b for v, (b, _) in zip(shifted, padding, strict=True)]
        there = tx.logical_and(*(tx.logical_and(v >= 0, v < from_sym(e)) for v, e in zip(at, extents, strict=True)))
        least = limits.min_value(data.type)
        value = tx.if_then_else(there, data(*i[:2], *at), least)
        position = tx.if_then_else(there, place(i, at), limits.max_value(i64))
        return red.make_reduce(FIRST_GREATEST, (position, value), window)

    return compute(out_shape, element, "pool_places")[0]
