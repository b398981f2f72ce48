"""Operators in exactly TVM's form, where that of topi is more accurate or compiles faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import Float16Type, f32, i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import is_float
from ..dialects.sym.expr import Const, SymExpr, add, product
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.broadcast import Indices, broadcast_shapes, broadcasting, element_of, over_axes
from ..te.tensor import Tensor, compute
from . import reduction as rd
from .linear_algebra import parameter
from .manipulation import concatenate as join
from .manipulation import shape_dims
from .rearrangement import repeat as repeat_along
from .util import divisor, normalize_axis, zero_like


def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the position of the greatest value, or -1 for an empty axis. NaN is like any other value."""
    return rd.arg_reduce(rd.TVM_ARGMAX, x, axis, keepdims)


def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the position of the least value, or -1 for an empty axis. NaN is like any other value."""
    return rd.arg_reduce(rd.TVM_ARGMIN, x, axis, keepdims)


def _floor_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    x, y = tx.match_types(a, b)
    return math_functions.floor(tx.div(x, y)) if is_float(x.type) else tx.floordiv(x, y)


def _floor_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    x, y = tx.match_types(a, b)
    return x - math_functions.floor(tx.div(x, y)) * y if is_float(x.type) else tx.floormod(x, y)


floor_divide = broadcasting("floor_divide", _floor_divide)
"""For floats floor(a / b), whose quotient may be rounded up to the next integer."""
floor_mod = broadcasting("floor_mod", _floor_mod)
"""For floats a - floor(a / b) * b."""


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return select(0 < int64(condition), x, y)."""
    dims = broadcast_shapes([condition.dims, x.dims, y.dims])

    def element(i: Indices) -> PrimExpr:
        holds = tx.less(tx.const(0, i64), tx.convert(element_of(condition, i, dims)).astype(i64))
        return tx.select(holds, element_of(x, i, dims), element_of(y, i, dims))

    return over_axes(dims, element, "T_where", "broadcast")


def _flat(dims: Sequence[SymExpr], indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the row-major position of `indices`."""
    position: PrimExpr = tx.const(0, i64)
    for n, (d, i) in enumerate(zip(dims, indices, strict=True)):
        position = i if n == 0 else position * from_sym(d) + i
    return position


def _unflat(dims: Sequence[SymExpr], position: PrimExpr) -> list[PrimExpr]:
    """Return the indices at a row-major position, each within its extent.

    index = position % (extent * inner) // inner        if `inner`, the product of the inner extents, is constant
    index = position // inner // … % extent             otherwise
    """
    out: list[PrimExpr] = []
    inner = 1
    for d in reversed(dims):
        size = d.constant
        if size == 1:
            out.append(zero_like(d))
        elif size is not None:
            index = tx.floormod(position, divisor(Const(int(size) * inner, d.dtype)))
            out.append(tx.floordiv(index, divisor(Const(inner, d.dtype))) if inner != 1 else index)
            inner *= int(size)
        else:
            position = tx.floordiv(position, divisor(Const(inner, d.dtype))) if inner != 1 else position
            out.append(tx.floormod(position, divisor(d)))
            position, inner = tx.floordiv(position, divisor(d)), 1
    return out[::-1]


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """Return the elements in row-major order in another shape; no index leaves its extent, whatever the shapes."""
    dims = shape_dims(newshape)
    return over_axes(dims, lambda i: a(*_unflat(a.dims, _flat(dims, i))), "T_reshape", "injective")


def repeat(x: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Repeat each element `repeats` times along `axis`, in flattened `x` if None."""
    flat = axis is None and x.ndim != 1
    return repeat_along(reshape(x, [product(x.dims)]) if flat else x, repeats, 0 if axis is None else axis)


_MOST_WRITTEN = 16
"""The maximum number of nested conditions in TVM's form; more are unreadable."""


def concatenate(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate with if_then_else(0 <= i - start, …) if `start` is not constant.

    Many tensors as in `topi.concatenate`.
    """
    if len(tensors) > _MOST_WRITTEN:
        return join(tensors, axis)
    place = normalize_axis(axis, tensors[0].ndim)
    starts: list[SymExpr] = [Const(0, tensors[0].dims[place].dtype)]
    for t in tensors:
        starts.append(add(starts[-1], t.dims[place]))
    if all(s.constant is not None for s in starts[:-1]):
        return join(tensors, axis)
    dims = [*tensors[0].dims[:place], starts[-1], *tensors[0].dims[place + 1 :]]

    def element(i: Indices) -> PrimExpr:
        out, at = tensors[0](*i), i[place]
        for before, own, start in zip(tensors, tensors[1:], starts[1:], strict=False):
            at = at - from_sym(before.dims[place])
            known = start.constant
            in_or_past = tx.less_equal(zero_like(start), at) if known is None else tx.less_equal(int(known), i[place])
            out = tx.if_then_else(in_or_past, own(*i[:place], at, *i[place + 1 :]), out)
        return out

    return over_axes(dims, element, "T_concat", "injective")


def dequantize(
    data: Tensor, scale: Tensor | PrimExpr, zero_point: Tensor | PrimExpr, axis: int, dtype: Attribute
) -> Tensor:
    """Return (data - zero_point) * scale; float16 in float32, limited to the finite numbers of float16."""
    narrow = isinstance(dtype, Float16Type)
    wide = f32 if narrow else dtype

    def element(*i: PrimExpr) -> PrimExpr:
        moved = data(*i).astype(i32) - parameter(zero_point, i, axis).astype(i32)
        value = moved.astype(wide) * parameter(scale, i, axis).astype(wide)
        if not narrow:
            return value
        low, high = (
            tx.const(float(bound(dtype).constant or 0), wide) for bound in (limits.min_value, limits.max_value)
        )
        return tx.maximum(tx.minimum(value, high), low).astype(dtype)

    return compute(data.dims, element, "dequantized", "injective")
