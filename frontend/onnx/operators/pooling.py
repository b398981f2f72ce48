"""Pooling: the maximum, mean or norm of each window, or of all elements."""

from __future__ import annotations

from typing import Any

from ....dialects.dtypes import is_float
from ....dialects.relax.layout import windows, windows_begun
from ....dialects.sym.expr import SymExpr, product
from ....handles.relax.expr import Expr
from ....handles.tir import limits
from ....topi import windows as topi_windows
from ....topi.regions import roi_pool
from ..node import Node
from ..single import in_single
from ..table import converter
from ..values import Value, as_value, op
from .windows import LAYOUTS, Window, padded, spatial_rank, window_of


def _least(x: Value) -> Any:
    element = x.type.element
    assert element is not None
    return float("-inf") if is_float(element) else limits.min_value(element).constant


def _pooled(node: Node, kind: str, x: Value, window: Window, padding: list[int], **more: Any) -> Expr:
    rank = len(window.size)
    return op(
        f"nn.{kind}_pool{rank}d",
        x,
        pool_size=list(window.size),
        strides=list(window.strides),
        dilation=list(window.dilations),
        padding=padding,
        ceil_mode=bool(node.attr("ceil_mode", 0)),
        layout=LAYOUTS[rank],
        **more,
    )


@converter("AveragePool")
def average_pool(node: Node, x: Value) -> Expr:
    spatial_rank(node, x)
    window = window_of(node, x, node.attr("kernel_shape"))
    counted = bool(node.attr("count_include_pad", 0))
    if window.padding is None and not counted:
        raise node.unsupported("auto_pad of sizes that are symbolic, without the padding counted")
    data, padding = padded(node, x, window, 0.0)
    return _pooled(node, "avg", as_value(data), window, padding, count_include_pad=counted)


@converter("MaxPool")
def max_pool(node: Node, x: Value) -> Any:
    spatial_rank(node, x)
    window = window_of(node, x, node.attr("kernel_shape"))
    data, padding = padded(node, x, window, _least(x))
    y = node.emit(_pooled(node, "max", as_value(data), window, padding))
    if not node.wants(1):
        return y, None
    if window.padding is None:
        raise node.unsupported("indices, with auto_pad of sizes that are symbolic")
    half = len(padding) // 2
    places = node.call_te(
        topi_windows.places_of_greatest,
        x,
        list(as_value(y).dims),
        list(window.size),
        list(window.strides),
        list(window.dilations),
        list(zip(padding[:half], padding[half:], strict=True)),
        bool(node.attr("storage_order", 0)),
    )
    return y, places


@converter("LpPool")
@in_single
def lp_pool(node: Node, x: Value) -> Expr:
    """Return (sum(|x| ** p)) ** (1 / p) of each window."""
    window, p = window_of(node, x, node.attr("kernel_shape")), node.attr("p")
    powers, padding = padded(node, as_value(node.emit(op("power", op("abs", x), float(p)))), window, 0.0)
    half = len(padding) // 2
    pairs = list(zip(padding[:half], padding[half:], strict=True))
    shape = [*x.dims[:2], *_counts(node, as_value(powers), window, pairs)]
    more = [s - 1 if node.attr("ceil_mode", 0) else 0 for s in window.strides]
    total = node.call_te(
        topi_windows.pool,
        powers,
        shape,
        list(range(x.rank)),
        list(window.size),
        list(window.strides),
        list(window.dilations),
        [(b, a + m) for (b, a), m in zip(pairs, more, strict=True)],
        "sum",
    )
    return op("power", total, 1.0 / p)


def _counts(node: Node, x: Value, window: Window, padding: list[tuple[int, int]]) -> list[SymExpr]:
    """Return the number of windows in each spatial dimension."""
    rows = zip(x.dims[2:], padding, window.size, window.strides, window.dilations, strict=True)
    if not node.attr("ceil_mode", 0):
        return [windows(e, sum(p), k, s, d) for e, p, k, s, d in rows]
    return [windows_begun(e, (b, a + s - 1), k, s, d) for e, (b, a), k, s, d in rows]


def _spatial(x: Value) -> list[int]:
    return list(range(2, x.rank))


@converter("GlobalAveragePool")
def global_average_pool(node: Node, x: Value) -> Expr:
    return op("mean", x, axis=_spatial(x), keepdims=True)


@converter("GlobalMaxPool")
def global_max_pool(node: Node, x: Value) -> Expr:
    return op("max", x, axis=_spatial(x), keepdims=True)


@converter("GlobalLpPool")
@in_single
def global_lp_pool(node: Node, x: Value) -> Expr:
    p = float(node.attr("p"))
    return op("power", op("sum", op("power", op("abs", x), p), axis=_spatial(x), keepdims=True), 1.0 / p)


@converter("MaxRoiPool")
def max_roi_pool(node: Node, x: Value, rois: Value) -> Expr:
    """Return the maximum of each part of the regions, which are an image index and two corners."""
    return node.call_te(roi_pool, x, rois, node.attr("pooled_shape"), node.attr("spatial_scale"))


@converter("MaxUnpool")
def max_unpool(node: Node, x: Value, places: Value, shape: Value | None = None) -> Expr:
    """Place each element at its original position, with zeros elsewhere; pad with zeros to `shape`."""
    size = node.attr("kernel_shape")
    strides, pads = node.attr("strides") or [1] * len(size), node.attr("pads") or [0] * (2 * len(size))
    spatial = [
        (e - 1) * s - (pads[i] + pads[i + len(size)]) + k
        for i, (e, k, s) in enumerate(zip(x.dims[2:], size, strides, strict=True))
    ]
    dims = [*x.dims[:2], *spatial]
    count = product(dims)
    zeros = op("zeros", (count,), dtype=x.dtype)
    y = op("scatter_elements", zeros, op("reshape", places, (-1,)), op("reshape", x, (-1,)), axis=0)
    y = op("reshape", y, dims)
    if shape is None:
        return y
    more = [full - own for full, own in zip(node.extents(shape), dims, strict=True)]
    return node.call_te(topi_windows.pad_constant, node.emit(y), [0] * len(dims), more, 0.0)
