"""Operators on sequences, sliding windows and diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..diagnostics import ShapeError, TiraxError
from ..dialects.dtypes import dtype_of
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr, from_sym
from ..te.axis import shape_dims
from ..te.broadcast import Indices, over_axes
from ..te.tensor import Tensor
from .util import normalize_axis, unit_like


def reverse_sequence(a: Tensor, seq_lengths: Tensor | None, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """Reverse the first `seq_lengths[b]` elements along `seq_axis`, for each `b` of `batch_axis`."""
    along, batch = normalize_axis(seq_axis, a.ndim), normalize_axis(batch_axis, a.ndim)
    extent = from_sym(a.dims[along])

    def reversed_index(i: Indices) -> PrimExpr:
        at = i[along]
        if seq_lengths is None:
            return extent - 1 - at
        length = seq_lengths(i[batch]).astype(at.type)
        last = tx.if_then_else(length > extent, extent - 1 - at, length - 1 - at)
        return tx.if_then_else(tx.logical_or(length <= 1, length <= at), at, last)

    return over_axes(
        a.dims, lambda i: a(*i[:along], reversed_index(i), *i[along + 1 :]), "T_reverse_sequence", "injective"
    )


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0) -> Tensor:
    """Fill `data` with `mask_value` from position `valid_length[b]` on along `axis`, 0 or 1; b indexes the other axis.

    Raises `ShapeError` for another axis.
    """
    if axis not in (0, 1):
        raise ShapeError("sequence_mask works along one of the first two dimensions", expected="0 or 1", found=axis)
    value = tx.const(mask_value, data.type)

    def element(i: Indices) -> PrimExpr:
        at = i[axis]
        return tx.if_then_else(tx.less_equal(valid_length(i[1 - axis]).astype(at.type), at), value, data(*i))

    return over_axes(data.dims, element, "T_sequence_mask", "injective")


def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """Return all windows of `window_shape` over the dimensions from `axis` on: (..., places..., window...).

    Raises `ShapeError` if the numbers of window extents, strides and dimensions differ.
    """
    first = normalize_axis(axis, data.ndim)
    if not len(window_shape) == len(strides) == data.ndim - first:
        raise ShapeError(
            "the window needs an extent and a stride for each dimension from the axis on",
            expected=data.ndim - first,
            found=f"{len(window_shape)} and {len(strides)}",
        )
    rows = list(zip(data.dims[first:], window_shape, strides, strict=True))
    places = [(d - w + s) // s for d, w, s in rows]
    window = [Const(w, d.dtype) for d, w, _ in rows]

    def element(i: Indices) -> PrimExpr:
        own, inner = i[first : first + len(rows)], i[first + len(rows) :]
        return data(*i[:first], *(v * s + w for v, w, s in zip(own, inner, strides, strict=True)))

    return over_axes([*data.dims[:first], *places, *window], element, "T_sliding_window", "injective")


def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """Return the coordinates, one row for each dimension, of flat positions in a tensor with the extents `shape`."""
    rank = shape.dims[0].constant
    if rank is None:
        raise ShapeError("unravel_index needs a known number of dimensions", found=str(shape.dims[0]))

    def coordinate(position: PrimExpr, n: int) -> PrimExpr:
        for d in range(rank - 1, n, -1):
            position = tx.floordiv(position, shape(d).astype(position.type))
        return tx.floormod(position, shape(n).astype(position.type))

    def element(i: Indices) -> PrimExpr:
        out = tx.const(0, indices.type)
        for n in range(rank - 1, -1, -1):
            out = tx.if_then_else(tx.equal(i[0], n), coordinate(indices(*i[1:]), n), out)
        return out

    return over_axes([Const(rank, unit_like(indices.dims).dtype), *indices.dims], element, "T_unravel", "injective")


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Write `diagonal` to the diagonals k[0] to k[1] (column - row) of the last two dimensions of `data`.

    Several diagonals are rows of `diagonal`, the uppermost first; `align` gives the side to which shorter ones above
    and below the main diagonal are aligned. Raises `TiraxError` for an unknown alignment.
    """
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    sides = {side: side.split("_") for side in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")}
    if align not in sides:
        raise TiraxError("unknown alignment of diagonals", expected=", ".join(sides), found=align)
    upper_right, lower_right = (s == "RIGHT" for s in sides[align])
    rows, columns = (from_sym(d) for d in data.dims[-2:])

    def length(d: PrimExpr) -> PrimExpr:
        return tx.minimum(columns - tx.maximum(d, 0), rows + tx.minimum(d, 0))

    def value(i: Indices, d: PrimExpr) -> PrimExpr:
        batch, row, column = i[:-2], i[-2], i[-1]
        along = tx.minimum(row, column)  # the position on the diagonal
        if low == high:
            return diagonal(*batch, along)
        right = tx.logical_or(
            tx.logical_and(d >= 0, upper_right), tx.logical_and(d <= 0 if not upper_right else d < 0, lower_right)
        )
        space = from_sym(diagonal.dims[-1]) - length(d)
        return diagonal(*batch, high - d, along + tx.if_then_else(right, space, tx.const(0, space.type)))

    def element(i: Indices) -> PrimExpr:
        d = i[-1] - i[-2]
        inside = tx.logical_and(tx.less_equal(low, d), tx.less_equal(d, high))
        return tx.if_then_else(inside, value(i, d), data(*i))

    return over_axes(data.dims, element, "T_matrix_set_diag", "injective")


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Any, sparse_values: Tensor, default_value: ExprLike = 0
) -> Tensor:
    """Return a tensor of `output_shape` with values at the given positions.

    The last one wins, others are `default_value`. Positions are rows of `sparse_indices`, numbers in a vector, or one
    number. Raises `ShapeError` if their number is unknown.
    """
    dims = shape_dims(output_shape)
    count = sparse_indices.dims[0].constant if sparse_indices.ndim else 1
    if count is None:
        raise ShapeError("sparse_to_dense needs a known number of positions", found=str(sparse_indices.dims[0]))
    ranked = sparse_indices.ndim == 2

    def hit(i: Indices, n: int) -> PrimExpr:
        at = [n] if sparse_indices.ndim else []
        parts = [sparse_indices(*at, k) for k in range(len(dims))] if ranked else [sparse_indices(*at)]
        return tx.logical_and(*(tx.equal(v, p.astype(v.type)) for v, p in zip(i, parts, strict=True)))

    def element(i: Indices) -> PrimExpr:
        out = tx.convert(default_value).astype(sparse_values.type)
        for n in range(count):
            value = sparse_values(n) if sparse_values.ndim else sparse_values()
            out = tx.if_then_else(hit(i, n), value, out)
        return out

    return over_axes(dims, element, "T_sparse_to_dense", "injective")


