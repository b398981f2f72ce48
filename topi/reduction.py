"""Reductions along axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import is_float
from ..dialects.sym.expr import Const, SymExpr, product
from ..handles.tir import limits
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.reduction import Combiner, Reducer, Values, make_reduce
from ..te.tensor import Tensor
from .broadcast import divide, multiply, subtract
from .elementwise import rounded, sqrt
from .util import normalize_axes, wide_type

Axis = int | Sequence[int] | None


def _axis_vars(x: Tensor, axes: Sequence[int]) -> list[IterVar]:
    return [IterVar(f"k{a}", Const(0, x.dims[a].dtype), x.dims[a], is_reduction=True) for a in axes]


def _reduced_shape(x: Tensor, axes: Sequence[int], keepdims: bool) -> list[SymExpr]:
    if keepdims:
        return [Const(1, d.dtype) if i in axes else d for i, d in enumerate(x.dims)]
    return [d for i, d in enumerate(x.dims) if i not in axes]


def _source_indices(x: Tensor, axes: Sequence[int], ks: Sequence[IterVar], indices: Indices, keepdims: bool) -> Indices:
    reduced: Iterator[PrimExpr] = iter(ks)
    outer = iter([i for n, i in enumerate(indices) if not (keepdims and n in axes)])
    return tuple(next(reduced) if n in axes else next(outer) for n in range(x.ndim))


def _reduce(reducer: Reducer, x: Tensor, axis: Axis, keepdims: bool, dtype: Attribute | None = None) -> Tensor:
    """Return the reduction of the elements as `dtype`, by default that of `x`."""
    axes, dtype = normalize_axes(axis, x.ndim), dtype or x.type
    ks = _axis_vars(x, axes)
    if not ks:
        return over_axes(x.dims, lambda i: x(*i).astype(dtype), f"{x.name}_red")
    return over_axes(
        _reduced_shape(x, axes, keepdims),
        lambda i: reducer(x(*_source_indices(x, axes, ks, i, keepdims)).astype(dtype), axis=ks),
        f"{x.name}_red",
        "comm_reduce",
    )


def _reduction(name: str, reducer: Reducer) -> Callable[..., Tensor]:
    def apply(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return _reduce(reducer, data, axis, keepdims)

    apply.__name__, apply.__doc__ = name, f"{name} along `axis` (all axes where None)."
    return apply


sum, prod = _reduction("sum", red.sum), _reduction("prod", red.prod)
max, min = _reduction("max", red.max_of_all), _reduction("min", red.min_of_all)
at_least_lowest = _reduction("max", red.max)
all = _reduction("all", Reducer(Combiner(lambda a, b: (tx.logical_and(a[0], b[0]),), lambda _: (tx.const(True, i1),))))
any = _reduction("any", Reducer(Combiner(lambda a, b: (tx.logical_or(a[0], b[0]),), lambda _: (tx.const(False, i1),))))


def wide_mean(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean along `axis`; 16-bit types in float32, as neither the sum nor the count need fit 16 bits."""
    wide = wide_type(x.type)
    count = from_sym(product(x.dims[a] for a in normalize_axes(axis, x.ndim))).astype(wide)
    return divide(_reduce(red.sum, x, axis, keepdims, wide), count)


def wide_variance(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the population variance along `axis`; 16-bit types in float32."""
    centred = subtract(rounded(x, wide_type(x.type)), wide_mean(x, axis, keepdims=True))
    return wide_mean(multiply(centred, centred), axis, keepdims)


def mean(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean along `axis`."""
    return rounded(wide_mean(x, axis, keepdims), x.type)


def variance(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the population variance along `axis`."""
    return rounded(wide_variance(x, axis, keepdims), x.type)


def std(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the population standard deviation along `axis`."""
    return rounded(sqrt(wide_variance(x, axis, keepdims)), x.type)


def _arg_combiner(
    better: Callable[[Any, Any], PrimExpr],
    worst: Callable[[Any], PrimExpr],
    earlier: Callable[[Any, Any], PrimExpr],
    name: str,
    like_tvm: bool = False,
) -> Combiner:
    """Return a combiner of pairs (position, value): the better value, or the `earlier` position if equal; NaN is best.

    With `like_tvm`, NaN is not better than other values, and the initial position is -1, which precedes that of an
    element equal to the worst value.
    """

    def combine(a: Values, b: Values) -> Values:
        wins, same = better(a[1], b[1]), tx.equal(a[1], b[1])
        if is_float(a[1].type) and not like_tvm:
            a_is_nan = tx.not_equal(a[1], a[1])
            wins = tx.logical_or(wins, tx.logical_and(a_is_nan, tx.equal(b[1], b[1])))
            same = tx.logical_or(same, tx.logical_and(a_is_nan, tx.not_equal(b[1], b[1])))
        first = tx.logical_and(same, earlier(a[0], b[0]))
        return tx.select(tx.logical_or(wins, first), a[0], b[0]), tx.select(wins, a[1], b[1])

    def identity(types: Sequence[Attribute]) -> Values:
        index, value = types
        first = tx.const(-1, index) if like_tvm or earlier is tx.greater else limits.max_value(index)
        return first, worst(value)

    return Combiner(combine, identity, name)


_EARLIER = {False: tx.less, True: tx.greater}
_ARGMAX = {last: _arg_combiner(tx.greater, red.least_of, e, "argmax") for last, e in _EARLIER.items()}
_ARGMIN = {last: _arg_combiner(tx.less, red.greatest_of, e, "argmin") for last, e in _EARLIER.items()}
TVM_ARGMAX = _arg_combiner(tx.greater, limits.min_value, tx.less, "argmax", like_tvm=True)
TVM_ARGMIN = _arg_combiner(tx.less, limits.max_value, tx.less, "argmin", like_tvm=True)

FIRST_GREATEST = _ARGMAX[False]
"""The combiner of argmax on pairs (position, value)."""


def _linear_position(ks: Sequence[IterVar], dtype: Attribute) -> PrimExpr:
    """Return the row-major position of an element among those that are reduced."""
    sizes = [k.extent.constant for k in ks]
    position: PrimExpr = tx.const(0, dtype)
    if None in sizes:
        for k in ks:
            position = position * from_sym(k.extent).astype(dtype) + k.astype(dtype)
        return position
    for place, k in enumerate(ks):
        position = position + k.astype(dtype) * math.prod(int(size or 0) for size in sizes[place + 1 :])
    return position


def arg_reduce(combiner: Combiner, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    """Return positions of elements of `x` along `axis`, combined as pairs (position, value)."""
    axes = normalize_axes(axis, x.ndim)
    ks = _axis_vars(x, axes)
    shape = _reduced_shape(x, axes, keepdims)
    dtype = i32 if ks and builtins.all(k.type == i32 for k in ks) else i64

    def element(i: Indices) -> Any:
        position = _linear_position(ks, dtype)
        return make_reduce(combiner, (position, x(*_source_indices(x, axes, ks, i, keepdims))), ks)

    positions, _ = over_axes(shape, element, f"{x.name}_red_temp", "comm_reduce_idx")
    return over_axes(shape, lambda i: positions(*i), f"{x.name}_red", "comm_reduce_idx")


def argmax(data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """Return the position of the greatest element along `axis`, or of all elements if None.

    Among equals the first, or the last if `select_last_index`.
    """
    return arg_reduce(_ARGMAX[select_last_index], data, axis, keepdims)


def argmin(data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    """Return the position of the least element along `axis`, or of all elements if None.

    Among equals the first, or the last if `select_last_index`.
    """
    return arg_reduce(_ARGMIN[select_last_index], data, axis, keepdims)


__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "variance"]
