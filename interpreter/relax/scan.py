"""Reference semantics, in numpy, of scans, sorting, sums of products and quantization. Rows as in `operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dtypes import numpy_dtype
from ..scalars import inside, wide

Array = Any


def _scan(function: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    def run(op: Any, data: Array) -> Array:
        dtype = numpy_dtype(op.result_type.element)
        axis = op.attr("axis")
        x = np.asarray(data).astype(dtype)
        x = x if dtype.kind in "iub" else x.astype(np.float64)
        x = x.reshape(-1) if axis is None else x
        out = function(x, axis=axis or 0, dtype=x.dtype)
        if not op.attr("exclusive"):
            return out
        first = np.full_like(np.take(out, [0], axis=axis or 0, mode="clip") if out.size else out, neutral)
        return np.concatenate([first, np.delete(out, -1, axis=axis or 0)], axis=axis or 0) if out.size else out

    return run


def _order(x: Array, axis: int, descending: bool) -> Array:
    """Return the positions of a stable sort; descending is the reverse of the stable order of the reversed input.

    bfloat16 is widened, because numpy does not sort its NaN last.
    """
    x = wide(x)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _sort(op: Any, data: Array) -> Array:
    axis = op.attr("axis")
    return np.take_along_axis(data, _order(data, axis, op.attr("descending")), axis)


def _topk(op: Any, data: Array) -> Any:
    axis, k = op.attr("axis"), op.attr("k")
    order = _order(data, axis, op.attr("largest"))
    if k >= 1:
        if k > data.shape[axis]:
            raise ValueError("k is greater than the dimension")
        order = np.take(order, np.arange(k), axis=axis)
    values = np.take_along_axis(data, order, axis)
    return {"both": (values, order), "values": values, "indices": order}[op.attr("ret_type")]


def _bucketize(op: Any, x: Array, boundaries: Array) -> Array:
    """Use the operator's binary search, so unsorted boundaries give the same result; NaN sorts after all numbers."""
    low, high = np.zeros(x.shape, np.int64), np.full(x.shape, boundaries.size)
    while np.any(open_ := low < high):
        middle = (low + high) // 2
        edge = boundaries[np.where(open_, middle, 0)]
        above = (edge <= x) | (x != x) if op.attr("right") else (edge < x) | (x != x) & (edge == edge)
        low = np.where(open_ & above, middle + 1, low)
        high = np.where(open_ & ~above, middle, high)
    return low


def _multinomial(_op: Any, prob: Array, uniform: Array, rows: Array) -> Array:
    sums = np.cumsum(prob, axis=1)
    passed = (sums[rows[:, 0]] <= uniform).sum(axis=1, keepdims=True)
    return np.minimum(passed, prob.shape[1] - 1)


_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda _old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "mean": lambda old, new: (old + new) / 2,
    "max": max,
    "min": min,
}


def _written(data: Array, reduction: str, at: Callable[[Any], Any], updates: Array) -> Array:
    """Return data with each update combined at its position, one after the other."""
    out = np.array(wide(data) if reduction in ("add", "mul", "mean") else data)
    for i in np.ndindex(*updates.shape):
        where = at(i)
        out[where] = _REDUCTIONS[reduction](out[where], updates[i])
    return out


def _wrapped(indices: Array, extent: int) -> Array:
    """Map negative indices to the end. Raises `IndexError` if an index is out of bounds."""
    signed = indices if indices.dtype == np.uint64 else indices.astype(np.int64)
    return inside(np.where(signed < 0, signed + extent, signed), extent)


def _scatter_elements(op: Any, data: Array, indices: Array, updates: Array) -> Array:
    axis = op.attr("axis") % data.ndim
    at = _wrapped(indices, data.shape[axis])
    return _written(data, op.attr("reduction"), lambda i: (*i[:axis], at[i], *i[axis + 1 :]), updates)


def _scatter_nd(op: Any, data: Array, indices: Array, updates: Array) -> Array:
    outer = indices.ndim - 1
    columns = zip(np.moveaxis(indices, -1, 0), data.shape, strict=False)
    at = [_wrapped(column, extent) for column, extent in columns]
    return _written(data, op.attr("reduction"), lambda i: (*(c[i[:outer]] for c in at), *i[outer:]), updates)


def _index_put(op: Any, data: Array, indices: Any, values: Array) -> Array:
    out = np.array(wide(data) if op.attr("accumulate") else data)
    at = tuple(_wrapped(column, extent) for column, extent in zip(indices, data.shape, strict=False))
    if op.attr("accumulate"):
        np.add.at(out, at, values)
    else:
        out[at] = values
    return out


def _by_axis(v: Array, op: Any, rank: int) -> Array:
    """Reshape a scalar or vector of parameters to broadcast along the axis."""
    axis = op.attr("axis") % rank if rank else 0
    return v.reshape([-1 if i == axis else 1 for i in range(rank)]) if v.ndim else v


def _quantize(op: Any, data: Array, scale: Array, zero: Array) -> Array:
    # round in the precision of the data, since the last bit may decide; halves away from zero
    ratio = data / _by_axis(scale, op, data.ndim).astype(data.dtype)
    scaled = np.sign(ratio) * np.floor(np.abs(ratio).astype(np.float64) + 0.5)
    limits = np.iinfo(numpy_dtype(op.result_type.element))
    return np.clip(scaled + _by_axis(zero, op, data.ndim), limits.min, limits.max)


def _dequantize(op: Any, data: Array, scale: Array, zero: Array) -> Array:
    moved = data.astype(np.int32) - _by_axis(zero, op, data.ndim).astype(np.int32)
    return moved * _by_axis(scale, op, data.ndim).astype(np.float64)


def _einsum(op: Any, xs: Any) -> Array:
    wide = [x if x.dtype.kind in "iub" else x.astype(np.float64) for x in map(np.asarray, xs)]
    return np.einsum(op.attr("subscripts"), *wide)


SCANS: dict[str, Callable[..., Any]] = {
    "cumsum": _scan(np.cumsum, 0),
    "cumprod": _scan(np.cumprod, 1),
    "sort": _sort,
    "argsort": lambda op, data: _order(data, op.attr("axis"), op.attr("descending")),
    "topk": _topk,
    "bucketize": _bucketize,
    "multinomial_from_uniform": _multinomial,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_put": _index_put,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "einsum": _einsum,
    "outer": lambda _op, a, b: np.multiply.outer(a, b),
    "ewise_fma": lambda _op, a, b, c: a * b + c,
}
"""Operators by name, without the prefix `relax.`."""
