"""Indexed reads: slices, gathering, one-hot rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..dialects.relax.indexing import Slice
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr, from_sym
from ..te.broadcast import Indices, broadcast_indices, broadcast_shapes, over_axes
from ..te.tensor import Tensor, compute
from .util import normalize_axis, unit_like


def strided_slice(x: Tensor, slices: Mapping[int, Slice], name: str | None = None) -> Tensor:
    """Return the `slices` of the dimensions of `x`; other dimensions are kept.

    `name` defaults to TVM's for slices by axis.
    """
    dims = [slices[n].extent if n in slices else d for n, d in enumerate(x.dims)]
    static = all(s.begin.constant is not None and s.extent.constant is not None for s in slices.values())
    name = name or ("T_strided_slice_with_axes" if static else "T_dynamic_strided_slice_with_axes")

    def own(n: int, i: PrimExpr) -> PrimExpr:
        part = slices.get(n)
        return i if part is None else from_sym(part.begin) + i * tx.const(part.stride, i.type)

    return over_axes(dims, lambda i: x(*(own(n, v) for n, v in enumerate(i))), name, "injective")


def _dynamic_end(index: PrimExpr, stride: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """Return the end of a slice, counted from the front and clamped to the dimension."""
    at = tx.if_then_else(index < 0, index + extent, index)
    low = tx.if_then_else(stride < 0, tx.const(-1, index.type), tx.const(0, index.type))
    return tx.minimum(tx.maximum(at, low), tx.if_then_else(stride < 0, extent - 1, extent))


def dynamic_strided_slice(
    x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Sequence[SymExpr]
) -> Tensor:
    """Return x[begin:end:strides], with the shape `output_shape`."""

    def element(i: Indices) -> PrimExpr:
        at = [_dynamic_end(begin(n), strides(n), from_sym(d)) + i[n] * strides(n) for n, d in enumerate(x.dims)]
        return x(*at)

    return over_axes(output_shape, element, "T_strided_slice_dynamic", "injective")


def shape_func_dynamic_strided_slice(x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Tensor:
    """Return the shape of x[begin:end:strides]; -1, which is never valid, where a stride is zero."""

    def element(i: PrimExpr) -> PrimExpr:
        extent: PrimExpr = tx.const(-1, i.type)
        for n, d in enumerate(x.dims):
            extent = tx.select(tx.equal(i, n), from_sym(d), extent)
        first, last, stride = begin(i), end(i), strides(i)

        def bounded(index: PrimExpr, low: int, high: PrimExpr) -> PrimExpr:
            at = tx.select(index < 0, index + extent, index)
            return tx.minimum(tx.maximum(at, tx.const(low, index.type)), high)

        step = tx.select(tx.equal(stride, 0), tx.const(1, stride.type), stride)
        back = tx.floordiv(bounded(first, -1, extent - 1) - bounded(last, -1, extent - 1) - step - 1, step * -1)
        on = tx.floordiv(bounded(last, 0, extent) + step - bounded(first, 0, extent) - 1, step)
        count = tx.maximum(tx.select(step < 0, back, on), tx.const(0, stride.type))
        return tx.select(tx.equal(stride, 0), tx.const(-1, stride.type), count)

    return compute([x.ndim], element, "T_shape_func_strided_slice_dynamic")


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Return `data` at the position of each index, with the coordinate along `axis` replaced by the index."""
    place = normalize_axis(axis, data.ndim)

    def element(i: Indices) -> PrimExpr:
        return data(*i[:place], _index(data, place, indices(*i)), *i[place + 1 :])

    return over_axes(indices.dims, element, "T_gather", "injective")


def _index(data: Tensor, dimension: int, value: PrimExpr) -> PrimExpr:
    """Convert a value to an index of a dimension."""
    return value.astype(data.dims[dimension].dtype)


