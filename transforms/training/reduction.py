"""Gradients of reductions, scans and sorting."""

from __future__ import annotations

from ...dialects.sym.expr import Const, product
from ...handles.relax.expr import Expr
from .expressions import (
    broadcast,
    call,
    count,
    dims,
    extent,
    inverse,
    number,
    permute,
    prim,
    rank,
    reshape,
    shape,
    tensor,
    total,
    where,
    zeros_like,
)
from .gradient_rules import Gradients, Site, gradient


def _axes(s: Site) -> list[int]:
    """Return the reduced axes, counted from the front."""
    axis, n = s.attr("axis"), rank(s.args[0])
    return list(range(n)) if axis is None else [a % n for a in ([axis] if isinstance(axis, int) else axis)]


def _spread(s: Site, value: Expr) -> Expr:
    """Insert dimensions of extent 1 for the reduced axes into a value of the result's shape."""
    axis = s.attr("axis")
    if axis is None or s.attr("keepdims"):
        return value
    return call("expand_dims", value, axis=[axis] if isinstance(axis, int) else axis)


def _divided(value: float, n: Expr | int, like: Expr) -> Expr:
    """Return value / n as a tensor of rank 0; a constant if n is."""
    return number(value / n, like) if isinstance(n, int) else value / n


@gradient("sum")
def sum_(s: Site) -> Gradients:
    """sum(x) -> g for each element"""
    return [broadcast(_spread(s, s.grad), dims(s.args[0]))]


@gradient("mean")
def mean(s: Site) -> Gradients:
    """mean(x) -> g / n for each element"""
    x = s.args[0]
    return [broadcast(_spread(s, s.grad / extent(count(x, _axes(s)), tensor(x).element)), dims(x))]


def _variance(s: Site, g: Expr) -> Expr:
    """Return g * (2 / n * x - 2 / n² * sum(x))."""
    x, axes = s.args[0], s.attr("axis")
    n = count(x, _axes(s))
    size = extent(n, tensor(x).element) if n.constant is None else max(n.constant, 1)
    twice, less = _divided(2.0, size, x), _divided(2.0, size * size, x)
    return g * (twice * x - less * total(x, axes, True))


@gradient("variance")
def variance(s: Site) -> Gradients:
    """variance(x) -> g * 2 / n * (x - mean(x))"""
    return [_variance(s, _spread(s, s.grad))]


@gradient("std")
def std(s: Site) -> Gradients:
    """std(x) -> that of variance, divided by 2 * std(x)"""
    return [_variance(s, _spread(s, 0.5 * s.grad / s.out))]


@gradient("max", "min")
def extremum(s: Site) -> Gradients:
    """max(x) -> g where x is the greatest, in equal parts if there are several"""
    x = s.args[0]
    chosen = call("astype", call("equal", x, _spread(s, s.out)), dtype=tensor(x).element)
    return [_spread(s, s.grad) * chosen / total(chosen, s.attr("axis"), True)]


@gradient("prod")
def prod(s: Site) -> Gradients:
    """prod(x) -> g times the product of all other elements, accumulated from both sides, as x may be zero"""
    x, axes = s.args[0], _axes(s)
    order = [i for i in range(rank(x)) if i not in axes] + axes
    outer = [dims(x)[i] for i in order[: rank(x) - len(axes)]]
    moved = permute(x, order)
    flat = reshape(moved, [*outer, product([Const(1), *(dims(x)[a] for a in axes)])])
    before = call("cumprod", flat, axis=len(outer), exclusive=True)
    after = call("flip", call("cumprod", call("flip", flat, axis=len(outer)), axis=len(outer), exclusive=True), axis=-1)
    others = permute(reshape(before * after, dims(moved)), inverse(order))
    return [_spread(s, s.grad) * others]


def _unscanned(s: Site, along: Expr) -> Expr:
    """Return a gradient along the scan in the shape and dtype of the data."""
    data = s.args[0]
    return s.cast(reshape(along, dims(data)) if s.attr("axis") is None else along, data)


@gradient("cumsum")
def cumsum(s: Site) -> Gradients:
    """cumsum(x) -> the sum of g from each element to the end"""
    g, axis = s.grad, s.attr("axis")
    after = total(g, None if axis is None else [axis], True) - call("cumsum", g, axis=axis)
    if s.attr("exclusive"):
        return [_unscanned(s, after)]
    return [_unscanned(s, after + (call("flatten", g) if axis is None else g))]


@gradient("cumprod")
def cumprod(s: Site) -> Gradients:
    """cumprod(x) -> for each j the sum over i of g[i] times the product of all x up to i but x[j]

    The products of x between j and i are a matrix, so that x may be zero.
    """
    data, g, exclusive = s.args[0], s.grad, bool(s.attr("exclusive"))
    x = reshape(data, dims(g)) if s.attr("axis") is None else data
    x = x if tensor(x).element == tensor(g).element else call("astype", x, dtype=tensor(g).element)
    n = rank(x)
    axis = (s.attr("axis") or 0) % n
    order = [i for i in range(n) if i != axis] + [axis]
    x, g = permute(x, order), permute(g, order)
    size = dims(x)[-1]
    strictly_after = call("triu", call("ones", shape([size, size]), dtype=tensor(g).element), prim(1))
    after = (
        strictly_after
        if exclusive
        else call("triu", call("ones", shape([size, size]), dtype=tensor(g).element), prim(0))
    )
    rows = where(strictly_after > number(0.0, g), call("expand_dims", x, axis=[n - 1]), number(1.0, g))
    between = call("cumprod", rows, axis=n, exclusive=exclusive) * after
    sums = total(between * call("expand_dims", g, axis=[n - 1]), [n])
    return [_unscanned(s, permute(sums * call("cumprod", x, axis=n - 1, exclusive=True), inverse(order)))]


@gradient("sort")
def sort(s: Site) -> Gradients:
    """sort(x) -> each g at the source of its element"""
    x, axis = s.args[0], s.attr("axis")
    places = call("argsort", x, axis=axis, descending=s.attr("descending"), dtype="int64")
    return [call("scatter_elements", zeros_like(x), places, s.grad, axis=axis)]


@gradient("topk")
def topk(s: Site) -> Gradients:
    """topk(x) -> each g at the source of its element"""
    x, kind = s.args[0], s.attr("ret_type")
    if kind == "indices":
        return [None]
    g = s.grad if kind == "values" else s.part(0)
    if g is None:
        return [None]
    if kind == "both":
        places = s.out[1]
    else:
        attrs = {n: s.attr(n) for n in ("k", "axis", "largest")}
        places = call("topk", x, **attrs, ret_type="indices", dtype="int64")
    return [call("scatter_elements", zeros_like(x), places, g, axis=s.attr("axis"))]


@gradient("nn.softmax")
def softmax(s: Site) -> Gradients:
    """softmax(x) -> (g - sum(g * y)) * y"""
    return [(s.grad - total(s.grad * s.out, [s.attr("axis")], True)) * s.out]


@gradient("nn.log_softmax")
def log_softmax(s: Site) -> Gradients:
    """log_softmax(x) -> g - sum(g) * exp(y)"""
    return [s.grad - total(s.grad, [s.attr("axis")], True) * call("exp", s.out)]