def shape_of(array: Tensor, dtype: str | Attribute = "int32") -> Tensor:
    """Return the extents of a tensor."""
    rank: SymExpr = Const(array.ndim, unit_like(array.dims).dtype)
    return _extents(rank, [from_sym(d) for d in array.dims], dtype)


def extents(shape: Sequence[PrimExpr]) -> Tensor:
    """Return the extents of a shape as a tensor of int64, of rank 1."""
    return _extents(Const(len(shape), i64), shape, i64)


def _extents(rank: SymExpr, dims: Sequence[PrimExpr], dtype: str | Attribute) -> Tensor:
    element_type = dtype_of(dtype) if isinstance(dtype, str) else dtype

    def element(i: Indices) -> PrimExpr:
        out: PrimExpr = tx.const(0, element_type)
        for n, d in enumerate(dims):
            out = tx.if_then_else(tx.equal(i[0], n), d.astype(element_type), out)
        return out

    return over_axes([rank], element, "T_shape", "injective")


def size_of(array: Tensor, dtype: str | Attribute = "int32") -> Tensor:
    """Return the number of elements of a tensor, as a tensor of rank 0."""
    count: SymExpr = unit_like(array.dims)
    for d in array.dims:
        count = count * d
    return over_axes([], lambda _: from_sym(count).astype(dtype), "tensor_size", "injective")


__all__ = [
    "extents",
    "matrix_set_diag",
    "reverse_sequence",
    "sequence_mask",
    "shape_of",
    "size_of",
    "sliding_window",
    "sparse_to_dense",
    "unravel_index",
]
