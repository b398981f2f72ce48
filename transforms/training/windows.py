"""Gradients of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ...dialects.relax.convolution import CONVOLUTIONS, TRANSPOSED, Convolution
from ...dialects.relax.layout import SPATIAL
from ...dialects.relax.pooling import ADAPTIVE, POOLS, AdaptivePool
from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr
from .expressions import (
    Dims,
    broadcast,
    call,
    constant,
    count,
    dims,
    extent,
    permute,
    prim,
    rank,
    reshape,
    tensor,
)
from .expressions import inverse as undone
from .gradient_rules import GRADIENTS, Gradients, Site, gradient


class _Window:
    """A convolution in the layouts NC… and OI…, in which gradients are written."""

    def __init__(self, s: Site):
        op = cast(Convolution, s.op)
        self.rank, self.letters, self.groups = op.RANK, SPATIAL[op.RANK], s.attr("groups")
        self.strides, self.dilation, self.padding = s.attr("strides"), s.attr("dilation"), s.attr("padding")
        self.data = permute(s.args[0], op.data_places())
        self.grad = permute(s.cast(s.grad, s.args[0]), op.out_places())
        self._data_places, self._kernel_places = op.data_places(), op.kernel_places()
        self.weight = s.args[1]

    def kernel(self, letters: str, layout: str) -> Expr:
        """Return the weight with its dimensions in the order `letters`, from its `layout`."""
        return permute(self.weight, [layout.index(c) for c in letters])

    def results(self, by_data: Expr, by_kernel: Expr, letters: str, layout: str) -> Gradients:
        """Return both gradients in the layouts of the arguments."""
        order = [layout.index(c) for c in letters]
        return [permute(by_data, undone(self._data_places)), permute(by_kernel, undone(order))]


def _cut(x: Expr, to: Dims) -> Expr:
    """Return the beginning of x, with the shape `to`; x itself if it has that shape."""
    if dims(x) == to:
        return x
    axes = range(len(to))
    cut = call("strided_slice", x, [prim(a) for a in axes], [prim(0) for _ in axes], [prim(d) for d in to])
    return cut if dims(cut) == to else reshape(cut, to)


def _by_kernel(w: _Window, data: Expr, grad: Expr, to: Dims) -> Expr:
    """Return the gradient of the kernel of a convolution of `data`, (outer, inner, window…): data convolved by grad."""
    data, padding = _covered(w, data, grad, to)
    window = {"strides": w.dilation, "dilation": w.strides, "padding": padding, "groups": w.groups}
    name = f"nn.conv{w.rank}d"
    if w.groups > 1:
        n, c, *spatial = dims(data)
        inner = c // w.groups
        parts = permute(reshape(data, [n, w.groups, inner, *spatial]), [1, 0, *range(2, w.rank + 3)])
        data = reshape(parts, [n * w.groups, inner, *spatial])
        layouts = {"data_layout": f"CN{w.letters}", "kernel_layout": f"IO{w.letters}", "out_layout": f"CN{w.letters}"}
        return _cut(call(name, data, grad, **window, **layouts), to)
    # vectors along adjacent channels: windows as large as the image leave few points in a row
    last = [0, *range(2, w.rank + 2), 1]
    layouts = {"data_layout": f"C{w.letters}N", "kernel_layout": f"I{w.letters}O", "out_layout": f"{w.letters}NC"}
    gradient = call(name, permute(data, last), permute(grad, last), **window, **layouts)
    return _cut(permute(gradient, [w.rank + 1, w.rank, *range(w.rank)]), to)


def _covered(w: _Window, data: Expr, grad: Expr, kernel: Dims) -> tuple[Expr, list[int]]:
    """Return `data` without points at the ends that no window covers, and the padding that windows cover."""
    extents, padding = list(dims(data)), list(w.padding)
    for i in range(w.rank):
        steps, taps = dims(grad)[i + 2] - 1, kernel[i + 2] - 1
        beyond = steps * w.strides[i] + taps * w.dilation[i] + 1 - w.padding[i] - extents[i + 2]
        if beyond.constant is not None:
            padding[i + w.rank] = max(beyond.constant, 0)
            extents[i + 2] += min(beyond.constant, 0)
    return _cut(data, tuple(extents)), padding


def convolution(s: Site) -> Gradients:
    """conv(x, w) -> conv_transpose(g, w), conv(x, g) with strides and dilation swapped"""
    w = _Window(s)
    letters, layout = f"OI{w.letters}", s.attr("kernel_layout")
    kernel = w.kernel(letters, layout)
    by_data = _by_data(s, w, kernel)
    return w.results(by_data, _by_kernel(w, w.data, w.grad, dims(kernel)), letters, layout)


def _by_data(s: Site, w: _Window, kernel: Expr) -> Expr:
    extra = [_left_over(w, i, dims(w.data)[i + 2], dims(kernel)[i + 2]) for i in range(w.rank)]
    known = [w.strides[i] - 1 if e is None else e for i, e in enumerate(extra)]
    layouts = {"data_layout": f"NC{w.letters}", "kernel_layout": f"IO{w.letters}", "out_layout": f"NC{w.letters}"}
    window = {"strides": w.strides, "dilation": w.dilation, "padding": w.padding, "groups": w.groups}
    gradient = call(f"nn.conv{w.rank}d_transpose", w.grad, kernel, **window, output_padding=known, **layouts)
    return (
        _cut(gradient, dims(w.data))
        if None in extra or dims(gradient) == dims(w.data)
        else reshape(gradient, dims(w.data))
    )


def _left_over(w: _Window, i: int, size: SymExpr, kernel: SymExpr) -> int | None:
    """Return how many points at the end of a padded dimension no window covers, or None if unknown."""
    span = size + (w.padding[i] + w.padding[i + w.rank]) - (kernel - 1) * w.dilation[i] - 1
    return (span % w.strides[i]).constant


def transposed(s: Site) -> Gradients:
    """conv_transpose(x, w) -> conv(g, w), and that of the kernel of this convolution"""
    w = _Window(s)
    letters, layout = f"IO{w.letters}", s.attr("kernel_layout")
    kernel = w.kernel(letters, layout)
    window = {"strides": w.strides, "dilation": w.dilation, "padding": w.padding, "groups": w.groups}
    gradient = call(f"nn.conv{w.rank}d", w.grad, kernel, **window)
    return w.results(_cut(gradient, dims(w.data)), _by_kernel(w, w.grad, w.data, dims(kernel)), letters, layout)


def window_gradients(forward: Expr, data: Expr, weight: Expr, grad: Expr) -> list[Expr]:
    """Return the gradients by `data` and `weight` of a convolution, transposed or not; `grad` is that of its result.

    `forward` is a detached call on `data` and `weight`. The gradients are detached, too.
    """
    op = cast(Convolution, forward.ssa.owner)
    rule = transposed if op.name.endswith("_transpose") else convolution
    return cast("list[Expr]", rule(Site(op, grad, forward, [data, weight], lambda x: x)))


def pool(s: Site) -> Gradients:
    """max_pool2d(x) -> max_pool2d_backward(g, x)"""
    attrs = {n: s.attr(n) for n in s.op.ATTR_SPECS}
    name = s.op.name.removeprefix("relax.nn.")
    return [call(f"grad.{name}_backward", s.grad, s.args[0], **attrs)]


def avg_pool_backward(s: Site) -> Gradients:
    """avg_pool2d_backward(g, x), independent of the elements of x -> avg_pool2d(h)"""
    attrs = {n: s.attr(n) for n in s.op.ATTR_SPECS}
    name = s.op.name.removeprefix("relax.grad.").removesuffix("_backward")
    return [call(f"nn.{name}", s.grad, **attrs), None]


GRADIENTS.update({cls.name.removeprefix("relax."): convolution for cls in CONVOLUTIONS.values()})
GRADIENTS.update({cls.name.removeprefix("relax."): transposed for cls in TRANSPOSED.values()})
GRADIENTS.update({cls.name.removeprefix("relax."): pool for cls in POOLS.values()})
GRADIENTS.update({f"grad.avg_pool{n}d_backward": avg_pool_backward for n in SPATIAL})


@gradient(*(cls.name.removeprefix("relax.") for cls in ADAPTIVE.values()))
def adaptive(s: Site) -> Gradients:
    """adaptive_avg_pool2d(x) -> for each spatial dimension, g times the matrix of the means"""
    x, places = s.args[0], cast(AdaptivePool, s.op).places()
    spatial = places[2:]
    into, pooled = [dims(x)[p] for p in spatial], [dims(s.grad)[p] for p in spatial]
    if all(d.constant == 1 for d in pooled):
        return [broadcast(s.grad / extent(count(x, spatial), tensor(x).element), dims(x))]
    if any(d.constant is None for d in (*into, *pooled)):
        if into == pooled:
            return [s.grad]
        raise s.refuse("where an extent is symbolic and output_size is not 1")
    g, n = s.grad, rank(x)
    for place, size, many in zip(spatial, into, pooled, strict=True):
        letters = "abcdefg"[:n]
        matrix = constant(_means(size.constant or 0, many.constant or 0), tensor(x).element)
        result = letters.replace(letters[place], "z")
        g = call("einsum", [g, matrix], subscripts=f"{letters},{letters[place]}z->{result}")
    return [g]


def _means(size: int, many: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the matrix whose row i computes the mean of window i."""
    out = np.zeros((many, size))
    for i in range(many):
        low, high = i * size // many, -(-(i + 1) * size // many)
        out[i, low:high] = 1 / (high - low)
    return out


__all__: Sequence[str] = ("adaptive", "convolution", "pool", "transposed", "window_gradients")
