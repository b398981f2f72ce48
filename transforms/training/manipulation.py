"""Gradients of operators that move elements: each gradient goes back to the source of its element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import i64

from ...dialects import relax
from ...dialects.relax.indexing import Slice, SliceScatter, StridedSlice
from ...dialects.relax.nn import Pad
from ...dialects.relax.rearrangement import Tile
from ...dialects.relax.types import PrimType
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr
from .expressions import (
    Dims,
    broadcast,
    call,
    constant,
    count,
    dims,
    extent,
    inverse,
    permute,
    prim,
    rank,
    reshape,
    shape,
    tensor,
    total,
    zeros,
    zeros_like,
)
from .gradient_rules import Gradients, Site, gradient


@gradient("reshape", "flatten", "squeeze")
def reshaped(s: Site) -> Gradients:
    """reshape(x), squeeze(x) -> g in the shape of x"""
    return [reshape(s.grad, dims(s.args[0]))]


@gradient("to_vdevice", "hint_on_device", "memory.ensure_zero_offset")
def moved(s: Site) -> Gradients:
    """to_vdevice(x) -> g"""
    return [s.grad]


@gradient("expand_dims")
def expand_dims(s: Site) -> Gradients:
    """expand_dims(x) -> squeeze(g)"""
    return [call("squeeze", s.grad, axis=s.attr("axis"))]


@gradient("permute_dims")
def permute_dims(s: Site) -> Gradients:
    """permute_dims(x, axes) -> g permuted back"""
    axes = s.attr("axes")
    return [call("permute_dims", s.grad, axes=axes and inverse([a % len(axes) for a in axes]))]


@gradient("broadcast_to")
def broadcast_to(s: Site) -> Gradients:
    """broadcast_to(x) -> the sum of g over the broadcast dimensions"""
    return [call("collapse_sum_to", s.grad, shape(dims(s.args[0])))]


@gradient("collapse_sum_to", "collapse_sum_like")
def collapse_sum(s: Site) -> Gradients:
    """collapse_sum_to(x) -> g broadcast"""
    return [broadcast(s.grad, dims(s.args[0]))]


@gradient("concat")
def concat(s: Site) -> Gradients:
    """concat(xs) -> the sections of g"""
    xs, axis = s.fields(0), s.attr("axis") or 0
    place = axis % rank(xs[0])
    ends = [dims(x)[place] for x in xs]
    edges = [sum(ends[: i + 1], Const(0)) for i in range(len(ends))]
    if all(e.constant is not None for e in edges):
        parts = call("split", s.grad, indices_or_sections=[e.constant for e in edges[:-1]], axis=axis)
        return [[parts] if len(s.args[0]) == 1 and len(xs) > 1 else [parts[i] for i in range(len(xs))]]
    bounds = zip([Const(0), *edges], edges, strict=False)
    return [s.gathered(0, [_section(s.grad, place, low, high, x) for (low, high), x in zip(bounds, xs, strict=True)])]


def _section(g: Expr, axis: int, low: SymExpr, high: SymExpr, like: Expr) -> Expr:
    """Return g[low:high] along an axis, in the shape of `like`."""
    part = call("strided_slice", g, [prim(axis)], [prim(low)], [prim(high)], assume_inbound=True)
    return part if dims(part) == dims(like) else reshape(part, dims(like))


@gradient("split")
def split(s: Site) -> Gradients:
    """split(x) -> concat(g)"""
    return [call("concat", [s.grad], axis=s.attr("axis"))]


@gradient("stack")
def stack(s: Site) -> Gradients:
    """stack(xs) -> the slices of g"""
    xs, axis = s.fields(0), s.attr("axis") or 0
    axis = axis % (rank(xs[0]) + 1)
    parts = call("split", s.grad, indices_or_sections=len(xs), axis=axis)
    return [s.gathered(0, [call("squeeze", parts[i], axis=[axis]) for i in range(len(xs))])]


@gradient("meshgrid")
def meshgrid(s: Site) -> Gradients:
    """meshgrid(xs) -> the sum of each g over all dimensions but its own"""
    xs, swapped = s.fields(0), s.attr("indexing") == "xy"
    gradients: list[Expr] = []
    for i, x in enumerate(xs):
        own = 1 - i if swapped and i < 2 and len(xs) > 1 else i
        g = s.part(i)
        gradients.append(zeros_like(x) if g is None else total(g, [k for k in range(len(xs)) if k != own]))
    return [s.gathered(0, gradients)]


@gradient("flip")
def flip(s: Site) -> Gradients:
    """flip(x) -> flip(g)"""
    return [call("flip", s.grad, axis=s.attr("axis"))]


@gradient("triu", "tril")
def triangle(s: Site) -> Gradients:
    """triu(x, k) -> triu(g, k)"""
    return [call(s.op.name.removeprefix("relax."), s.grad, *s.args[1:])]


def _folded(g: Expr, extents: Sequence[SymExpr], counts: Sequence[int], inner: bool) -> Expr:
    """Return the sum of g over repetitions: of each element (`inner`) or of the tensor, `counts` in each dimension."""
    to: list[SymExpr] = []
    for d, c in zip(extents, counts, strict=True):
        to += [d, Const(c)] if inner else [Const(c), d]
    axes = [2 * i + int(inner) for i in range(len(counts))]
    return total(reshape(g, to), axes)


@gradient("tile")
def tile(s: Site) -> Gradients:
    """tile(x) -> the sum of g over the copies"""
    x, repeats = s.args[0], cast(Tile, s.op).repeats_of()
    n = max(rank(x), len(repeats))
    if 0 in repeats:
        return [zeros_like(x)]
    extents = [*([Const(1)] * (n - rank(x))), *dims(x)]
    folded = _folded(s.grad, extents, [1] * (n - len(repeats)) + repeats, inner=False)
    return [folded if n == rank(x) else reshape(folded, dims(x))]


@gradient("repeat")
def repeat(s: Site) -> Gradients:
    """repeat(x) -> the sum of g over the copies of each element"""
    x, axis, copies = s.args[0], s.attr("axis"), s.attr("repeats")
    if axis is None:
        return [reshape(_folded(s.grad, [count(x, range(rank(x)))], [copies], inner=True), dims(x))]
    return [_folded(s.grad, dims(x), [copies if i == axis % rank(x) else 1 for i in range(rank(x))], inner=True)]


@gradient("full")
def full(s: Site) -> Gradients:
    """full(shape, value) -> the sum of g"""
    return [None, total(s.grad)]


@gradient("take")
def take(s: Site) -> Gradients:
    """take(x, i) -> g accumulated at i"""
    x, indices = s.args
    mode, axis = s.attr("mode"), (s.attr("axis") or 0) % rank(x)
    if mode not in _INSIDE:
        raise s.refuse(f'with mode="{mode}"')
    if isinstance(indices.ssa.type, PrimType):
        indices = extent(cast(SymAttr, cast(relax.PrimValueOp, indices.op_handle).value).data, i64)
    return [call("grad.take_backward", s.grad, x, _INSIDE[mode](indices, dims(x)[axis]), axis=s.attr("axis")), None]


def _wrapped(indices: Expr, size: SymExpr) -> Expr:
    return call("floor_mod", indices, extent(size, tensor(indices).element))


_INSIDE: dict[str, Callable[[Expr, SymExpr], Expr]] = {
    "fast": lambda indices, _: indices,
    "clip": lambda indices, size: call("clip", indices, prim(0), prim(size - 1)),
    "wrap": _wrapped,
}
"""Index handling by the mode of take."""


@gradient("grad.take_backward")
def take_backward(s: Site) -> Gradients:
    """take_backward(g, x, i), independent of the elements of x -> take(h, i)"""
    return [call("take", s.grad, s.args[2], axis=s.attr("axis")), None, None]


@gradient("gather_elements")
def gather_elements(s: Site) -> Gradients:
    """gather_elements(x, i) -> g accumulated at i"""
    x, indices = s.args
    return [call("scatter_elements", zeros_like(x), indices, s.grad, axis=s.attr("axis"), reduction="add"), None]


@gradient("gather_nd")
def gather_nd(s: Site) -> Gradients:
    """gather_nd(x, i) -> g accumulated at i"""
    x, indices = s.args
    outer = dims(indices)[:-1]
    batch = [_coordinates(n, outer, tensor(indices).element) for n in range(s.attr("batch_dims"))]
    full_indices = call("concat", [*batch, indices], axis=-1) if batch else indices
    return [call("scatter_nd", zeros_like(x), full_indices, s.grad, reduction="add"), None]


def _coordinates(n: int, extents: Dims, dtype: object) -> Expr:
    """Return the index along dimension n at each point, with a last dimension of 1."""
    line = call("arange", prim(0), prim(extents[n]), prim(1), dtype=dtype)
    spread = reshape(line, [extents[n] if i == n else 1 for i in range(len(extents) + 1)])
    return broadcast(spread, [*extents, 1])


@gradient("index_tensor")
def index_tensor(s: Site) -> Gradients:
    """index_tensor(x, i) -> g accumulated at i"""
    x, indices = s.args[0], s.fields(1)
    return [call("index_put", zeros_like(x), indices, s.grad, accumulate=True), None]


@gradient("index_put")
def index_put(s: Site) -> Gradients:
    """index_put(x, i, v) -> g (0 where v was written), g at i"""
    _, _, values = s.args
    indices = s.fields(1)
    by_x = s.grad if s.attr("accumulate") else call("index_put", s.grad, indices, zeros_like(values))
    return [by_x, None, s.fit(call("index_tensor", s.grad, indices), values)]


@gradient("scatter_elements", "scatter_nd")
def scatter(s: Site) -> Gradients:
    """scatter(x, i, u) -> g (0 where u was written), g at i; several updates of an element all get its gradient"""
    _, indices, updates = s.args
    name, reduction = s.op.name.removeprefix("relax."), s.attr("reduction")
    if reduction not in ("update", "add"):
        raise s.refuse(f'with reduction="{reduction}"')
    axis = {"axis": s.attr("axis")} if name == "scatter_elements" else {}
    by_x = s.grad if reduction == "add" else call(name, s.grad, indices, zeros_like(updates), **axis)
    return [by_x, None, call("gather_elements" if axis else "gather_nd", s.grad, indices, **axis)]


def _spaced(g: Expr, into: Dims, axis: int, part: Slice) -> Expr:
    """Return zeros of the shape `into`, with g at the slice `part` of an axis."""
    first, step = part.begin, part.stride
    if step < 0:
        first, step = part.begin + (part.extent - 1) * part.stride, -step
        g = call("flip", g, axis=axis)
    last = first + (part.extent - 1) * step + 1
    none = zeros(tensor(g).of(into, tensor(g).element))
    return call("slice_scatter", none, g, prim(first), prim(last), prim(step), axis=axis)


@gradient("strided_slice")
def strided_slice(s: Site) -> Gradients:
    """strided_slice(x) -> g at its position among zeros, axis by axis"""
    slices = cast(StridedSlice, s.op).slices()
    if slices is None:
        raise s.refuse("where its bounds are not known")
    g, into = s.grad, list(dims(s.grad))
    if any(p.extent.constant == 0 for p in slices.values()):
        return [zeros_like(s.args[0])]
    for axis, part in slices.items():
        into[axis] = dims(s.args[0])[axis]
        g = _spaced(g, tuple(into), axis, part)
    return [g]


@gradient("slice_scatter")
def slice_scatter(s: Site) -> Gradients:
    """slice_scatter(x, v) -> g with 0 at the slice, g at the slice"""
    _, src, start, end, step = s.args
    part = cast(SliceScatter, s.op).slice()
    if part is None:
        raise s.refuse("where its bounds are not known")
    axis = s.attr("axis")
    by_x = call("slice_scatter", s.grad, zeros_like(src), start, end, step, axis=axis)
    by_v = call("strided_slice", s.grad, [prim(axis)], [start], [end], [prim(part.stride)])
    return [by_x, by_v if dims(by_v) == dims(src) else reshape(by_v, dims(src))]


@gradient("nn.pad")
def pad(s: Site) -> Gradients:
    """pad(x) -> g without the padding; copies of x in the padding are accumulated at their sources"""
    x, widths, mode = s.args[0], cast(Pad, s.op).widths(), s.attr("pad_mode")
    if mode == "constant":
        axes = range(rank(x))
        begin, end = [prim(b) for b, _ in widths], [prim(d + b) for d, (b, _) in zip(dims(x), widths, strict=True)]
        return [call("strided_slice", s.grad, [prim(a) for a in axes], begin, end)]
    g, into = s.grad, list(dims(s.grad))
    for axis, (size, (before, after)) in enumerate(zip(dims(x), widths, strict=True)):
        if not (before or after):
            continue
        if size.constant is None:
            raise s.refuse(f'with pad_mode="{mode}" where an extent is symbolic')
        sources = _pad_sources(size.constant, before, after, mode)
        into[axis] = size
        like = zeros(tensor(x).of(into, tensor(x).element))
        g = call("grad.take_backward", g, like, constant(sources, i64), axis=axis)
    return [g]


def _pad_sources(size: int, before: int, after: int, mode: str) -> list[int]:
    """Return the source position of each element of a padded dimension."""
    places = np.arange(size)
    if mode == "reflect":
        return np.pad(places, (before, after), mode="reflect").tolist()
    return np.pad(places, (before, after), mode="edge" if mode == "replicate" else "wrap").tolist()


@gradient("nn.pixel_shuffle")
def pixel_shuffle(s: Site) -> Gradients:
    """pixel_shuffle(x) -> blocks of pixels of g as channels"""
    x, r = s.args[0], s.attr("upscale_factor")
    *outer, channels, height, width = dims(x)
    n = len(outer)
    parts = reshape(s.grad, [*outer, channels // (r * r), height, r, width, r])
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return [reshape(permute(parts, order), dims(x))]