def gather_nd(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return the slices of `data` at the positions in the last dimension of `indices`."""
    depth = indices.dims[-1].constant or 0
    outer = indices.ndim - 1

    def element(i: Indices) -> PrimExpr:
        at = [_index(data, batch_dims + n, indices(*i[:outer], n)) for n in range(depth)]
        return data(*i[:batch_dims], *at, *i[outer:])

    dims = [*indices.dims[:-1], *data.dims[batch_dims + depth :]]
    return over_axes(dims, element, "T_gather_nd", "injective")


def gather_nd_first(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Compute `gather_nd` with the positions in the first dimension of `indices`."""
    depth = indices.dims[0].constant or 0

    def element(i: Indices) -> PrimExpr:
        own = i[: indices.ndim - 1]
        at = [_index(data, batch_dims + n, indices(n, *own)) for n in range(depth)]
        return data(*i[:batch_dims], *at, *i[len(own) :])

    dims = [*indices.dims[1:], *data.dims[batch_dims + depth :]]
    return over_axes(dims, element, "T_gather_nd", "injective")


def index_tensor(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Return data[indices]: the indices broadcast and apply to the first dimensions."""
    shape = broadcast_shapes([t.dims for t in indices])

    def element(i: Indices) -> PrimExpr:
        own = i[: len(shape)]
        at = [_index(data, n, t(*broadcast_indices(t.dims, own, shape))) for n, t in enumerate(indices)]
        return data(*at, *i[len(shape) :])

    return over_axes([*shape, *data.dims[len(indices) :]], element, "advanced_index", "injective")


def one_hot(indices: Tensor, on_value: PrimExpr, off_value: PrimExpr, depth: int, axis: int) -> Tensor:
    """Return on_value where the coordinate along the new dimension equals the index, else off_value."""
    place = normalize_axis(axis, indices.ndim + 1)
    extent: SymExpr = Const(depth, unit_like(indices.dims).dtype)

    def element(i: Indices) -> PrimExpr:
        return tx.select(tx.equal(indices(*i[:place], *i[place + 1 :]), i[place]), on_value, off_value)

    return over_axes([*indices.dims[:place], extent, *indices.dims[place:]], element, "T_one_hot", "injective")


def slice_scatter(x: Tensor, src: Tensor, part: Slice, axis: int) -> Tensor:
    """Return `x` with a slice along `axis` replaced by `src`."""
    place = normalize_axis(axis, x.ndim)
    begin, extent = from_sym(part.begin), from_sym(part.extent)

    def element(i: Indices) -> PrimExpr:
        offset = i[place] - begin
        at = tx.floordiv(offset, tx.const(part.stride, offset.type))
        step: ExprLike = tx.floormod(offset, tx.const(part.stride, offset.type))
        inside = tx.logical_and(tx.less_equal(0, offset), tx.equal(step, 0), tx.less(at, extent))
        return tx.if_then_else(inside, src(*i[:place], at, *i[place + 1 :]), x(*i))

    return over_axes(x.dims, element, "T_slice_scatter", "injective")


def strided_set(a: Tensor, v: Tensor, begin: Sequence[PrimExpr], strides: Sequence[PrimExpr]) -> Tensor:
    """Return `a` with `v` written from `begin` on, with `strides`, in the first dimensions."""

    def element(i: Indices) -> PrimExpr:
        inside: list[PrimExpr] = []
        at = list(i)
        for n, (first, step) in enumerate(zip(begin, strides, strict=True)):
            first, step, extent = first.astype(i[n].type), step.astype(i[n].type), from_sym(v.dims[n])
            backwards = step < 0
            offset = tx.select(backwards, first - i[n], i[n] - first)
            width = tx.select(backwards, step * -1, step)
            at[n] = tx.floordiv(offset, width)
            inside += [offset >= 0, tx.equal(tx.floormod(offset, width), 0), at[n] < extent]
        return tx.if_then_else(tx.logical_and(*inside), v(*at), a(*i))

    return over_axes(a.dims, element, "T_strided_set", "injective,strided_set")


__all__ = [
    "dynamic_strided_slice",
    "gather",
    "gather_nd",
    "gather_nd_first",
    "index_tensor",
    "one_hot",
    "shape_func_dynamic_strided_slice",
    "slice_scatter",
    "strided_set",
    "strided_slice",
]
