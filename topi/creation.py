"""Tensors computed from indices alone, and triangles of matrices."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import Attribute

from ..dialects.dtypes import dtype_of
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr
from ..te.axis import shape_dims
from ..te.broadcast import over_axes
from ..te.tensor import Tensor, compute
from .util import Scalar


def _dtype(dtype: str | Attribute) -> Attribute:
    return dtype_of(dtype) if isinstance(dtype, str) else dtype


def arange(shape: Any, start: Scalar, step: Scalar, dtype: str | Attribute) -> Tensor:
    """Return start + i * step, in floating point if either is."""
    (extent,) = shape_dims(shape)

    def element(i: tuple[PrimExpr, ...]) -> PrimExpr:
        if all(tx.is_float(tx.convert(v).type) is False for v in (start, step)):
            return (i[0] * tx.convert(step).astype(extent.dtype) + tx.convert(start).astype(extent.dtype)).astype(dtype)
        wide = dtype_of("float64")
        first, width = tx.convert(start).astype(wide), tx.convert(step).astype(wide)
        return (first + width * i[0].astype(wide)).astype(dtype)

    return over_axes([extent], element, "T_arange", "injective")


def eye(shape: Any, k: ExprLike, dtype: str | Attribute) -> Tensor:
    """Return a tensor with ones at column - row == k and zeros elsewhere."""
    element = _dtype(dtype)
    one, zero = tx.const(1, element), tx.const(0, element)

    def at(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return tx.if_then_else(tx.equal(i, tx.simplified(j - tx.convert(k).astype(j.type))), one, zero)

    return compute(shape_dims(shape), at, "eye")


def _at_most(a: PrimExpr, b: PrimExpr, k: PrimExpr) -> PrimExpr:
    """Return a + k <= b; for a constant `k`, in a form without subtraction."""
    number = k.constant
    if number is None or number > 1:
        return tx.less_equal(tx.simplified(a + k), b)
    return tx.less(a, b) if number == 1 else tx.less_equal(a, tx.simplified(b + (-number)))


def trilu(x: Tensor, k: ExprLike, upper: bool) -> Tensor:
    """Return the upper (column - row >= k) or lower (column - row <= k) triangle of the last two dimensions, else 0."""

    def element(*i: PrimExpr) -> PrimExpr:
        row, column = i[-2], i[-1]
        beyond = tx.convert(k).astype(row.type)
        inside = _at_most(row, column, beyond) if upper else _at_most(column, row, -beyond)
        return tx.select(inside, x(*i), tx.const(0, x.type))

    return compute(x.dims, element, "trilu")


def hamming_window(shape: Any, periodic: ExprLike, alpha: ExprLike, beta: ExprLike, dtype: str | Attribute) -> Tensor:
    """Return alpha - beta * cos(2π i / N), where N is the size if `periodic`, else size - 1; 1 for size 1."""
    wide = dtype_of("float64")
    (extent,) = shape_dims(shape)
    size = tx.from_sym(extent).astype(wide)
    short = tx.maximum(size - tx.const(1.0, wide), tx.const(1.0, wide))
    period = tx.select(tx.not_equal(tx.convert(periodic), 0), size, short)
    single = tx.equal(tx.from_sym(extent), 1)

    def element(i: tuple[PrimExpr, ...]) -> PrimExpr:
        angle = tx.div(i[0].astype(wide) * tx.const(2 * math.pi, wide), period)
        value = tx.convert(alpha).astype(wide) - tx.convert(beta).astype(wide) * math_functions.cos(angle)
        return tx.select(single, tx.const(1.0, wide), value).astype(dtype)

    return over_axes([extent], element, "hamming_window")


def const_vector(values: Any, name: str = "const_vector") -> Tensor:
    """Return a tensor with the values of a numpy array, selected by comparing the index."""
    dtype = dtype_of(str(values.dtype))

    def element(i: tuple[PrimExpr, ...], at: tuple[int, ...] = ()) -> PrimExpr:
        if len(at) == values.ndim:
            return tx.const(values[at].item(), dtype)
        out: PrimExpr = tx.const(0, dtype)
        for n in range(values.shape[len(at)]):
            out = tx.select(tx.equal(i[len(at)], n), element(i, (*at, n)), out)
        return out

    return over_axes(values.shape, element, name)


__all__ = ["arange", "const_vector", "eye", "hamming_window", "trilu"]
