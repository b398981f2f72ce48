"""Pools: the sums and the means of windows, with the counts of points that TVM computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.relax.operator import Operator
from ...dialects.relax.pooling import ADAPTIVE, POOLS
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir import limits
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor
from ...topi.windows import pad_constant
from ...transforms.legalize.legalize_rules import Emit, operand, result_dims
from ...transforms.legalize.windows import adaptive as general


@dataclass(frozen=True)
class Windows:
    """Windows along the spatial dimensions `places`; `tail` is the padding after, with what `ceil_mode` adds."""

    places: Sequence[int]
    size: Sequence[int]
    strides: Sequence[int]
    dilation: Sequence[int]
    head: Sequence[int]
    tail: Sequence[int]
    added: Sequence[int]

    def axes(self, dtype: Any) -> list[IterVar]:
        """Return the axes of the points of a window."""
        return [IterVar(f"rv{n}", Const(0, dtype), Const(k, dtype), is_reduction=True) for n, k in enumerate(self.size)]

    def points(self, i: Indices, axes: Sequence[IterVar]) -> list[PrimExpr]:
        """Return the indices in the padded data of the points of the window `i`."""
        out = list(i)
        for p, k, stride, step in zip(self.places, axes, self.strides, self.dilation, strict=True):
            out[p] = i[p] * tx.const(stride, i[p].type) + k * tx.const(step, k.type)
        return out

    def count(self, data: Tensor, i: Indices, with_padding: bool) -> PrimExpr:
        """Return the number of points of the window `i` in the data, or in the data and its padding."""
        dtype = i[self.places[0]].type
        count = tx.const(1, dtype)
        for n, p in enumerate(self.places):
            step, first = tx.const(self.dilation[n], dtype), tx.const(0, dtype)
            start = i[p] * tx.const(self.strides[n], dtype) - tx.const(self.head[n], dtype)
            end = start + tx.const((self.size[n] - 1) * self.dilation[n], dtype)
            if with_padding:
                end = tx.minimum(end, from_sym(data.dims[p] + (self.tail[n] - 1 - self.added[n])))
            else:
                end = tx.minimum(end, from_sym(data.dims[p] - 1))
                first = tx.maximum(tx.div(tx.const(self.dilation[n] - 1, dtype) - start, step), first)
            count = count * (tx.div(end - (start + step * first), step) + 1)
        return count if with_padding else tx.maximum(count, tx.const(1, dtype))


def spatial_places(layout: str) -> list[int]:
    """Return the places of depth, height and width in a layout such as `NCHW16c`."""
    letters = [c for c in layout if c.isalpha()]
    return [letters.index(c) for c in "DHW" if c in letters]


def pool(data: Tensor, dims: Sequence[SymExpr], windows: Windows, kind: str, padded: bool) -> Any:
    """Return the greatest element (`max`) or the mean (`avg`, of the padding, too, if `padded`) of each window."""
    source = padded_data(data, windows.places, windows.head, windows.tail, kind == "max")
    axes = windows.axes(dims[windows.places[-1]].dtype)
    reducer = red.max if kind == "max" else red.sum
    note = {"schedule_rule": f"meta_schedule.pool_{kind}"}

    def element(i: Indices) -> Any:
        return reducer(source(*windows.points(i, axes)), axis=axes)

    if kind == "max":
        return over_axes(dims, element, "pool_max", "pool_max", note)
    total = over_axes(dims, element, "pool_sum", "pool_sum")

    def mean(i: Indices) -> PrimExpr:
        return tx.div(total(*i), windows.count(data, i, padded).astype(data.type))

    return over_axes(dims, mean, "pool_avg", "elemwise", note)


def padded_data(
    data: Tensor, places: Sequence[int], head: Sequence[int], tail: Sequence[int], with_least: bool
) -> Tensor:
    """Pad with zeros, or with the least number."""
    if not any((*head, *tail)):
        return data
    before, after = [0] * data.ndim, [0] * data.ndim
    for p, b, a in zip(places, head, tail, strict=True):
        before[p], after[p] = b, a
    return pad_constant(
        data, before, after, limits.min_value(data.type).constant if with_least else 0, "pad_temp", "ax"
    )


def _pool(op: Operator) -> Emit | None:
    name = op.name.removeprefix("relax.nn.")
    if op.attr("layout") != op.attr("out_layout"):
        return None
    padding, strides = list(op.attr("padding")), list(op.attr("strides"))
    half = len(padding) // 2
    added = [s - 1 if op.attr("ceil_mode") else 0 for s in strides]
    tail = [t + a for t, a in zip(padding[half:], added, strict=True)]
    places = spatial_places(op.attr("layout"))
    windows = Windows(places, op.attr("pool_size"), strides, op.attr("dilation"), padding[:half], tail, added)
    args = (operand(op, "data"), result_dims(op), windows, name[:3], bool(op.attr("count_include_pad")))
    return Emit(pool, args, name)


def adaptive(data: Tensor, dims: Sequence[SymExpr], places: Sequence[int]) -> Any:
    """Return the mean of each of the equal windows into which the spatial dimensions `places` are divided."""
    sizes = [data.dims[p] // dims[p] for p in places]
    axes = [IterVar(f"rv{n}", Const(0, k.dtype), k, is_reduction=True) for n, k in enumerate(sizes)]

    def element(i: Indices) -> Any:
        at = list(i)
        for p, k, size in zip(places, axes, sizes, strict=True):
            at[p] = i[p] * from_sym(size) + k
        return red.sum(data(*at), axis=axes)

    total = over_axes(dims, element, "adaptive_pool_sum", "adaptive_pool_sum")
    count = tx.const(1, data.type)
    for size in sizes:
        count = count * from_sym(size).astype(data.type)
    note = {"schedule_rule": "meta_schedule.adaptive_pool_avg"}
    return over_axes(dims, lambda i: tx.div(total(*i), count), "adaptive_pool_avg", "elemwise", note)


def _adaptive(op: Operator) -> Emit | None:
    """Return what computes windows of equal extents; others have extents that no loop here has."""
    if op.attr("layout") != op.attr("out_layout"):
        return None
    places, dims = spatial_places(op.attr("layout")), result_dims(op)
    have = op.tensor("data").dims or ()
    if any((have[p] % dims[p]).constant != 0 for p in places):
        return general(op)
    return Emit(adaptive, (operand(op, "data"), dims, places), op.name.removeprefix("relax.nn."))


RULES = {**{cls.name: _pool for cls in POOLS.values()}, **{cls.name: _adaptive for cls in ADAPTIVE.values()}}
